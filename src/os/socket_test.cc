#include "os/socket.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "base/text.h"

namespace ferry::os {
namespace {

using namespace std::chrono_literals;

SteadyTime Soon(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

struct Pair {
  Fd near;
  Fd far;
};

Pair Connected() {
  auto listener = ListenTcp("127.0.0.1", 0);
  EXPECT_TRUE(listener.ok());
  auto near = ConnectTcp("localhost", LocalPort(*listener), Soon(5s), StopSignal());
  EXPECT_TRUE(near.ok());
  auto far = Accept(*listener, Soon(5s), StopSignal());
  EXPECT_TRUE(far.ok());
  return {std::move(*near), std::move(*far)};
}

TEST(Socket, TransfersBytesAndTellsTheEnd) {
  Pair pair = Connected();
  char bytes[16];
  EXPECT_EQ(Receive(pair.far, bytes, sizeof bytes).kind, Transfer::Kind::kWait);
  EXPECT_FALSE(CheckReady(pair.far, {.readable = true, .writable = false}).readable);
  Transfer sent = Send(pair.near, "ab", "cde");
  EXPECT_EQ(sent.bytes, 5u);
  auto ready = WaitReady(pair.far, {.readable = true, .writable = true}, Soon(5s), StopSignal());
  ASSERT_TRUE(ready.ok());
  EXPECT_TRUE(ready->writable);
  Transfer got = Receive(pair.far, bytes, sizeof bytes);
  EXPECT_EQ(std::string_view(bytes, got.bytes), "abcde");
  EndSending(pair.near);
  ASSERT_TRUE(WaitReady(pair.far, {.readable = true, .writable = false}, Soon(5s), StopSignal()).ok());
  EXPECT_EQ(Receive(pair.far, bytes, sizeof bytes).kind, Transfer::Kind::kEnd);
}

TEST(Socket, SendingToAClosedPeerFailsWithoutASignal) {
  Pair pair = Connected();
  pair.far.Close();
  Transfer sent;
  for (int i = 0; i < 1000 && sent.kind != Transfer::Kind::kFailed; ++i) {
    sent = Send(pair.near, "x");
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(sent.kind, Transfer::Kind::kFailed);
  EXPECT_FALSE(ErrorText(sent.error).empty());
}

TEST(Socket, WaitsEndWithTheDeadlineOrAStop) {
  Pair pair = Connected();
  auto timed = WaitReady(pair.near, {.readable = true, .writable = false}, Soon(20ms), StopSignal());
  ASSERT_FALSE(timed.ok());
  EXPECT_EQ(timed.error().slug, "socket.timeout");
  std::stop_source source;
  StopSignal stop(source.get_token());
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);
    source.request_stop();
  });
  auto stopped = WaitReady(pair.near, {.readable = true, .writable = false}, Soon(10s), stop);
  stopper.join();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().slug, "socket.stopped");
  // A token that was stopped before is noticed as well.
  StopSignal late(source.get_token());
  EXPECT_EQ(WaitReady(pair.near, {.readable = false, .writable = true}, Soon(10s), late).error().slug, "socket.stopped");
}

TEST(Socket, ListeningTwiceIsAConflict) {
  auto first = ListenTcp("127.0.0.1", 0);
  ASSERT_TRUE(first.ok());
  auto second = ListenTcp("127.0.0.1", LocalPort(*first));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kConflict);
  EXPECT_EQ(ListenTcp("not numeric", 0).error().code, Code::kInvalid);
}

TEST(Socket, UnixListenerReplacesAnAbandonedPath) {
  const std::string path = StrCat(testing::TempDir(), "/ferry_socket_", std::chrono::steady_clock::now().time_since_epoch().count());
  {
    auto first = ListenUnix(path);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(ListenUnix(path).error().code, Code::kConflict);
    EXPECT_TRUE(ConnectUnix(path, Soon(5s), StopSignal()).ok());
    EXPECT_EQ(LocalPort(*first), 0);
  }
  EXPECT_EQ(ConnectUnix(path, Soon(5s), StopSignal()).error().slug, "socket.unreachable");
  EXPECT_TRUE(ListenUnix(path).ok());
  std::remove(path.c_str());
  EXPECT_FALSE(ConnectUnix(std::string(500, 'x'), Soon(5s), StopSignal()).ok());
}

TEST(Socket, UnknownNamesAreUnreachable) {
  auto fd = ConnectTcp("no-such-host.invalid", 80, Soon(10s), StopSignal());
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().code == Code::kTimeout ? "socket.unreachable" : fd.error().slug, "socket.unreachable");
}

}  // namespace
}  // namespace ferry::os
