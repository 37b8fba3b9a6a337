#include "model/asset.h"

#include "base/text.h"

namespace ferry::model {

Json ToJson(const AssetName& name) {
  return Json::MakeObject({{"workspace", name.workspace}, {"name", name.name}, {"first", name.first}, {"last", name.last}, {"latest", name.latest}});
}

AssetName AssetNameFromJson(const Json& json) {
  return {json.GetString("workspace"), json.GetString("name"), json.GetInt("first", 1), json.GetInt("last"), json.GetInt("latest")};
}

Result<AssetReference> ParseAssetReference(std::string_view name, std::string_view version) {
  auto read = [](std::string_view text) -> Result<int64_t> {
    if (text == "latest") return 0;
    auto number = ParseInt(text);
    if (number && *number >= 1) return *number;
    return MakeError(Code::kInvalid, "asset.version", StrCat("version is '", text.substr(0, 40), "'; expected a whole number from 1, or latest"), "version");
  };
  size_t colon = name.rfind(':');
  AssetReference reference{std::string(name.substr(0, colon)), 0};
  if (colon != std::string_view::npos) {
    TRY(reference.version, read(name.substr(colon + 1)));
  }
  if (version.empty()) return reference;
  TRY(int64_t asked, read(version));
  if (colon != std::string_view::npos && asked != reference.version)
    return MakeError(Code::kInvalid, "asset.version", StrCat("version is '", version.substr(0, 40), "' and the name is '", name.substr(0, 300), "'"),
                     "version");
  reference.version = asked;
  return reference;
}

}  // namespace ferry::model
