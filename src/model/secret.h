// A secret that a workspace keeps for its users and runs: a key vault's entry. Pure values.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace ferry::model {

struct Secret {
  std::string workspace;
  std::string name;
  std::string value;  // sealed
  std::string content_type;
  std::string user;  // who set it last
  Time created;
  Time changed;

  bool operator==(const Secret&) const = default;
};
// Whole, with the sealed value: for the store, never for clients.
Json ToJson(const Secret& secret);
Secret SecretFromJson(const Json& json);
// What clients see: name, content_type, user, created, changed.
Json SecretView(const Secret& secret);

// Letters, digits, '-' and '_', 1 to 127. kInvalid "secret.name".
Result<void> CheckSecretName(std::string_view name);

}  // namespace ferry::model
