#include "http/server.h"

#include <atomic>
#include <mutex>
#include <random>

#include "base/json.h"
#include "http/client.h"
#include "http/test_service.h"

namespace ferry::http {
namespace {

using namespace std::chrono_literals;

std::string Base(const Server& server) { return StrCat("http://127.0.0.1:", server.port()); }

Client MakeClient(const Server& server) {
  ClientSettings settings;
  settings.base = Base(server);
  return Client(settings);
}

// The slug in the error body of a raw response.
std::string Slug(const std::string& response) {
  size_t at = response.find("\r\n\r\n");
  if (at == std::string::npos) return "";
  Reply reply;
  reply.status = 400;
  reply.body = response.substr(at + 4);
  return ErrorFromReply(reply).slug;
}

TEST(Server, ManyRequestsShareAConnection) {
  TestService service;
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  for (int i = 0; i < 100; ++i) {
    auto reply = client.Do(MakeCall("POST", StrCat("/n/", i), "x"));
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->body, StrCat("/n/", i, "|x"));
    EXPECT_EQ(reply->headers["x-method"], "POST");
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST(Server, HeadIsTakenApart) {
  TestService service;
  Head seen;
  service.handle = [&](Head head, std::string, Responder responder) {
    seen = head;
    responder.Send({204, {}, ""});
  };
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("\r\nGET /a%20b/c?x=1&y=a%2Fb+c&x=2&flag HTTP/1.1\r\nHost: h\r\nX-Two: a\r\nx-two: b\r\n\r\n");
  std::string response = peer.ReadUntil("\r\n\r\n");
  EXPECT_TRUE(response.starts_with("HTTP/1.1 204 No Content\r\n")) << response;
  EXPECT_EQ(response.find("Content-Length"), std::string::npos);
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.path, "/a%20b/c");
  EXPECT_EQ(seen.Query("x"), "2");
  EXPECT_EQ(seen.QueryAll("x"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(seen.Query("y"), "a/b c");
  EXPECT_EQ(seen.Query("flag", "other"), "");
  EXPECT_EQ(seen.Query("none", "other"), "other");
  EXPECT_EQ(seen.Header("x-two"), "a, b");
  EXPECT_EQ(seen.peer, "127.0.0.1");
  EXPECT_FALSE(seen.content_length.has_value());
}

TEST(Server, ConcurrentClients) {
  TestService service;
  auto server = StartServer(service);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Client client = MakeClient(*server);
      for (int i = 0; i < 100; ++i) {
        auto reply = client.Do(MakeCall("GET", StrCat("/", t, "/", i)));
        if (reply.ok() && reply->body == StrCat("/", t, "/", i, "|")) ++good;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  TestService service;
  service.handle = [](Head head, std::string, Responder responder) {
    std::thread([path = head.path, responder] {
      if (path == "/1") std::this_thread::sleep_for(20ms);
      responder.Send({200, {}, path});
    }).detach();
  };
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string all = peer.ReadAll();
  EXPECT_TRUE(peer.ended());
  size_t one = all.find("/1"), two = all.find("/2"), three = all.find("/3");
  ASSERT_NE(three, std::string::npos) << all;
  EXPECT_TRUE(one < two && two < three);
}

TEST(Server, HeadRequestHasLengthAndNoBody) {
  TestService service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("HEAD /abc HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string all = peer.ReadAll();
  EXPECT_NE(all.find("Content-Length: 5\r\n"), std::string::npos) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\n"));
}

TEST(Server, Http10ClosesUnlessAsked) {
  TestService service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(peer.ReadUntil("/a|").find("Connection: keep-alive"), std::string::npos);
  peer.Send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_NE(peer.ReadAll().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(peer.ended());
}

TEST(Server, ChunkedAndLengthBodies) {
  TestService service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  std::string request = "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nwiki\r\n5\r\npedia\r\n0\r\nTrailer: z\r\n\r\n";
  for (char c : request) peer.Send({&c, 1});
  EXPECT_NE(peer.ReadUntil("/c|wikipedia").find("200 OK"), std::string::npos);
  peer.Send("POST /l HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST /m HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_NE(peer.ReadUntil("/l|abc").find("200 OK"), std::string::npos);
  EXPECT_NE(peer.ReadUntil("/m|").find("200 OK"), std::string::npos);
}

TEST(Server, ExpectContinue) {
  TestService service;
  auto server = StartServer(service);
  auto peer = RawPeer::To(server->port());
  peer.Send("POST /e HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("abc");
  EXPECT_NE(peer.ReadUntil("/e|abc").find("200 OK"), std::string::npos);
}

TEST(Server, AdmitRefusesBeforeTheBody) {
  TestService service;
  std::atomic<int> handled = 0;
  service.admit = [](const Head& head) -> TestService::Admitted {
    if (head.Header("authorization").empty()) return Response{401, {}, "who are you"};
    return Buffered{};
  };
  service.handle = [&](Head, std::string, Responder responder) {
    ++handled;
    responder.Send({});
  };
  auto server = StartServer(service);
  {
    auto peer = RawPeer::To(server->port());
    peer.Send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n");
    std::string all = peer.ReadAll();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 401 ")) << all;
    EXPECT_NE(all.find("Connection: close"), std::string::npos);
  }
  {
    // A small body is dropped and the connection stays.
    auto peer = RawPeer::To(server->port());
    peer.Send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_EQ(peer.ReadUntil("who are you").find("Connection: close"), std::string::npos);
    peer.Send("GET / HTTP/1.1\r\nAuthorization: x\r\n\r\n");
    EXPECT_TRUE(peer.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  }
  EXPECT_EQ(handled, 1);
}

// Counts what becomes of a sink.
struct SinkCounts {
  std::atomic<uint64_t> bytes = 0;
  std::atomic<int> finished = 0;
  std::atomic<int> destroyed = 0;
};

class CountingSink : public BodySink {
 public:
  CountingSink(SinkCounts& counts, uint64_t limit) : counts_(counts), limit_(limit) {}
  ~CountingSink() override { ++counts_.destroyed; }
  Result<void> Write(std::string_view bytes) override {
    counts_.bytes += bytes.size();
    if (counts_.bytes > limit_) return MakeError(Code::kExhausted, "test.full", "full");
    return {};
  }
  void Finish(Responder responder) override {
    ++counts_.finished;
    responder.Send({201, {}, std::to_string(counts_.bytes)});
  }

 private:
  SinkCounts& counts_;
  const uint64_t limit_;
};

TEST(Server, UploadStreamsThroughASink) {
  SinkCounts counts;
  TestService service;
  service.admit = [&](const Head&) -> TestService::Admitted { return std::make_unique<CountingSink>(counts, UINT64_MAX); };
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  int pieces = 0;
  Call call = MakeCall("PUT", "/up");
  call.body_source = [&]() -> Result<std::string> { return pieces++ < 64 ? std::string(100'000, 'x') : std::string(); };
  auto reply = client.Do(call);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "6400000");
  call.body_source = {};
  call.body.assign(3'000'000, 'y');
  counts.bytes = 0;
  reply = client.Do(call);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->body, "3000000");
  EXPECT_EQ(counts.finished, 2);
  EXPECT_TRUE(Eventually([&] { return counts.destroyed == 2; }));
}

TEST(Server, CutOffBodyDestroysTheSinkUnfinished) {
  SinkCounts counts;
  TestService service;
  service.admit = [&](const Head&) -> TestService::Admitted { return std::make_unique<CountingSink>(counts, UINT64_MAX); };
  auto server = StartServer(service);
  for (const char* head : {"Content-Length: 1000", "Transfer-Encoding: chunked"}) {
    counts.bytes = 0;
    int before = counts.destroyed;
    auto peer = RawPeer::To(server->port());
    peer.Send(StrCat("PUT / HTTP/1.1\r\n", head, "\r\n\r\n3e8\r\nabc"));
    ASSERT_TRUE(Eventually([&] { return counts.bytes > 0; }));
    peer.Close();
    EXPECT_TRUE(Eventually([&] { return counts.destroyed == before + 1; }));
  }
  EXPECT_EQ(counts.finished, 0);
}

TEST(Server, SinkErrorEndsTheRequest) {
  SinkCounts counts;
  TestService service;
  service.admit = [&](const Head&) -> TestService::Admitted { return std::make_unique<CountingSink>(counts, 1000); };
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  Call call = MakeCall("PUT", "/up");
  call.body_source = []() -> Result<std::string> { return std::string(50'000, 'x'); };  // never ends by itself
  auto reply = client.Do(call);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 507);
  EXPECT_EQ(ErrorFromReply(*reply).slug, "test.full");
  EXPECT_EQ(counts.finished, 0);
}

TEST(Server, BodyOverItsLimitIs413) {
  TestService service;
  service.admit = [](const Head&) -> TestService::Admitted { return Buffered{.limit = 10}; };
  auto server = StartServer(service);
  for (const char* request : {"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\nxxxxxxxxxxx",
                              "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nxxxxxx\r\n6\r\nxxxxxx\r\n0\r\n\r\n"}) {
    auto peer = RawPeer::To(server->port());
    peer.Send(request);
    std::string all = peer.ReadAll();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 413 ")) << all;
    EXPECT_EQ(Slug(all), "http.body_too_large");
  }
  auto peer = RawPeer::To(server->port());
  peer.Send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nxxxxxxxxxx");
  EXPECT_TRUE(peer.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST(Server, HeaderLimit) {
  TestService service;
  Settings settings;
  settings.header_limit = 2000;
  auto server = StartServer(service, settings);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 200; ++i) many += StrCat("X-", i, ": some value\r\n");
  for (const std::string& request :
       {StrCat("GET / HTTP/1.1\r\nX: ", std::string(5000, 'x'), "\r\n\r\n"), many + "\r\n", StrCat("GET /", std::string(5000, 'x'))}) {
    auto peer = RawPeer::To(server->port());
    peer.Send(request);
    std::string all = peer.ReadAll();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 431 ")) << all;
    EXPECT_EQ(Slug(all), "http.header_too_large");
  }
}

TEST(Server, MalformedRequestsAre400) {
  TestService service;
  std::atomic<int> handled = 0;
  service.handle = [&](Head, std::string, Responder responder) {
    ++handled;
    responder.Send({});
  };
  auto server = StartServer(service);
  for (std::string request :
       {"nonsense\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "GET /?x=%zz HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "GET path HTTP/1.1\r\n\r\n"}) {
    auto peer = RawPeer::To(server->port());
    peer.Send(request);
    std::string all = peer.ReadAll();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 400 ")) << request << "\n" << all;
    EXPECT_EQ(Slug(all), "http.bad_request") << request;
  }
  EXPECT_EQ(handled, 0);
}

TEST(Server, SlowHeadAndIdleConnectionsAreClosed) {
  TestService service;
  Settings settings;
  settings.header_timeout = 1s;
  settings.idle_timeout = 1s;
  auto server = StartServer(service, settings);
  auto slow = RawPeer::To(server->port());
  auto idle = RawPeer::To(server->port());
  auto body = RawPeer::To(server->port());
  idle.Send("GET / HTTP/1.1\r\n\r\n");
  idle.ReadUntil("/|");
  body.Send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc");
  // A byte now and then does not buy time for a head.
  const auto start = std::chrono::steady_clock::now();
  std::thread drip([&] {
    for (int i = 0; i < 40 && slow.Send("G"); ++i) std::this_thread::sleep_for(50ms);
  });
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(body.ReadAll(), "");
  EXPECT_TRUE(body.ended());
  drip.join();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

TEST(Server, TooManyConnectionsAre503) {
  TestService service;
  Settings settings;
  settings.max_connections = 2;
  auto server = StartServer(service, settings);
  auto one = RawPeer::To(server->port());
  auto two = RawPeer::To(server->port());
  ASSERT_TRUE(Eventually([&] { return server->connections() == 2; }));
  auto three = RawPeer::To(server->port());
  three.Send("GET / HTTP/1.1\r\n\r\n");
  std::string all = three.ReadAll();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 503 ")) << all;
  EXPECT_EQ(Slug(all), "http.too_many_connections");
  three.Close();
  one.Close();
  ASSERT_TRUE(Eventually([&] { return server->connections() == 1; }));
  auto four = RawPeer::To(server->port());
  four.Send("GET /4 HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(four.ReadUntil("/4|").starts_with("HTTP/1.1 200 "));
}

TEST(Server, ResponderAnswersFromAnotherThreadOnceAndDroppedIs500) {
  TestService service;
  service.handle = [](Head head, std::string, Responder responder) {
    if (head.path == "/drop") return;
    std::thread([responder] {
      responder.Send({200, {}, "first"});
      responder.Send({200, {}, "second"});
      EXPECT_FALSE(responder.Begin(200, {})->Write("third"));
    }).detach();
  };
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  for (int i = 0; i < 20; ++i) {
    auto reply = client.Do(MakeCall("GET", "/"));
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->body, "first");
    reply = client.Do(MakeCall("GET", "/drop"));
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->status, 500);
    EXPECT_EQ(ErrorFromReply(*reply).slug, "http.unanswered");
  }
}

TEST(Server, LargeResponsesArriveWhole) {
  TestService service;
  std::string large(20'000'000, 'z');
  for (size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>('a' + (i / 1000) % 26);
  service.handle = [&](Head, std::string, Responder responder) { responder.Send({200, {}, large}); };
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  for (int i = 0; i < 2; ++i) {
    auto reply = client.Do(MakeCall("GET", "/"));
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(reply->body == large);
  }
}

TEST(Server, HeaderValuesCannotBeginLines) {
  TestService service;
  service.handle = [](Head, std::string, Responder responder) { responder.Send({200, {{"X-A", "b\r\nSet-Cookie: evil"}, {"Content-Length", "999"}}, "ok"}); };
  auto server = StartServer(service);
  Client client = MakeClient(*server);
  auto reply = client.Do(MakeCall("GET", "/"));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->headers.count("set-cookie"), 0u);
  EXPECT_EQ(reply->body, "ok");
}

TEST(Server, AddressInUseAndBadAddress) {
  TestService service;
  auto server = StartServer(service);
  Settings settings;
  settings.port = server->port();
  auto second = Server::Start(settings, service);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_EQ(second.error().slug, "http.address_in_use");
  EXPECT_NE(second.error().message.find(StrCat("127.0.0.1:", server->port())), std::string::npos);
  settings.address = "not an address";
  auto third = Server::Start(settings, service);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().slug, "http.address_invalid");
}

TEST(Server, ShutdownLetsRunningRequestsEnd) {
  TestService service;
  std::atomic<bool> inside = false;
  service.handle = [&](Head, std::string, Responder responder) {
    std::thread([&, responder] {
      inside = true;
      std::this_thread::sleep_for(100ms);
      responder.Send({200, {}, "done"});
    }).detach();
  };
  auto server = StartServer(service);
  auto idle = RawPeer::To(server->port());
  auto busy = RawPeer::To(server->port());
  busy.Send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return inside.load() && server->connections() == 2; }));
  std::string answer;
  std::thread reader([&] {
    answer = busy.ReadAll();
    busy.Close();
  });
  const auto start = std::chrono::steady_clock::now();
  server->Shutdown(5s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  EXPECT_EQ(server->connections(), 0u);
  reader.join();
  EXPECT_TRUE(answer.ends_with("done")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_FALSE(os::ConnectTcp("127.0.0.1", server->port(), std::chrono::steady_clock::now() + 1s, os::StopSignal()).ok());
}

TEST(Server, ShutdownGraceIsBoundedAndLateAnswersAreHarmless) {
  TestService service;
  std::optional<Responder> kept;
  std::atomic<bool> inside = false;
  service.handle = [&](Head, std::string, Responder responder) {
    kept = responder;
    inside = true;
  };
  auto server = StartServer(service);
  auto busy = RawPeer::To(server->port());
  busy.Send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return inside.load(); }));
  const auto start = std::chrono::steady_clock::now();
  server->Shutdown(50ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_EQ(server->connections(), 0u);
  server.reset();
  auto stream = kept->Begin(200, {});
  EXPECT_FALSE(stream->Write("late"));
  bool closed = false;
  stream->OnClosed([&] { closed = true; });
  EXPECT_TRUE(closed);
}

TEST(Server, GarbageNeverEndsTheServer) {
  TestService service;
  SinkCounts counts;
  service.admit = [&](const Head& head) -> TestService::Admitted {
    if (head.path.size() % 3 == 0) return Response{403, {}, "no"};
    if (head.path.size() % 3 == 1) return std::make_unique<CountingSink>(counts, 500);
    return Buffered{.limit = 100};
  };
  Settings settings;
  settings.header_limit = 4096;
  auto server = StartServer(service, settings);
  std::mt19937 random(4711);
  const std::string seeds[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /ab HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                               "POST /a HTTP/1.1\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\nhello world!",
                               "POST /abc?x=%20&y HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"};
  for (int i = 0; i < 600; ++i) {
    std::string bytes;
    if (i % 4 == 0) {
      bytes.resize(random() % 3000);
      for (char& c : bytes) c = static_cast<char>(random());
    } else {
      for (unsigned n = 0; n <= random() % 3; ++n) bytes += seeds[random() % std::size(seeds)];
      for (unsigned n = 0; n < random() % 4; ++n) bytes[random() % bytes.size()] = static_cast<char>(i % 4 == 1 ? random() : "\r\n :0%;"[random() % 7]);
      if (i % 4 == 3) bytes.resize(random() % bytes.size());
    }
    auto peer = RawPeer::To(server->port());
    size_t cut = bytes.empty() ? 0 : random() % bytes.size();
    peer.Send(std::string_view(bytes).substr(0, cut));
    peer.Send(std::string_view(bytes).substr(cut));
    if (i % 2) {
      os::EndSending(peer.fd());
      peer.ReadAll();
      EXPECT_TRUE(peer.ended()) << i;
    }
  }
  service.admit = [](const Head&) -> TestService::Admitted { return Buffered{}; };
  auto reply = MakeClient(*server).Do(MakeCall("GET", "/alive"));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->body, "/alive|");
  EXPECT_TRUE(Eventually([&] { return server->connections() <= 1; }));
}

}  // namespace
}  // namespace ferry::http
