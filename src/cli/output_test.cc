#include "cli/output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/width.h"
#include "cli/yaml.h"

namespace ferry::cli {
namespace {

Json Parsed(std::string_view text) { return std::move(ParseJson(text)).value(); }

const Time kNow = *ParseTime("2026-11-15T10:41:07Z");

std::string Table(std::string_view json, const Columns* columns = nullptr, int width = 0, bool colour = false) {
  return Render(Parsed(json), OutputFormat{Format::kTable, columns, colour, width, kNow});
}

class Output : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(Output, FormatsHaveNames) {
  for (Format format : {Format::kTable, Format::kJson, Format::kJsonc, Format::kTsv, Format::kYaml, Format::kNone})
    EXPECT_EQ(FormatFromName(FormatName(format)), format);
  EXPECT_EQ(FormatFromName("xml"), std::nullopt);
}

TEST_F(Output, TableOfChosenColumns) {
  Columns columns = {{"RUN", "id", Style::kPlain, Align::kLeft, true},     {"STATUS", "state.status", Style::kStatus},      {"STARTED", "start", Style::kAgo},
                     {"TOOK", "seconds", Style::kDuration, Align::kRight}, {"SIZE", "bytes", Style::kBytes, Align::kRight}, {"TAGS", "tags"}};
  const char* runs = R"([
    {"id": "exp_1", "state": {"status": "Completed"}, "start": "2026-11-15T10:41:00Z", "seconds": 3.21, "bytes": 1234567,
     "tags": {"a": "x", "b": null}},
    {"id": "exp_22", "state": {"status": "Failed"}, "start": "2026-11-15T07:00:00Z", "seconds": 4000, "bytes": 10},
    {"id": "exp_3", "start": null}])";
  EXPECT_EQ(Table(runs, &columns),
            "RUN     STATUS     STARTED      TOOK    SIZE  TAGS\n"
            "------  ---------  -------  --------  ------  ------\n"
            "exp_1   Completed  7 s ago     3.2 s  1.2 MB  a=x, b\n"
            "exp_22  Failed     3 h ago  1 h 06 m    10 B\n"
            "exp_3\n");
  EXPECT_EQ(Table("[]", &columns), "");
  EXPECT_EQ(Table("null", &columns), "");
  // A query has made something else of the rows: the chosen columns no longer apply.
  EXPECT_EQ(Table(R"(["a", "b"])", &columns), "Result\n------\na\nb\n");
}

TEST_F(Output, TableOfWhateverComes) {
  EXPECT_EQ(Table(R"([{"name": "a", "n": 1, "list": [1]}, {"name": "bb", "n": 22.5, "more": true}])"),
            "Name     N  More\n----  ----  ----\na        1\nbb    22.5  true\n");
  EXPECT_EQ(Table(R"({"name": "a", "n": 1})"), "Name  N\n----  -\na     1\n");
  EXPECT_EQ(Table(R"([["a", 1], ["b", {"x": 2}]])"), "Column1  Column2\n-------  -------\na        1\nb        x=2\n");
  EXPECT_EQ(Table("5"), "Result\n------\n     5\n");
  EXPECT_EQ(Table("[{}]"), "");
}

TEST_F(Output, TableIsCutToTheTerminal) {
  Columns columns = {{"ID", "id", Style::kPlain, Align::kLeft, true}, {"NAME", "name"}, {"MESSAGE", "message"}};
  const char* rows = R"([{"id": "0123456789", "name": "short", "message": "a message that is far too long for this terminal"}])";
  EXPECT_EQ(Table(rows, &columns, 40),
            "ID          NAME   MESSAGE\n"
            "----------  -----  ---------------------\n"
            "0123456789  short  a message that is fa…\n");
  // Two wide columns share what is there.
  EXPECT_EQ(Table(R"([{"a": "xxxxxxxxxxxxxxxxxxxx", "b": "yyyyyyyyyyyyyyyyyyyyyyyy"}])", nullptr, 22),
            "A           B\n----------  ----------\nxxxxxxxxx…  yyyyyyyyy…\n");
  // Narrower than the least: the line is longer rather than unreadable.
  EXPECT_EQ(Table(rows, &columns, 5), "ID          NAME   MESSA…\n----------  -----  ------\n0123456789  short  a mes…\n");
}

TEST_F(Output, TableCountsColumnsNotBytes) {
  EXPECT_EQ(Table(R"([{"a": "\u6f22\u5b57", "b": 1}, {"a": "\u00e9", "b": 2}, {"a": "e\u0301x", "b": 3}])"),
            "A     B\n----  -\n漢字  1\né     2\ne\u0301x    3\n");
  EXPECT_EQ(Shorten("漢字漢字", 4), "漢…");
  EXPECT_EQ(Shorten("漢字漢字", 5), "漢字…");
  EXPECT_EQ(Shorten("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(Shorten("ab", 1), "…");
  EXPECT_EQ(Shorten("ab", 0), "");
  EXPECT_EQ(DisplayWidth("a😀b"), 4);
}

TEST_F(Output, CellsCannotDriveTheTerminal) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[31md\x7f"), "a b c\uFFFD[31md\uFFFD");
  EXPECT_EQ(OneLine("\xff\xc3(\xe2\x82"), "\uFFFD\uFFFD(\uFFFD\uFFFD");
  EXPECT_EQ(OneLine("\u009b1m\u202e"), "\uFFFD1m\uFFFD");
  EXPECT_EQ(Table(R"([{"a": "x\u001b[2J"}])"), "A\n-----\nx\uFFFD[2J\n");
}

TEST_F(Output, Colours) {
  Columns columns = {{"STATUS", "s", Style::kStatus}, {"N", "n"}};
  EXPECT_EQ(Table(R"([{"s": "Failed", "n": 1}, {"s": "Odd", "n": 2}])", &columns, 0, true),
            "\x1b[1mSTATUS\x1b[0m  \x1b[1mN\x1b[0m\n\x1b[2m------  -\x1b[0m\n\x1b[31mFailed\x1b[0m  1\nOdd     2\n");
  EXPECT_EQ(Render(Parsed(R"({"a": [1, "x", null, {}]})"), Format::kJsonc, nullptr, true, 0),
            "{\n  \x1b[34m\"a\"\x1b[0m: [\n"
            "    \x1b[36m1\x1b[0m,\n    \x1b[32m\"x\"\x1b[0m,\n    \x1b[33mnull\x1b[0m,\n    {}\n  ]\n}\n");
  EXPECT_EQ(Render(Parsed(R"({"a": 1})"), Format::kJsonc, nullptr, false, 0), "{\n  \"a\": 1\n}\n");
}

TEST_F(Output, Cells) {
  auto cell = [](std::string_view json, Style style) { return RenderCell(Parsed(json), style, kNow); };
  EXPECT_EQ(cell(R"("2026-11-15T10:41:07Z")", Style::kAgo), "now");
  EXPECT_EQ(cell(R"("2026-11-15T10:39:07Z")", Style::kAgo), "2 m ago");
  EXPECT_EQ(cell(R"("2026-11-12T10:39:07Z")", Style::kAgo), "3 d ago");
  EXPECT_EQ(cell(R"("2026-11-15T10:46:08Z")", Style::kAgo), "in 5 m");
  EXPECT_EQ(cell(R"("2026-01-02T03:04:05Z")", Style::kAgo), "01-02 03:04");
  EXPECT_EQ(cell(R"("2026-11-15T01:02:03Z")", Style::kTime), "01:02:03");
  EXPECT_EQ(cell(R"("2026-11-14T01:02:03Z")", Style::kTime), "11-14 01:02");
  EXPECT_EQ(cell(R"("2025-11-14T01:02:03Z")", Style::kTime), "2025-11-14 01:02");
  EXPECT_EQ(cell(R"("soon")", Style::kTime), "soon");
  EXPECT_EQ(cell("0.25", Style::kDuration), "250 ms");
  EXPECT_EQ(cell("1e300", Style::kDuration), "277777777 h 46 m");
  EXPECT_EQ(cell("-1", Style::kBytes), "-1");
  EXPECT_EQ(cell("0.1234567891", Style::kPlain), "0.123457");
  EXPECT_EQ(cell("NaN", Style::kPlain), "nan");
  EXPECT_EQ(cell("12345678901", Style::kPlain), "12345678901");
  EXPECT_EQ(cell(R"(["a", {"b": 1}, null])", Style::kPlain), "a, b=1, ");
}

TEST_F(Output, Tsv) {
  auto tsv = [](std::string_view json) { return Render(Parsed(json), Format::kTsv, nullptr, true, 10); };
  EXPECT_EQ(tsv(R"([{"a": "x", "b": 1.5, "c": null, "d": true, "e": [1, 2], "f": {"g": 1}}, {"a": "t\tn\n"}])"), "x\t1.5\tNone\ttrue\t2\t\nt n \n");
  EXPECT_EQ(tsv(R"(["a", "b"])"), "a\nb\n");
  EXPECT_EQ(tsv(R"([["a", 1], ["b", 2]])"), "a\t1\nb\t2\n");
  EXPECT_EQ(tsv(R"({"a": 1, "b": "x"})"), "1\tx\n");
  EXPECT_EQ(tsv(R"("two\nlines")"), "two\nlines\n");
  EXPECT_EQ(tsv("7"), "7\n");
  EXPECT_EQ(tsv("null"), "");
  EXPECT_EQ(tsv("[]"), "");
}

TEST_F(Output, JsonAndNone) {
  EXPECT_EQ(Render(Parsed("[1]"), Format::kJson, nullptr, true, 1), "[\n  1\n]\n");
  EXPECT_EQ(Render(Parsed("[1]"), Format::kNone, nullptr, true, 1), "");
}

TEST_F(Output, YamlStructure) {
  EXPECT_EQ(RenderYaml(Parsed(R"({"a": 1, "b": {"c": [1, {"d": "x", "e": []}, [2, 3]], "f": {}}, "g": null, "h": true, "i": 1e30})")),
            "a: 1\n"
            "b:\n"
            "  c:\n"
            "  - 1\n"
            "  - d: x\n"
            "    e: []\n"
            "  - - 2\n"
            "    - 3\n"
            "  f: {}\n"
            "g: null\n"
            "h: true\n"
            "i: 1.0e+30\n");
  EXPECT_EQ(RenderYaml(Parsed("[]")), "[]\n");
  EXPECT_EQ(RenderYaml(Parsed("\"x\"")), "x\n");
  EXPECT_EQ(RenderYaml(Parsed("[NaN, -Infinity]")), "- .nan\n- -.inf\n");
}

TEST_F(Output, YamlStringsOfSeveralLines) {
  EXPECT_EQ(RenderYaml(Parsed(R"({"a": "x\ny", "b": "x\ny\n", "c": "x\n\n", "d": " x\ny", "e": ["x\n\ny\n"], "f": "\n"})")),
            "a: |-\n  x\n  y\n"
            "b: |\n  x\n  y\n"
            "c: |+\n  x\n\n"
            "d: |2-\n   x\n  y\n"
            "e:\n- |\n  x\n\n  y\n"
            "f: \"\\n\"\n");
  EXPECT_EQ(RenderYaml(Parsed(R"({"a": "x\r\ny"})")), "a: \"x\\r\\ny\"\n");
}

TEST_F(Output, YamlQuotesWhatMustBeQuoted) {
  for (const char* text : {"",
                           " a",
                           "a ",
                           "true",
                           "No",
                           "null",
                           "~",
                           "1",
                           "-1",
                           "+1",
                           "1.5",
                           ".5",
                           "1e3",
                           "0x1F",
                           "0o17",
                           "1_000",
                           "12:30",
                           "2026-11-15",
                           "2026-11-15T10:41:07Z",
                           ".inf",
                           "-.inf",
                           ".NaN",
                           "- a",
                           "-",
                           "--- a",
                           "? a",
                           ": a",
                           "a: b",
                           "a:",
                           "a #b",
                           "#a",
                           "*a",
                           "&a",
                           "!a",
                           "%a",
                           "@a",
                           "`a",
                           "'a",
                           "\"a",
                           "[a",
                           "{a",
                           "]",
                           "}",
                           ",",
                           "|",
                           ">",
                           "=",
                           "<<",
                           "y",
                           "off",
                           "a\tb",
                           "a\x1b"})
    EXPECT_FALSE(IsPlainYaml(text)) << text;
  for (const char* text :
       {"a", "a b", "a-b", "-a", "a:b", "a#b", "http://x:80/y", "exp_1_abc", "1a.g", "v1.2.3", "~a", "a'b", "a\"b", "/mnt/x", "é", "nothing", "a, b", "$X"})
    EXPECT_TRUE(IsPlainYaml(text)) << text;
  EXPECT_EQ(RenderYaml(Parsed(R"(["it's", "'", "1", "a\tb", "\u0007", "\u2028"])")), "- it's\n- ''''\n- '1'\n- \"a\\tb\"\n- \"\\x07\"\n- \"\\u2028\"\n");
}

}  // namespace
}  // namespace ferry::cli
