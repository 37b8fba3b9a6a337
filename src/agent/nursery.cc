#include "agent/nursery.h"

#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "os/process.h"

namespace ferry::agent {

Result<std::unique_ptr<Nursery>> Nursery::Start(const std::string& program, const std::string& lock) {
  std::unique_ptr<Nursery> nursery(new Nursery);
  TRY(auto requests, os::MakePipe());
  TRY(auto answers, os::MakePipe());
  os::SpawnOptions options;
  options.argv = {program, "nursery", lock};
  options.stdin_fd = requests.first.get();
  options.stdout_fd = answers.second.get();
  TRY(nursery->pid_, os::Spawn(options));
  nursery->requests_ = std::move(requests.second);
  nursery->answers_ = std::move(answers.first);
  answers.second.Close();
  auto ready = os::ReadSome(nursery->answers_, 1);
  if (!ready.ok() || ready->empty()) return MakeError(Code::kUnavailable, "nursery.start", "the process that starts supervisors did not begin");
  nursery->listener_ = std::thread([n = nursery.get()] { n->Listen(); });
  return nursery;
}

Nursery::~Nursery() {
  {
    std::lock_guard lock(mutex_);
    requests_.Close();
  }
  if (listener_.joinable()) listener_.join();
  if (pid_) (void)os::Wait(pid_);
}

Result<void> Nursery::Launch(const std::string& folder, const ferry::agent::Launch& launch) {
  std::string line = Json::MakeObject({{"folder", folder}, {"launch", ToJson(launch)}}).Dump() + "\n";
  std::future<Result<void>> answer;
  {
    std::lock_guard lock(mutex_);
    if (gone_) return MakeError(Code::kUnavailable, "nursery.gone", "the process that starts supervisors has ended");
    answer = waiting_[folder].get_future();
    if (auto written = os::WriteAll(requests_, line); !written.ok()) {
      waiting_.erase(folder);
      return written.error();
    }
  }
  return answer.get();
}

void Nursery::Listen() {
  std::string buffered;
  for (;;) {
    auto bytes = os::ReadSome(answers_, 65536);
    if (!bytes.ok() || bytes->empty()) break;
    buffered += *bytes;
    size_t start = 0;
    for (size_t end; (end = buffered.find('\n', start)) != std::string::npos; start = end + 1) {
      auto json = ParseJson(std::string_view(buffered).substr(start, end - start), "an answer of the nursery");
      if (!json.ok()) continue;
      std::lock_guard lock(mutex_);
      auto it = waiting_.find(json->GetString("folder"));
      if (it == waiting_.end()) continue;
      std::string error = json->GetString("error");
      it->second.set_value(error.empty() ? Result<void>() : Result<void>(MakeError(Code::kInvalid, "launch.failed", error)));
      waiting_.erase(it);
    }
    buffered.erase(0, start);
  }
  std::lock_guard lock(mutex_);
  gone_ = true;
  for (auto& [folder, promise] : waiting_) promise.set_value(MakeError(Code::kUnavailable, "nursery.gone", "the process that starts supervisors has ended"));
  waiting_.clear();
}

int RunNursery(const std::string& lock) {
  auto taken = os::FileLock::Take(lock, false);
  for (int i = 0; i < 6000 && !taken.ok() && taken.error().slug == "file.locked"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    taken = os::FileLock::Take(lock, false);
  }
  if (!taken.ok()) {
    std::fprintf(stderr, "%s\n", taken.error().message.c_str());
    return 1;
  }
  os::Fd held = std::move(*taken).Release();
  {
    os::Fd out(1);
    (void)os::WriteAll(out, "\n");
    (void)out.Release();
  }
  os::IgnoreChildren();
  std::string buffered;
  os::Fd input(0);
  for (;;) {
    auto bytes = os::ReadSome(input, 65536);
    if (!bytes.ok() || bytes->empty()) return 0;
    buffered += *bytes;
    size_t start = 0;
    for (size_t end; (end = buffered.find('\n', start)) != std::string::npos; start = end + 1) {
      auto json = ParseJson(std::string_view(buffered).substr(start, end - start), "a request to the nursery");
      if (!json.ok()) continue;
      std::string folder = json->GetString("folder");
      auto answer = [&](const std::string& error) {
        std::string line = Json::MakeObject({{"folder", folder}, {"error", error.substr(0, 2000)}}).Dump() + "\n";
        os::Fd out(1);
        (void)os::WriteAll(out, line);
        (void)out.Release();
      };
      auto child = os::ForkDetached();
      if (!child.ok()) {
        answer(child.error().message);
      } else if (*child) {
        const Json* launch = json->Find("launch");
        auto started = [&](const std::string& error) {
          held.Close();
          answer(error);
        };
        os::ProcessExit(SuperviseHere(folder, LaunchFromJson(launch ? *launch : Json()), started));
      }
    }
    buffered.erase(0, start);
  }
}

}  // namespace ferry::agent
