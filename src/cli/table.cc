#include "cli/table.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/text.h"
#include "cli/colour.h"
#include "cli/width.h"

namespace ferry::cli {
namespace {

constexpr int kGap = 2;
// No column is cut below this.
constexpr int kLeastWidth = 6;

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

const Json* Follow(const Json& row, std::string_view path) {
  const Json* value = &row;
  for (std::string_view key : Split(path, '.')) {
    value = value->Find(key);
    if (!value) return nullptr;
  }
  return value;
}

std::tm Local(Time time) {
  std::time_t seconds = time.micros / 1'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

std::string LocalText(Time time, Time now) {
  std::tm then = Local(time), today = Local(now);
  const char* form = then.tm_year != today.tm_year ? "%Y-%m-%d %H:%M" : then.tm_yday != today.tm_yday ? "%m-%d %H:%M" : "%H:%M:%S";
  char buffer[64];
  return std::string(buffer, std::strftime(buffer, sizeof buffer, form, &then));
}

std::string AgoText(Time time, Time now) {
  int64_t seconds = (now - time).count() / 1'000'000;
  int64_t distance = std::abs(seconds);
  if (distance >= 30 * 86400) return LocalText(time, now);
  if (distance == 0) return "now";
  std::string text = distance < 60      ? StrCat(distance, " s")
                     : distance < 3600  ? StrCat(distance / 60, " m")
                     : distance < 86400 ? StrCat(distance / 3600, " h")
                                        : StrCat(distance / 86400, " d");
  return seconds > 0 ? text + " ago" : "in " + text;
}

Colour StatusColour(std::string_view status) {
  struct Known {
    Colour colour;
    std::string_view statuses[9];
  };
  static constexpr Known kKnown[] = {
      {Colour::kGreen, {"completed", "finished", "succeeded", "ready", "idle"}},
      {Colour::kRed, {"failed", "error", "lost", "notresponding", "unhealthy"}},
      {Colour::kYellow, {"canceled", "cancelled", "cancelrequested", "paused", "draining", "drained", "unknown", "offline"}},
      {Colour::kCyan, {"running", "finalizing", "busy"}},
      {Colour::kBlue, {"queued", "preparing", "provisioning", "starting", "notstarted"}},
  };
  std::string lower = ToLower(status);
  for (const Known& known : kKnown)
    for (std::string_view one : known.statuses)
      if (!one.empty() && one == lower) return known.colour;
  return Colour::kNone;
}

std::string PlainText(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.as_string();
  if (value.is_double()) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.6g", value.as_double());
    return buffer;
  }
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const Json& item : value.as_array()) parts.push_back(PlainText(item));
    return Join(parts, ", ");
  }
  if (value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, member] : value.as_object()) {
      std::string text = PlainText(member);
      parts.push_back(text.empty() ? key : StrCat(key, "=", text));
    }
    return Join(parts, ", ");
  }
  return value.Dump();
}

// The members that fit into a cell, over all rows, in the order they first appear.
Columns ColumnsOf(const Json::Array& rows) {
  Columns columns;
  for (const Json& row : rows) {
    for (const auto& [key, member] : row.as_object()) {
      if (member.is_array() || member.is_object()) continue;
      if (std::any_of(columns.begin(), columns.end(), [&wanted = key](const Column& column) { return column.path == wanted; })) continue;
      Column column;
      column.header = column.path = key;
      if (!key.empty() && key[0] >= 'a' && key[0] <= 'z') column.header[0] = static_cast<char>(key[0] - 'a' + 'A');
      columns.push_back(std::move(column));
    }
  }
  for (Column& column : columns) {
    bool numbers = std::all_of(rows.begin(), rows.end(), [&](const Json& row) {
      const Json* value = row.Find(column.path);
      return !value || value->is_null() || value->is_number();
    });
    if (numbers) column.align = Align::kRight;
  }
  return columns;
}

// A list of anything as a list of objects: lists give Column1, Column2 ..., single values Result.
Json::Array RowsOf(const Json& value, bool& chosen_columns_apply) {
  Json::Array rows;
  Json::Array items = value.is_array() ? value.as_array() : value.is_null() ? Json::Array{} : Json::Array{value};
  for (Json& item : items) {
    if (item.is_object()) {
      rows.push_back(std::move(item));
      continue;
    }
    chosen_columns_apply = false;
    Json row = Json::MakeObject();
    if (item.is_array()) {
      for (size_t i = 0; i < item.as_array().size(); ++i) {
        const Json& cell = item.as_array()[i];
        row.Set(StrCat("Column", i + 1), cell.is_array() || cell.is_object() ? Json(PlainText(cell)) : cell);
      }
    } else {
      row.Set("Result", std::move(item));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Takes from the widest columns first until the line fits. Columns that must stay whole are left alone.
void Fit(std::vector<int>& widths, const Columns& columns, int width) {
  int total = kGap * (static_cast<int>(widths.size()) - 1);
  for (size_t i = 0; i < widths.size(); ++i) {
    if (!columns[i].whole) widths[i] = std::min(widths[i], std::max(width, kLeastWidth));
    total += widths[i];
  }
  for (; total > width; --total) {
    int* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i)
      if (!columns[i].whole && widths[i] > kLeastWidth && (!widest || widths[i] >= *widest)) widest = &widths[i];
    if (!widest) return;
    --*widest;
  }
}

void AppendCell(std::string& line, const Cell& cell, int width, Align align, bool last, bool colour) {
  std::string text = Shorten(cell.text, width);
  auto padding = static_cast<size_t>(std::max(0, width - DisplayWidth(text)));
  if (align == Align::kRight) line.append(padding, ' ');
  line += Paint(text, colour && !text.empty() ? cell.colour : Colour::kNone);
  if (align == Align::kLeft && !last) line.append(padding, ' ');
  if (!last) line.append(kGap, ' ');
}

}  // namespace

std::string RenderCell(const Json& value, Style style, Time now) {
  switch (style) {
    case Style::kAgo:
    case Style::kTime:
      if (value.is_string())
        if (auto time = ParseTime(value.as_string())) return style == Style::kAgo ? AgoText(*time, now) : LocalText(*time, now);
      break;
    case Style::kDuration:
      if (value.is_number()) return FormatDuration(Duration(static_cast<int64_t>(std::clamp(value.as_double(), -1e12, 1e12) * 1e6)));
      break;
    case Style::kBytes:
      if (value.is_number() && value.as_double() >= 0) return FormatBytes(static_cast<uint64_t>(value.as_int()));
      break;
    case Style::kPlain:
    case Style::kStatus: break;
  }
  return OneLine(PlainText(value));
}

std::string RenderTable(const Json& value, const OutputFormat& output) {
  bool chosen = output.columns != nullptr;
  Json::Array rows = RowsOf(value, chosen);
  if (rows.empty()) return {};
  Columns columns = chosen ? *output.columns : ColumnsOf(rows);
  if (columns.empty()) return {};
  Time now = output.now ? output.now : Now();

  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(DisplayWidth(OneLine(column.header)));
  std::vector<std::vector<Cell>> cells;
  for (const Json& row : rows) {
    std::vector<Cell>& line = cells.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      Cell cell;
      if (const Json* found = Follow(row, columns[i].path)) {
        cell.text = RenderCell(*found, columns[i].style, now);
        if (columns[i].style == Style::kStatus) cell.colour = StatusColour(cell.text);
      }
      widths[i] = std::max(widths[i], DisplayWidth(cell.text));
      line.push_back(std::move(cell));
    }
  }
  if (output.width > 0) Fit(widths, columns, output.width);

  std::string out, dashes;
  for (size_t i = 0; i < columns.size(); ++i) {
    bool last = i + 1 == columns.size();
    Cell header;
    header.text = OneLine(columns[i].header);
    header.colour = Colour::kBold;
    AppendCell(out, header, widths[i], columns[i].align, last, output.colour);
    dashes.append(static_cast<size_t>(widths[i]), '-');
    if (!last) dashes.append(kGap, ' ');
  }
  out += '\n';
  out += Paint(dashes, output.colour ? Colour::kDim : Colour::kNone);
  out += '\n';
  for (const std::vector<Cell>& line : cells) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) AppendCell(text, line[i], widths[i], columns[i].align, i + 1 == line.size(), output.colour);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text;
    out += '\n';
  }
  return out;
}

}  // namespace ferry::cli
