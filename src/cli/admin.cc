// Users, tokens and nodes.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"

namespace ferry::cli {
namespace {

// Shows all of /api/v1/<name>.
Result<int> ShowList(Context& context, const char* name, const Columns& columns) {
  TRY(Session * session, context.Server());
  TRY(Json rows, session->GetAll(ApiPath({name}), {}, name));
  if (context.ForPeople() && rows.as_array().empty()) context.Note(StrCat("no ", name));
  return context.Show(rows, &columns);
}

const Columns& UserColumns() {
  static const Columns columns = {{"USER", "name", Style::kPlain, Align::kLeft, true}, {"ROLE", "role"}, {"CREATED", "created", Style::kAgo}};
  return columns;
}

// "30d" as seconds. kInvalid "args.value".
Result<int64_t> ParsePeriod(const std::string& text) {
  static constexpr std::pair<char, int64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
  for (const auto& [unit, seconds] : kUnits) {
    if (text.empty() || text.back() != unit) continue;
    auto number = ParseInt(std::string_view(text).substr(0, text.size() - 1));
    if (number && *number > 0 && *number <= 100LL * 365 * 86400 / seconds) return *number * seconds;
  }
  return MakeError(Code::kInvalid, "args.value", StrCat("--expires is '", text, "'; expected a number with s, m, h, d or w behind it: 30d"), "token create");
}

Result<int> SayDone(Context& context, const Json& answer, const std::string& line) { return context.Tell(answer, StrCat(line, "\n")); }

}  // namespace

Result<int> AddUser(Context& context) {
  TRY(Session * session, context.Server());
  TRY(Json answer,
      session->Send("POST", "/api/v1/users", Json::MakeObject({{"name", context.arguments.Get("NAME")}, {"role", context.arguments.Get("role")}})));
  return context.Show(answer, &UserColumns());
}

Result<int> ListUsers(Context& context) { return ShowList(context, "users", UserColumns()); }

Result<int> RemoveUser(Context& context) {
  std::string name = context.arguments.Get("NAME");
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", ApiPath({"users", name})));
  return SayDone(context, answer, StrCat("removed ", name));
}

Result<int> CreateToken(Context& context) {
  Json request = Json::MakeObject();
  request.SetIf("user", context.arguments.Get("user")).SetIf("label", context.arguments.Get("label"));
  if (context.arguments.Has("expires")) {
    TRY(int64_t seconds, ParsePeriod(context.arguments.Get("expires")));
    request.Set("expires_in_seconds", seconds);
  }
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("POST", "/api/v1/tokens", request));
  if (!context.ForPeople()) return context.Show(answer);
  // The token alone on standard output, so that $(...) takes it.
  context.Note(StrCat("token ", answer.GetString("id"), ", shown this once:"));
  context.streams.out(StrCat(answer.GetString("token"), "\n"));
  return 0;
}

Result<int> ListTokens(Context& context) {
  static const Columns columns = {{"TOKEN", "id", Style::kPlain, Align::kLeft, true},
                                  {"USER", "user"},
                                  {"LABEL", "label"},
                                  {"CREATED", "created", Style::kAgo},
                                  {"EXPIRES", "expires", Style::kAgo},
                                  {"REVOKED", "revoked", Style::kAgo}};
  return ShowList(context, "tokens", columns);
}

Result<int> RevokeToken(Context& context) {
  std::string id = context.arguments.Get("ID");
  TRY(Session * session, context.Server());
  TRY(Json answer, session->Send("DELETE", ApiPath({"tokens", id})));
  return SayDone(context, answer, StrCat("revoked ", id));
}

Result<int> ListNodes(Context& context) {
  static const Columns columns = {{"NODE", "name", Style::kPlain, Align::kLeft, true},
                                  {"TARGET", "target"},
                                  {"CONNECTED", "connected"},
                                  {"SEEN", "last_seen", Style::kAgo},
                                  {"SLOTS", "slots", Style::kPlain, Align::kRight},
                                  {"GPUS", "gpus", Style::kPlain, Align::kRight},
                                  {"RUNNING", "running", Style::kPlain, Align::kRight}};
  return ShowList(context, "nodes", columns);
}

}  // namespace ferry::cli
