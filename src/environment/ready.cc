#include "environment/builder.h"

namespace ferry::environment {

Json ToJson(const Ready& ready) {
  Json json = Json::MakeObject();
  json.SetIf("folder", ready.folder).SetIf("interpreter", ready.interpreter);
  json.Set("path", ready.path).Set("variables", ready.variables);
  json.SetIf("image", ready.image).Set("lock", model::ToJson(ready.lock));
  return json;
}

Result<Ready> ReadyFromJson(const Json& json) {
  const Json* lock = json.Find("lock");
  if (!lock) return MakeError(Code::kInvalid, "environment.ready", "this is no record of an environment: it has no lock", "lock");
  Ready ready;
  ready.folder = json.GetString("folder");
  ready.interpreter = json.GetString("interpreter");
  ready.path = json.GetStrings("path");
  ready.variables = json.GetStringMap("variables");
  ready.image = json.GetString("image");
  TRY(ready.lock, model::LockFromJson(*lock));
  return ready;
}

}  // namespace ferry::environment
