#include "server/command.h"

#include <csignal>
#include <cstdio>
#include <thread>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "http/client.h"
#include "os/file.h"
#include "os/log.h"
#include "os/poll.h"
#include "os/process.h"
#include "rest/service.h"
#include "server/server.h"

namespace ferry::server {
namespace {

using std::chrono::milliseconds;

int Fail(const Error& error) {
  std::fprintf(stderr, "ferry: %s\n", error.message.c_str());
  return ExitStatus(error.code);
}

std::string Help() {
  return StrCat(
      "ferry server: the Ferry server\n\n"
      "  ferry server [SETTINGS]          in the foreground, logs on stderr\n"
      "  ferry server start [SETTINGS]    in the background; returns when it serves\n"
      "  ferry server stop                ends it; running scripts go on and are picked up by the next start\n"
      "  ferry server status [-o json]    where it is\n"
      "  ferry server --settings          every setting as a page of documentation\n\nSettings:\n",
      SettingHelp());
}

struct Found {
  std::string url;
  std::string local_url;
  int pid = 0;
  std::string version;
  bool running = false;
};

Found Look(const std::string& home) {
  Found found;
  auto text = os::ReadFile(os::JoinPath(home, "server.json"), 1u << 20);
  auto json = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
  if (!json.ok()) return found;
  found.url = json->GetString("url");
  found.local_url = json->GetString("local_url", found.url);
  found.pid = static_cast<int>(json->GetInt("pid"));
  found.version = json->GetString("version");
  // The lock tells the truth: it goes with its process.
  auto lock = os::FileLock::Take(os::JoinPath(home, "server.lock"), false);
  found.running = !lock.ok() && lock.error().slug == "file.locked";
  return found;
}

bool Healthy(const std::string& url) {
  http::ClientSettings settings;
  settings.base = url;
  settings.connect_timeout = milliseconds(1000);
  settings.io_timeout = milliseconds(2000);
  http::Client client(settings);
  http::Call call;
  call.path = "/healthz";
  auto reply = client.Do(call);
  return reply.ok() && reply->status == 200;
}

int Foreground(const std::vector<std::string>& flags, const std::string& version, std::string_view agent_program) {
  auto settings = ReadSettings(flags);
  if (!settings.ok()) return Fail(settings.error());
  os::SetLogLevel(settings->log_level == "debug"     ? os::Level::kDebug
                  : settings->log_level == "warning" ? os::Level::kWarning
                  : settings->log_level == "error"   ? os::Level::kError
                                                     : os::Level::kInfo);
  os::Signals signals({SIGTERM, SIGINT, SIGHUP, SIGPIPE});
  auto server = Server::Start(*settings, version, agent_program);
  if (!server.ok()) return Fail(server.error());
  std::jthread waiter([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      std::vector<os::PollItem> items = {{signals.fd()}};
      if (!os::Poll(items, milliseconds(200))) continue;
      int signal = signals.Take();
      if (signal == SIGTERM || signal == SIGINT) (*server)->RequestEnd();
    }
  });
  (*server)->WaitForEnd();
  return 0;
}

int StartInBackground(std::vector<std::string> flags) {
  bool quiet = std::erase(flags, "--quiet") > 0;
  auto settings = ReadSettings(flags);
  if (!settings.ok()) return Fail(settings.error());
  if (auto made = os::MakeFolders(settings->home, 0700); !made.ok()) return Fail(made.error());
  if (Found found = Look(settings->home); found.running && Healthy(found.local_url)) {
    if (!quiet) std::printf("a server already runs at %s (pid %d)\n", found.url.c_str(), found.pid);
    return 0;
  }
  std::string log_file = os::JoinPath(settings->home, "server.log");
  auto log = os::Open(log_file, os::OpenMode::kAppend, 0600);
  if (!log.ok()) return Fail(log.error());
  auto before = os::StatPath(log_file);
  os::SpawnOptions options;
  options.argv = {os::ExecutablePath(), "server"};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  options.stdout_fd = options.stderr_fd = log->get();
  options.new_session = true;
  auto pid = os::Spawn(options);
  if (!pid.ok()) return Fail(pid.error());
  for (int i = 0; i < 6000; ++i) {
    Found found = Look(settings->home);
    if (found.running && found.pid == *pid && Healthy(found.local_url)) {
      if (!quiet) std::printf("serving at %s (pid %d, data in %s)\n", found.url.c_str(), found.pid, settings->home.c_str());
      return 0;
    }
    if (auto ended = os::ReapOne()) {
      auto text = os::ReadFile(log_file);
      std::string said = text.ok() && before.ok() ? text->substr(std::min<size_t>(text->size(), before->size)) : std::string();
      std::fprintf(stderr, "%s", said.empty() ? "ferry: the server ended at once\n" : said.c_str());
      return ended->second.code ? ended->second.code : 1;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::fprintf(stderr, "ferry: the server did not answer within 30 s; see %s\n", log_file.c_str());
  return ExitStatus(Code::kTimeout);
}

int Stop(const std::vector<std::string>& flags) {
  auto settings = ReadSettings(flags);
  if (!settings.ok()) return Fail(settings.error());
  Found found = Look(settings->home);
  if (!found.running) {
    std::printf("no server runs on %s\n", settings->home.c_str());
    return 0;
  }
  auto id = os::Identify(found.pid);
  os::SendSignal(found.pid, SIGTERM);
  for (int i = 0; i < 3000 && id && os::IsAlive(*id); ++i) std::this_thread::sleep_for(milliseconds(10));
  if (id && os::IsAlive(*id)) {
    std::fprintf(stderr, "ferry: the server (pid %d) has not ended within 30 s\n", found.pid);
    return ExitStatus(Code::kTimeout);
  }
  std::printf("stopped\n");
  return 0;
}

int Status(std::vector<std::string> flags) {
  bool json = false;
  for (size_t i = 0; i + 1 < flags.size(); ++i)
    if (flags[i] == "-o" || flags[i] == "--output") {
      json = flags[i + 1] == "json";
      flags.erase(flags.begin() + static_cast<ptrdiff_t>(i), flags.begin() + static_cast<ptrdiff_t>(i) + 2);
      break;
    }
  auto settings = ReadSettings(flags);
  if (!settings.ok()) return Fail(settings.error());
  Found found = Look(settings->home);
  bool healthy = found.running && Healthy(found.local_url);
  if (json) {
    Json out = Json::MakeObject({{"status", healthy ? "running" : found.running ? "not answering" : "stopped"}, {"home", settings->home}});
    if (found.running) out.Set("url", found.url).Set("pid", found.pid).Set("version", found.version);
    std::fputs(out.DumpPretty().c_str(), stdout);
  } else if (found.running) {
    std::printf("%s at %s (pid %d, version %s, data in %s)\n", healthy ? "serving" : "not answering", found.url.c_str(), found.pid, found.version.c_str(),
                settings->home.c_str());
  } else {
    std::printf("no server runs on %s\n", settings->home.c_str());
  }
  return healthy ? 0 : ExitStatus(Code::kUnavailable);
}

}  // namespace

int AgentCommand(const std::vector<std::string>& words, std::string_view agent_program) {
  std::string home = DefaultHome();
  std::string file = StrCat(home, "/bin/ferry-agent-", HashBytes(agent_program).Hex().substr(0, 12));
  if (!os::Exists(file)) {
    if (auto made = os::MakeFolders(os::JoinPath(home, "bin"), 0700); !made.ok()) return Fail(made.error());
    if (auto written = os::WriteFileAtomic(file, agent_program, 0755, false); !written.ok()) return Fail(written.error());
  }
  os::SpawnOptions options;
  options.argv = {file};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  auto pid = os::Spawn(options);
  if (!pid.ok()) return Fail(pid.error());
  auto status = os::Wait(*pid);
  if (!status.ok()) return Fail(status.error());
  return status->signal ? 128 + status->signal : status->code;
}

int Command(const std::vector<std::string>& words, const std::string& version, std::string_view agent_program) {
  std::string verb = words.empty() ? "" : words[0];
  for (const std::string& word : words)
    if (word == "-h" || word == "--help") {
      std::fputs(Help().c_str(), stdout);
      return 0;
    }
  std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (verb == "start") return StartInBackground(rest);
  if (verb == "stop") return Stop(rest);
  if (verb == "status") return Status(rest);
  if (verb == "--settings") {
    std::fputs(SettingMarkdown().c_str(), stdout);
    return 0;
  }
  // For the test that compares the server with api/openapi.yaml.
  if (verb == "--routes") {
    for (const rest::Route& route : rest::Routes())
      std::printf(
          "%s\n",
          Json::MakeObject(
              {{"method", route.method}, {"path", route.path}, {"need", rest::NeedName(route.need)}, {"run_token", rest::RunTokenName(route.run_token)}})
              .Dump()
              .c_str());
    return 0;
  }
  if (!verb.empty() && verb[0] != '-')
    return Fail(
        MakeError(Code::kInvalid, "server.verb", StrCat("'ferry server ", verb, "' is not known; expected start, stop, status or settings such as --port")));
  return Foreground(words, version, agent_program);
}

}  // namespace ferry::server
