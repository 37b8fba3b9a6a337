// The entities as documents of the store: table specifications and the way from a value to its row. Nothing here decides anything.
#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "model/access.h"
#include "model/asset.h"
#include "model/dataset.h"
#include "model/datastore.h"
#include "model/registered_model.h"
#include "model/registry.h"
#include "model/run.h"
#include "model/secret.h"
#include "model/target.h"
#include "store/store.h"

namespace ferry::engine {

// A file that a run produced, as the server keeps it.
struct Artifact {
  std::string run;
  std::string path;  // "outputs/model.pkl"
  Digest digest;
  uint64_t size = 0;
  Time time;
};
Json ToJson(const Artifact& artifact);
Result<Artifact> ArtifactFromJson(const Json& json);

const std::vector<store::TableSpec>& Tables();

// `everything` rewrites tags, properties and parameters too; without it only the document and its columns change.
store::Put PutRun(const model::Run& run, bool everything);
store::Put PutArtifact(const Artifact& artifact);
store::Put PutUser(const model::User& user);
store::Put PutToken(const model::Token& token);
store::Put PutWorkspace(const model::Workspace& workspace);
store::Put PutExperiment(const model::Experiment& experiment);
store::Put PutTarget(const model::TargetRecord& target);
store::Put PutNode(const model::NodeRecord& node);
store::Put PutUsage(const model::NodeUsage& usage);
store::Put PutEnvironment(const model::EnvironmentRecord& environment);
store::Put PutEnvironmentName(const model::EnvironmentName& name);
store::Put PutBuild(const model::BuildRecord& build);
// `everything` rewrites what it is found by too: tags, properties, datasets.
store::Put PutModel(const model::RegisteredModel& model, bool everything);
store::Put PutModelName(const model::AssetName& name);
store::Put PutDataset(const model::Dataset& dataset, bool everything);
store::Put PutDatasetName(const model::AssetName& name);
store::Put PutSecret(const model::Secret& secret);
store::Put PutDatastore(const model::Datastore& datastore);
store::Put PutFile(const model::FileRecord& file);
std::string DatastoreKey(const std::string& workspace, const std::string& name);
// Files of a datastore lie in the order of their paths.
std::string FileKey(const std::string& workspace, const std::string& datastore, const std::string& path);
std::string ExperimentKey(const std::string& workspace, const std::string& name);
// Versions of a name lie in their order.
std::string EnvironmentKey(const std::string& workspace, const std::string& name, int64_t version);
std::string EnvironmentNameKey(const std::string& workspace, const std::string& name);
std::string ModelKey(const std::string& workspace, const std::string& name, int64_t version);
std::string DatasetKey(const std::string& workspace, const std::string& id);
// Of a model, a dataset or a datastore.
std::string AssetNameKey(const std::string& workspace, const std::string& name);
std::string SecretKey(const std::string& workspace, const std::string& name);
std::string PlatformKey(const std::string& key, const std::string& platform);

// The run in a document.
Result<model::Run> RunFromDocument(const store::Document& document);

}  // namespace ferry::engine
