#include "http/client.h"

#include <atomic>
#include <cstdio>

#include "http/chunked.h"
#include "http/server.h"
#include "http/test_service.h"

namespace ferry::http {
namespace {

using namespace std::chrono_literals;

// A server of one thread that lets the test script every byte.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::function<void(ScriptedServer&)> script) : listener_(Listen()) {
    thread_ = std::thread([this, script = std::move(script)] { script(*this); });
  }
  ~ScriptedServer() { thread_.join(); }
  RawPeer Accept() {
    auto fd = os::Accept(listener_, std::chrono::steady_clock::now() + 10s, os::StopSignal());
    EXPECT_TRUE(fd.ok());
    return RawPeer(fd.ok() ? std::move(*fd) : os::Fd());
  }
  ClientSettings settings() const {
    ClientSettings settings;
    settings.base = StrCat("http://127.0.0.1:", os::LocalPort(listener_));
    return settings;
  }

 private:
  static os::Fd Listen() {
    auto fd = os::ListenTcp("127.0.0.1", 0);
    EXPECT_TRUE(fd.ok());
    return std::move(*fd);
  }
  os::Fd listener_;
  std::thread thread_;
};

TEST(Url, Parses) {
  auto url = ParseUrl("http://localhost:8472/base/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->scheme, "http");
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, 8472);
  EXPECT_EQ(url->path, "/base/");
  EXPECT_EQ(ParseUrl("https://h")->port, 443);
  EXPECT_EQ(ParseUrl("HTTP://h")->port, 80);
  EXPECT_EQ(ParseUrl("http://[::1]:99/x")->host, "::1");
  EXPECT_EQ(ParseUrl("http://[::1]:99/x")->port, 99);
  EXPECT_EQ(ParseUrl("unix:///run/a.sock")->path, "/run/a.sock");
  for (const char* bad : {"", "host", "ftp://h", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:x", "http://h:", "http://u@h",
                          "http://[::1", "unix://relative", "unix://", "http://a b", "http://h?x"}) {
    auto result = ParseUrl(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().slug, "url.invalid");
  }
}

TEST(Chunks, AnyCutGivesTheSameBody) {
  const std::string text = "4;a=b\r\nwiki\r\n0A\r\n0123456789\r\n0\r\nX: y\r\nZ: w\r\n\r\nNEXT";
  for (size_t step = 1; step <= text.size(); ++step) {
    ChunkReader reader;
    std::string body, rest;
    bool ended = false;
    for (size_t at = 0; at < text.size(); at += step) {
      std::string_view input = std::string_view(text).substr(at, step), piece;
      while (!ended) {
        auto what = reader.Next(input, piece);
        ASSERT_NE(what, ChunkReader::Step::kBad);
        if (what == ChunkReader::Step::kMore) break;
        if (what == ChunkReader::Step::kPiece) body += piece;
        ended = what == ChunkReader::Step::kEnd;
      }
      if (ended) rest += input;
    }
    EXPECT_TRUE(ended);
    EXPECT_EQ(body, "wiki0123456789");
    EXPECT_EQ(rest, "NEXT");
  }
  for (std::string bad : {std::string("\r\n"), std::string("x\r\n"), std::string("5 \nhello"), std::string("2\r\nabc\r\n"), std::string("1\nx"),
                          std::string(16, 'f'), "1;" + std::string(20'000, 'x'), "0\r\n" + std::string(20'000, 'x')}) {
    ChunkReader reader;
    std::string_view input = bad, piece;
    ChunkReader::Step what;
    do what = reader.Next(input, piece);
    while (what == ChunkReader::Step::kPiece);
    EXPECT_EQ(what, ChunkReader::Step::kBad) << bad.substr(0, 20);
  }
}

TEST(Client, SendsHeadersTokenAndPrefix) {
  std::string seen;
  ScriptedServer server([&](ScriptedServer& self) {
    auto peer = self.Accept();
    seen = peer.ReadUntil("body");
    peer.Send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nok");
  });
  auto settings = server.settings();
  settings.base += "/prefix/";
  settings.token = "secret";
  Client client(settings);
  Call call = MakeCall("POST", "/a?b=c", "body");
  call.headers.emplace_back("X-Mine", "yes");
  auto reply = client.Do(call);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "ok");
  EXPECT_EQ(reply->headers["x-a"], "1, 2");
  EXPECT_TRUE(seen.starts_with("POST /prefix/a?b=c HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("Authorization: Bearer secret\r\n"), std::string::npos);
  EXPECT_NE(seen.find("User-Agent: ferry\r\n"), std::string::npos);
  EXPECT_NE(seen.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_NE(seen.find("X-Mine: yes\r\n"), std::string::npos);
  EXPECT_NE(seen.find("Host: 127.0.0.1:"), std::string::npos);
}

TEST(Client, ReadsEveryFraming) {
  ScriptedServer server([](ScriptedServer& self) {
    auto peer = self.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    peer.Send("2\r\nde\r\n0\r\n\r\n");
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 204 No Content\r\n\r\n");
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");  // to HEAD
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  });
  Client client(server.settings());
  EXPECT_EQ(client.Do(MakeCall("GET", "/1"))->body, "abcde");
  EXPECT_EQ(client.Do(MakeCall("GET", "/2"))->status, 204);
  EXPECT_EQ(client.Do(MakeCall("HEAD", "/3"))->body, "");
  EXPECT_EQ(client.Do(MakeCall("GET", "/4"))->body, "until the end");
}

TEST(Client, CutOffAndMalformedRepliesAreErrors) {
  const char* replies[] = {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "HTTP/1.1 200",
                           "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"};
  ScriptedServer server([&](ScriptedServer& self) {
    for (const char* reply : replies) {
      auto peer = self.Accept();
      peer.ReadUntil("\r\n\r\n");
      peer.Send(reply);
    }
  });
  const char* slugs[] = {"http.cut_off", "http.cut_off", "http.cut_off", "http.bad_reply", "http.bad_reply"};
  for (const char* slug : slugs) {
    Client client(server.settings());
    auto reply = client.Do(MakeCall("GET", "/"));
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().slug, slug);
  }
}

TEST(Client, ReconnectsOnceAfterTheServerClosedAnIdleConnection) {
  std::atomic<bool> closed = false;
  ScriptedServer server([&](ScriptedServer& self) {
    for (int i = 0; i < 2; ++i) {
      auto peer = self.Accept();
      peer.ReadUntil("\r\n\r\n");
      peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
      peer.Close();
      closed = true;
    }
    // Closed while the request was on its way: one more try, and that is answered.
    auto kept = self.Accept();
    kept.ReadUntil("\r\n\r\n");
    kept.Send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    kept.ReadUntil("\r\n\r\n");
    kept.Close();
    auto again = self.Accept();
    EXPECT_TRUE(again.ReadUntil("\r\n\r\n").starts_with("GET /again "));
    again.Send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny");
    // Closed again, and the fresh connection too: an error.
    again.ReadUntil("\r\n\r\n");
    again.Close();
    auto last = self.Accept();
    last.ReadUntil("\r\n\r\n");
  });
  Client client(server.settings());
  for (int i = 0; i < 2; ++i) {
    closed = false;
    auto reply = client.Do(MakeCall("GET", "/"));
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    ASSERT_TRUE(Eventually([&] { return closed.load(); }));
  }
  EXPECT_EQ(client.Do(MakeCall("GET", "/kept"))->body, "x");
  auto reply = client.Do(MakeCall("GET", "/again"));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->body, "y");
  reply = client.Do(MakeCall("GET", "/lost"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().slug, "http.unreachable");
}

TEST(Client, UnreachableNamesTheAddress) {
  uint16_t port;
  {
    auto listener = os::ListenTcp("127.0.0.1", 0);
    port = os::LocalPort(*listener);
  }
  ClientSettings settings;
  settings.base = StrCat("http://127.0.0.1:", port);
  auto reply = Client(settings).Do(MakeCall("GET", "/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Code::kUnavailable);
  EXPECT_EQ(reply.error().slug, "http.unreachable");
  EXPECT_NE(reply.error().message.find(settings.base), std::string::npos);
  settings.base = "nonsense";
  EXPECT_EQ(Client(settings).Do(MakeCall("GET", "/")).error().slug, "url.invalid");
}

TEST(Client, TimesOutWithoutAByte) {
  std::atomic<bool> done = false;
  ScriptedServer server([&](ScriptedServer& self) {
    auto peer = self.Accept();
    peer.ReadUntil("\r\n\r\n");
    Eventually([&] { return done.load(); });
  });
  auto settings = server.settings();
  settings.io_timeout = 50ms;
  Client client(settings);
  auto reply = client.Do(MakeCall("GET", "/"));
  done = true;
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Code::kTimeout);
  EXPECT_EQ(reply.error().slug, "http.timeout");
}

TEST(Client, StopInterruptsAtOnce) {
  std::atomic<bool> waiting = false;
  ScriptedServer server([&](ScriptedServer& self) {
    auto peer = self.Accept();
    peer.ReadUntil("\r\n\r\n");
    waiting = true;
    peer.ReadAll();
  });
  std::stop_source source;
  std::chrono::steady_clock::time_point stopped;
  std::thread stopper([&] {
    Eventually([&] { return waiting.load(); });
    stopped = std::chrono::steady_clock::now();
    source.request_stop();
  });
  Client client(server.settings());
  auto reply = client.Do(MakeCall("GET", "/"), source.get_token());
  auto returned = std::chrono::steady_clock::now();
  stopper.join();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().slug, "http.stopped");
  EXPECT_LT(returned - stopped, 50ms);
  EXPECT_EQ(client.Do(MakeCall("GET", "/"), source.get_token()).error().slug, "http.stopped");
}

TEST(Client, SinkAndSourceErrorsEndTheCall) {
  TestService service;
  auto server = StartServer(service);
  ClientSettings settings;
  settings.base = StrCat("http://127.0.0.1:", server->port());
  Client client(settings);
  Call call = MakeCall("GET", "/");
  call.body_sink = [](std::string_view) -> Result<void> { return MakeError(Code::kExhausted, "test.full", "full"); };
  EXPECT_EQ(client.Do(call).error().slug, "test.full");
  call = MakeCall("POST", "/");
  call.body_source = []() -> Result<std::string> { return MakeError(Code::kNotFound, "test.gone", "gone"); };
  EXPECT_EQ(client.Do(call).error().slug, "test.gone");
  // The client is as good as new.
  EXPECT_EQ(client.Do(MakeCall("GET", "/x"))->body, "/x|");
}

TEST(Client, RefusesToSmuggle) {
  ClientSettings settings;
  settings.base = "http://127.0.0.1:1";
  TestService service;
  auto server = StartServer(service);
  settings.base = StrCat("http://127.0.0.1:", server->port());
  Client client(settings);
  EXPECT_EQ(client.Do(MakeCall("GET", "/ HTTP/1.1\r\nX: y")).error().slug, "http.bad_path");
  Call call = MakeCall("GET", "/");
  call.headers.emplace_back("X", "a\r\nY: b");
  EXPECT_EQ(client.Do(call).error().slug, "http.bad_header");
}

TEST(Client, UnixSocket) {
  const std::string path = StrCat(testing::TempDir(), "/ferry_client_test_", std::chrono::steady_clock::now().time_since_epoch().count(), ".sock");
  auto listener = os::ListenUnix(path);
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  std::thread serving([&] {
    auto fd = os::Accept(*listener, std::chrono::steady_clock::now() + 10s, os::StopSignal());
    ASSERT_TRUE(fd.ok());
    RawPeer peer(std::move(*fd));
    EXPECT_TRUE(peer.ReadUntil("\r\n\r\n").starts_with("GET /over/unix HTTP/1.1\r\nHost: localhost\r\n"));
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  ClientSettings settings;
  settings.base = "unix://" + path;
  auto reply = Client(settings).Do(MakeCall("GET", "/over/unix"));
  serving.join();
  std::remove(path.c_str());
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->body, "hi");
}

TEST(Client, Events) {
  std::string asked;
  ScriptedServer server([&](ScriptedServer& self) {
    auto peer = self.Accept();
    asked = peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    std::string text = ": heartbeat\n\n" + FormatEvent("log", "7", "one\ntwo") + "data: x\r\ndata:y\r\n\r\nevent: no data\n\ndata: z\r\rid: 9\ndata\n\n";
    for (char c : text) peer.Send(StrCat("1\r\n", c, "\r\n"));
    peer.Send("0\r\n\r\n");
    auto refused = self.Accept();
    refused.ReadUntil("\r\n\r\n");
    std::string error = R"({"error":{"code":"not_found","slug":"run.not_found","message":"no","field":""}})";
    refused.Send(StrCat("HTTP/1.1 404 Not Found\r\nContent-Length: ", error.size(), "\r\n\r\n", error));
    auto endless = self.Accept();
    endless.ReadUntil("\r\n\r\n");
    endless.Send("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\ndata: 2\n\ndata: 3\n\n");
    endless.ReadAll();
    auto broken = self.Accept();
    broken.ReadUntil("\r\n\r\n");
    broken.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
  });
  std::vector<Event> events;
  auto keep = [&](const Event& event) {
    events.push_back(event);
    return events.size() != 2 || event.data != "2";
  };
  {
    Client client(server.settings());
    auto result = client.Events("/events", "6", keep);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_NE(asked.find("Last-Event-ID: 6\r\n"), std::string::npos);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].event, "log");
    EXPECT_EQ(events[0].id, "7");
    EXPECT_EQ(events[0].data, "one\ntwo");
    EXPECT_EQ(events[1].data, "x\ny");
    EXPECT_EQ(events[1].event, "");
    EXPECT_EQ(events[2].data, "z");
    EXPECT_EQ(events[3].id, "9");
    EXPECT_EQ(events[3].data, "");
  }
  events.clear();
  {
    Client client(server.settings());
    EXPECT_EQ(client.Events("/events", "", keep).error().slug, "run.not_found");
  }
  {
    Client client(server.settings());
    EXPECT_TRUE(client.Events("/events", "", keep).ok());
    EXPECT_EQ(events.size(), 2u);
  }
  {
    Client client(server.settings());
    EXPECT_EQ(client.Events("/events", "", keep).error().slug, "http.cut_off");
  }
}

TEST(Client, EventsStopAndHeartbeats) {
  TestService service;
  std::shared_ptr<Stream> stream;
  std::atomic<bool> begun = false;
  service.handle = [&](Head, std::string, Responder responder) {
    stream = responder.Begin(200, {{"Content-Type", "text/event-stream"}});
    begun = true;
  };
  auto server = StartServer(service);
  ClientSettings settings;
  settings.base = StrCat("http://127.0.0.1:", server->port());
  settings.io_timeout = 200ms;
  std::stop_source source;
  std::atomic<int> seen = 0;
  Result<void> result;
  std::thread reader([&] {
    Client client(settings);
    result = client.Events(
        "/", "", [&](const Event&) { return ++seen > 0; }, source.get_token());
  });
  ASSERT_TRUE(Eventually([&] { return begun.load(); }));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(stream->Write(":\n\n"));
    std::this_thread::sleep_for(40ms);
  }
  EXPECT_EQ(seen, 0);
  stream->Write(FormatEvent("a", "1", "x"));
  EXPECT_TRUE(Eventually([&] { return seen == 1; }));
  source.request_stop();
  reader.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().slug, "http.stopped");
}

TEST(ErrorFromReply, ReadsTheBodyOrTheStatus) {
  Reply reply;
  reply.status = 409;
  reply.body = R"({"error":{"code":"conflict","slug":"run.exists","message":"m","field":"name"}})";
  EXPECT_EQ(ErrorFromReply(reply), (Error{Code::kConflict, "run.exists", "m", "name"}));
  reply.body = "<html>";
  EXPECT_EQ(ErrorFromReply(reply).code, Code::kConflict);
  EXPECT_EQ(ErrorFromReply(reply).slug, "http.status_409");
  reply.status = 502;
  EXPECT_EQ(ErrorFromReply(reply).code, Code::kUnavailable);
  reply.status = 418;
  EXPECT_EQ(ErrorFromReply(reply).code, Code::kInvalid);
}

}  // namespace
}  // namespace ferry::http
