// The registry of datasets: where data lies and how it is read, by an id, and by name and version where it was registered. Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace ferry::model {

// A definition under an id. Never changed but for description, tags, and what becomes of it.
struct Dataset {
  std::string workspace;
  std::string id;       // in the form of a uuid
  std::string name;     // empty: it was never registered
  int64_t version = 0;  // of the name, which knows which of them are registered still
  bool latest = false;  // the newest that is registered
  std::string type;     // "File" or "Tabular"
  Json definition;      // {"paths", "read", "steps"}
  std::string hash;     // DatasetHash
  std::string description;
  std::map<std::string, std::string> tags;
  std::string user;
  Time created;
  Time modified;
  bool archived = false;
  std::string deprecated_by;  // id of the dataset to use instead

  bool operator==(const Dataset&) const = default;
};
Json ToJson(const Dataset& dataset);
Dataset DatasetFromJson(const Json& json);
// What clients see.
Json DatasetView(const Dataset& dataset);

// Of type and definition, whatever the order of keys.
std::string DatasetHash(std::string_view type, const Json& definition);
// The id of a definition without a name, and of a version of a name.
std::string DatasetId(std::string_view workspace, std::string_view hash);
std::string DatasetId(std::string_view workspace, std::string_view name, int64_t version);
bool IsDatasetId(std::string_view text);

// Letters, digits, '-', '_', '.' and single blanks, beginning with a letter or digit, at most 255. kInvalid "dataset.name".
Result<void> CheckDatasetName(std::string_view name);

// {"paths": [{"datastore", "path"} or {"url"}], "read": {...}, "steps": [...]}: the form of it and of every path; what `read` and `steps` say is the
// client's own. kInvalid or kTooLarge names the field. Returns the datastores that the paths name, each with the field that names it first.
Result<std::map<std::string, std::string>> CheckDatasetDefinition(const Json& definition);

}  // namespace ferry::model
