// What a command prints: a Json value as a table for people, or as json, jsonc, tsv or yaml for programs.
// Pure functions; safe from several threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace ferry::cli {

enum class Format { kTable, kJson, kJsonc, kTsv, kYaml, kNone };
// "table", "json", "jsonc", "tsv", "yaml", "none", and back.
const char* FormatName(Format format);
std::optional<Format> FormatFromName(std::string_view name);

// How a cell is written.
enum class Style {
  kPlain,     // text as it is, numbers with six digits, lists with commas, objects as key=value
  kAgo,       // a time: "12 s ago", "3 h ago", "in 5 m"; the date when it is longer ago than 30 days
  kTime,      // a time, local: "10:41:07" today, "11-15 10:41" this year, else "2025-11-15 10:41"
  kDuration,  // a number of seconds
  kBytes,     // a number of bytes
  kStatus,    // a run's or a node's status, coloured
};
enum class Align { kLeft, kRight };

// A column of a table.
struct Column {
  std::string header;
  // Keys from the row's object down to the value, with '.' between them.
  std::string path;
  Style style = Style::kPlain;
  Align align = Align::kLeft;
  // Never shortened: ids that are copied from the screen.
  bool whole = false;
};
using Columns = std::vector<Column>;

// How a value is to be printed.
struct OutputFormat {
  Format format = Format::kTable;
  // What a table shows. Null: the members that are no lists or objects, under their own names.
  const Columns* columns = nullptr;
  // Whether tables and jsonc carry colours.
  bool colour = false;
  // Columns of the terminal, to which tables are cut; 0: not cut.
  int width = 0;
  // What "12 s ago" counts from. Zero: the clock's time.
  Time now;
};

// The text to print, ending with a line end; empty for kNone and for a table or tsv without rows.
std::string Render(const Json& value, const OutputFormat& output);
std::string Render(const Json& value, Format format, const Columns* columns, bool colour, int width);

// One cell as a table shows it, without colour and on one line.
std::string RenderCell(const Json& value, Style style, Time now);

// One line of what `show` says: the name, and a value unless it is empty.
void AddLine(std::string& out, std::string_view name, const std::string& value);

}  // namespace ferry::cli
