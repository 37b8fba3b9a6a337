// The registry of environments: definitions under names and versions, what was built of them, and which archives may go. Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/environment.h"

namespace ferry::model {

// One version of a registered environment. Never changed but for `deleted` and a newer password; its number is never given again.
struct EnvironmentRecord {
  std::string workspace;
  std::string name;
  int64_t version = 0;
  Environment definition;  // with a sealed password
  std::string hash;        // DefinitionHash(definition)
  std::string key;         // BuildKey(definition)
  std::string description;
  std::map<std::string, std::string> tags;
  std::string user;
  Time created;
  bool deleted = false;
};
Json ToJson(const EnvironmentRecord& record);
Result<EnvironmentRecord> EnvironmentRecordFromJson(const Json& json);
// What clients see, without the password.
Json EnvironmentView(const EnvironmentRecord& record);

// What is known of all versions of a name: enough to tell that a definition is unchanged.
struct EnvironmentName {
  std::string workspace;
  std::string name;
  int64_t last = 0;    // the number given last
  int64_t latest = 0;  // the newest version that is not deleted; 0: none
  std::string hash;    // of the latest
  std::string key;     // of the latest
  std::string description;
  Time changed;
};
Json ToJson(const EnvironmentName& name);
EnvironmentName EnvironmentNameFromJson(const Json& json);

// What was made of a build key on a platform: what exactly is in it, and the bytes of it where they are kept.
struct BuildRecord {
  std::string key;
  std::string platform = "linux-64";
  std::string kind;     // of its lock: "venv", "conda" or "image"
  std::string lock;     // digest of the lock's blob, hex
  std::string archive;  // digest of the blob that holds it as built; empty: none is kept
  uint64_t size = 0;    // of the archive
  std::string path;     // the folder that it was built at
  std::string node;     // that built it
  double seconds = 0;   // that the build took
  Time built;
  Time used;

  bool operator==(const BuildRecord&) const = default;
};
Json ToJson(const BuildRecord& build);
BuildRecord BuildFromJson(const Json& json);

// Letters, digits, '-', '_', '.' and single blanks, beginning with a letter or digit. kInvalid "WHAT.name".
Result<void> CheckSpacedName(std::string_view what, std::string_view name, size_t longest, std::string_view field);
// Names that users give, as above; those that begin as Ferry's own do are "environment.reserved".
Result<void> CheckEnvironmentName(std::string_view name, std::string_view field);
bool IsReservedEnvironmentName(std::string_view name);
// The name under which a definition without one is registered.
std::string EnvironmentNameOfExperiment(std::string_view experiment);

// "NAME", "NAME@latest", "NAME@3", "NAME:3", each with or without "azureml:" before it.
struct EnvironmentReference {
  std::string name;
  int64_t version = 0;  // 0: the latest
};
Result<EnvironmentReference> ParseEnvironmentReference(std::string_view text, std::string_view field);

// When archives go.
struct PruneRule {
  Duration older_than{0};   // not used for longer than this; 0: whatever their age
  int64_t keep_bytes = -1;  // the least recently used go until the rest fits; -1: whatever their size
};
// Which of the builds lose their archives, the least recently used first. Never one whose key is in use; never one that has none.
std::vector<BuildRecord> ChoosePrune(std::vector<BuildRecord> builds, const PruneRule& rule, const std::set<std::string>& in_use, Time now);

}  // namespace ferry::model
