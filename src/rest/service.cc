#include "rest/service.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "engine/tables.h"
#include "rest/handlers.h"

namespace ferry::rest {

const std::vector<Route>& Routes() {
  constexpr uint64_t kSmall = 1u << 20, kReport = 64u << 20;
  static const std::vector<Route> routes = {
      {"GET", "/healthz", Need::kOpen, RunToken::kNever, 0, Health},
      {"GET", "/", Need::kOpen, RunToken::kNever, 0, Portal},
      {"GET", "/metrics", Need::kReader, RunToken::kNever, 0, Prometheus},
      {"GET", "/api/v1/version", Need::kReader, RunToken::kWorkspace, 0, Version},
      {"POST", "/api/v1/shutdown", Need::kOwner, RunToken::kNever, kSmall, ShutDown},

      {"POST", "/api/v1/runs", Need::kContributor, RunToken::kWorkspace, 8 * kSmall, SubmitRun},
      {"GET", "/api/v1/runs", Need::kReader, RunToken::kWorkspace, 0, ListRuns},
      {"GET", "/api/v1/events", Need::kReader, RunToken::kNever, 0, FollowRuns},
      {"GET", "/api/v1/runs/{id}", Need::kReader, RunToken::kWorkspace, 0, ShowRun},
      {"PATCH", "/api/v1/runs/{id}", Need::kContributor, RunToken::kWorkspace, kSmall, UpdateRun},
      {"POST", "/api/v1/runs/{id}/cancel", Need::kContributor, RunToken::kWorkspace, kSmall, CancelRun},
      {"POST", "/api/v1/runs/{id}/complete", Need::kContributor, RunToken::kWorkspace, kSmall, CompleteRun},
      {"POST", "/api/v1/runs/{id}/fail", Need::kContributor, RunToken::kWorkspace, kSmall, FailRun},
      {"POST", "/api/v1/runs/{id}/evict", Need::kContributor, RunToken::kOwnRun, kSmall, EvictRun},
      {"GET", "/api/v1/runs/{id}/explain", Need::kReader, RunToken::kWorkspace, 0, ExplainRun},
      {"POST", "/api/v1/runs/{id}/rerun", Need::kContributor, RunToken::kNever, kSmall, RerunRun},
      {"GET", "/api/v1/runs/{id}/lock", Need::kReader, RunToken::kWorkspace, 0, ShowLock},
      {"GET", "/api/v1/runs/{id}/events", Need::kReader, RunToken::kWorkspace, 0, FollowRun},
      {"GET", "/api/v1/runs/{id}/logs", Need::kReader, RunToken::kWorkspace, 0, ListLogs},
      {"GET", "/api/v1/runs/{id}/logs/{path...}", Need::kReader, RunToken::kWorkspace, 0, ReadLog},
      {"GET", "/api/v1/runs/{id}/metrics", Need::kReader, RunToken::kWorkspace, 0, ListMetrics},
      {"GET", "/api/v1/runs/{id}/metrics/{path...}", Need::kReader, RunToken::kWorkspace, 0, ReadMetric},
      {"POST", "/api/v1/runs/{id}/metrics", Need::kContributor, RunToken::kWorkspace, kReport, AddMetrics},
      {"GET", "/api/v1/runs/{id}/artifacts", Need::kReader, RunToken::kWorkspace, 0, ListArtifacts},
      {"GET", "/api/v1/runs/{id}/artifacts/{path...}", Need::kReader, RunToken::kWorkspace, 0, ReadArtifact},
      {"PUT", "/api/v1/runs/{id}/artifacts/{path...}", Need::kContributor, RunToken::kWorkspace, kSmall, AddArtifact},
      {"GET", "/api/v1/runs/{id}/definition", Need::kReader, RunToken::kWorkspace, 0, ShowDefinition},

      {"POST", "/api/v1/blobs/missing", Need::kContributor, RunToken::kWorkspace, kReport, MissingBlobs},
      {"POST", "/api/v1/blobs/pack", Need::kContributor, RunToken::kWorkspace, 0, nullptr, PackBlobs},
      {"POST", "/api/v1/blobs/fetch", Need::kReader, RunToken::kWorkspace, kReport, FetchBlobs},
      {"GET", "/api/v1/blobs/{digest}", Need::kReader, RunToken::kWorkspace, 0, ReadBlob},
      {"GET", "/api/v1/blobs/{digest}/parts", Need::kContributor, RunToken::kWorkspace, 0, PartialBlob},
      {"PUT", "/api/v1/blobs/{digest}/parts", Need::kContributor, RunToken::kWorkspace, 0, nullptr, AddBlobPart},
      {"POST", "/api/v1/blobs/{digest}/finish", Need::kContributor, RunToken::kWorkspace, kSmall, FinishBlob},

      {"GET", "/api/v1/workspaces", Need::kReader, RunToken::kWorkspace, 0, ListWorkspaces},
      {"POST", "/api/v1/workspaces", Need::kOwner, RunToken::kNever, kSmall, AddWorkspace},
      {"GET", "/api/v1/workspaces/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowWorkspace},
      {"PATCH", "/api/v1/workspaces/{name}", Need::kOwner, RunToken::kNever, kSmall, UpdateWorkspace},
      {"DELETE", "/api/v1/workspaces/{name}", Need::kOwner, RunToken::kNever, 0, DeleteWorkspace},
      {"GET", "/api/v1/experiments", Need::kReader, RunToken::kWorkspace, 0, ListExperiments},
      {"POST", "/api/v1/experiments", Need::kContributor, RunToken::kWorkspace, kSmall, AddExperiment},
      {"GET", "/api/v1/experiments/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowExperiment},
      {"PATCH", "/api/v1/experiments/{name}", Need::kContributor, RunToken::kWorkspace, kSmall, UpdateExperiment},
      {"DELETE", "/api/v1/experiments/{name}", Need::kContributor, RunToken::kWorkspace, 0, DeleteExperiment},
      {"GET", "/api/v1/secrets", Need::kContributor, RunToken::kNever, 0, ListSecrets},
      {"PUT", "/api/v1/secrets/{name}", Need::kContributor, RunToken::kNever, kSmall, SetSecret},
      {"GET", "/api/v1/secrets/{name}", Need::kContributor, RunToken::kWorkspace, 0, ReadSecret},
      {"DELETE", "/api/v1/secrets/{name}", Need::kContributor, RunToken::kNever, 0, DeleteSecret},
      {"GET", "/api/v1/environments", Need::kReader, RunToken::kWorkspace, 0, ListEnvironments},
      {"GET", "/api/v1/environments/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowEnvironment},
      {"PUT", "/api/v1/environments/{name}", Need::kContributor, RunToken::kWorkspace, 8 * kSmall, RegisterEnvironment},
      {"DELETE", "/api/v1/environments/{name}", Need::kContributor, RunToken::kNever, 0, DeleteEnvironment},
      {"GET", "/api/v1/environments/{name}/versions", Need::kReader, RunToken::kWorkspace, 0, ListVersions},
      {"GET", "/api/v1/builds", Need::kReader, RunToken::kNever, 0, ListBuilds},
      {"GET", "/api/v1/builds/{key}", Need::kReader, RunToken::kNever, 0, ShowBuild},
      {"POST", "/api/v1/builds/prune", Need::kOwner, RunToken::kNever, kSmall, PruneBuilds},
      {"GET", "/api/v1/computetargets", Need::kReader, RunToken::kWorkspace, 0, ListTargets},
      {"POST", "/api/v1/computetargets", Need::kContributor, RunToken::kNever, kSmall, AddTarget},
      {"GET", "/api/v1/computetargets/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowTarget},
      {"PATCH", "/api/v1/computetargets/{name}", Need::kContributor, RunToken::kNever, kSmall, UpdateTarget},
      {"DELETE", "/api/v1/computetargets/{name}", Need::kContributor, RunToken::kNever, 0, DeleteTarget},
      {"GET", "/api/v1/computetargets/{name}/nodes", Need::kReader, RunToken::kWorkspace, 0, ListTargetNodes},
      {"GET", "/api/v1/computetargets/{name}/explain", Need::kReader, RunToken::kWorkspace, 0, ExplainTarget},
      {"POST", "/api/v1/computetargets/{name}/evict", Need::kContributor, RunToken::kNever, kSmall, EvictTarget},
      {"GET", "/api/v1/vmsizes", Need::kReader, RunToken::kWorkspace, 0, ListVmSizes},
      {"GET", "/api/v1/capabilities", Need::kReader, RunToken::kWorkspace, 0, ListCapabilities},
      {"GET", "/api/v1/cost", Need::kReader, RunToken::kNever, 0, ShowCost},
      {"GET", "/api/v1/nodes", Need::kReader, RunToken::kNever, 0, ListNodes},
      {"GET", "/api/v1/users", Need::kOwner, RunToken::kNever, 0, ListUsers},
      {"POST", "/api/v1/users", Need::kOwner, RunToken::kNever, kSmall, AddUser},
      {"DELETE", "/api/v1/users/{name}", Need::kOwner, RunToken::kNever, 0, RemoveUser},
      {"GET", "/api/v1/tokens", Need::kReader, RunToken::kNever, 0, ListTokens},
      {"POST", "/api/v1/tokens", Need::kReader, RunToken::kNever, kSmall, AddToken},
      {"DELETE", "/api/v1/tokens/{id}", Need::kReader, RunToken::kNever, 0, RevokeToken},

      {"GET", "/api/v1/models", Need::kReader, RunToken::kWorkspace, 0, ListModels},
      {"POST", "/api/v1/models", Need::kContributor, RunToken::kWorkspace, 8 * kSmall, RegisterModel},
      {"GET", "/api/v1/models/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowModel},
      {"PATCH", "/api/v1/models/{name}", Need::kContributor, RunToken::kWorkspace, kSmall, UpdateModel},
      {"DELETE", "/api/v1/models/{name}", Need::kContributor, RunToken::kWorkspace, 0, DeleteModel},
      {"GET", "/api/v1/models/{name}/files", Need::kReader, RunToken::kWorkspace, 0, ListModelFiles},
      {"GET", "/api/v1/models/{name}/files/{path...}", Need::kReader, RunToken::kWorkspace, 0, ReadModelFile},
      {"GET", "/api/v1/datasets", Need::kReader, RunToken::kWorkspace, 0, ListDatasets},
      {"POST", "/api/v1/datasets", Need::kContributor, RunToken::kWorkspace, kSmall, SaveDataset},
      {"GET", "/api/v1/datasets/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowDataset},
      {"PATCH", "/api/v1/datasets/{name}", Need::kContributor, RunToken::kWorkspace, kSmall, UpdateDataset},
      {"DELETE", "/api/v1/datasets/{name}", Need::kContributor, RunToken::kWorkspace, 0, UnregisterDataset},
      {"GET", "/api/v1/datasets/{name}/versions", Need::kReader, RunToken::kWorkspace, 0, ListDatasetVersions},
      {"GET", "/api/v1/datasets/by-id/{dataset}", Need::kReader, RunToken::kWorkspace, 0, ShowDatasetById},

      {"GET", "/api/v1/agent/commands", Need::kNode, RunToken::kNever, 0, AgentCommands},
      {"POST", "/api/v1/agent/hello", Need::kNode, RunToken::kNever, kReport, AgentHello},
      {"POST", "/api/v1/agent/report", Need::kNode, RunToken::kNever, kReport, AgentReport},
      {"GET", "/api/v1/agent/environments/{key}", Need::kNode, RunToken::kNever, 0, AgentShowBuild},
      {"POST", "/api/v1/agent/environments/{key}/build", Need::kNode, RunToken::kNever, kReport, AgentNoteBuild},
      {"POST", "/api/v1/agent/blobs/missing", Need::kNode, RunToken::kNever, kReport, MissingBlobs},
      {"POST", "/api/v1/agent/blobs/pack", Need::kNode, RunToken::kNever, 0, nullptr, PackBlobs},
      {"POST", "/api/v1/agent/blobs/fetch", Need::kNode, RunToken::kNever, kReport, FetchBlobs},
      {"GET", "/api/v1/agent/blobs/{digest}", Need::kNode, RunToken::kNever, 0, ReadBlob},
      {"GET", "/api/v1/agent/blobs/{digest}/parts", Need::kNode, RunToken::kNever, 0, PartialBlob},
      {"PUT", "/api/v1/agent/blobs/{digest}/parts", Need::kNode, RunToken::kNever, 0, nullptr, AddBlobPart},
      {"POST", "/api/v1/agent/blobs/{digest}/finish", Need::kNode, RunToken::kNever, kSmall, FinishBlob},
      {"GET", "/api/v1/datastores", Need::kReader, RunToken::kWorkspace, 0, ListDatastores},
      {"GET", "/api/v1/datastores/{name}", Need::kReader, RunToken::kWorkspace, 0, ShowDatastore},
      {"PUT", "/api/v1/datastores/{name}", Need::kContributor, RunToken::kNever, kSmall, RegisterDatastore},
      {"DELETE", "/api/v1/datastores/{name}", Need::kContributor, RunToken::kNever, 0, DeleteDatastore},
      {"POST", "/api/v1/datastores/{name}/default", Need::kContributor, RunToken::kNever, kSmall, SetDefaultDatastore},
      {"GET", "/api/v1/datastores/{name}/files", Need::kReader, RunToken::kWorkspace, 0, ListFiles},
      {"POST", "/api/v1/datastores/{name}/files", Need::kContributor, RunToken::kWorkspace, kReport, AddFiles},
      {"GET", "/api/v1/datastores/{name}/files/{path...}", Need::kReader, RunToken::kWorkspace, 0, ReadFile},
      {"PUT", "/api/v1/datastores/{name}/files/{path...}", Need::kContributor, RunToken::kWorkspace, 0, nullptr, WriteFile},

      {"POST", "/api/v1/agent/data/input", Need::kNode, RunToken::kNever, kSmall, AgentInput},
      {"GET", "/api/v1/agent/data/file", Need::kNode, RunToken::kNever, 0, AgentReadFile},
      {"PUT", "/api/v1/agent/data/file", Need::kNode, RunToken::kNever, 0, nullptr, AgentWriteFile},
      {"POST", "/api/v1/agent/data/output", Need::kNode, RunToken::kNever, kReport, AgentOutput},
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

Error NoSuchRun(const std::string& id) { return MakeError(Code::kNotFound, "run.not_found", StrCat("there is no run '", id.substr(0, 300), "'"), "run"); }

}  // namespace

Result<void> Service::ActAsUser(Identity& identity) const {
  // A run token dies with its attempt.
  auto owner = parts_.engine.OwnerOf(identity.attempt);
  if (!owner) return MakeError(Code::kUnauthorized, "auth.run_ended", "the run that this token belonged to has ended");
  auto role = parts_.access.RoleOf(owner->user);
  if (!role) return MakeError(Code::kUnauthorized, "auth.unknown", StrCat("user '", owner->user, "' of this token's run is no longer known to this server"));
  identity.user = owner->user;
  identity.workspace = owner->workspace;
  identity.role = std::min(*role, model::Role::kContributor);
  return {};
}

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
      const bool is_run = call.identity.kind == Identity::Kind::kRun;
      if (is_run)
        if (auto live = ActAsUser(call.identity); !live.ok()) return ErrorResponse(live.error());
      bool own_run = is_run && (!call.params.count("id") || call.params["id"] == call.identity.attempt.run);
      if (!Allowed(call.identity, route.need, route.run_token, own_run))
        return ErrorResponse(MakeError(
            Code::kForbidden, "auth.forbidden",
            StrCat(route.method, " ", route.path,
                   is_run && route.run_token != RunToken::kWorkspace ? " is not for the token of a run" : StrCat(" needs the role ", NeedName(route.need)),
                   call.identity.user.empty() ? std::string() : StrCat("; '", call.identity.user, "' is ", model::RoleName(call.identity.role)))));
      // A run of another workspace is not there for whom is bound to one.
      if (!call.identity.workspace.empty() && !own_run && std::string_view(route.path).starts_with("/api/v1/runs/{id}")) {
        auto run = LoadRun(parts_, call.params["id"]);
        if (run.ok() && run->workspace != call.identity.workspace) run = NoSuchRun(call.params["id"]);
        if (!run.ok()) return ErrorResponse(run.error());
      }
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
  if (!document) return NoSuchRun(id);
  return engine::RunFromDocument(*document);
}

}  // namespace ferry::rest
