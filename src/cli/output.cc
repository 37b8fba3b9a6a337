#include "cli/output.h"

#include <iterator>

#include "cli/colour.h"
#include "cli/table.h"
#include "cli/yaml.h"

namespace ferry::cli {
namespace {

constexpr const char* kNames[] = {"table", "json", "jsonc", "tsv", "yaml", "none"};

// JSON as DumpPretty writes it, with colours around keys and values.
void AppendColoured(std::string& out, const Json& value, size_t depth) {
  bool list = value.is_array();
  if ((list && !value.as_array().empty()) || (value.is_object() && !value.as_object().empty())) {
    size_t count = list ? value.as_array().size() : value.as_object().size();
    out += list ? "[\n" : "{\n";
    for (size_t i = 0; i < count; ++i) {
      out.append((depth + 1) * 2, ' ');
      if (!list) {
        out += Paint(Json(value.as_object()[i].first).Dump(), Colour::kBlue);
        out += ": ";
      }
      AppendColoured(out, list ? value.as_array()[i] : value.as_object()[i].second, depth + 1);
      out += i + 1 < count ? ",\n" : "\n";
    }
    out.append(depth * 2, ' ');
    out += list ? ']' : '}';
    return;
  }
  Colour colour = value.is_string() ? Colour::kGreen : value.is_number() ? Colour::kCyan : value.is_null() || value.is_bool() ? Colour::kYellow : Colour::kNone;
  out += Paint(value.Dump(), colour);
}

// One cell of a tsv row: what is no single value is told by its size, so that rows keep their columns.
void AppendTsvCell(std::string& out, const Json& value) {
  if (value.is_string()) {
    for (char c : value.as_string()) out += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
  } else if (value.is_null()) {
    out += "None";
  } else if (value.is_array()) {
    out += std::to_string(value.as_array().size());
  } else if (!value.is_object()) {
    out += value.Dump();
  }
}

void AppendTsvRow(std::string& out, const Json& row) {
  bool first = true;
  auto cell = [&](const Json& value) {
    if (!first) out += '\t';
    first = false;
    AppendTsvCell(out, value);
  };
  if (row.is_object()) {
    for (const Json::Member& member : row.as_object()) cell(member.second);
  } else if (row.is_array()) {
    for (const Json& item : row.as_array()) cell(item);
  } else {
    cell(row);
  }
  out += '\n';
}

std::string RenderTsv(const Json& value) {
  std::string out;
  if (value.is_null()) return out;
  if (value.is_string()) return value.as_string() + "\n";
  if (!value.is_array()) {
    AppendTsvRow(out, value);
    return out;
  }
  for (const Json& row : value.as_array()) AppendTsvRow(out, row);
  return out;
}

}  // namespace

const char* FormatName(Format format) { return kNames[static_cast<int>(format)]; }

std::optional<Format> FormatFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<Format>(i);
  return std::nullopt;
}

std::string Render(const Json& value, const OutputFormat& output) {
  switch (output.format) {
    case Format::kTable: return RenderTable(value, output);
    case Format::kJson: return value.DumpPretty();
    case Format::kJsonc: {
      if (!output.colour) return value.DumpPretty();
      std::string out;
      AppendColoured(out, value, 0);
      out += '\n';
      return out;
    }
    case Format::kTsv: return RenderTsv(value);
    case Format::kYaml: return RenderYaml(value);
    case Format::kNone: return {};
  }
  return {};
}

std::string Render(const Json& value, Format format, const Columns* columns, bool colour, int width) {
  OutputFormat output;
  output.format = format;
  output.columns = columns;
  output.colour = colour;
  output.width = width;
  return Render(value, output);
}

void AddLine(std::string& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out += name;
  out.append(name.size() < 14 ? 14 - name.size() : 1, ' ');
  out.append(value).append("\n");
}

}  // namespace ferry::cli
