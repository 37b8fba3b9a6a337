#include "compute/fake/fake.h"

#include "base/text.h"

namespace ferry::compute {
namespace {
Error Refused() { return MakeError(Code::kUnavailable, "fake.refused", "the fake refuses, as it was told"); }
}  // namespace

Result<void> FakeNodeProvider::Create(const std::string& node, const CallContext&) {
  if (refuses && refuses()) return Refused();
  if (nodes_.insert(node).second && on_create) on_create(node);
  return {};
}

Result<void> FakeNodeProvider::Destroy(const std::string& node, const CallContext&) {
  if (refuses && refuses()) return Refused();
  if (nodes_.erase(node) && on_destroy) on_destroy(node);
  return {};
}

Result<std::vector<std::string>> FakeNodeProvider::List(const CallContext&) { return std::vector<std::string>(nodes_.begin(), nodes_.end()); }

Result<Handle> FakeBatchSystem::Launch(const LaunchSpec& spec, const CallContext&) {
  if (refuses && refuses()) return Refused();
  auto [it, fresh] = jobs_.try_emplace(spec.attempt);
  if (fresh) {
    it->second.handle = StrCat("job-", next_++);
    attempts_[it->second.handle] = spec.attempt;
    Handle handle = it->second.handle;
    if (on_launch) on_launch(spec);
    return handle;
  }
  return it->second.handle;
}

Result<std::vector<JobState>> FakeBatchSystem::Poll(std::span<const Handle> handles, const CallContext&) {
  if (refuses && refuses()) return Refused();
  std::vector<JobState> states;
  for (const Handle& handle : handles) {
    auto attempt = attempts_.find(handle);
    states.push_back(attempt == attempts_.end() ? JobState::kGone : jobs_.at(attempt->second).state);
  }
  return states;
}

Result<void> FakeBatchSystem::Stop(const std::string& attempt, const CallContext&) {
  if (refuses && refuses()) return Refused();
  auto it = jobs_.find(attempt);
  if (it == jobs_.end() || it->second.state == JobState::kGone) return {};
  End(attempt, "stopped");
  if (on_stop) on_stop(attempt);
  return {};
}

Result<std::string> FakeBatchSystem::ReadLog(const Handle& handle, const CallContext&) {
  auto it = logs_.find(handle);
  return it == logs_.end() ? std::string() : it->second;
}

Result<std::vector<std::string>> FakeBatchSystem::List(const CallContext&) {
  std::vector<std::string> attempts;
  for (const auto& [attempt, job] : jobs_)
    if (job.state != JobState::kGone) attempts.push_back(attempt);
  return attempts;
}

bool FakeBatchSystem::Begin(const std::string& attempt) {
  auto it = jobs_.find(attempt);
  if (it == jobs_.end() || it->second.state != JobState::kQueued) return false;
  it->second.state = JobState::kRunning;
  return true;
}

void FakeBatchSystem::End(const std::string& attempt, const std::string& why) {
  auto it = jobs_.find(attempt);
  if (it == jobs_.end()) return;
  it->second.state = JobState::kGone;
  if (!why.empty()) logs_[it->second.handle] = why;
}

}  // namespace ferry::compute
