// The table of route x identity, written out a second time: whoever changes who may do what changes it here too.
#include "rest/access.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "engine/tables.h"
#include "rest/service.h"
#include "store/memory/memory_store.h"

namespace ferry::rest {
namespace {

using model::Role;

// One letter for each who may: n(obody), r(eader), c(ontributor), o(wner), a(gent of a node), s(cript, by the token of this very run), w(orkspace: by the
// token of any of its runs, whose user may what the route needs).
const std::map<std::string, std::string> kExpected = {
    {"GET /healthz", "nrcoasw"},
    {"GET /", "nrcoasw"},
    {"GET /metrics", "rco"},
    {"GET /api/v1/version", "rcosw"},
    {"POST /api/v1/shutdown", "o"},
    {"POST /api/v1/runs", "cosw"},
    {"GET /api/v1/runs", "rcosw"},
    {"GET /api/v1/events", "rco"},
    {"GET /api/v1/runs/{id}", "rcosw"},
    {"PATCH /api/v1/runs/{id}", "cosw"},
    {"POST /api/v1/runs/{id}/cancel", "cosw"},
    {"POST /api/v1/runs/{id}/complete", "cosw"},
    {"POST /api/v1/runs/{id}/fail", "cosw"},
    {"POST /api/v1/runs/{id}/evict", "cos"},
    {"GET /api/v1/runs/{id}/explain", "rcosw"},
    {"POST /api/v1/runs/{id}/rerun", "co"},
    {"GET /api/v1/runs/{id}/lock", "rcosw"},
    {"GET /api/v1/runs/{id}/events", "rcosw"},
    {"GET /api/v1/runs/{id}/logs", "rcosw"},
    {"GET /api/v1/runs/{id}/logs/{path...}", "rcosw"},
    {"GET /api/v1/runs/{id}/metrics", "rcosw"},
    {"GET /api/v1/runs/{id}/metrics/{path...}", "rcosw"},
    {"POST /api/v1/runs/{id}/metrics", "cosw"},
    {"GET /api/v1/runs/{id}/artifacts", "rcosw"},
    {"GET /api/v1/runs/{id}/artifacts/{path...}", "rcosw"},
    {"PUT /api/v1/runs/{id}/artifacts/{path...}", "cosw"},
    {"GET /api/v1/runs/{id}/definition", "rcosw"},
    {"POST /api/v1/blobs/missing", "cosw"},
    {"POST /api/v1/blobs/pack", "cosw"},
    {"POST /api/v1/blobs/fetch", "rcosw"},
    {"GET /api/v1/blobs/{digest}", "rcosw"},
    {"GET /api/v1/blobs/{digest}/parts", "cosw"},
    {"PUT /api/v1/blobs/{digest}/parts", "cosw"},
    {"POST /api/v1/blobs/{digest}/finish", "cosw"},
    {"GET /api/v1/workspaces", "rcosw"},
    {"POST /api/v1/workspaces", "o"},
    {"GET /api/v1/workspaces/{name}", "rcosw"},
    {"PATCH /api/v1/workspaces/{name}", "o"},
    {"DELETE /api/v1/workspaces/{name}", "o"},
    {"GET /api/v1/experiments", "rcosw"},
    {"POST /api/v1/experiments", "cosw"},
    {"GET /api/v1/experiments/{name}", "rcosw"},
    {"PATCH /api/v1/experiments/{name}", "cosw"},
    {"DELETE /api/v1/experiments/{name}", "cosw"},
    {"GET /api/v1/secrets", "co"},
    {"PUT /api/v1/secrets/{name}", "co"},
    {"GET /api/v1/secrets/{name}", "cosw"},
    {"DELETE /api/v1/secrets/{name}", "co"},
    {"GET /api/v1/environments", "rcosw"},
    {"GET /api/v1/environments/{name}", "rcosw"},
    {"PUT /api/v1/environments/{name}", "cosw"},
    {"DELETE /api/v1/environments/{name}", "co"},
    {"GET /api/v1/environments/{name}/versions", "rcosw"},
    {"GET /api/v1/builds", "rco"},
    {"GET /api/v1/builds/{key}", "rco"},
    {"POST /api/v1/builds/prune", "o"},
    {"GET /api/v1/datastores", "rcosw"},
    {"GET /api/v1/datastores/{name}", "rcosw"},
    {"PUT /api/v1/datastores/{name}", "co"},
    {"DELETE /api/v1/datastores/{name}", "co"},
    {"POST /api/v1/datastores/{name}/default", "co"},
    {"GET /api/v1/datastores/{name}/files", "rcosw"},
    {"POST /api/v1/datastores/{name}/files", "cosw"},
    {"GET /api/v1/datastores/{name}/files/{path...}", "rcosw"},
    {"PUT /api/v1/datastores/{name}/files/{path...}", "cosw"},
    {"GET /api/v1/computetargets", "rcosw"},
    {"POST /api/v1/computetargets", "co"},
    {"GET /api/v1/computetargets/{name}", "rcosw"},
    {"PATCH /api/v1/computetargets/{name}", "co"},
    {"DELETE /api/v1/computetargets/{name}", "co"},
    {"GET /api/v1/computetargets/{name}/nodes", "rcosw"},
    {"GET /api/v1/computetargets/{name}/explain", "rcosw"},
    {"POST /api/v1/computetargets/{name}/evict", "co"},
    {"GET /api/v1/vmsizes", "rcosw"},
    {"GET /api/v1/capabilities", "rcosw"},
    {"GET /api/v1/cost", "rco"},
    {"GET /api/v1/nodes", "rco"},
    {"GET /api/v1/users", "o"},
    {"POST /api/v1/users", "o"},
    {"DELETE /api/v1/users/{name}", "o"},
    {"GET /api/v1/tokens", "rco"},
    {"POST /api/v1/tokens", "rco"},
    {"DELETE /api/v1/tokens/{id}", "rco"},
    {"GET /api/v1/models", "rcosw"},
    {"POST /api/v1/models", "cosw"},
    {"GET /api/v1/models/{name}", "rcosw"},
    {"PATCH /api/v1/models/{name}", "cosw"},
    {"DELETE /api/v1/models/{name}", "cosw"},
    {"GET /api/v1/models/{name}/files", "rcosw"},
    {"GET /api/v1/models/{name}/files/{path...}", "rcosw"},
    {"GET /api/v1/datasets", "rcosw"},
    {"POST /api/v1/datasets", "cosw"},
    {"GET /api/v1/datasets/{name}", "rcosw"},
    {"PATCH /api/v1/datasets/{name}", "cosw"},
    {"DELETE /api/v1/datasets/{name}", "cosw"},
    {"GET /api/v1/datasets/{name}/versions", "rcosw"},
    {"GET /api/v1/datasets/by-id/{dataset}", "rcosw"},
    {"GET /api/v1/agent/commands", "a"},
    {"POST /api/v1/agent/hello", "a"},
    {"POST /api/v1/agent/report", "a"},
    {"GET /api/v1/agent/environments/{key}", "a"},
    {"POST /api/v1/agent/environments/{key}/build", "a"},
    {"POST /api/v1/agent/data/input", "a"},
    {"GET /api/v1/agent/data/file", "a"},
    {"PUT /api/v1/agent/data/file", "a"},
    {"POST /api/v1/agent/data/output", "a"},
    {"POST /api/v1/agent/blobs/missing", "a"},
    {"POST /api/v1/agent/blobs/pack", "a"},
    {"POST /api/v1/agent/blobs/fetch", "a"},
    {"GET /api/v1/agent/blobs/{digest}", "a"},
    {"GET /api/v1/agent/blobs/{digest}/parts", "a"},
    {"PUT /api/v1/agent/blobs/{digest}/parts", "a"},
    {"POST /api/v1/agent/blobs/{digest}/finish", "a"},
};

Identity Of(char letter) {
  Identity identity;
  switch (letter) {
    case 'n': break;
    case 'r': identity.kind = Identity::Kind::kUser, identity.role = Role::kReader; break;
    case 'c': identity.kind = Identity::Kind::kUser, identity.role = Role::kContributor; break;
    case 'o': identity.kind = Identity::Kind::kUser, identity.role = Role::kOwner; break;
    case 'a': identity.kind = Identity::Kind::kNode; break;
    default: identity.kind = Identity::Kind::kRun, identity.role = Role::kContributor; break;
  }
  return identity;
}

TEST(Allowed, EveryRouteForEveryIdentity) {
  std::set<std::string> seen;
  for (const Route& route : Routes()) {
    std::string name = StrCat(route.method, " ", route.path);
    EXPECT_TRUE(seen.insert(name).second) << name << " is there twice";
    auto expected = kExpected.find(name);
    ASSERT_NE(expected, kExpected.end()) << name << " has no row in this test";
    for (char letter : {'n', 'r', 'c', 'o', 'a', 's', 'w'}) {
      bool may = expected->second.find(letter) != std::string::npos;
      EXPECT_EQ(Allowed(Of(letter), route.need, route.run_token, letter == 's'), may) << name << " for " << letter;
    }
    // The token of a reader's run reads.
    Identity reader = Of('w');
    reader.role = Role::kReader;
    bool may = expected->second.find('w') != std::string::npos && expected->second.find('r') != std::string::npos;
    EXPECT_EQ(Allowed(reader, route.need, route.run_token, true), may) << name;
    EXPECT_TRUE(route.run_token == RunToken::kNever || route.need < Need::kOwner) << name;
    EXPECT_TRUE((route.handler == nullptr) != (route.sink == nullptr)) << name;
  }
  EXPECT_EQ(seen.size(), kExpected.size());
}

class AccessTest : public testing::Test {
 protected:
  AccessTest() : store_(store::OpenMemoryStore(engine::Tables())), access_(*store_, "secret") {}
  void AddUser(const std::string& name, Role role) { Commit(engine::PutUser({name, role, {1}})); }
  std::string AddToken(const std::string& id, const std::string& user, Time expires = {}, Time revoked = {}) {
    std::string token = Access::NewToken();
    Commit(engine::PutToken({id, Access::DigestOf(token), user, "", {1}, expires, revoked}));
    return token;
  }
  void Commit(store::Change change) { ASSERT_TRUE(store_->Commit(std::span(&change, 1)).ok()); }
  std::string SlugOf(const std::string& header, Time now = {100}) {
    auto identity = access_.Identify(header, now);
    return identity.ok() ? "" : identity.error().slug;
  }
  std::unique_ptr<store::Store> store_;
  Access access_;
};

TEST_F(AccessTest, UserTokens) {
  AddUser("ann", Role::kOwner);
  AddUser("bob", Role::kReader);
  std::string ann = AddToken("1", "ann"), bob = AddToken("2", "bob", {200}), gone = AddToken("3", "bob", {}, {50}), orphan = AddToken("4", "carl");
  EXPECT_EQ(SlugOf("Bearer " + ann), "auth.unknown") << "nothing is read before Reload";
  ASSERT_TRUE(access_.Reload().ok());
  auto identity = access_.Identify("Bearer " + ann, {100});
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->kind, Identity::Kind::kUser);
  EXPECT_EQ(identity->user, "ann");
  EXPECT_EQ(identity->role, Role::kOwner);
  EXPECT_EQ(SlugOf("bearer   " + bob), "") << "the scheme is case-insensitive";
  EXPECT_EQ(SlugOf("Bearer " + bob, {199}), "");
  EXPECT_EQ(SlugOf("Bearer " + bob, {200}), "auth.expired");
  EXPECT_EQ(SlugOf("Bearer " + gone), "auth.revoked");
  EXPECT_EQ(SlugOf("Bearer " + orphan), "auth.unknown") << "its user is gone";
  EXPECT_EQ(SlugOf(""), "auth.missing");
  for (const std::string& bad : {std::string("Bearer"), std::string("Bearer "), "Basic " + ann, ann, "Bearer " + ann + "x", "Bearer " + Access::DigestOf(ann),
                                 "Bearer " + ann.substr(0, ann.size() - 1)})
    EXPECT_EQ(SlugOf(bad), "auth.unknown") << bad;
}

TEST_F(AccessTest, DerivedTokens) {
  auto node = access_.Identify("Bearer " + access_.NodeToken("local"), {100});
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->kind, Identity::Kind::kNode);
  EXPECT_EQ(node->node, "local");
  auto run = access_.Identify("Bearer " + access_.RunToken({"r1", 2}), {100});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->kind, Identity::Kind::kRun);
  EXPECT_EQ(run->attempt, (model::AttemptKey{"r1", 2}));
  // A token says what it is for, and its signature covers that.
  auto forge = [&](std::string token, const std::string& from, const std::string& to) { return "Bearer " + token.replace(token.find(from), from.size(), to); };
  EXPECT_EQ(SlugOf(forge(access_.NodeToken("local"), "local", "other")), "auth.unknown");
  EXPECT_EQ(SlugOf(forge(access_.RunToken({"r1", 2}), "r1", "r2")), "auth.unknown");
  EXPECT_EQ(SlugOf(forge(access_.RunToken({"r1", 2}), "/2/", "/3/")), "auth.unknown");
  EXPECT_EQ(SlugOf(forge(access_.RunToken({"r1", 2}), "/2/", "/02/")), "auth.unknown");
  Access other(*store_, "another secret");
  EXPECT_EQ(SlugOf("Bearer " + other.NodeToken("local")), "auth.unknown");
  for (const char* bad :
       {"Bearer node/", "Bearer node/local", "Bearer node/local/", "Bearer run/r1", "Bearer run/r1/x/y", "Bearer run///", "Bearer run/r1/1/1/1"})
    EXPECT_EQ(SlugOf(bad), "auth.unknown") << bad;
}

}  // namespace
}  // namespace ferry::rest
