// Who asks, and whether they may. Deny by default: a route without a row in the table does not exist.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/access.h"
#include "model/message.h"
#include "store/store.h"

namespace ferry::rest {

// The least that a route asks for. kNode is for agents alone.
enum class Need { kOpen, kReader, kContributor, kOwner, kNode };
const char* NeedName(Need need);

// How far the token of a run reaches on a route: not at all, its own run ({id}), or whatever is in the run's workspace.
enum class RunToken { kNever, kOwnRun, kWorkspace };
const char* RunTokenName(RunToken reach);

// Who a token stands for: a user with a role, a node's agent, or one attempt of a run, which acts as its run's user within its workspace.
struct Identity {
  enum class Kind { kNobody, kUser, kNode, kRun };
  Kind kind = Kind::kNobody;
  std::string user;
  model::Role role = model::Role::kReader;
  std::string node;
  model::AttemptKey attempt;
  std::string workspace;  // the only one it may touch; empty: any
};

// The one decision. `own_run` says that the request is about the run that a run token belongs to, or about none.
bool Allowed(const Identity& identity, Need need, RunToken reach, bool own_run);

// Tokens and users as last committed, and the tokens that are derived from the server's secret.
class Access {
 public:
  Access(store::Store& store, std::string secret) : store_(store), secret_(std::move(secret)) {}

  // Reads users and tokens anew. Any thread.
  Result<void> Reload();

  // kUnauthorized "auth.missing", "auth.unknown", "auth.expired" or "auth.revoked". Of a run token only the attempt is known here.
  Result<Identity> Identify(std::string_view authorization, Time now) const;
  // Nothing for a user that is not there.
  std::optional<model::Role> RoleOf(const std::string& user) const;

  std::string NodeToken(const std::string& node) const;
  std::string RunToken(const model::AttemptKey& key) const;

  // A secret that a user gave, as it may be kept.
  std::string Sealed(std::string_view text) const;
  // The secret again. kInternal "seal.broken".
  Result<std::string> Opened(std::string_view sealed) const;
  // The assignment as its node gets it: with the run's token, and with secrets opened. One that cannot be opened is left out.
  model::Assign Completed(model::Assign assign) const;

  // A new user token and its digest as it is kept.
  static std::string NewToken();
  static std::string DigestOf(std::string_view token);

 private:
  struct Known {
    model::Token token;
    model::Role role;
  };
  store::Store& store_;
  std::string secret_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Known> by_digest_;
  std::map<std::string, model::Role> roles_;
};

}  // namespace ferry::rest
