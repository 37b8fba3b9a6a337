// Commands about the program itself: versions, help, completion, and those that the binary brings along.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "model/message.h"

namespace ferry::cli {

Result<int> ShowVersion(Context& context) {
  Json version = Json::MakeObject({{"version", context.hooks.version}, {"protocol", model::kProtocol}, {"server", Json()}});
  // A server that does not run is no error and is not started for this.
  if (auto session = Session::OpenRunning({}); session.ok()) {
    auto answer = (*session)->Get("/api/v1/version");
    if (answer.ok()) {
      answer->Set("url", (*session)->url());
      version.Set("server", std::move(*answer));
    }
  }
  const Json& server = *version.Find("server");
  return context.Tell(
      version,
      StrCat("ferry ", context.hooks.version, "\n",
             server.is_null() ? std::string("no server runs") : StrCat("server ", server.GetString("version"), " at ", server.GetString("url")), "\n"));
}

Result<int> PrintCompletion(Context& context) {
  context.streams.out(CompletionScript(context.arguments.Get("SHELL")));
  return 0;
}

Result<int> CompleteWords(Context& context) {
  std::string out;
  for (const auto& [word, text] : Complete(Commands(), context.arguments.rest)) out += StrCat(word, text.empty() ? "" : "\t", text, "\n");
  context.streams.out(out);
  return 0;
}

Result<int> PrintHelp(Context& context) {
  if (context.arguments.Has("markdown")) {
    context.streams.out(ReferencePage(Commands()));
    return 0;
  }
  std::vector<std::string> words = context.arguments.rest;
  words.push_back("--help");
  TRY(Arguments asked, ParseArguments(Commands(), words));
  context.streams.out(HelpText(Commands(), asked, context.streams.out_terminal.width));
  return 0;
}

Result<int> RunServer(Context& context) {
  if (!context.hooks.server) return MakeError(Code::kInvalid, "program.no_server", "this ferry was built without a server");
  return context.hooks.server(context.arguments.rest);
}

Result<int> RunAgent(Context& context) {
  if (!context.hooks.agent) return MakeError(Code::kInvalid, "program.no_agent", "this ferry was built without an agent");
  return context.hooks.agent(context.arguments.rest);
}

}  // namespace ferry::cli
