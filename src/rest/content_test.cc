// What runs produce, in and out: event streams, logs, metrics, artifacts, blobs.
#include <mutex>
#include <thread>

#include "base/utf8.h"
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class ContentTest : public ServerTest {
 protected:
  // Follows in a thread until the stream ends or the test does.
  class Follower {
   public:
    Follower(http::ClientSettings settings, std::string path, std::string last_id = {}) {
      thread_ = std::jthread([this, settings, path, last_id](std::stop_token stop) {
        http::Client client(settings);
        auto done = client.Events(
            path, last_id,
            [this](const http::Event& event) {
              std::lock_guard lock(mutex_);
              events_.push_back(event);
              return true;
            },
            stop);
        std::lock_guard lock(mutex_);
        ended_ = true;
        error_ = done.ok() ? "" : done.error().slug;
      });
    }
    std::vector<http::Event> events() const {
      std::lock_guard lock(mutex_);
      return events_;
    }
    bool ended() const {
      std::lock_guard lock(mutex_);
      return ended_;
    }
    std::string error() const {
      std::lock_guard lock(mutex_);
      return error_;
    }
    // The log bytes so far, checking that offsets join without gap or overlap.
    std::string text(uint64_t from = 0) const {
      std::string out;
      for (const http::Event& event : events())
        if (event.event == "log") {
          Json json = *ParseJson(event.data);
          EXPECT_EQ(json.GetInt("offset"), static_cast<int64_t>(from + out.size()));
          out += json.GetString("data");
        }
      return out;
    }
    std::string statuses() const {
      std::string out, last;
      for (const http::Event& event : events())
        if (event.event == "status")
          if (std::string status = ParseJson(event.data)->GetString("status"); status != last) out += (out.empty() ? "" : " ") + (last = status);
      return out;
    }

   private:
    mutable std::mutex mutex_;
    std::vector<http::Event> events_;
    bool ended_ = false;
    std::string error_;
    std::jthread thread_;
  };
};

TEST_F(ContentTest, AFollowerSeesStatusLogsAndTheEnd) {
  Hello();
  Submit("r");
  Follower follower(ClientOf(reader_), "/api/v1/runs/r/events");
  ASSERT_TRUE(Eventually([&] { return !follower.events().empty(); }));
  Happen("r", "Accepted");
  ASSERT_TRUE(Eventually([&] { return follower.statuses().ends_with("Preparing"); }));
  Happen("r", "Started");
  Log("r", 0, "hello\n");
  ASSERT_TRUE(Eventually([&] { return follower.text() == "hello\n"; }));
  Log("r", 6, "wor\0ld \xff\xc3\xa9\n");
  Log("r", 6, "wor");  // the same bytes once more
  Log("r", 0, "other stream", "logs/other.txt");
  End("r", 3);
  ASSERT_TRUE(Eventually([&] { return follower.ended(); }));
  EXPECT_EQ(follower.error(), "");
  EXPECT_EQ(follower.text(), std::string("hello\nwor"));
  EXPECT_TRUE(follower.statuses().ends_with("Failed")) << follower.statuses();
  EXPECT_EQ(follower.events().back().event, "end");
  EXPECT_EQ(ParseJson(follower.events().back().data)->GetString("status"), "Failed");
  EXPECT_TRUE(Eventually([&] { return feed_->followers() == 0; }));
}

TEST_F(ContentTest, FollowingGoesOnWhereItWasCut) {
  Hello();
  Submit("r");
  Happen("r", "Accepted");
  Happen("r", "Started");
  Log("r", 0, "0123456789");
  std::string id;
  {
    Follower first(ClientOf(reader_), "/api/v1/runs/r/events");
    ASSERT_TRUE(Eventually([&] { return first.text() == "0123456789"; }));
    id = first.events().back().id;
  }
  EXPECT_EQ(Feed::ParseId(id), (std::map<std::string, uint64_t>{{"1/user_logs/std_log.txt", 10}}));
  Log("r", 10, "abc");
  End("r");
  Follower second(ClientOf(reader_), "/api/v1/runs/r/events", id);
  ASSERT_TRUE(Eventually([&] { return second.ended(); }));
  EXPECT_EQ(second.text(10), "abc");
  Follower third(ClientOf(reader_), "/api/v1/runs/r/events?from=" + EncodePercent(id));
  ASSERT_TRUE(Eventually([&] { return third.ended(); }));
  EXPECT_EQ(third.text(10), "abc");
  // Rubbish in the id is the beginning.
  Follower fourth(ClientOf(reader_), "/api/v1/runs/r/events", "=,%zz=1,a=-1,,x");
  ASSERT_TRUE(Eventually([&] { return fourth.ended(); }));
  EXPECT_EQ(fourth.text(), "0123456789abc");
}

TEST_F(ContentTest, LogEventsAreTextWhateverTheBytes) {
  Hello();
  Submit("r");
  Happen("r", "Accepted");
  Happen("r", "Started");
  auto data = [](const http::Event& event) {
    EXPECT_TRUE(IsUtf8(event.data)) << event.data;
    return *ParseJson(event.data);
  };
  // The first byte of an euro sign waits for the others.
  Log("r", 0, "a\xFFz \xE2");
  std::string id;
  {
    Follower follower(ClientOf(reader_), "/api/v1/runs/r/events");
    ASSERT_TRUE(Eventually([&] { return !follower.events().empty() && follower.events().back().event == "log"; }));
    Json first = data(follower.events().back());
    EXPECT_EQ(first.GetString("data"), "a\xEF\xBF\xBDz ");
    EXPECT_EQ(first.GetInt("offset"), 0);
    EXPECT_EQ(first.GetInt("next"), 4);
    id = follower.events().back().id;
    Log("r", 5, "\x82\xAC!");
    ASSERT_TRUE(Eventually([&] { return data(follower.events().back()).GetInt("offset") == 4; }));
    EXPECT_EQ(data(follower.events().back()).GetString("data"), "\xE2\x82\xAC!");
  }
  // What never becomes a character comes when the log has ended.
  Log("r", 8, "\xF0\x9F");
  End("r");
  Follower again(ClientOf(reader_), "/api/v1/runs/r/events", id);
  ASSERT_TRUE(Eventually([&] { return again.ended(); }));
  std::string text;
  int64_t next = 4;
  for (const http::Event& event : again.events()) {
    if (event.event != "log") continue;
    EXPECT_EQ(data(event).GetInt("offset"), next);
    next = data(event).GetInt("next");
    text += data(event).GetString("data");
  }
  EXPECT_EQ(next, 10);
  EXPECT_EQ(text, "\xE2\x82\xAC!\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/runs/r/logs/user_logs/std_log.txt").body, "a\xFFz \xE2\x82\xAC!\xF0\x9F");
}

TEST_F(ContentTest, ACharacterAcrossTheLargestPieceStaysWhole) {
  Hello();
  Submit("r");
  Happen("r", "Accepted");
  Happen("r", "Started");
  std::string log = "x";
  while (log.size() < 600'000) log += "\xC3\xA9\xE2\x82\xAC";
  Log("r", 0, log);
  End("r");
  Follower follower(ClientOf(reader_), "/api/v1/runs/r/events");
  ASSERT_TRUE(Eventually([&] { return follower.ended(); }));
  for (const http::Event& event : follower.events()) EXPECT_TRUE(IsUtf8(event.data));
  EXPECT_EQ(follower.text(), log);
}

TEST_F(ContentTest, FollowingOptions) {
  Hello();
  Submit("r");
  Happen("r", "Accepted");
  Happen("r", "Started");
  Log("r", 0, "main");
  Log("r", 0, "other", "logs/a.txt");
  Post("/api/v1/runs/r/metrics", R"({"points":[{"metric":"loss","value":0.5}]})");
  End("r");
  Follower quiet(ClientOf(reader_), "/api/v1/runs/r/events?logs=0&metrics=1");
  Follower all(ClientOf(reader_), "/api/v1/runs/r/events?streams=all");
  ASSERT_TRUE(Eventually([&] { return quiet.ended() && all.ended(); }));
  EXPECT_EQ(quiet.text(), "");
  std::string metrics;
  for (const auto& event : quiet.events())
    if (event.event == "metrics") metrics = event.data;
  EXPECT_EQ(ParseJson(metrics)->Find("loss")->GetDouble("latest"), 0.5);
  std::map<std::string, std::string> streams;
  for (const auto& event : all.events())
    if (event.event == "log") streams[ParseJson(event.data)->GetString("stream")] += ParseJson(event.data)->GetString("data");
  EXPECT_EQ(streams, (std::map<std::string, std::string>{{"logs/a.txt", "other"}, {"user_logs/std_log.txt", "main"}}));
  Follower none(ClientOf(reader_), "/api/v1/runs/none/events");
  ASSERT_TRUE(Eventually([&] { return none.ended(); }));
  EXPECT_EQ(none.error(), "run.not_found");
}

TEST_F(ContentTest, AllRunsCanBeWatched) {
  Follower watcher(ClientOf(reader_), "/api/v1/events");
  ASSERT_TRUE(Eventually([&] { return feed_->followers() == 1; }));
  Submit("a");
  Submit("b");
  ASSERT_TRUE(Eventually([&] { return watcher.events().size() >= 2; }));
  EXPECT_EQ(watcher.events()[0].event, "run");
  EXPECT_EQ(ParseJson(watcher.events()[0].data)->GetString("id"), "a");
}

TEST_F(ContentTest, ASlowReaderGetsEverythingAndHoldsUpNobody) {
  Hello();
  Submit("r");
  Happen("r", "Accepted");
  Happen("r", "Started");
  // Reads nothing until told to.
  std::atomic<bool> go{false};
  std::string got;
  std::atomic<bool> ended{false};
  std::jthread slow([&](std::stop_token stop) {
    http::Client client(ClientOf(reader_));
    (void)client.Events(
        "/api/v1/runs/r/events", "",
        [&](const http::Event& event) {
          while (!go && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (event.event == "log") got += ParseJson(event.data)->GetString("data");
          if (event.event == "end") ended = true;
          return true;
        },
        stop);
  });
  Follower fast(ClientOf(reader_), "/api/v1/runs/r/events");
  std::string all;
  for (int i = 0; i < 40; ++i) {
    std::string piece(1u << 20, static_cast<char>('a' + i % 26));
    piece.back() = '\n';
    Log("r", all.size(), piece);
    all += piece;
  }
  ASSERT_TRUE(Eventually([&] { return fast.text().size() == all.size(); })) << "the fast one waited for the slow one";
  End("r");
  ASSERT_TRUE(Eventually([&] { return fast.ended(); }));
  go = true;
  ASSERT_TRUE(Eventually([&] { return ended.load(); }));
  slow.join();
  EXPECT_EQ(got.size(), all.size());
  EXPECT_EQ(got, all);
}

TEST_F(ContentTest, LogsAreReadByOffset) {
  Hello();
  Submit("r");
  Log("r", 0, "0123456789");
  EXPECT_EQ(Get("/api/v1/runs/r/logs").Find("streams")->Dump(), R"([{"name":"user_logs/std_log.txt","size":10,"attempt":1}])");
  auto read = [&](const std::string& query) { return Ask(reader_, "GET", "/api/v1/runs/r/logs/user_logs/std_log.txt" + query); };
  EXPECT_EQ(read("").body, "0123456789");
  EXPECT_EQ(read("?offset=3&limit=4").body, "3456");
  EXPECT_EQ(read("?offset=100").body, "");
  EXPECT_EQ(ErrorOf(read("?offset=-1")), "400 parameter.invalid");
  EXPECT_EQ(ErrorOf(read("?attempt=2")), "400 parameter.invalid");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/r/logs/none.txt")), "404 log.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/r/logs/..%2fx")), "400 log.bad_name");
}

TEST_F(ContentTest, MetricsInAzuresShapes) {
  Hello();
  Submit("r");
  Post("/api/v1/runs/r/metrics", R"({"points":[
    {"metric":"once","value":0.9},
    {"metric":"many","value":1,"step":1},{"metric":"many","value":2,"step":2},{"metric":"many","value":"NaN","step":3},
    {"metric":"text","kind":"text","value":"hello"},
    {"metric":"list","kind":"list","value":[1,2]},{"metric":"list","kind":"list","value":[3]},
    {"metric":"row","kind":"row","value":{"x":1,"y":2}},{"metric":"row","kind":"row","value":{"x":3,"y":4}},
    {"metric":"one row","kind":"row","value":{"x":1}},
    {"metric":"table","kind":"table","value":{"x":[1,2],"y":[3,4]}},
    {"metric":"a/b c","value":7},
    {"metric":"cpu","kind":"system","value":50}]})");
  Json values = *Get("/api/v1/runs/r/metrics?values=1").Find("values");
  EXPECT_EQ(values.Find("once")->Dump(), "0.9");
  EXPECT_EQ(values.Find("many")->Dump(), "[1.0,2.0,\"NaN\"]");
  EXPECT_EQ(values.Find("text")->Dump(), "\"hello\"");
  EXPECT_EQ(values.Find("list")->Dump(), "[1,2,3]");
  EXPECT_EQ(values.Find("row")->Dump(), R"({"x":[1,3],"y":[2,4]})");
  EXPECT_EQ(values.Find("one row")->Dump(), R"({"x":1})");
  EXPECT_EQ(values.Find("table")->Dump(), R"({"x":[1,2],"y":[3,4]})");
  EXPECT_EQ(values.Find("cpu"), nullptr) << "system metrics are asked for";
  EXPECT_NE(Get("/api/v1/runs/r/metrics?values=1&system=1").Find("values")->Find("cpu"), nullptr);
  Json many = Get("/api/v1/runs/r/metrics/many");
  EXPECT_EQ(many.GetInt("total"), 3);
  EXPECT_EQ(many.Find("points")->as_array()[1].GetInt("step"), 2);
  EXPECT_EQ(Get("/api/v1/runs/r/metrics/many?from=2").Find("points")->as_array().size(), 1u);
  EXPECT_EQ(Get("/api/v1/runs/r/metrics/" + EncodePercent("a/b c")).GetInt("total"), 1);
  EXPECT_EQ(Get("/api/v1/runs/r/metrics/a/b%20c").GetInt("total"), 1);
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/r/metrics/none")), "404 metric.not_found");
  Json summary;
  Json all = Get("/api/v1/runs/r/metrics");
  for (const Json& item : all.Find("metrics")->as_array())
    if (item.GetString("name") == "many") summary = item;
  EXPECT_EQ(summary.GetInt("count"), 3);
  EXPECT_EQ(summary.GetDouble("min"), 1);
  EXPECT_EQ(summary.GetDouble("max"), 2);
}

TEST_F(ContentTest, MetricsInColumnsAndOnce) {
  Submit("r");
  std::string body = R"({"series":[{"metric":"loss","values":[3,2,1],"steps":[10,20,30]}],"source":"w","position":3})";
  EXPECT_EQ(Post("/api/v1/runs/r/metrics", body).GetInt("added"), 3);
  Post("/api/v1/runs/r/metrics", body);
  EXPECT_EQ(Get("/api/v1/runs/r/metrics/loss").GetInt("total"), 3) << "the same position again counts once";
  for (const auto& [wrong, slug] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "400 metric.none"},
           {R"({"points":7})", "400 metric.invalid"},
           {R"({"points":[{"value":1}]})", "400 metric.invalid"},
           {R"({"points":[{"metric":"","value":1}]})", "400 metric.invalid"},
           {R"({"points":[{"metric":"x"}]})", "400 metric.invalid"},
           {R"({"points":[{"metric":"x","value":"text"}]})", "400 metric.invalid"},
           {R"({"points":[{"metric":"x","value":1,"kind":"odd"}]})", "400 metric.invalid"},
           {R"({"points":[7]})", "400 metric.invalid"},
           {R"({"series":[{"metric":"x","values":[1],"steps":[1,2]}]})", "400 metric.invalid"},
           {R"({"series":[{"metric":"x","values":[null]}]})", "400 metric.invalid"},
           {R"({"series":[{"metric":"x","values":["text"]}]})", "400 metric.invalid"},
           {R"({"series":[7]})", "400 metric.invalid"},
       })
    EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/r/metrics", wrong)), slug) << wrong;
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/runs/none/metrics", body)), "404 run.not_found");
  // A refused request leaves nothing, also of the points before the wrong one.
  Ask(owner_, "POST", "/api/v1/runs/r/metrics", R"({"points":[{"metric":"half","value":1},{"metric":"x"}]})");
  EXPECT_EQ(Get("/api/v1/runs/r/metrics").Find("metrics")->as_array().size(), 1u);
}

TEST_F(ContentTest, WhatAScriptLoggedArrivesOnce) {
  Hello();
  Submit("r");
  std::string first = R"({\"metric\":\"m\",\"value\":1}\n{\"tag\":\"t\",\"value\":\"v\"}\n)",
              second = R"(rubbish\n{\"metric\":\"m\",\"value\":2}\n{\"properties\":{\"p\":\"q\"}}\n)";
  EXPECT_EQ(Report(StrCat(R"("records":[{"run":"r","offset":0,"text":")", first, "\"}]")).status, 200);
  EXPECT_EQ(Report(StrCat(R"("records":[{"run":"r","offset":0,"text":")", first, second, "\"}]")).status, 200) << "the answer was lost; more came meanwhile";
  EXPECT_EQ(Get("/api/v1/runs/r/metrics?values=1").Find("values")->Dump(), R"({"m":[1.0,2.0]})");
  Json run = Get("/api/v1/runs/r");
  EXPECT_EQ(run.Find("tags")->GetString("t"), "v");
  EXPECT_EQ(run.Find("properties")->GetString("p"), "q");
}

TEST_F(ContentTest, ArtifactsWithRanges) {
  Hello();
  Submit("r");
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
  Digest digest = AddBlob(bytes), empty = AddBlob("");
  auto artifact = [&](const std::string& path, const Digest& d, size_t size) {
    return StrCat(R"({"run":"r","attempt":1,"path":")", path, R"(","digest":")", d.Hex(), R"(","size":)", size, "}");
  };
  EXPECT_EQ(Report(StrCat("\"artifacts\":[", artifact("outputs/a b.bin", digest, bytes.size()), ",", artifact("outputs/empty", empty, 0), ",",
                          artifact("logs/x", digest, bytes.size()), "]"))
                .status,
            200);
  Json list = Get("/api/v1/runs/r/artifacts");
  ASSERT_EQ(list.Find("artifacts")->as_array().size(), 3u);
  EXPECT_EQ(list.Find("artifacts")->as_array()[1].GetString("path"), "outputs/a b.bin");
  EXPECT_EQ(Get("/api/v1/runs/r/artifacts?prefix=outputs/").Find("artifacts")->as_array().size(), 2u);
  std::string path = "/api/v1/runs/r/artifacts/outputs/a%20b.bin";
  auto whole = Ask(reader_, "GET", path);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, bytes);
  EXPECT_EQ(whole.headers["content-disposition"], "attachment; filename*=UTF-8''a%20b.bin");
  EXPECT_EQ(whole.headers["etag"], StrCat("\"", digest.Hex(), "\""));
  auto head = Ask(reader_, "HEAD", path);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers["content-length"], "1000");
  EXPECT_EQ(head.body, "");
  struct Case {
    const char* range;
    int status;
    size_t first, length;
    const char* header;
  } cases[] = {
      {"bytes=0-9", 206, 0, 10, "bytes 0-9/1000"},
      {"bytes=990-", 206, 990, 10, "bytes 990-999/1000"},
      {"bytes=-5", 206, 995, 5, "bytes 995-999/1000"},
      {"bytes=0-5000", 206, 0, 1000, "bytes 0-999/1000"},
      {"bytes=-5000", 206, 0, 1000, "bytes 0-999/1000"},
      {"bytes=999-999", 206, 999, 1, "bytes 999-999/1000"},
      {"items=0-1", 200, 0, 1000, ""},
      {"bytes=0-1,5-6", 200, 0, 1000, ""},
      {"bytes=x-y", 200, 0, 1000, ""},
      {"bytes=1000-", 416, 0, 0, "bytes */1000"},
      {"bytes=9-8", 416, 0, 0, "bytes */1000"},
      {"bytes=-0", 416, 0, 0, "bytes */1000"},
  };
  for (const Case& c : cases) {
    auto reply = Ask(reader_, "GET", path, "", {{"range", c.range}});
    EXPECT_EQ(reply.status, c.status) << c.range;
    EXPECT_EQ(reply.headers["content-range"], c.header) << c.range;
    if (c.status != 416) {
      EXPECT_EQ(reply.body, bytes.substr(c.first, c.length)) << c.range;
    }
  }
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/runs/r/artifacts/outputs/empty").body, "");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/r/artifacts/none")), "404 artifact.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/none/artifacts/x")), "404 run.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/runs/none/artifacts")), "404 run.not_found");
}

TEST_F(ContentTest, LargeBlobsStream) {
  std::string bytes;
  bytes.reserve(30u << 20);
  while (bytes.size() < (30u << 20)) bytes += StrCat(bytes.size(), ",");
  Digest digest = AddLargeBlob(bytes);
  auto reply = Ask(reader_, "GET", "/api/v1/blobs/" + digest.Hex());
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(HashBytes(reply.body), digest);
  EXPECT_EQ(reply.headers["ferry-length"], StrCat(bytes.size()));
  auto part = Ask(reader_, "GET", "/api/v1/blobs/" + digest.Hex(), "", {{"range", "bytes=1000-20000000"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, bytes.substr(1000, 19999001));
}

TEST_F(ContentTest, ABlobThatBreaksOffIsAnErrorToItsReader) {
  Digest digest = AddLargeBlob(std::string(64u << 20, 'x'));
  std::string file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/blobs"))
    if (entry.is_regular_file() && entry.file_size() == 64u << 20) file = entry.path();
  ASSERT_FALSE(file.empty());
  http::Client client(ClientOf(reader_));
  http::Call call;
  call.path = StrCat("/api/v1/blobs/", digest.Hex());
  uint64_t received = 0;
  call.body_sink = [&](std::string_view bytes) -> Result<void> {
    if (received == 0) std::filesystem::resize_file(file, 1u << 20);
    received += bytes.size();
    return {};
  };
  auto reply = client.Do(call);
  EXPECT_LT(received, 64u << 20);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().slug, "http.cut_off");
}

TEST_F(ContentTest, APackOfTheLargestBlobsComesWhole) {
  Json digests = Json::MakeArray();
  for (size_t size : {(4u << 20) - 1000, (1u << 20) - 1000, 4u << 20}) digests.Push(AddBlob(std::string(size, static_cast<char>(size % 251))).Hex());
  http::Reply reply = Ask(reader_, "POST", "/api/v1/blobs/fetch?plain=1", Json::MakeObject({{"digests", std::move(digests)}}).Dump());
  EXPECT_GT(reply.body.size(), 9'400'000u);
}

TEST_F(ContentTest, BlobsUpAndDown) {
  std::vector<std::string> contents = {"one", "two", "", std::string(100000, 'x')};
  std::string pack(blob::kPackMagic), digests, hex;
  for (const std::string& content : contents) {
    blob::AppendRecord(pack, HashBytes(content), content);
    digests += StrCat(digests.empty() ? "" : ",", "\"", HashBytes(content).Hex(), "\"");
  }
  std::string body = StrCat(R"({"digests":[)", digests, "]}");
  EXPECT_EQ(Post("/api/v1/blobs/missing", body).Find("missing")->as_array().size(), 4u);
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/blobs/fetch", body)), "404 blob.not_found");
  EXPECT_EQ(Post("/api/v1/blobs/pack", pack).GetInt("added"), 4);
  EXPECT_EQ(Post("/api/v1/blobs/pack", pack).GetInt("added"), 0);
  EXPECT_TRUE(Post("/api/v1/blobs/missing", body).Find("missing")->as_array().empty());
  for (const char* query : {"", "?plain=1"}) {
    auto fetched = Ask(reader_, "POST", StrCat("/api/v1/blobs/fetch", query), body);
    ASSERT_EQ(fetched.status, 200);
    std::vector<std::string> got;
    blob::PackParser parser([&](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
      EXPECT_EQ(HashBytes(raw), digest);
      got.emplace_back(raw);
      return {};
    });
    EXPECT_TRUE(parser.Write(fetched.body).ok());
    EXPECT_TRUE(parser.Finish().ok());
    EXPECT_EQ(got, contents);
  }
  // Damage of any kind leaves nothing.
  std::string lie(blob::kPackMagic);
  blob::AppendRecord(lie, HashBytes("truth"), "lie");
  for (const std::string& bad : {std::string("rubbish"), pack.substr(0, pack.size() - 1), lie, std::string()})
    EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/blobs/pack", bad)), "400 blob.corrupt") << bad.substr(0, 20);
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/blobs/missing", R"({"digests":["zz"]})")), "400 blob.digest");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/blobs/missing", R"({"digests":[7]})")), "400 blob.digest");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", "/api/v1/blobs/missing", "{}")), "400 blob.digests");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/blobs/zz")), "400 blob.digest");
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/blobs/" + std::string(64, 'a'))), "404 blob.not_found");
}

TEST_F(ContentTest, LargeBlobsComeInParts) {
  std::string bytes(5u << 20, 'p');
  Digest digest = HashBytes(bytes);
  std::string path = "/api/v1/blobs/" + digest.Hex();
  EXPECT_EQ(Get(path + "/parts").GetInt("size"), 0);
  EXPECT_EQ(Good(Ask(owner_, "PUT", path + "/parts?offset=0", bytes.substr(0, 3u << 20))).GetInt("size"), 3 << 20);
  EXPECT_EQ(Get(path + "/parts").GetInt("size"), 3 << 20);
  EXPECT_EQ(ErrorOf(Ask(owner_, "PUT", path + "/parts?offset=0", "again")), "409 blob.offset");
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", path + "/finish", StrCat(R"({"size":)", bytes.size(), "}"))), "409 blob.offset") << "not all is here";
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", path + "/finish", "{}")), "400 blob.size");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PUT", path + "/parts?offset=x", "again")), "400 parameter.invalid");
  Good(Ask(owner_, "PUT", StrCat(path, "/parts?offset=", 3 << 20), bytes.substr(3u << 20)));
  Post(path + "/finish", StrCat(R"({"size":)", bytes.size(), "}"));
  EXPECT_EQ(Ask(owner_, "GET", path, "", {{"range", "bytes=0-0"}}).body, "p");
  // Wrong bytes under a name are dropped.
  std::string other = "/api/v1/blobs/" + HashBytes("other").Hex();
  Good(Ask(owner_, "PUT", other + "/parts", "wrong"));
  EXPECT_EQ(ErrorOf(Ask(owner_, "POST", other + "/finish", R"({"size":5})")), "400 blob.corrupt");
  EXPECT_EQ(Get(other + "/parts").GetInt("size"), 0);
}

TEST_F(ContentTest, ClientsGiveRunsFiles) {
  Post("/api/v1/runs", R"({"id":"i","experiment":"e","interactive":true})");
  std::string one = AddBlob("one").Hex(), two = AddLargeBlob("two and more").Hex();
  auto put = [&](const std::string& path, const std::string& digest, const std::string& more = "") {
    return Ask(owner_, "PUT", "/api/v1/runs/i/artifacts/" + path, StrCat(R"({"digest":")", digest, "\"", more, "}"));
  };
  auto made = put("outputs/a.txt", one, R"(,"size":3)");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(Good(made).GetInt("size"), 3);
  EXPECT_EQ(Good(made).Find("run"), nullptr);
  EXPECT_EQ(put("outputs/a.txt", one).status, 200);
  EXPECT_EQ(ErrorOf(put("outputs/a.txt", two)), "409 artifact.exists");
  EXPECT_EQ(Ask(owner_, "GET", "/api/v1/runs/i/artifacts/outputs/a.txt").body, "one");
  EXPECT_EQ(put("outputs/a.txt", two, R"(,"overwrite":true)").status, 201);
  EXPECT_EQ(Ask(owner_, "GET", "/api/v1/runs/i/artifacts/outputs/a.txt").body, "two and more");
  EXPECT_EQ(ErrorOf(put("outputs/a.txt/below", one)), "409 artifact.exists") << "a.txt is a file";
  EXPECT_EQ(ErrorOf(put("outputs", one, R"(,"overwrite":true)")), "409 artifact.exists") << "outputs is a folder";
  EXPECT_EQ(put("output", one).status, 201) << "only whole names count";
  EXPECT_EQ(ErrorOf(put("b", one, R"(,"size":4)")), "400 artifact.size");
  EXPECT_EQ(ErrorOf(put("b", "abc")), "400 artifact.digest");
  EXPECT_EQ(ErrorOf(put("b", std::string(64, 'a'))), "409 artifact.no_blob");
  EXPECT_EQ(ErrorOf(put("..%2fb", one)), "400 artifact.path");
  EXPECT_EQ(ErrorOf(put("b%ff", one)), "400 artifact.path");
  EXPECT_EQ(ErrorOf(put("b", one, R"(,"more":1)")), "400 field.unknown");
  EXPECT_EQ(ErrorOf(Ask(owner_, "PUT", "/api/v1/runs/none/artifacts/b", StrCat(R"({"digest":")", one, "\"}"))), "404 run.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "PUT", "/api/v1/runs/i/artifacts/b", "{}")), "403 auth.forbidden");
  Post("/api/v1/runs/i/complete", "");
  EXPECT_EQ(put("late.txt", one).status, 201) << "also when the run has ended";
  EXPECT_EQ(Get("/api/v1/runs/i/artifacts").Find("artifacts")->as_array().size(), 3u);
}

TEST_F(ContentTest, ADefinitionIsWhole) {
  std::string snapshot = AddBlob("a manifest").Hex();
  Post("/api/v1/runs",
       StrCat(R"({"id":"r","experiment":"e","script":"train.py","arguments":["--lr",0.1],"snapshot":")", snapshot,
              R"(","source":"here","environment":{"A":"b"},"gpus":0,"max_duration_seconds":60,"watch":["logs","more"],"collect_outputs":false,)",
              R"("environment_definition":{"name":"mine","docker":{"enabled":true,"baseImage":"i","baseImageRegistry":{"address":"a","username":"u",)",
              R"("password":"pa55word"}}}})"));
  Json definition = Get("/api/v1/runs/r/definition");
  EXPECT_EQ(definition.GetString("script"), "train.py");
  EXPECT_EQ(definition.Find("arguments")->Dump(), R"(["--lr","0.1"])");
  EXPECT_EQ(definition.GetString("snapshot"), snapshot);
  EXPECT_EQ(definition.Find("environment_variables")->GetString("A"), "b");
  EXPECT_EQ(definition.GetInt("max_duration_seconds"), 60);
  EXPECT_EQ(definition.Find("watch")->Dump(), R"(["logs","more"])");
  EXPECT_FALSE(definition.GetBool("collect_outputs", true));
  EXPECT_TRUE(definition.GetBool("keep_snapshot"));
  EXPECT_TRUE(definition.Find("interpreter")->is_null());
  const Json* environment = definition.Find("environment");
  EXPECT_EQ(environment->GetString("name"), "mine");
  EXPECT_EQ(environment->GetString("version"), "1");
  EXPECT_EQ(environment->Find("definition")->Find("docker")->Find("baseImageRegistry")->GetString("username"), "u");
  EXPECT_EQ(definition.Dump().find("password"), std::string::npos);
  Submit("plain");
  EXPECT_TRUE(Get("/api/v1/runs/plain/definition").Find("environment")->is_null());
  EXPECT_EQ(ErrorOf(Ask(owner_, "GET", "/api/v1/runs/none/definition")), "404 run.not_found");
}

}  // namespace
}  // namespace ferry::rest
