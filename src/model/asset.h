// What the registries of models and datasets share: a name with numbered versions, and the way to say which is meant. Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace ferry::model {

// What is known of all versions of a name. A number is never given again.
struct AssetName {
  std::string workspace;
  std::string name;
  int64_t first = 1;   // no version before it is there any more
  int64_t last = 0;    // the number given last
  int64_t latest = 0;  // the newest version that is there; 0: none

  bool operator==(const AssetName&) const = default;
};
Json ToJson(const AssetName& name);
AssetName AssetNameFromJson(const Json& json);

struct AssetReference {
  std::string name;
  int64_t version = 0;  // 0: the latest
};
// `name` is NAME or NAME:VERSION, `version` a number, "latest" or "". kInvalid "asset.version" when they are none, or do not agree.
Result<AssetReference> ParseAssetReference(std::string_view name, std::string_view version);

}  // namespace ferry::model
