// The handlers that Routes() names, by noun. Each is one request; see service.h for the frame.
#pragma once

#include "model/datastore.h"
#include "model/registry.h"
#include "rest/service.h"

namespace ferry::rest {

#define FERRY_HANDLER(name) void name(const Parts& parts, Call call, http::Responder responder)

// admin.cc
FERRY_HANDLER(Health);
FERRY_HANDLER(Portal);
FERRY_HANDLER(Prometheus);
FERRY_HANDLER(Version);
FERRY_HANDLER(ShutDown);
FERRY_HANDLER(ListNodes);
FERRY_HANDLER(ListUsers);
FERRY_HANDLER(AddUser);
FERRY_HANDLER(RemoveUser);
FERRY_HANDLER(ListTokens);
FERRY_HANDLER(AddToken);
FERRY_HANDLER(RevokeToken);
// workspaces.cc
FERRY_HANDLER(ListWorkspaces);
FERRY_HANDLER(AddWorkspace);
FERRY_HANDLER(ShowWorkspace);
FERRY_HANDLER(UpdateWorkspace);
FERRY_HANDLER(DeleteWorkspace);
FERRY_HANDLER(ListExperiments);
FERRY_HANDLER(AddExperiment);
FERRY_HANDLER(ShowExperiment);
FERRY_HANDLER(UpdateExperiment);
FERRY_HANDLER(DeleteExperiment);
// secrets.cc
FERRY_HANDLER(ListSecrets);
FERRY_HANDLER(SetSecret);
FERRY_HANDLER(ReadSecret);
FERRY_HANDLER(DeleteSecret);
// runs.cc
FERRY_HANDLER(SubmitRun);
FERRY_HANDLER(ListRuns);
FERRY_HANDLER(ShowRun);
FERRY_HANDLER(ShowDefinition);
FERRY_HANDLER(ExplainRun);
FERRY_HANDLER(RerunRun);
FERRY_HANDLER(ShowLock);
// run_changes.cc
FERRY_HANDLER(UpdateRun);
FERRY_HANDLER(AddArtifact);
FERRY_HANDLER(CancelRun);
FERRY_HANDLER(EvictRun);
FERRY_HANDLER(CompleteRun);
FERRY_HANDLER(FailRun);
// logs.cc
FERRY_HANDLER(FollowRuns);
FERRY_HANDLER(FollowRun);
FERRY_HANDLER(ListLogs);
FERRY_HANDLER(ReadLog);
// metrics.cc
FERRY_HANDLER(ListMetrics);
FERRY_HANDLER(ReadMetric);
FERRY_HANDLER(AddMetrics);
// blobs.cc
FERRY_HANDLER(ListArtifacts);
FERRY_HANDLER(ReadArtifact);
FERRY_HANDLER(MissingBlobs);
FERRY_HANDLER(FetchBlobs);
FERRY_HANDLER(ReadBlob);
FERRY_HANDLER(PartialBlob);
FERRY_HANDLER(FinishBlob);
std::unique_ptr<http::BodySink> PackBlobs(const Parts& parts, const Call& call);
std::unique_ptr<http::BodySink> AddBlobPart(const Parts& parts, const Call& call);
// environments.cc
FERRY_HANDLER(ListEnvironments);
FERRY_HANDLER(ShowEnvironment);
FERRY_HANDLER(ListVersions);
FERRY_HANDLER(RegisterEnvironment);
FERRY_HANDLER(DeleteEnvironment);
FERRY_HANDLER(ListBuilds);
FERRY_HANDLER(ShowBuild);
FERRY_HANDLER(PruneBuilds);
FERRY_HANDLER(AgentShowBuild);
FERRY_HANDLER(AgentNoteBuild);
// models.cc
FERRY_HANDLER(ListModels);
FERRY_HANDLER(RegisterModel);
FERRY_HANDLER(ShowModel);
FERRY_HANDLER(UpdateModel);
FERRY_HANDLER(DeleteModel);
FERRY_HANDLER(ListModelFiles);
FERRY_HANDLER(ReadModelFile);
// datasets.cc
FERRY_HANDLER(ListDatasets);
FERRY_HANDLER(SaveDataset);
FERRY_HANDLER(ShowDataset);
FERRY_HANDLER(ShowDatasetById);
FERRY_HANDLER(ListDatasetVersions);
FERRY_HANDLER(UpdateDataset);
FERRY_HANDLER(UnregisterDataset);
// datastores.cc
FERRY_HANDLER(ListDatastores);
FERRY_HANDLER(ShowDatastore);
FERRY_HANDLER(RegisterDatastore);
FERRY_HANDLER(DeleteDatastore);
FERRY_HANDLER(SetDefaultDatastore);
// files.cc
FERRY_HANDLER(ListFiles);
FERRY_HANDLER(ReadFile);
FERRY_HANDLER(AddFiles);
std::unique_ptr<http::BodySink> WriteFile(const Parts& parts, const Call& call);
// agent_data.cc
FERRY_HANDLER(AgentInput);
FERRY_HANDLER(AgentReadFile);
FERRY_HANDLER(AgentOutput);
std::unique_ptr<http::BodySink> AgentWriteFile(const Parts& parts, const Call& call);
// compute.cc
FERRY_HANDLER(ListTargets);
FERRY_HANDLER(AddTarget);
FERRY_HANDLER(ShowTarget);
FERRY_HANDLER(UpdateTarget);
FERRY_HANDLER(DeleteTarget);
FERRY_HANDLER(ListTargetNodes);
FERRY_HANDLER(ExplainTarget);
FERRY_HANDLER(EvictTarget);
FERRY_HANDLER(ListVmSizes);
FERRY_HANDLER(ListCapabilities);
FERRY_HANDLER(ShowCost);
// agents.cc
FERRY_HANDLER(AgentCommands);
FERRY_HANDLER(AgentHello);
FERRY_HANDLER(AgentReport);

#undef FERRY_HANDLER

// Members of a request. kInvalid or kTooLarge names the field.
Result<std::map<std::string, std::string>> StringMap(const Json& body, std::string_view key, size_t max_items, size_t max_value);
Result<std::vector<std::string>> Texts(const Json& body, std::string_view key);
// Nothing but these members. kInvalid "field.unknown".
Result<void> CheckKnown(const Json& body, std::string_view what, const std::vector<std::string>& known);
// A text; nothing when it is absent, "" when it is null.
Result<std::optional<std::string>> MaybeText(const Json& body, std::string_view key, size_t longest);
Result<std::string> TextOf(const Json& body, std::string_view key, size_t longest);
// true or false; false when it is absent.
Result<bool> FlagOf(const Json& body, std::string_view key);

// The document, or nothing.
Result<std::optional<Json>> Stored(const Parts& parts, const char* table, const std::string& key);
// Conditions of `parameter`, which may be repeated: NAME (there is one of that kind) or NAME=VALUE.
std::vector<store::Condition> AttributeConditions(const Call& call, std::string_view parameter, const char* kind);
// A page of what the query finds, as `limit` and `cursor` ask for it and no larger than is good for an answer: {NAME: [...], "next"}.
Result<Json> ListAssets(const Parts& parts, const Call& call, const char* name, store::Query query, Json (*view)(const Json& stored));

// Keeps a small content and returns its digest, hex. REQUIRES: at most blob::kMaxPacked bytes.
Result<std::string> KeepBytes(const Parts& parts, std::string_view bytes);
// Answers with a blob, or the range of it that was asked for; `name` is for whoever saves it.
void SendBlob(const Parts& parts, const Call& call, const http::Responder& responder, const Digest& digest, const std::string& name);

// kNotFound "dataset.not_found" unless the workspace has a dataset of that id. kInvalid for what is no id.
Result<void> CheckDatasetThere(const Parts& parts, const std::string& workspace, const std::string& id, const std::string& field);

// The blob of a snapshot is here. kInvalid "run.snapshot" or kNotFound "snapshot.not_found".
Result<void> CheckSnapshot(const Parts& parts, const std::string& id);

// An artifact as it is kept, for clients.
Json ArtifactView(Json artifact);

// The cluster that a run to 'amlcompute' brings along. kInvalid names the field.
Result<model::TargetRecord> ClusterOfRun(const Json& body, const model::Run& run);

// A registered or curated environment, and for a name that stands for another the name asked for and what it really contains.
struct FoundEnvironment {
  model::EnvironmentRecord record;
  std::string alias;
  std::string note;
};
// kNotFound "environment.not_found".
Result<FoundEnvironment> FindEnvironment(const Parts& parts, const std::string& workspace, const model::EnvironmentReference& reference,
                                         std::string_view field);
// Replaces the registry's password in a definition as a user gave it. Before anything else is done with it.
void SealPassword(const Parts& parts, Json& definition);
// A definition that a request holds as `field`.
Result<model::Environment> DefinitionFromRequest(const Parts& parts, const Json& json, std::string_view field);
// Keeps a lock and returns its digest; the lock of a digest.
Result<std::string> KeepLock(const Parts& parts, const Json& lock);
Result<Json> ReadLock(const Parts& parts, const std::string& hex);

// kNotFound "datastore.not_found" names those that are there.
Result<model::Datastore> FindDatastore(const Parts& parts, const std::string& workspace, const std::string& name, std::string_view field);
// The files of a datastore as it is kept: opens its secret. May block.
Result<std::shared_ptr<data::FileStore>> FilesOf(const Parts& parts, model::Datastore datastore);
// What a store gave, and with it the store for as long.
template <typename T>
std::shared_ptr<T> Holding(std::unique_ptr<T> given, std::shared_ptr<data::FileStore> store) {
  T* raw = given.release();
  return std::shared_ptr<T>(raw, [store = std::move(store)](T* held) { delete held; });
}
// Sends a file of a store, or the range that was asked for. May block.
void SendFile(const Parts& parts, const Call& call, const http::Responder& responder, const Result<std::shared_ptr<data::FileStore>>& files,
              const std::string& path);
// A list of {path, digest, size} whose contents are here, as files of the datastore. kInvalid, kTooLarge or kConflict names the entry.
Result<engine::AddFiles> FilesFromRequest(const Parts& parts, const model::Datastore& datastore, const Json* list);
// Data inputs and outputs of a submission.
Result<void> SetData(const Parts& parts, const Json& body, model::Run& run);
// Answers on a thread that may wait.
void AnswerLater(const Parts& parts, const http::Responder& responder, std::function<Result<Json>()> work, int status = 200);

// Sends what the reader has, or the range that was asked for. `etag` and `name` (of the file) may be empty. With `workers` the reader may block.
void SendBytes(const Call& call, const http::Responder& responder, std::shared_ptr<blob::Reader> reader, const std::string& etag, const std::string& name,
               Workers* workers);

// The searchable summaries of a run's metrics, as the engine keeps them.
std::vector<store::Attribute> MetricAttributes(const std::vector<series::Summary>& summaries);
// A record that a script logged, as a batch of points; nothing when it is no metric. kInvalid names the field.
Result<std::optional<series::Batch>> BatchFromRecord(const std::string& run, const Json& record, Time now);

}  // namespace ferry::rest
