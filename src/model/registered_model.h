// The registry of models: what a run or a user has registered under a name and a version. Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace ferry::model {

struct ModelFile {
  std::string path;  // within the model: "model.pkl", "m/weights/0.bin"
  Digest digest;
  uint64_t size = 0;

  bool operator==(const ModelFile&) const = default;
};
Json ToJson(const ModelFile& file);

// Bounds of one version.
inline constexpr size_t kMaxModelFiles = 20'000;
inline constexpr size_t kMaxModelManifest = 4u << 20;

// The files as one text, a JSON object a line, ordered by path: what is kept beside the record.
std::string ModelManifest(std::vector<ModelFile> files);
Result<std::vector<ModelFile>> FilesOfManifest(std::string_view manifest);
// The file of that path, or nothing. Reads one line.
Result<std::optional<ModelFile>> FileOfManifest(std::string_view manifest, std::string_view path);

// What the model asks for where it is used. 0: not said.
struct ModelResources {
  double cpu = 0;
  double memory_in_gb = 0;
  int64_t gpu = 0;

  bool operator==(const ModelResources&) const = default;
};

// One version of a registered model.
struct RegisteredModel {
  std::string workspace;
  std::string name;
  int64_t version = 0;
  bool latest = false;  // no newer version is there
  std::string description;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> properties;  // never changed once given
  std::string framework;
  std::string framework_version;
  std::string run;  // that made it
  std::string experiment;
  std::vector<std::pair<std::string, std::string>> datasets;  // (scenario, dataset id)
  std::string sample_input_dataset;                           // dataset id
  std::string sample_output_dataset;                          // dataset id
  std::optional<ModelResources> resources;
  std::string manifest;  // digest of the blob that lists its files, hex
  int64_t file_count = 0;
  uint64_t size = 0;  // of all files
  std::string user;
  Time created;
  Time modified;

  bool operator==(const RegisteredModel&) const = default;
};
Json ToJson(const RegisteredModel& model);
RegisteredModel ModelFromJson(const Json& json);
// What clients see, without the list of files.
Json ModelView(const RegisteredModel& model);

}  // namespace ferry::model
