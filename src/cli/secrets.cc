// Secrets of a workspace. A value comes from standard input or a file and is printed only by `secret show`.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "os/file.h"
#include "os/terminal.h"

namespace ferry::cli {
namespace {

constexpr uint64_t kLongest = 64u << 10;

Result<std::string> SecretPath(const Context& context) {
  TRY(std::string workspace, context.Workspace());
  return ApiPath({"secrets", context.arguments.Get("NAME")}) + QueryText({{"workspace", workspace}});
}

}  // namespace

Result<std::string> ReadSecret(Context& context, const std::string& file) {
  std::string value;
  if (file.empty() || file == "-") {
    if (!context.streams.in) return MakeError(Code::kInvalid, "secret.input", "there is no standard input to read the value from", "--file");
    os::EchoOff quiet(0);
    if (os::IsTerminal(0)) context.Note("type the value, which is not shown, and end it with Ctrl-D at the beginning of a line");
    TRY(value, context.streams.in(kLongest + 2));
  } else {
    TRY(value, os::ReadFile(file, kLongest + 2));
  }
  // Editors and echo end the last line.
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  if (value.empty())
    return MakeError(Code::kInvalid, "secret.empty", StrCat(file.empty() || file == "-" ? "standard input" : file, " holds no value"), "--file");
  if (value.size() > kLongest) return MakeError(Code::kTooLarge, "secret.too_large", StrCat("the value has more than ", kLongest, " bytes"), "--file");
  return value;
}

Result<int> SetSecret(Context& context) {
  const std::string name = context.arguments.Get("NAME");
  TRY(std::string workspace, context.Workspace());
  TRY(std::string value, ReadSecret(context, context.arguments.Get("file")));
  Json request = Json::MakeObject({{"workspace", workspace}, {"value", std::move(value)}});
  request.SetIf("content_type", context.arguments.Get("content-type"));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("PUT", ApiPath({"secrets", name}), request));
  answer.Erase("value");
  return context.Tell(answer, StrCat("kept ", name, "\n"));
}

Result<int> ListSecrets(Context& context) {
  static const Columns columns = {{"SECRET", "name", Style::kPlain, Align::kLeft, true}, {"TYPE", "content_type"}, {"CREATED", "created", Style::kAgo}};
  TRY(std::string workspace, context.Workspace());
  TRY(Session * session, context.Server());
  TRY(Json secrets, session->GetAll("/api/v1/secrets", {{"workspace", workspace}}, "secrets"));
  if (context.ForPeople() && secrets.as_array().empty()) context.Note("no secrets");
  return context.Show(secrets, &columns);
}

Result<int> ShowSecret(Context& context) {
  TRY(std::string path, SecretPath(context));
  TRY(Session * session, context.Server());
  TRY(Json secret, session->Get(path));
  return context.Tell(secret, StrCat(secret.GetString("value"), "\n"));
}

Result<int> DeleteSecret(Context& context) {
  TRY(std::string path, SecretPath(context));
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", path));
  return context.Tell(answer, StrCat("deleted ", context.arguments.Get("NAME"), "\n"));
}

}  // namespace ferry::cli
