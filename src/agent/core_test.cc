#include "agent/core.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace ferry::agent {
namespace {

using model::AttemptKey;

const AttemptKey kA{"a", 1};

model::Assign AssignOf(const AttemptKey& key, int64_t generation = 1) {
  model::Assign assign;
  assign.key = key;
  assign.generation = generation;
  return assign;
}

std::string Show(const std::vector<Action>& actions) {
  std::string out;
  for (const Action& action : actions) {
    if (!out.empty()) out += " ";
    if (auto* a = std::get_if<Keep>(&action)) out += StrCat("keep:", a->assign.key.Name());
    if (auto* a = std::get_if<Prepare>(&action)) out += StrCat("prepare:", a->key.Name());
    if (auto* a = std::get_if<Kill>(&action)) out += StrCat("kill:", a->key.Name());
    if (auto* a = std::get_if<Collect>(&action)) out += StrCat("collect:", a->key.Name(), a->stopped ? "!" : "");
    if (auto* a = std::get_if<Remove>(&action)) out += StrCat("remove:", a->key.Name());
  }
  return out;
}

std::string Show(const std::vector<model::AgentEvent>& events) {
  std::string out;
  for (const auto& event : events) out += StrCat(out.empty() ? "" : " ", event.key.Name(), ":", model::InputName(event.input.index()));
  return out;
}

class CoreTest : public testing::Test {
 protected:
  void SetUp() override { core_.OnWelcome(1, false); }
  void RunIt(const AttemptKey& key) {
    core_.OnMessage(AssignOf(key));
    core_.OnKept(key);
    core_.OnStarted(key);
  }
  std::string Answer() { return Show(core_.OnAnswered(core_.Pending())); }
  Core core_;
};

TEST_F(CoreTest, AnAttemptsLife) {
  EXPECT_EQ(Show(core_.OnMessage(AssignOf(kA))), "keep:a");
  EXPECT_EQ(Show(core_.Pending()), "") << "not accepted before it is on the disk";
  EXPECT_TRUE(core_.Inventory().empty());
  EXPECT_EQ(Show(core_.OnMessage(AssignOf(kA))), "keep:a") << "the disk may have refused it; it is tried until it is kept";
  EXPECT_EQ(Show(core_.OnKept(kA)), "prepare:a");
  EXPECT_EQ(Show(core_.OnMessage(AssignOf(kA))), "") << "said twice";
  EXPECT_EQ(core_.Inventory(), std::vector<AttemptKey>{kA});
  EXPECT_EQ(Show(core_.Pending()), "a:Accepted");
  EXPECT_EQ(Show(core_.Pending()), "a:Accepted") << "until it is answered";
  EXPECT_EQ(Answer(), "");
  EXPECT_EQ(Show(core_.OnStarted(kA)), "");
  EXPECT_EQ(Show(core_.OnExited(kA, {})), "collect:a");
  EXPECT_EQ(Show(core_.OnExited(kA, {})), "") << "once";
  EXPECT_EQ(Show(core_.OnCollected(kA)), "");
  EXPECT_EQ(Show(core_.Pending()), "a:Started a:Exited a:Collected");
  EXPECT_EQ(Answer(), "remove:a") << "nothing is removed before the server has it";
  EXPECT_EQ(core_.size(), 0u);
  EXPECT_EQ(Show(core_.OnMessage(AssignOf(kA))), "") << "a late assignment does not start it again";
}

TEST_F(CoreTest, EventsThatCameMeanwhileAreNotTakenForAnswered) {
  RunIt(kA);
  auto sent = core_.Pending();
  core_.OnExited(kA, {});
  core_.OnCollected(kA);
  EXPECT_EQ(Show(core_.OnAnswered(sent)), "");
  EXPECT_EQ(Show(core_.Pending()), "a:Exited a:Collected");
}

TEST_F(CoreTest, AFailureToPrepareEndsIt) {
  core_.OnMessage(AssignOf(kA));
  core_.OnKept(kA);
  EXPECT_EQ(Show(core_.OnFailed(kA, {model::EndReason::kLaunchFailed, "no such program"})), "");
  EXPECT_EQ(Show(core_.Pending()), "a:Accepted a:PrepareFailed");
  EXPECT_EQ(Show(core_.OnStarted(kA)), "");
  EXPECT_EQ(Answer(), "remove:a");
}

TEST_F(CoreTest, StopInEveryPhase) {
  // Before it is on the disk: nothing is started.
  core_.OnMessage(AssignOf(kA));
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{kA, 1})), "");
  EXPECT_EQ(Show(core_.OnKept(kA)), "collect:a!");
  // While it is prepared: it is ended as soon as it runs.
  AttemptKey b{"b", 1};
  core_.OnMessage(AssignOf(b));
  core_.OnKept(b);
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{b, 1})), "");
  EXPECT_TRUE(core_.Stopping(b));
  EXPECT_EQ(Show(core_.OnStarted(b)), "kill:b");
  // While it runs, once.
  AttemptKey c{"c", 1};
  RunIt(c);
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{c, 1})), "kill:c");
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{c, 1})), "");
  EXPECT_EQ(Show(core_.OnExited(c, {})), "collect:c!");
  // While it is collected: quickly.
  AttemptKey d{"d", 1};
  RunIt(d);
  core_.OnExited(d, {});
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{d, 1})), "collect:d!");
  // One that never came: confirmed, and refused should it still come.
  AttemptKey e{"e", 1};
  EXPECT_EQ(Show(core_.OnMessage(model::Stop{e, 1})), "");
  EXPECT_EQ(Show(core_.Pending()).substr(0, 11), "e:Collected");
  EXPECT_EQ(Show(core_.OnMessage(AssignOf(e))), "");
  Answer();
  EXPECT_EQ(Show(core_.Pending()).find("e:"), std::string::npos);
}

TEST_F(CoreTest, ForgetRemovesAtOnce) {
  RunIt(kA);
  EXPECT_EQ(Show(core_.OnMessage(model::Forget{kA})), "remove:a");
  EXPECT_EQ(Show(core_.OnMessage(model::Forget{kA})), "");
  EXPECT_EQ(Show(core_.OnExited(kA, {})), "");
  EXPECT_TRUE(core_.Pending().empty());
}

TEST_F(CoreTest, AFencedAgentDropsEverythingOfItsOldLife) {
  RunIt(kA);
  EXPECT_EQ(Show(core_.OnMessage(AssignOf({"old", 1}, 7))), "") << "of another generation";
  EXPECT_EQ(Show(core_.OnWelcome(2, true)), "remove:a");
  EXPECT_EQ(core_.generation(), 2);
  EXPECT_TRUE(core_.Pending().empty());
  EXPECT_EQ(Show(core_.OnMessage(AssignOf({"a", 2}, 2))), "keep:a~2");
}

TEST_F(CoreTest, AdoptsWhatAnEarlierAgentLeft) {
  Core core;
  Remains fresh{AssignOf({"fresh", 1}), false, std::nullopt, std::nullopt, false};
  Remains running{AssignOf({"running", 1}), true, std::nullopt, std::nullopt, false};
  Remains stopping{AssignOf({"stopping", 1}), true, std::nullopt, std::nullopt, true};
  Remains exited{AssignOf({"exited", 1}), true, model::Exit{}, std::nullopt, false};
  Remains failed{AssignOf({"failed", 1}), false, std::nullopt, model::PrepareFailed{}, false};
  EXPECT_EQ(Show(core.Adopt({fresh, running, stopping, exited, failed}, 1)), "prepare:fresh kill:stopping collect:exited");
  EXPECT_EQ(core.Inventory().size(), 5u);
  EXPECT_EQ(
      Show(core.Pending()),
      "exited:Accepted exited:Exited failed:Accepted failed:PrepareFailed fresh:Accepted running:Accepted running:Started stopping:Accepted stopping:Started");
  EXPECT_EQ(Show(core.OnWelcome(1, false)), "") << "the same generation goes on";
}

TEST_F(CoreTest, NewsOfUnknownAttemptsIsNothing) {
  EXPECT_EQ(Show(core_.OnKept(kA)), "");
  EXPECT_EQ(Show(core_.OnStarted(kA)), "");
  EXPECT_EQ(Show(core_.OnExited(kA, {})), "");
  EXPECT_EQ(Show(core_.OnCollected(kA)), "");
  EXPECT_EQ(Show(core_.OnAnswered({{kA, model::Collected{}}})), "");
}

}  // namespace
}  // namespace ferry::agent
