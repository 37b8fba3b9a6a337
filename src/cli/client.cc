#include "cli/client.h"

#include <chrono>
#include <thread>

#include "base/text.h"
#include "base/time.h"
#include "model/message.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::cli {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kStartLimit{60000};

Result<std::string> TokenFromFile(const std::string& path) {
  auto text = os::ReadFile(path, 64u << 10);
  if (!text.ok()) return MakeError(text.error().code, "server.token", StrCat("cannot read the token: ", text.error().message), "FERRY_TOKEN_FILE");
  return std::string(Trim(*text));
}

Result<void> StartOwnServer() {
  os::SpawnOptions options;
  options.argv = {os::ExecutablePath(), "server", "start", "--quiet"};
  options.new_session = true;
  TRY(os::Fd nowhere, os::Open("/dev/null", os::OpenMode::kReadWrite));
  options.stdout_fd = nowhere.get();
  TRY(int pid, os::Spawn(options));
  TRY(os::WaitStatus ended, os::Wait(pid, kStartLimit));
  if (ended.code || ended.signal)
    return MakeError(
        Code::kUnavailable, "server.start",
        StrCat("no Ferry server runs, and starting one failed; see ", ShortPath(os::JoinPath(HomeOfFerry(), "server.log")), ", or try: ferry server start"));
  return {};
}

}  // namespace

std::string HomeOfFerry() {
  if (auto home = os::GetEnv("FERRY_HOME"); home && !home->empty()) return *home;
  return os::JoinPath(os::HomeFolder(), ".ferry");
}

std::string ShortPath(const std::string& path) {
  std::string home = os::HomeFolder();
  if (home.size() > 1 && path.starts_with(home) && (path.size() == home.size() || path[home.size()] == '/')) return StrCat("~", path.substr(home.size()));
  return path;
}

Result<Address> Address::Find() {
  Address address;
  std::optional<std::string> token = os::GetEnv("FERRY_TOKEN");
  if (!token || token->empty()) {
    if (auto file = os::GetEnv("FERRY_TOKEN_FILE"); file && !file->empty()) {
      TRY(token, TokenFromFile(*file));
    }
  }
  if (token) address.token = std::string(Trim(*token));
  if (auto url = os::GetEnv("FERRY_URL"); url && !url->empty()) {
    address.url = *url;
    if (auto parsed = http::ParseUrl(*url); !parsed.ok())
      return MakeError(Code::kInvalid, "server.address", StrCat("FERRY_URL: ", parsed.error().message), "FERRY_URL");
    // Inside a run the server is known and the token is the run's.
    if (auto run = os::GetEnv("AZUREML_RUN_TOKEN"); run && address.token.empty()) address.token = std::string(Trim(*run));
    return address;
  }
  address.home = HomeOfFerry();
  std::string file = os::JoinPath(address.home, "server.json");
  auto text = os::ReadFile(file, 1u << 20);
  if (!text.ok() && text.error().code == Code::kNotFound)
    return MakeError(Code::kNotFound, "server.none", StrCat("no Ferry server runs here (data folder ", ShortPath(address.home), ")"));
  if (!text.ok()) return text.error();
  auto json = ParseJson(*text, file);
  if (!json.ok() || json->GetString("url").empty())
    return MakeError(Code::kInvalid, "server.address", StrCat(file, " names no server", json.ok() ? "" : StrCat(": ", json.error().message)), file);
  address.url = json->GetString("local_url", json->GetString("url"));
  address.pid = static_cast<int>(json->GetInt("pid"));
  if (address.token.empty()) {
    auto own = os::ReadFile(os::JoinPath(address.home, "admin.token"), 64u << 10);
    if (own.ok()) address.token = std::string(Trim(*own));
  }
  return address;
}

Session::Session(Address address, SessionSettings settings) : address_(std::move(address)), settings_(std::move(settings)) { Connect(); }

void Session::Connect() {
  http::ClientSettings settings;
  settings.base = address_.url;
  settings.token = address_.token;
  settings.user_agent = settings_.user_agent;
  settings.io_timeout = milliseconds(120000);
  if (auto file = os::GetEnv("FERRY_CA_FILE")) settings.ca_file = *file;
  client_ = std::make_unique<http::Client>(std::move(settings));
}

Result<Address> Session::Start(const SessionSettings& settings) {
  std::string home = HomeOfFerry();
  TRY_VOID(os::MakeFolders(home, 0700));
  TRY(auto lock, os::FileLock::Take(os::JoinPath(home, "start.lock"), true));
  // Another command may have started it while this one waited.
  if (auto found = Address::Find(); found.ok() && os::Identify(found->pid)) {
    http::ClientSettings probe;
    probe.base = found->url;
    probe.token = found->token;
    http::Call call;
    call.path = "/healthz";
    if (http::Client(std::move(probe)).Do(call).ok()) return found;
  }
  TRY_VOID(settings.start ? settings.start() : StartOwnServer());
  TRY(Address address, Address::Find());
  if (settings.note) settings.note(StrCat("started a Ferry server at ", address.url, " (data in ", ShortPath(home), ")"));
  return address;
}

Result<std::unique_ptr<Session>> Session::Open(SessionSettings settings) {
  auto address = Address::Find();
  if (!address.ok() && address.error().slug == "server.none") address = Start(settings);
  if (!address.ok()) return address.error();
  return std::unique_ptr<Session>(new Session(std::move(*address), std::move(settings)));
}

Result<std::unique_ptr<Session>> Session::OpenRunning(SessionSettings settings) {
  TRY(Address address, Address::Find());
  std::unique_ptr<Session> session(new Session(std::move(address), std::move(settings)));
  session->reached_ = true;
  return session;
}

bool Session::IsGone() const { return address_.pid <= 0 || !os::Identify(address_.pid); }

bool Session::HoldsNoLock() const {
  // A number may belong to another process by now; the lock goes with the server.
  auto lock = os::FileLock::Take(os::JoinPath(address_.home, "server.lock"), false);
  return lock.ok();
}

void Session::Relocate() {
  if (auto address = Address::Find(); address.ok() && (address->url != address_.url || address->token != address_.token)) {
    address_ = std::move(*address);
    Connect();
    return;
  }
  client_->Close();
}

Result<http::Reply> Session::Exchange(const http::Call& call) {
  auto begin = Steady::now();
  auto reply = client_->Do(call, stop_);
  if (settings_.debug) {
    Duration took = std::chrono::duration_cast<Duration>(Steady::now() - begin);
    settings_.debug(StrCat(call.method, " ", address_.url, call.path, " -> ", reply.ok() ? std::to_string(reply->status) : reply.error().message, " (",
                           FormatDuration(took), ")"));
  }
  return reply;
}

Result<http::Reply> Session::Do(http::Call call) {
  auto reply = Exchange(call);
  // The first call finds out that the server of server.json is gone.
  if (!reply.ok() && !reached_ && !call.body_source && reply.error().slug == "http.unreachable" && !address_.home.empty()) {
    // One that is just ending or beginning gets a moment.
    for (auto until = Steady::now() + milliseconds(2000); !IsGone() && !reply.ok() && Steady::now() < until;) {
      std::this_thread::sleep_for(milliseconds(50));
      Relocate();
      reply = Exchange(call);
    }
    if (!reply.ok() && (IsGone() || HoldsNoLock())) {
      TRY(address_, Start(settings_));
      Connect();
      reply = Exchange(call);
    }
  }
  if (!reply.ok()) return reply.error();
  reached_ = true;
  auto protocol = reply->headers.find("ferry-protocol");
  if (protocol != reply->headers.end() && protocol->second != std::to_string(model::kProtocol))
    return MakeError(Code::kConflict, "server.protocol",
                     StrCat("the server at ", address_.url, " speaks protocol ", protocol->second, " and this ferry speaks ", model::kProtocol,
                            "; use the ferry of the server's version"));
  if (reply->status > 299) return http::ErrorFromReply(*reply);
  return reply;
}

Result<Json> Session::Get(const std::string& path) {
  http::Call call;
  call.path = path;
  TRY(http::Reply reply, Do(std::move(call)));
  return ParseJson(reply.body, "the server's answer");
}

Result<Json> Session::GetAll(const std::string& path, std::vector<std::pair<std::string, std::string>> parameters, const char* list) {
  Json all = Json::MakeArray();
  for (;;) {
    TRY(Json page, Get(path + QueryText(parameters)));
    if (Json* items = page.Find(list); items && items->is_array())
      for (Json& item : items->as_array()) all.Push(std::move(item));
    std::string next = page.GetString("next");
    if (next.empty()) return all;
    std::erase_if(parameters, [](const auto& parameter) { return parameter.first == "cursor"; });
    parameters.emplace_back("cursor", next);
  }
}

Result<Json> Session::Send(const std::string& method, const std::string& path, const Json& body) {
  http::Call call;
  call.method = method;
  call.path = path;
  if (method != "DELETE") {
    call.headers.emplace_back("Content-Type", "application/json");
    call.body = body.Dump();
  }
  TRY(http::Reply reply, Do(std::move(call)));
  if (Trim(reply.body).empty()) return Json::MakeObject();
  return ParseJson(reply.body, "the server's answer");
}

Result<void> Session::Events(const std::string& path, const std::string& last_id, const std::function<bool(const http::Event&)>& on_event) {
  if (settings_.debug) settings_.debug(StrCat("GET ", address_.url, path, " (events)"));
  return client_->Events(path, last_id, on_event, stop_);
}

transfer::Link BlobLink(Session& session) {
  return {[&session](http::Call call) { return session.Do(std::move(call)); }, "/api/v1/blobs", false};
}

bool IsConnectionError(const Error& error) {
  return error.slug != "http.stopped" && (error.code == Code::kUnavailable || error.code == Code::kTimeout) && error.slug != "server.start";
}

std::string EncodePath(std::string_view path) {
  std::string out;
  for (std::string_view part : Split(path, '/')) {
    if (!out.empty()) out += '/';
    out += EncodePercent(part);
  }
  return out;
}

std::string ApiPath(std::initializer_list<std::string_view> parts) {
  std::string out = "/api/v1";
  for (std::string_view part : parts) out += StrCat("/", EncodePercent(part));
  return out;
}

std::string QueryText(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters)
    if (!value.empty()) out += StrCat(out.empty() ? "?" : "&", name, "=", EncodePercent(value));
  return out;
}

}  // namespace ferry::cli
