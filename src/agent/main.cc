// ferry-agent: the agent and the supervisor as one fully static program that starts on any x86-64 Linux.
#include <csignal>
#include <cstdio>
#include <thread>

#include "agent/agent.h"
#include "agent/nursery.h"
#include "agent/sampler.h"
#include "agent/sdk.h"
#include "base/text.h"
#include "os/file.h"
#include "os/log.h"
#include "os/process.h"

namespace {

using namespace ferry;

constexpr const char* kUsage =
    "ferry-agent: works on what a Ferry server assigns to this node\n\n"
    "  ferry-agent run --home FOLDER (--url URL | --url-file FILE) --token-file FILE [--node NAME] [--target NAME] [--slots N]\n"
    "                  [--gpus auto|none|N,N,...] [--environment-cache-gb N] [--environment-cache-days N] [--conda-strict true|false] [--container-engine "
    "NAME] [--image-aliases "
    "A=B,...]\n"
    "  ferry-agent nursery LOCK       starts the processes that own attempts; started by the agent\n"
    "  ferry-agent end --home FOLDER  ends the agent of that folder and everything that runs under it\n"
    "  ferry-agent probe              what this node has: cores, memory, GPUs\n"
    "  ferry-agent version\n";

int Fail(const Error& error) {
  std::fprintf(stderr, "ferry-agent: %s\n", error.message.c_str());
  return ExitStatus(error.code);
}

int Probe() {
  Json gpus = Json::MakeArray();
  for (const agent::Gpu& gpu : agent::FindGpus()) gpus.Push(Json::MakeObject({{"number", gpu.number}, {"name", gpu.name}, {"memory", gpu.memory}}));
  Json out = Json::MakeObject({{"host", os::HostName()}, {"cores", os::CoreCount()}, {"memory", os::TotalMemory()}, {"gpus", std::move(gpus)}});
  std::fputs(out.DumpPretty().c_str(), stdout);
  return 0;
}

// What is left of an agent and its attempts ends here.
int End(const std::string& home) {
  auto text = os::ReadFile(os::JoinPath(home, "agent.json"), 4096);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (json.ok()) {
    os::ProcessId id{static_cast<int>(json->GetInt("pid")), static_cast<uint64_t>(json->GetInt("started"))};
    if (os::IsAlive(id)) os::SendSignal(id.pid, SIGTERM);
    for (int i = 0; i < 250 && os::IsAlive(id); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (os::IsAlive(id)) os::SendSignal(id.pid, SIGKILL);
  }
  for (const agent::Remains& remains : agent::ReadRemains(home)) agent::AttemptFolder(home, remains.assign.key).KillAll();
  return 0;
}

int RunAgent(const std::vector<std::string>& words) {
  agent::AgentSettings settings;
  settings.slots = static_cast<int>(os::CoreCount());
  std::string token_file, gpus = "auto";
  for (size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 >= words.size()) return Fail(MakeError(Code::kInvalid, "agent.usage", StrCat(words[i], " needs a value")));
    const std::string &name = words[i], &value = words[i + 1];
    if (name == "--home")
      settings.home = value;
    else if (name == "--url")
      settings.url = value;
    else if (name == "--url-file")
      settings.url_file = value;
    else if (name == "--token-file")
      token_file = value;
    else if (name == "--node")
      settings.node = value;
    else if (name == "--target")
      settings.target = value;
    else if (name == "--slots")
      settings.slots = static_cast<int>(ParseInt(value).value_or(0));
    else if (name == "--gpus")
      gpus = value;
    else if (name == "--environment-cache-gb")
      settings.environment_bytes = static_cast<uint64_t>(std::max<int64_t>(0, ParseInt(value).value_or(0))) * 1'000'000'000;
    else if (name == "--environment-cache-days")
      settings.environment_age = std::chrono::hours(24) * std::max<int64_t>(0, ParseInt(value).value_or(0));
    else if (name == "--conda-strict")
      settings.environment.strict = value == "true";
    else if (name == "--container-engine")
      settings.environment.container_engine = value;
    else if (name == "--image-aliases") {
      for (std::string_view pair : Split(value, ','))
        if (size_t equals = pair.find('='); equals != std::string_view::npos)
          settings.environment.image_aliases[std::string(Trim(pair.substr(0, equals)))] = std::string(Trim(pair.substr(equals + 1)));
    } else
      return Fail(MakeError(Code::kInvalid, "agent.usage", StrCat("unknown option ", name)));
  }
  if (settings.home.empty() || token_file.empty() || (settings.url.empty() && settings.url_file.empty()) || settings.slots < 1) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  auto token = os::ReadFile(token_file, 4096);
  if (!token.ok()) return Fail(token.error());
  settings.token = std::string(Trim(*token));
  if (auto made = os::MakeFolders(settings.home, 0700); !made.ok()) return Fail(made.error());
  // Two agents on one folder would both think they own its attempts.
  auto lock = os::FileLock::Take(os::JoinPath(settings.home, "agent.lock"), false);
  if (!lock.ok()) return Fail(lock.error());
  os::ProcessId self = os::Self();
  (void)os::WriteFileAtomic(os::JoinPath(settings.home, "agent.json"), Json::MakeObject({{"pid", self.pid}, {"started", self.started}}).Dump(), 0600, false);
  settings.program = os::ExecutablePath();
  auto sdk = agent::UnpackSdk(settings.home);
  if (!sdk.ok()) return Fail(sdk.error());
  settings.sdk = *sdk;
  if (gpus == "auto") {
    for (const agent::Gpu& gpu : agent::FindGpus()) settings.gpus.push_back(gpu.number);
  } else if (gpus != "none") {
    for (std::string_view number : Split(gpus, ','))
      if (auto device = ParseInt(number)) settings.gpus.push_back(static_cast<int>(*device));
  }
  os::Signals signals({SIGTERM, SIGINT, SIGHUP, SIGPIPE});
  std::stop_source stop;
  std::jthread waiter([&](std::stop_token ended) {
    while (!ended.stop_requested()) {
      std::vector<os::PollItem> items = {{signals.fd()}};
      if (!os::Poll(items, std::chrono::milliseconds(500))) continue;
      int signal = signals.Take();
      if (signal == SIGTERM || signal == SIGINT) stop.request_stop();
    }
  });
  agent::Agent agent(settings);
  auto ran = agent.Run(stop.get_token());
  return ran.ok() ? 0 : Fail(ran.error());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string verb = words.empty() ? "" : words[0];
  if (verb == "nursery" && words.size() == 2) return agent::RunNursery(words[1]);
  if (verb == "run") return RunAgent({words.begin() + 1, words.end()});
  if (verb == "end" && words.size() == 3 && words[1] == "--home") return End(words[2]);
  if (verb == "probe") return Probe();
  if (verb == "version") {
    std::printf("ferry-agent %s (protocol %d)\n", FERRY_VERSION, model::kProtocol);
    return 0;
  }
  std::fputs(kUsage, verb == "--help" || verb == "-h" ? stdout : stderr);
  return verb == "--help" || verb == "-h" ? 0 : 2;
}
