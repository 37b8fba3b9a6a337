#include "cli/context.h"

#include <cstdio>

#include "base/text.h"
#include "cli/azure.h"
#include "cli/colour.h"
#include "cli/commands.h"
#include "cli/query.h"
#include "os/file.h"

namespace ferry::cli {
namespace {

std::function<void(std::string_view)> WriterTo(std::FILE* file) {
  return [file](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  };
}

Result<std::string> ReadInput(uint64_t limit) {
  std::string all;
  os::Fd in(0);
  for (;;) {
    auto piece = os::ReadSome(in, 64u << 10);
    if (!piece.ok() || piece->empty() || all.size() + piece->size() > limit) {
      in.Release();
      if (!piece.ok()) return piece.error();
      if (piece->empty()) return all;
      return MakeError(Code::kTooLarge, "input.too_large", StrCat("standard input has more than ", limit, " bytes"));
    }
    all += *piece;
  }
}

// What to try after an error, or "".
std::string HintFor(const Error& error, std::string_view program) {
  if (error.slug.starts_with("args.")) return StrCat("see: ", program, " ", error.field, error.field.empty() ? "" : " ", "--help");
  if (error.code == Code::kUnauthorized) return "set FERRY_TOKEN (or FERRY_TOKEN_FILE) to a token made by: ferry token create";
  if (error.slug == "server.none") return "start one with: ferry server start, or set FERRY_URL";
  if (error.slug == "run.not_found") return "list runs with: ferry run list";
  return {};
}

}  // namespace

Streams Streams::Standard() { return {WriterTo(stdout), WriterTo(stderr), Terminal::Of(1), Terminal::Of(2), ReadInput}; }

Result<Session*> Context::Server() {
  if (session) return session.get();
  SessionSettings settings;
  settings.user_agent = StrCat("ferry/", hooks.version);
  settings.note = [this](std::string_view line) { Note(line); };
  if (arguments.Has("debug") || arguments.Has("verbose")) settings.debug = [this](std::string_view line) { streams.err(StrCat("ferry: ", line, "\n")); };
  TRY(session, Session::Open(std::move(settings)));
  return session.get();
}

Result<std::string> Context::Workspace() const {
  if (std::string name = arguments.Get("workspace-name"); !name.empty()) return name;
  TRY(FolderSettings settings, Folder());
  return settings.workspace.empty() ? std::string("default") : settings.workspace;
}

Result<FolderSettings> Context::Folder() const {
  TRY(FolderSettings settings, SettingsOfFolder(arguments.Get("path")));
  if (settings.workspace.empty() && arguments.Has("source-directory")) return SettingsOfFolder(arguments.Get("source-directory"));
  return settings;
}

Format Context::format() const {
  std::string name = arguments.Get("output");
  if (azure && !arguments.Has("output")) return Format::kJson;
  if (name == "yamlc") name = "yaml";
  return FormatFromName(name).value_or(Format::kTable);
}

Result<int> Context::Show(const Json& value, const Columns* columns, const Json* rows) {
  TRY_VOID(Record(value));
  OutputFormat output;
  output.format = format();
  output.colour = streams.out_terminal.colour;
  output.width = streams.out_terminal.width;
  if (arguments.Has("query")) {
    TRY(Query query, Query::Parse(arguments.Get("query")));
    TRY(Json selected, query.Apply(azure ? AzureShape(value, arguments.group) : value));
    streams.out(Render(selected, output));
    return 0;
  }
  output.columns = columns;
  if (output.format == Format::kTable)
    streams.out(Render(rows ? *rows : value, output));
  else
    streams.out(Render(azure ? AzureShape(value, arguments.group) : value, output));
  return 0;
}

Result<int> Context::Tell(const Json& value, std::string_view text) {
  if (!ForPeople()) return Show(value);
  TRY_VOID(Record(value));
  streams.out(text);
  return 0;
}

Result<void> Context::Record(const Json& value) const {
  if (!arguments.Has("output-metadata-file")) return {};
  return os::WriteFileAtomic(arguments.Get("output-metadata-file"), (azure ? AzureShape(value, arguments.group) : value).DumpPretty(), 0600, false);
}

void Context::Note(std::string_view line) const {
  if (quiet()) return;
  streams.err(streams.err_terminal.colour ? StrCat(Paint(line, Colour::kDim), "\n") : StrCat(line, "\n"));
}

int Context::Fail(const Error& error) const {
  const std::string who = azure ? "ERROR:" : "ferry:";
  std::string text = StrCat(streams.err_terminal.colour ? Paint(who, Colour::kRed) : who, " ", error.message, "\n");
  if (std::string hint = HintFor(error, azure ? "az ml" : "ferry"); !hint.empty() && !quiet()) text += StrCat("  ", hint, "\n");
  streams.err(text);
  return azure ? AzureStatus(error) : ExitStatus(error.code);
}

Result<std::map<std::string, std::string>> KeyValues(const std::vector<std::string>& texts, std::string_view option, bool bare) {
  std::map<std::string, std::string> out;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == 0 || text.empty() || (equals == std::string::npos && !bare))
      return MakeError(Code::kInvalid, "option.value", StrCat(option, " is '", text, "'; expected ", bare ? "KEY or KEY=VALUE" : "NAME=VALUE"),
                       std::string(option));
    out[text.substr(0, equals)] = equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  return out;
}

int RunCommand(const CommandTable& table, const std::vector<std::string>& words, Streams streams, const Hooks& hooks, bool azure) {
  Context context{{}, std::move(streams), hooks, nullptr, azure};
  auto arguments = ParseArguments(table, words);
  if (!arguments.ok()) return context.Fail(arguments.error());
  context.arguments = std::move(*arguments);
  const Command* command = context.arguments.command;
  if (!command || (context.arguments.help && !command->raw)) {
    context.streams.out(HelpText(table, context.arguments, context.streams.out_terminal.width));
    return 0;
  }
  // A --query that cannot be understood changes nothing.
  if (context.arguments.Has("query"))
    if (auto query = Query::Parse(context.arguments.Get("query")); !query.ok()) return context.Fail(query.error());
  auto status = command->handler(context);
  return status.ok() ? *status : context.Fail(status.error());
}

int RunCommand(const std::vector<std::string>& words, Streams streams, const Hooks& hooks) {
  std::vector<std::string> given = words;
  if (given.size() == 1 && given[0] == "--version") given[0] = "version";
  return RunCommand(Commands(), given, std::move(streams), hooks, false);
}

int Main(int argc, char** argv, const Hooks& hooks) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return RunCommand(words, Streams::Standard(), hooks);
}

}  // namespace ferry::cli
