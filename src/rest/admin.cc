// Everything about the server itself: health, metrics, nodes, users, tokens.
#include "base/text.h"
#include "rest/documents.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

auto Later(http::Responder responder, int status = 200) {
  return [responder, status](Result<Json> result) { Answer(responder, result.ok() ? Result<Json>(TimesAsText(*result, {"created"})) : result, status); };
}

}  // namespace

void Health(const Parts& parts, Call, http::Responder responder) { Answer(responder, Json::MakeObject({{"status", "ok"}, {"version", parts.version}})); }

void Portal(const Parts& parts, Call, http::Responder responder) {
  std::string page = StrCat(
      "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>Ferry</title>"
      "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:10vh auto;padding:0 1rem;color:#1b1f24;background:#fff}"
      "code{background:#f1f3f5;padding:.1em "
      ".35em;border-radius:4px}@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14171a}code{background:#22272c}}</style>"
      "<h1>Ferry ",
      parts.version,
      " is running</h1><p>The portal is not part of this version yet. The same facts are at hand on the command line:</p>"
      "<p><code>ferry run list</code><br><code>ferry run show -r RUN</code><br><code>ferry run monitor-logs -r RUN</code></p>");
  responder.Send({200,
                  {{"content-type", "text/html; charset=utf-8"},
                   {"content-security-policy", "default-src 'none'; style-src 'unsafe-inline'"},
                   {"x-content-type-options", "nosniff"}},
                  std::move(page)});
}

void Version(const Parts& parts, Call call, http::Responder responder) {
  Answer(responder,
         Json::MakeObject(
             {{"version", parts.version}, {"protocol", model::kProtocol}, {"user", call.identity.user}, {"role", model::RoleName(call.identity.role)}}));
}

void ShutDown(const Parts& parts, Call, http::Responder responder) {
  Answer(responder, Json::MakeObject({{"stopping", true}}));
  parts.shutdown();
}

void Prometheus(const Parts& parts, Call, http::Responder responder) {
  std::string out;
  auto add = [&](const char* name, const char* type, const char* help, auto value) {
    out += StrCat("# HELP ferry_", name, " ", help, "\n# TYPE ferry_", name, " ", type, "\nferry_", name, " ", value, "\n");
  };
  auto counts = parts.engine.counts();
  add("engine_inputs_total", "counter", "Inputs that the engine has applied.", counts.inputs);
  add("engine_commits_total", "counter", "Batches that the engine has committed.", counts.commits);
  add("engine_failed_commits_total", "counter", "Batches that could not be committed.", counts.failed_commits);
  add("engine_waiting_inputs", "gauge", "Inputs waiting for the engine.", counts.queued);
  add("runs_live", "gauge", "Runs that have not ended.", counts.live);
  add("followers", "gauge", "Open event streams.", parts.feed.followers());
  if (auto groups = parts.store.Count({"run", {}, {{"", "key"}, false}, {}, 1}, "status"); groups.ok()) {
    out += "# HELP ferry_runs Runs by status.\n# TYPE ferry_runs gauge\n";
    for (const auto& [value, count] : *groups)
      if (auto* status = std::get_if<std::string>(&value)) out += StrCat("ferry_runs{status=\"", *status, "\"} ", count, "\n");
  }
  responder.Send({200, {{"content-type", "text/plain; version=0.0.4"}}, std::move(out)});
}

void ListNodes(const Parts& parts, Call, http::Responder responder) {
  Json nodes = Json::MakeArray();
  parts.engine.Look([&](const engine::Core& core) {
    std::map<std::string, int> running;
    for (const auto& [id, run] : core.live())
      if (const model::Lease* lease = model::LeaseOf(run.attempt().phase)) ++running[lease->node];
    for (const auto& [name, node] : core.nodes()) {
      Json item = model::ToJson(node.record);
      item.Set("open", node.open).Set("last_seen", FormatTime(node.seen)).Set("running", running[name]);
      nodes.Push(std::move(item));
    }
  });
  for (Json& node : nodes.as_array()) node.Set("connected", parts.channels.Connected(node.GetString("name")));
  Answer(responder, Json::MakeObject({{"nodes", std::move(nodes)}}));
}

void ListUsers(const Parts& parts, Call call, http::Responder responder) {
  Answer(responder, ListTable(parts, call, "user", "users", {}, [](const Json& json) { return TimesAsText(json, {"created"}); }));
}

void AddUser(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  auto role = model::RoleFromName(body->GetString("role", "reader"));
  if (!role)
    return Answer(responder, MakeError(Code::kInvalid, "user.role",
                                       StrCat("role is '", body->GetString("role").substr(0, 40), "'; expected reader, contributor or owner"), "role"));
  // A role is changed by saying it, never by leaving it out.
  if (auto there = parts.store.Get("user", body->GetString("name")); !body->Find("role") && there.ok() && *there)
    return Answer(responder,
                  MakeError(Code::kConflict, "user.exists", StrCat("user '", body->GetString("name"), "' exists already; give a role to change it"), "name"));
  parts.engine.Do(engine::AddUser{{body->GetString("name"), *role, {}}}, Later(responder, 201));
}

void RemoveUser(const Parts& parts, Call call, http::Responder responder) { parts.engine.Do(engine::RemoveUser{call.params["name"]}, Later(responder)); }

void ListTokens(const Parts& parts, Call call, http::Responder responder) {
  // Owners see every token, others their own; nobody sees a digest.
  std::vector<store::Condition> where;
  if (call.identity.role != model::Role::kOwner) where.push_back({{"", "user"}, store::Op::kEq, {call.identity.user}});
  Answer(responder, ListTable(parts, call, "token", "tokens", std::move(where), [](const Json& json) {
           Json out = TimesAsText(json, {"created", "expires", "revoked"});
           out.Erase("digest");
           return out;
         }));
}

void AddToken(const Parts& parts, Call call, http::Responder responder) {
  auto body = BodyObject(call);
  if (!body.ok()) return Answer(responder, body.error());
  model::Token token;
  token.user = body->GetString("user", call.identity.user);
  if (token.user != call.identity.user && call.identity.role != model::Role::kOwner)
    return Answer(responder, MakeError(Code::kForbidden, "auth.forbidden", "only an owner makes tokens for others", "user"));
  int64_t seconds = body->GetInt("expires_in_seconds");
  if (seconds < 0 || seconds > 100LL * 365 * 86400)
    return Answer(responder, MakeError(Code::kInvalid, "token.expiry", "expires_in_seconds must be 0 (never) or more", "expires_in_seconds"));
  if (seconds) token.expires = Now() + std::chrono::seconds(seconds);
  token.label = body->GetString("label").substr(0, 255);
  token.id = RandomHex(6);
  std::string secret = Access::NewToken();
  token.digest = Access::DigestOf(secret);
  parts.engine.Do(engine::AddToken{std::move(token)}, [responder, secret](Result<Json> result) {
    if (result.ok()) result->Set("token", secret);
    Answer(responder, result, 201);
  });
}

void RevokeToken(const Parts& parts, Call call, http::Responder responder) {
  if (call.identity.role != model::Role::kOwner) {
    auto document = parts.store.Get("token", call.params["id"]);
    auto json = document.ok() && *document ? ParseJson((*document)->body) : Result<Json>(MakeError(Code::kNotFound, "token.not_found", "", ""));
    if (!json.ok() || json->GetString("user") != call.identity.user)
      return Answer(responder,
                    MakeError(Code::kNotFound, "token.not_found", StrCat("there is no token '", call.params["id"].substr(0, 80), "' of yours"), "id"));
  }
  parts.engine.Do(engine::RevokeToken{call.params["id"]}, Later(responder));
}

}  // namespace ferry::rest
