#include "rest/service.h"

#include "base/text.h"
#include "base/utf8.h"
#include "engine/tables.h"
#include "rest/handlers.h"

namespace ferry::rest {

const std::vector<Route>& Routes() {
  constexpr uint64_t kSmall = 1u << 20, kReport = 64u << 20;
  static const std::vector<Route> routes = {
      {"GET", "/healthz", Need::kOpen, false, 0, Health},
      {"GET", "/", Need::kOpen, false, 0, Portal},
      {"GET", "/metrics", Need::kReader, false, 0, Prometheus},
      {"GET", "/api/v1/version", Need::kReader, true, 0, Version},
      {"POST", "/api/v1/shutdown", Need::kOwner, false, kSmall, ShutDown},

      {"POST", "/api/v1/runs", Need::kContributor, false, 8 * kSmall, SubmitRun},
      {"GET", "/api/v1/runs", Need::kReader, false, 0, ListRuns},
      {"GET", "/api/v1/events", Need::kReader, false, 0, FollowRuns},
      {"GET", "/api/v1/runs/{id}", Need::kReader, true, 0, ShowRun},
      {"PATCH", "/api/v1/runs/{id}", Need::kContributor, true, kSmall, UpdateRun},
      {"POST", "/api/v1/runs/{id}/cancel", Need::kContributor, false, kSmall, CancelRun},
      {"POST", "/api/v1/runs/{id}/evict", Need::kContributor, false, kSmall, EvictRun},
      {"GET", "/api/v1/runs/{id}/explain", Need::kReader, true, 0, ExplainRun},
      {"POST", "/api/v1/runs/{id}/rerun", Need::kContributor, false, kSmall, RerunRun},
      {"GET", "/api/v1/runs/{id}/lock", Need::kReader, true, 0, ShowLock},
      {"GET", "/api/v1/runs/{id}/events", Need::kReader, true, 0, FollowRun},
      {"GET", "/api/v1/runs/{id}/logs", Need::kReader, true, 0, ListLogs},
      {"GET", "/api/v1/runs/{id}/logs/{path...}", Need::kReader, true, 0, ReadLog},
      {"GET", "/api/v1/runs/{id}/metrics", Need::kReader, true, 0, ListMetrics},
      {"GET", "/api/v1/runs/{id}/metrics/{path...}", Need::kReader, true, 0, ReadMetric},
      {"POST", "/api/v1/runs/{id}/metrics", Need::kContributor, true, kReport, AddMetrics},
      {"GET", "/api/v1/runs/{id}/artifacts", Need::kReader, true, 0, ListArtifacts},
      {"GET", "/api/v1/runs/{id}/artifacts/{path...}", Need::kReader, true, 0, ReadArtifact},

      {"POST", "/api/v1/blobs/missing", Need::kContributor, false, kReport, MissingBlobs},
      {"POST", "/api/v1/blobs/pack", Need::kContributor, false, 0, nullptr, PackBlobs},
      {"POST", "/api/v1/blobs/fetch", Need::kReader, false, kReport, FetchBlobs},
      {"GET", "/api/v1/blobs/{digest}", Need::kReader, false, 0, ReadBlob},
      {"GET", "/api/v1/blobs/{digest}/parts", Need::kContributor, false, 0, PartialBlob},
      {"PUT", "/api/v1/blobs/{digest}/parts", Need::kContributor, false, 0, nullptr, AddBlobPart},
      {"POST", "/api/v1/blobs/{digest}/finish", Need::kContributor, false, kSmall, FinishBlob},

      {"GET", "/api/v1/workspaces", Need::kReader, false, 0, ListWorkspaces},
      {"POST", "/api/v1/workspaces", Need::kOwner, false, kSmall, AddWorkspace},
      {"GET", "/api/v1/workspaces/{name}", Need::kReader, false, 0, ShowWorkspace},
      {"GET", "/api/v1/experiments", Need::kReader, false, 0, ListExperiments},
      {"POST", "/api/v1/experiments", Need::kContributor, false, kSmall, AddExperiment},
      {"GET", "/api/v1/experiments/{name}", Need::kReader, false, 0, ShowExperiment},
      {"GET", "/api/v1/environments", Need::kReader, false, 0, ListEnvironments},
      {"GET", "/api/v1/environments/{name}", Need::kReader, false, 0, ShowEnvironment},
      {"PUT", "/api/v1/environments/{name}", Need::kContributor, false, 8 * kSmall, RegisterEnvironment},
      {"DELETE", "/api/v1/environments/{name}", Need::kContributor, false, 0, DeleteEnvironment},
      {"GET", "/api/v1/environments/{name}/versions", Need::kReader, false, 0, ListVersions},
      {"GET", "/api/v1/builds", Need::kReader, false, 0, ListBuilds},
      {"GET", "/api/v1/builds/{key}", Need::kReader, false, 0, ShowBuild},
      {"POST", "/api/v1/builds/prune", Need::kOwner, false, kSmall, PruneBuilds},
      {"GET", "/api/v1/datastores", Need::kReader, false, 0, ListDatastores},
      {"GET", "/api/v1/datastores/{name}", Need::kReader, false, 0, ShowDatastore},
      {"PUT", "/api/v1/datastores/{name}", Need::kContributor, false, kSmall, RegisterDatastore},
      {"DELETE", "/api/v1/datastores/{name}", Need::kContributor, false, 0, DeleteDatastore},
      {"POST", "/api/v1/datastores/{name}/default", Need::kContributor, false, kSmall, SetDefaultDatastore},
      {"GET", "/api/v1/datastores/{name}/files", Need::kReader, false, 0, ListFiles},
      {"POST", "/api/v1/datastores/{name}/files", Need::kContributor, false, kReport, AddFiles},
      {"GET", "/api/v1/datastores/{name}/files/{path...}", Need::kReader, false, 0, ReadFile},
      {"PUT", "/api/v1/datastores/{name}/files/{path...}", Need::kContributor, false, 0, nullptr, WriteFile},
      {"GET", "/api/v1/nodes", Need::kReader, false, 0, ListNodes},
      {"GET", "/api/v1/users", Need::kOwner, false, 0, ListUsers},
      {"POST", "/api/v1/users", Need::kOwner, false, kSmall, AddUser},
      {"DELETE", "/api/v1/users/{name}", Need::kOwner, false, 0, RemoveUser},
      {"GET", "/api/v1/tokens", Need::kReader, false, 0, ListTokens},
      {"POST", "/api/v1/tokens", Need::kReader, false, kSmall, AddToken},
      {"DELETE", "/api/v1/tokens/{id}", Need::kReader, false, 0, RevokeToken},

      {"GET", "/api/v1/agent/commands", Need::kNode, false, 0, AgentCommands},
      {"POST", "/api/v1/agent/hello", Need::kNode, false, kReport, AgentHello},
      {"POST", "/api/v1/agent/report", Need::kNode, false, kReport, AgentReport},
      {"GET", "/api/v1/agent/environments/{key}", Need::kNode, false, 0, AgentShowBuild},
      {"POST", "/api/v1/agent/environments/{key}/build", Need::kNode, false, kReport, AgentNoteBuild},
      {"POST", "/api/v1/agent/data/input", Need::kNode, false, kSmall, AgentInput},
      {"GET", "/api/v1/agent/data/file", Need::kNode, false, 0, AgentReadFile},
      {"PUT", "/api/v1/agent/data/file", Need::kNode, false, 0, nullptr, AgentWriteFile},
      {"POST", "/api/v1/agent/data/output", Need::kNode, false, kReport, AgentOutput},
      {"POST", "/api/v1/agent/blobs/missing", Need::kNode, false, kReport, MissingBlobs},
      {"POST", "/api/v1/agent/blobs/pack", Need::kNode, false, 0, nullptr, PackBlobs},
      {"POST", "/api/v1/agent/blobs/fetch", Need::kNode, false, kReport, FetchBlobs},
      {"GET", "/api/v1/agent/blobs/{digest}", Need::kNode, false, 0, ReadBlob},
      {"GET", "/api/v1/agent/blobs/{digest}/parts", Need::kNode, false, 0, PartialBlob},
      {"PUT", "/api/v1/agent/blobs/{digest}/parts", Need::kNode, false, 0, nullptr, AddBlobPart},
      {"POST", "/api/v1/agent/blobs/{digest}/finish", Need::kNode, false, kSmall, FinishBlob},
  };
  return routes;
}

namespace {

// Whether the path has the route's form; fills the parameters.
bool Match(std::string_view pattern, const std::vector<std::string_view>& parts, std::map<std::string, std::string>& params, bool& bad_escape) {
  auto wanted = Split(pattern, '/');
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool rest = wanted[i].ends_with("...}");
    if (rest) {
      if (i >= parts.size()) return false;
      std::string all;
      for (size_t j = i; j < parts.size(); ++j) {
        auto decoded = DecodePercent(parts[j]);
        if (!decoded) return bad_escape = true, false;
        all += (j > i ? "/" : "") + *decoded;
      }
      params[std::string(wanted[i].substr(1, wanted[i].size() - 5))] = std::move(all);
      return true;
    }
    if (i >= parts.size()) return false;
    if (!wanted[i].empty() && wanted[i][0] == '{') {
      auto decoded = DecodePercent(parts[i]);
      if (!decoded) return bad_escape = true, false;
      if (decoded->empty()) return false;
      params[std::string(wanted[i].substr(1, wanted[i].size() - 2))] = std::move(*decoded);
    } else if (wanted[i] != parts[i]) {
      return false;
    }
  }
  return parts.size() == wanted.size();
}

}  // namespace

std::variant<std::pair<const Route*, Call>, http::Response> Service::Resolve(const http::Head& head) {
  auto parts = Split(head.path, '/');
  std::string allowed;
  bool bad_escape = false;
  for (const Route& route : Routes()) {
    Call call;
    if (!Match(route.path, parts, call.params, bad_escape)) continue;
    if (head.method != route.method && !(head.method == "HEAD" && std::string_view(route.method) == "GET")) {
      allowed += StrCat(allowed.empty() ? "" : ", ", route.method);
      continue;
    }
    if (route.need != Need::kOpen) {
      auto identity = parts_.access.Identify(head.Header("authorization"), Now());
      if (!identity.ok()) return ErrorResponse(identity.error());
      call.identity = std::move(*identity);
      bool own_run =
          route.run_token && call.identity.kind == Identity::Kind::kRun && (!call.params.count("id") || call.params["id"] == call.identity.attempt.run);
      // A run token dies with its attempt.
      if (call.identity.kind == Identity::Kind::kRun && !parts_.engine.LeaseFor(call.identity.attempt))
        return ErrorResponse(MakeError(Code::kUnauthorized, "auth.run_ended", "the run that this token belonged to has ended"));
      if (!Allowed(call.identity, route.need, own_run))
        return ErrorResponse(
            MakeError(Code::kForbidden, "auth.forbidden",
                      StrCat(route.method, " ", route.path, " needs the role ", NeedName(route.need),
                             call.identity.kind == Identity::Kind::kUser ? StrCat("; '", call.identity.user, "' is ", model::RoleName(call.identity.role))
                                                                         : std::string())));
    }
    call.head = head;
    return std::make_pair(&route, std::move(call));
  }
  if (bad_escape) return ErrorResponse(MakeError(Code::kInvalid, "path.malformed", "the path has a broken percent escape"));
  if (!allowed.empty()) {
    auto response = ErrorResponse(MakeError(Code::kInvalid, "method.not_allowed", StrCat(head.method, " is not possible here; possible: ", allowed)));
    response.status = 405;
    response.headers.emplace_back("allow", allowed);
    return response;
  }
  return ErrorResponse(MakeError(Code::kNotFound, "route.not_found", StrCat("there is nothing at ", head.path.substr(0, 200))));
}

std::variant<http::Buffered, std::unique_ptr<http::BodySink>, http::Response> Service::Admit(const http::Head& head) {
  ++counters_.requests;
  auto resolved = Resolve(head);
  if (auto* refused = std::get_if<http::Response>(&resolved)) {
    ++counters_.refused;
    return std::move(*refused);
  }
  auto& [route, call] = std::get<0>(resolved);
  if (route->sink) return route->sink(parts_, call);
  return http::Buffered{route->body_limit};
}

void Service::Handle(http::Head head, std::string body, http::Responder responder) {
  auto resolved = Resolve(head);
  if (auto* refused = std::get_if<http::Response>(&resolved)) return responder.Send(std::move(*refused));
  auto& [route, call] = std::get<0>(resolved);
  call.body = std::move(body);
  route->handler(parts_, std::move(call), std::move(responder));
}

http::Response JsonResponse(int status, const Json& json) {
  return {status, {{"content-type", "application/json"}, {"cache-control", "no-store"}, {"ferry-protocol", StrCat(model::kProtocol)}}, json.Dump()};
}

http::Response ErrorResponse(const Error& error) {
  Json inner = Json::MakeObject({{"code", CodeName(error.code)}, {"slug", error.slug}, {"message", error.message}});
  inner.SetIf("field", error.field);
  http::Response response = JsonResponse(HttpStatus(error.code), Json::MakeObject({{"error", std::move(inner)}}));
  if (error.code == Code::kUnauthorized) response.headers.emplace_back("www-authenticate", "Bearer realm=\"ferry\"");
  return response;
}

void Answer(const http::Responder& responder, const Result<Json>& result, int status) {
  responder.Send(result.ok() ? JsonResponse(status, *result) : ErrorResponse(result.error()));
}

Result<Json> BodyObject(const Call& call) {
  // Agents send log bytes as they are; whatever else comes in must be text for those who read it later.
  if (call.identity.kind != Identity::Kind::kNode && !IsUtf8(call.body)) return MakeError(Code::kInvalid, "body.not_utf8", "the request body is not UTF-8");
  TRY(Json json, ParseJson(call.body.empty() ? "{}" : std::string_view(call.body), "the request body"));
  if (!json.is_object()) return MakeError(Code::kInvalid, "body.not_object", StrCat("the request body must be an object, not ", json.TypeName()));
  return json;
}

Result<int64_t> IntParameter(const Call& call, std::string_view name, int64_t other, int64_t low, int64_t high) {
  std::string text = call.head.Query(name);
  if (text.empty()) return other;
  auto value = ParseInt(text);
  if (!value || *value < low || *value > high)
    return MakeError(Code::kInvalid, "parameter.invalid", StrCat(name, " is '", text.substr(0, 40), "'; expected a whole number from ", low, " to ", high),
                     std::string(name));
  return *value;
}

Result<std::string> WorkspaceOf(const Call& call, std::string_view given) {
  const std::string& bound = call.identity.workspace;
  std::string name(!given.empty() ? given : !bound.empty() ? std::string_view(bound) : "default");
  TRY_VOID(model::CheckName("workspace", name, 32));
  if (!bound.empty() && name != bound)
    return MakeError(Code::kForbidden, "auth.workspace", StrCat("this token is good for workspace '", bound, "' alone"), "workspace");
  return name;
}

Result<model::Run> LoadRun(const Parts& parts, const std::string& id) {
  TRY(auto document, parts.store.Get("run", id));
  if (!document) return MakeError(Code::kNotFound, "run.not_found", StrCat("there is no run '", id.substr(0, 300), "'"), "run");
  return engine::RunFromDocument(*document);
}

}  // namespace ferry::rest
