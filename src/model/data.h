// What a run reads and writes beside its snapshot: inputs and outputs on datastores, as values. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ferry::model {

// A file, a folder or a glob of a datastore; or an address on the web.
struct DataPath {
  std::string datastore;
  std::string path;  // without a '/' at its ends; empty: everything
  std::string url;   // instead of both

  bool operator==(const DataPath&) const = default;
};

enum class DataMode { kMount, kDownload, kDirect, kUpload };
const char* DataModeName(DataMode mode);

struct DataInput {
  std::vector<DataPath> paths;
  DataMode mode = DataMode::kMount;  // kMount, kDownload, or kDirect: nothing is staged, the script gets the dataset's id
  std::string path_on_compute;       // relative to the working folder, or below a temporary folder; empty: wherever the node likes
  std::string environment_variable;  // that shall hold the path too
  bool overwrite = false;            // what the snapshot has at path_on_compute gives way
  std::string dataset;               // id, when it is one

  bool operator==(const DataInput&) const = default;
};

// The dataset that an output becomes.
struct DataRegistration {
  std::string name;
  std::string description;
  std::map<std::string, std::string> tags;

  bool operator==(const DataRegistration&) const = default;
};

struct DataOutput {
  std::string datastore;
  std::string path;                   // a folder; `{run-id}` and `{output-name}` are filled in
  DataMode mode = DataMode::kUpload;  // or kMount: it goes to the datastore at the end all the same
  std::string path_on_compute;
  bool overwrite = false;
  std::vector<std::string> globs;  // of files below the folder; empty: all
  std::optional<DataRegistration> registration;

  bool operator==(const DataOutput&) const = default;
};

// What a node did for an input or an output.
struct DataUse {
  std::string name;
  std::string how;   // "linked", "downloaded", "direct" or "uploaded"
  std::string path;  // on the node, as the script saw it
  int64_t files = 0;
  int64_t bytes = 0;
  std::string note;  // what the user is to know: why a mount is a copy

  bool operator==(const DataUse&) const = default;
};

Json ToJson(const DataInput& input);
Json ToJson(const DataOutput& output);
Json ToJson(const DataUse& use);
Json ToJson(const std::map<std::string, DataInput>& inputs);
Json ToJson(const std::map<std::string, DataOutput>& outputs);
DataUse DataUseFromJson(const Json& json);
bool IsDataHow(std::string_view how);

// Strict, for what users send: kInvalid or kTooLarge names the field below "data" and "outputs". Whether datastores are there is the caller's to ask. A
// datastore that is not named is `default_datastore`.
Result<std::map<std::string, DataInput>> DataInputsFromJson(const Json& json, const std::string& default_datastore);
Result<std::map<std::string, DataOutput>> DataOutputsFromJson(const Json& json, const std::string& default_datastore);

// `*` and `?` within a part of a path, `**` over parts.
bool IsGlob(std::string_view path);
bool MatchesGlob(std::string_view glob, std::string_view path);
// The longest folder in front of the first part that is a glob, without a '/' at its end; the whole path when none is.
std::string FolderOfGlob(std::string_view path);
// The longest folder that holds both.
std::string CommonFolder(std::string_view a, std::string_view b);

// The output's folder in its datastore, for this run.
std::string FilledPath(const DataOutput& output, std::string_view name, std::string_view run);

// The text with `DatasetConsumptionConfig:NAME`, `DatasetOutputConfig:NAME` and `$AZUREML_DATAREFERENCE_NAME` (with braces or without) replaced by the value of
// NAME. A name that is not there stays as it is, and is the result of UnknownData.
std::string SubstituteData(std::string_view text, const std::map<std::string, std::string>& values);
// The first `DatasetConsumptionConfig:NAME` or `DatasetOutputConfig:NAME` whose NAME is not among `values`, or "".
std::string UnknownData(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace ferry::model
