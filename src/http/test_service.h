// What the tests of http/ share: a service made of functions, and a raw peer that says exactly what it is told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "http/client.h"
#include "http/server.h"
#include "os/socket.h"

namespace ferry::http {

class TestService : public Service {
 public:
  using Admitted = std::variant<Buffered, std::unique_ptr<BodySink>, Response>;
  std::function<Admitted(const Head&)> admit = [](const Head&) -> Admitted { return Buffered{}; };
  std::function<void(Head, std::string, Responder)> handle = [](Head head, std::string body, Responder responder) {
    responder.Send({200, {{"X-Method", head.method}}, StrCat(head.path, "|", body)});
  };
  Admitted Admit(const Head& head) override { return admit(head); }
  void Handle(Head head, std::string body, Responder responder) override { handle(std::move(head), std::move(body), std::move(responder)); }
};

inline Call MakeCall(std::string method, std::string path, std::string body = {}) {
  Call call;
  call.method = std::move(method);
  call.path = std::move(path);
  call.body = std::move(body);
  return call;
}

inline std::unique_ptr<Server> StartServer(Service& service, Settings settings = {}) {
  auto server = Server::Start(std::move(settings), service);
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return std::move(*server);
}

// Waits for something that another thread brings about; false after ten seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class RawPeer {
 public:
  explicit RawPeer(os::Fd fd) : fd_(std::move(fd)) {}
  static RawPeer To(uint16_t port) {
    auto fd = os::ConnectTcp("127.0.0.1", port, Deadline(), os::StopSignal());
    EXPECT_TRUE(fd.ok());
    return RawPeer(std::move(*fd));
  }

  // False when the other end has gone.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      auto sent = os::Send(fd_, bytes);
      if (sent.kind == os::Transfer::Kind::kFailed) return false;
      bytes.remove_prefix(sent.bytes);
      if (sent.kind == os::Transfer::Kind::kWait && !os::WaitReady(fd_, {.readable = false, .writable = true}, Deadline(), os::StopSignal()).ok()) return false;
    }
    return true;
  }

  // Reads until `text` was seen, or to the end when it is empty. Returns what was read.
  std::string ReadUntil(std::string_view text) {
    for (;;) {
      if (size_t at = rest_.find(text); !text.empty() && at != std::string::npos) {
        std::string out = rest_.substr(0, at + text.size());
        rest_.erase(0, at + text.size());
        return out;
      }
      char bytes[4096];
      auto got = os::Receive(fd_, bytes, sizeof bytes);
      if (got.kind == os::Transfer::Kind::kBytes) {
        rest_.append(bytes, got.bytes);
        continue;
      }
      if (got.kind == os::Transfer::Kind::kWait && os::WaitReady(fd_, {.readable = true, .writable = false}, Deadline(), os::StopSignal()).ok()) continue;
      ended_ = got.kind != os::Transfer::Kind::kWait;
      return std::exchange(rest_, {});
    }
  }
  std::string ReadAll() { return ReadUntil({}); }
  // Whether the last read met the end, and not the clock.
  bool ended() const { return ended_; }
  const os::Fd& fd() const { return fd_; }
  void Close() { fd_.Close(); }

 private:
  static os::SteadyTime Deadline() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }
  os::Fd fd_;
  std::string rest_;
  bool ended_ = false;
};

}  // namespace ferry::http
