// Metrics: what scripts log and what readers ask for.
#include <cmath>

#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

// A number, or the word for one that JSON has no number for.
bool IsNumber(const Json& value) {
  return value.is_number() || (value.is_string() && (value.as_string() == "NaN" || value.as_string() == "Infinity" || value.as_string() == "-Infinity"));
}

Json ValueOf(const series::Point& point) {
  if (point.json.empty()) return Json(point.value);
  auto parsed = ParseJson(point.json, "a metric");
  return parsed.ok() ? *parsed : Json(point.json);
}

// What Azure's get_metrics() gives: a scalar when logged once, a list when repeatedly; rows and tables by column.
Json AzureValue(series::Kind kind, const std::vector<series::Point>& points) {
  if (points.empty()) return Json();
  if (kind == series::Kind::kList) {
    Json all = Json::MakeArray();
    for (const series::Point& point : points) {
      Json value = ValueOf(point);
      if (value.is_array())
        for (const Json& item : value.as_array()) all.Push(item);
      else
        all.Push(std::move(value));
    }
    return all;
  }
  if (kind == series::Kind::kRow || kind == series::Kind::kTable) {
    if (points.size() == 1) return ValueOf(points[0]);
    Json columns = Json::MakeObject();
    for (const series::Point& point : points) {
      Json value = ValueOf(point);
      if (!value.is_object()) continue;
      for (const auto& [name, cell] : value.as_object()) {
        if (!columns.Find(name)) columns.Set(name, Json::MakeArray());
        Json* column = columns.Find(name);
        if (cell.is_array())
          for (const Json& item : cell.as_array()) column->Push(item);
        else
          column->Push(cell);
      }
    }
    return columns;
  }
  if (points.size() == 1) return ValueOf(points[0]);
  Json list = Json::MakeArray();
  for (const series::Point& point : points) list.Push(ValueOf(point));
  return list;
}

}  // namespace

std::vector<store::Attribute> MetricAttributes(const std::vector<series::Summary>& summaries) {
  std::vector<store::Attribute> attributes;
  for (const series::Summary& s : summaries) {
    if (s.kind != series::Kind::kScalar || s.count == 0 || attributes.size() >= 3000) continue;
    if (!std::isnan(s.latest.value)) attributes.push_back({"metric.latest", s.metric, s.latest.value});
    if (!std::isnan(s.minimum)) attributes.push_back({"metric.min", s.metric, s.minimum});
    if (!std::isnan(s.maximum)) attributes.push_back({"metric.max", s.metric, s.maximum});
  }
  return attributes;
}

Result<std::optional<series::Batch>> BatchFromRecord(const std::string& run, const Json& record, Time now) {
  const Json* name = record.Find("metric");
  if (!name) return std::optional<series::Batch>();
  auto wrong = [](const char* field, std::string why) { return MakeError(Code::kInvalid, "metric.invalid", StrCat(field, " ", why), field); };
  if (!name->is_string() || name->as_string().empty() || name->as_string().size() > 255) return wrong("metric", "must be a name of 1 to 255 characters");
  std::string kind_name = record.GetString("kind", "scalar");
  auto kind = series::KindFromName(kind_name);
  if (!kind) return wrong("kind", StrCat("is '", kind_name.substr(0, 40), "'; expected scalar, text, row, table, list, image or system"));
  const Json* value = record.Find("value");
  if (!value) return wrong("value", "is missing");
  series::Batch batch{run, name->as_string(), *kind, {}};
  series::Point point;
  point.step = record.GetInt("step");
  point.time = Time{record.GetInt("time", now.micros)};
  if (*kind == series::Kind::kScalar || *kind == series::Kind::kSystem) {
    if (!IsNumber(*value)) return wrong("value", StrCat("must be a number, not ", value->TypeName()));
    point.value = value->as_double();
  } else {
    point.json = value->Dump();
  }
  batch.points.push_back(std::move(point));
  return std::optional<series::Batch>(std::move(batch));
}

void AddMetrics(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<series::Append> {
    TRY(Json body, BodyObject(call));
    TRY(auto known, parts.store.Get("run", call.params["id"]));
    if (!known) return MakeError(Code::kNotFound, "run.not_found", StrCat("there is no run '", call.params["id"].substr(0, 300), "'"), "run");
    const std::string& run = call.params["id"];
    series::Append append;
    Time now = Now();
    std::map<std::string, size_t> index;
    auto into = [&](const std::string& metric, series::Kind kind) -> series::Batch& {
      auto [it, fresh] = index.try_emplace(metric, append.batches.size());
      if (fresh) append.batches.push_back({run, metric, kind, {}});
      return append.batches[it->second];
    };
    if (const Json* points = body.Find("points")) {
      if (!points->is_array()) return MakeError(Code::kInvalid, "metric.invalid", "points must be a list", "points");
      for (size_t i = 0; i < points->as_array().size(); ++i) {
        const Json& item = points->as_array()[i];
        auto batch = BatchFromRecord(run, item, now);
        if (!batch.ok() || !*batch) {
          std::string why = batch.ok() ? std::string("metric is missing") : batch.error().message;
          return MakeError(Code::kInvalid, "metric.invalid", StrCat("points[", i, "]: ", why), StrCat("points[", i, "]"));
        }
        auto& target = into((*batch)->metric, (*batch)->kind);
        target.points.push_back(std::move((*batch)->points[0]));
      }
    }
    // Columns: one metric, many values, little text.
    if (const Json* all = body.Find("series")) {
      if (!all->is_array()) return MakeError(Code::kInvalid, "metric.invalid", "series must be a list", "series");
      for (size_t i = 0; i < all->as_array().size(); ++i) {
        const Json& item = all->as_array()[i];
        std::string field = StrCat("series[", i, "]");
        std::string metric = item.GetString("metric");
        const Json* values = item.Find("values");
        const Json* steps = item.Find("steps");
        const Json* times = item.Find("times");
        auto fits = [&](const Json* column) { return !column || (column->is_array() && values->as_array().size() == column->as_array().size()); };
        if (metric.empty() || metric.size() > 255 || !values || !values->is_array() || !fits(steps) || !fits(times))
          return MakeError(Code::kInvalid, "metric.invalid", StrCat(field, " needs metric, values, and steps and times of the same length if they are given"),
                           field);
        auto& target = into(metric, series::Kind::kScalar);
        for (size_t j = 0; j < values->as_array().size(); ++j) {
          const Json& v = values->as_array()[j];
          if (!IsNumber(v)) return MakeError(Code::kInvalid, "metric.invalid", StrCat(field, ".values[", j, "] must be a number"), field);
          series::Point point;
          point.value = v.as_double();
          if (steps && steps->as_array()[j].is_number()) point.step = steps->as_array()[j].as_int();
          point.time = times && times->as_array()[j].is_number() ? Time{times->as_array()[j].as_int()} : now;
          target.points.push_back(std::move(point));
        }
      }
    }
    if (append.batches.empty()) return MakeError(Code::kInvalid, "metric.none", "the request has neither points nor series", "points");
    if (std::string source = body.GetString("source"); !source.empty())
      append.position = {StrCat(run, "/", source), static_cast<uint64_t>(body.GetInt("position"))};
    return append;
  };
  auto append = build();
  if (!append.ok()) return Answer(responder, append.error());
  size_t count = 0;
  for (const auto& batch : append->batches) count += batch.points.size();
  parts.series.Add(std::move(*append), [responder, count](Result<void> done) {
    Answer(responder, done.ok() ? Result<Json>(Json::MakeObject({{"added", count}})) : Result<Json>(done.error()));
  });
}

void ListMetrics(const Parts& parts, Call call, http::Responder responder) {
  auto list = [&]() -> Result<Json> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    TRY(auto summaries, parts.series.Summaries(run.id));
    bool system = call.head.Query("system") == "1";
    Json metrics = Json::MakeArray();
    Json values = Json::MakeObject();
    bool want_values = call.head.Query("values") == "1";
    for (const series::Summary& s : summaries) {
      if (s.kind == series::Kind::kSystem && !system) continue;
      bool scalar = s.kind == series::Kind::kScalar || s.kind == series::Kind::kSystem;
      Json item = Json::MakeObject({{"name", s.metric},
                                    {"kind", series::KindName(s.kind)},
                                    {"count", s.count},
                                    {"latest", ValueOf(s.latest)},
                                    {"latest_step", s.latest.step},
                                    {"latest_time", FormatTime(s.latest.time)}});
      if (scalar) item.Set("min", s.minimum).Set("max", s.maximum);
      metrics.Push(std::move(item));
      if (want_values) {
        TRY(auto read, parts.series.Points(run.id, s.metric, 100000));
        values.Add(s.metric, AzureValue(s.kind, read.points));
      }
    }
    Json out = Json::MakeObject({{"metrics", std::move(metrics)}});
    if (want_values) out.Set("values", std::move(values));
    return out;
  };
  Answer(responder, list());
}

void ReadMetric(const Parts& parts, Call call, http::Responder responder) {
  auto read = [&]() -> Result<Json> {
    TRY(model::Run run, LoadRun(parts, call.params["id"]));
    TRY(int64_t limit, IntParameter(call, "limit", 1000, 0, 1'000'000));
    TRY(int64_t from, IntParameter(call, "from", 0, 0, INT64_MAX / 2));
    const std::string& name = call.params["path"];
    TRY(auto summaries, parts.series.Summaries(run.id));
    const series::Summary* summary = nullptr;
    for (const auto& s : summaries)
      if (s.metric == name) summary = &s;
    if (!summary) return MakeError(Code::kNotFound, "metric.not_found", StrCat("run '", run.id, "' has no metric '", name.substr(0, 255), "'"), "metric");
    TRY(auto points, parts.series.Points(run.id, name, static_cast<size_t>(limit), from));
    Json list = Json::MakeArray();
    for (const series::Point& point : points.points)
      list.Push(Json::MakeObject({{"step", point.step}, {"time", FormatTime(point.time)}, {"value", ValueOf(point)}}));
    return Json::MakeObject({{"name", name}, {"kind", series::KindName(summary->kind)}, {"total", points.total}, {"points", std::move(list)}});
  };
  Answer(responder, read());
}

}  // namespace ferry::rest
