#include <atomic>
#include <mutex>
#include <set>

#include "http/client.h"
#include "http/server.h"
#include "http/test_service.h"

namespace ferry::http {
namespace {

using namespace std::chrono_literals;

// A service whose answers are streams that the test keeps and writes to.
class Followed : public TestService {
 public:
  Followed() {
    handle = [this](Head, std::string, Responder responder) {
      auto stream = responder.Begin(200, {{"Content-Type", "text/event-stream"}});
      stream->OnClosed([this] { ++closed; });
      std::lock_guard lock(mutex_);
      streams_.push_back(std::move(stream));
    };
  }
  ~Followed() override = default;

  size_t count() {
    std::lock_guard lock(mutex_);
    return streams_.size();
  }
  std::shared_ptr<Stream> at(size_t i) {
    std::lock_guard lock(mutex_);
    return streams_.at(i);
  }
  int Publish(const std::string& bytes) {
    std::lock_guard lock(mutex_);
    int taken = 0;
    for (auto& stream : streams_) taken += stream->Write(bytes);
    return taken;
  }
  void EndAll() {
    std::vector<std::shared_ptr<Stream>> ended;
    std::lock_guard lock(mutex_);
    ended.swap(streams_);
  }

  std::atomic<int> closed = 0;

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

constexpr std::string_view kFollow = "GET /events HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(Stream, PiecesAreChunksAndTheConnectionGoesOn) {
  Followed service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send(kFollow);
  EXPECT_NE(peer.ReadUntil("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  service.Publish("hello");
  EXPECT_EQ(peer.ReadUntil("hello\r\n"), "5\r\nhello\r\n");
  EXPECT_TRUE(Eventually([&] { return service.at(0)->Pending() == 0; }));
  service.Publish("0123456789abcdef");
  EXPECT_EQ(peer.ReadUntil("f\r\n"), "10\r\n0123456789abcdef\r\n");
  // A request sent behind the stream waits for its end.
  peer.Send("HEAD /next HTTP/1.1\r\n\r\n");
  service.EndAll();
  EXPECT_EQ(peer.ReadUntil("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_TRUE(peer.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(service.closed, 0);
}

TEST(Stream, Http10EndsWithTheConnection) {
  Followed service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  service.Publish("plain");
  service.EndAll();
  std::string all = peer.ReadAll();
  EXPECT_TRUE(peer.ended());
  EXPECT_TRUE(all.ends_with("\r\n\r\nplain")) << all;
}

TEST(Stream, ManyFollowersGetEveryEventInOrder) {
  constexpr int kFollowers = 300;
  constexpr int kEvents = 50;
  Followed service;
  auto server = StartServer(service);
  std::vector<RawPeer> peers;
  for (int i = 0; i < kFollowers; ++i) {
    peers.push_back(RawPeer::To(server->port()));
    peers.back().Send(kFollow);
  }
  ASSERT_TRUE(Eventually([&] { return service.count() == kFollowers; }));
  std::vector<std::thread> publishers;
  std::string expected;
  for (int i = 0; i < kEvents; ++i) {
    std::string event = FormatEvent("tick", std::to_string(i), "data");
    expected += event;
    EXPECT_EQ(service.Publish(event), kFollowers);
  }
  service.EndAll();
  for (RawPeer& peer : peers) {
    peer.ReadUntil("\r\n\r\n");
    std::string chunked = peer.ReadUntil("0\r\n\r\n");
    std::string body;
    for (size_t at = 0;;) {
      size_t line = chunked.find("\r\n", at);
      ASSERT_NE(line, std::string::npos);
      size_t size = std::stoul(chunked.substr(at, line - at), nullptr, 16);
      if (size == 0) break;
      body += chunked.substr(line + 2, size);
      at = line + 2 + size + 2;
    }
    ASSERT_EQ(body, expected);
  }
}

TEST(Stream, SlowReaderIsBoundedAndOthersAreNotHeldUp) {
  Followed service;
  Settings settings;
  settings.stream_buffer = 1u << 20;
  auto server = StartServer(service, settings);
  auto slow = RawPeer::To(server->port());
  slow.Send(kFollow);
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  auto fast = RawPeer::To(server->port());
  fast.Send(kFollow);
  ASSERT_TRUE(Eventually([&] { return service.count() == 2; }));
  auto stuck = service.at(0);
  const std::string piece(64u << 10, 'x');
  bool refused = false;
  for (int i = 0; i < 10'000 && !refused; ++i) {
    refused = !stuck->Write(piece);
    ASSERT_LE(stuck->Pending(), settings.stream_buffer);
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(service.at(1)->Write("through"));
  fast.ReadUntil("\r\n\r\n");
  EXPECT_EQ(fast.ReadUntil("through\r\n"), "7\r\nthrough\r\n");
  // Once the reader catches up the stream takes bytes again.
  std::thread reader([&] { slow.ReadUntil("the end"); });
  EXPECT_TRUE(Eventually([&] { return stuck->Pending() == 0; }));
  EXPECT_TRUE(stuck->Write("the end"));
  reader.join();
}

TEST(Stream, OnClosedIsCalledWhenThePeerGoes) {
  Followed service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send(kFollow);
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  peer.ReadUntil("\r\n\r\n");
  EXPECT_EQ(service.closed, 0);
  peer.Close();
  EXPECT_TRUE(Eventually([&] { return service.closed == 1; }));
  EXPECT_TRUE(Eventually([&] { return service.Publish("x") == 0; }));
  bool told = false;
  service.at(0)->OnClosed([&] { told = true; });
  EXPECT_TRUE(told);
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  EXPECT_EQ(service.closed, 1);
}

// A download that is asked for more as it drains, and that keeps its own stream alive.
struct Download {
  std::shared_ptr<Stream> stream;
  int left = 0;
  std::string piece;
};

TEST(Stream, OnDrainedPullsADownload) {
  TestService service;
  std::weak_ptr<Download> alive;
  service.handle = [&](Head, std::string, Responder responder) {
    auto download = std::make_shared<Download>();
    alive = download;
    download->left = 200;
    download->piece.assign(100'000, 'd');
    download->stream = responder.Begin(200, {});
    download->stream->OnDrained([download] {
      if (download->left-- == 0)
        download->stream.reset();
      else
        EXPECT_TRUE(download->stream->Write(download->piece));
    });
  };
  auto server = StartServer(service);
  ClientSettings settings;
  settings.base = StrCat("http://127.0.0.1:", server->port());
  Client client(settings);
  for (int i = 0; i < 2; ++i) {
    size_t received = 0;
    Call call = MakeCall("GET", "/download");
    call.body_sink = [&](std::string_view bytes) -> Result<void> {
      received += bytes.size();
      return {};
    };
    auto reply = client.Do(call);
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(received, 20'000'000u);
    EXPECT_TRUE(Eventually([&] { return alive.expired(); }));
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST(Stream, AnAbortedAnswerIsAnErrorToItsReader) {
  Followed service;
  auto server = StartServer(service);
  ClientSettings settings;
  settings.base = StrCat("http://127.0.0.1:", server->port());
  Result<Reply> reply = Reply{};
  std::string received;
  std::thread reader([&] {
    Client client(settings);
    Call call = MakeCall("GET", "/download");
    call.body_sink = [&](std::string_view bytes) -> Result<void> {
      received += bytes;
      return {};
    };
    reply = client.Do(call);
  });
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  auto stream = service.at(0);
  service.EndAll();
  EXPECT_TRUE(stream->Write("half"));
  EXPECT_TRUE(Eventually([&] { return stream->Pending() == 0; }));
  stream->Abort();
  EXPECT_FALSE(stream->Write("more"));
  reader.join();
  EXPECT_EQ(received, "half");
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().slug, "http.cut_off");
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  EXPECT_EQ(service.closed, 0);
}

TEST(Stream, AnAbortedAnswerWithoutChunksIsAReset) {
  Followed service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return service.count() == 1; }));
  service.Publish("half");
  peer.ReadUntil("half");
  service.at(0)->Abort();
  ASSERT_TRUE(os::WaitReady(peer.fd(), {.readable = true, .writable = false}, std::chrono::steady_clock::now() + 10s, os::StopSignal()).ok());
  char byte;
  EXPECT_EQ(os::Receive(peer.fd(), &byte, 1).kind, os::Transfer::Kind::kFailed);
}

TEST(Stream, ShutdownEndsPushedStreamsAndGivesDownloadsTheirTime) {
  Followed service;
  auto follow = service.handle;
  std::shared_ptr<Stream> download;
  std::atomic<bool> begun = false;
  service.handle = [&](Head head, std::string body, Responder responder) {
    if (head.path != "/download") return follow(std::move(head), std::move(body), std::move(responder));
    download = responder.Begin(200, {});
    download->OnDrained([] {});
    begun = true;
  };
  auto server = StartServer(service);
  auto follower = RawPeer::To(server->port());
  follower.Send(kFollow);
  auto loader = RawPeer::To(server->port());
  loader.Send("GET /download HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return service.count() == 1 && begun; }));
  follower.ReadUntil("\r\n\r\n");
  loader.ReadUntil("\r\n\r\n");
  std::thread shutdown([&] { server->Shutdown(5s); });
  EXPECT_EQ(follower.ReadAll(), "0\r\n\r\n");
  follower.Close();
  EXPECT_EQ(service.closed, 1);
  EXPECT_TRUE(download->Write("rest"));
  download.reset();
  EXPECT_EQ(loader.ReadAll(), "4\r\nrest\r\n0\r\n\r\n");
  loader.Close();
  shutdown.join();
  EXPECT_EQ(server->connections(), 0u);
}

TEST(Stream, WritersOnManyThreadsWhilePeersComeAndGo) {
  Followed service;
  auto server = StartServer(service);
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i)
    writers.emplace_back([&] {
      while (!stop) {
        service.Publish("data");
        std::this_thread::sleep_for(100us);
      }
    });
  for (int i = 0; i < 50; ++i) {
    auto peer = RawPeer::To(server->port());
    peer.Send(kFollow);
    peer.ReadUntil("data");
    if (i % 10 == 9) service.EndAll();
  }
  stop = true;
  for (auto& writer : writers) writer.join();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST(FormatEvent, SplitsLines) {
  EXPECT_EQ(FormatEvent("log", "7", "a\nb\r\nc\rd"), "event: log\nid: 7\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(FormatEvent("", "", ""), "data: \n\n");
  EXPECT_EQ(FormatEvent("a\nb", "1\r2", "x"), "event: a b\nid: 1 2\ndata: x\n\n");
}

}  // namespace
}  // namespace ferry::http
