#include "rest/feed.h"

#include <chrono>

#include "base/text.h"
#include "base/utf8.h"
#include "engine/tables.h"

namespace ferry::rest {

namespace {
constexpr size_t kPiece = 256u << 10;
constexpr const char* kMainStream = "user_logs/std_log.txt";
constexpr const char* kBuildStream = "azureml-logs/20_image_build_log.txt";
}  // namespace

Feed::Feed(store::Store& store, logs::LogStore& logs, series::SeriesStore& series) : store_(store), logs_(logs), series_(series) {
  thread_ = std::thread([this] { Run(); });
}

Feed::~Feed() { Stop(); }

void Feed::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  topics_.clear();
  watchers_.clear();
}

std::string Feed::FormatId(const std::map<std::string, uint64_t>& offsets) {
  std::string id;
  for (const auto& [stream, offset] : offsets) id += StrCat(id.empty() ? "" : ",", EncodePercent(stream), "=", offset);
  return id;
}

std::map<std::string, uint64_t> Feed::ParseId(std::string_view id) {
  std::map<std::string, uint64_t> offsets;
  for (std::string_view part : Split(id, ',')) {
    size_t equals = part.find('=');
    if (equals == std::string_view::npos || offsets.size() > 1000) continue;
    auto stream = DecodePercent(part.substr(0, equals));
    auto offset = ParseInt(part.substr(equals + 1));
    if (stream && offset && *offset >= 0) offsets[*stream] = static_cast<uint64_t>(*offset);
  }
  return offsets;
}

void Feed::Follow(Following following, std::shared_ptr<http::Stream> stream) {
  std::string run = following.run;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    Topic& topic = topics_[run];
    topic.followers.push_back({std::move(following), std::move(stream), {}, false, false});
    dirty_.insert(run);
  }
  changed_.notify_one();
}

void Feed::FollowAll(std::shared_ptr<http::Stream> stream) {
  stream->Write(": following every run\n\n");
  std::lock_guard lock(mutex_);
  if (!stop_) watchers_.push_back(std::move(stream));
}

void Feed::Wake(const std::string& run) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (topics_.count(run)) wake = dirty_.insert(run).second;
  }
  if (wake) changed_.notify_one();
}

void Feed::RunChanged(const std::string& run) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (topics_.count(run)) wake = dirty_.insert(run).second;
    if (!watchers_.empty()) wake |= announced_.insert(run).second;
  }
  if (wake) changed_.notify_one();
}

void Feed::MetricsChanged(const std::string& run) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    auto it = topics_.find(run);
    if (it == topics_.end()) return;
    it->second.metrics_dirty = true;
    wake = dirty_.insert(run).second;
  }
  if (wake) changed_.notify_one();
}

size_t Feed::followers() const {
  std::lock_guard lock(mutex_);
  size_t count = watchers_.size();
  for (const auto& [run, topic] : topics_) count += topic.followers.size();
  return count;
}

void Feed::Run() {
  using Steady = std::chrono::steady_clock;
  auto heartbeat = Steady::now() + std::chrono::seconds(15);
  for (;;) {
    std::set<std::string> dirty, announced;
    size_t crowd = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, heartbeat, [this] { return stop_ || !dirty_.empty() || !announced_.empty(); });
      if (stop_) return;
      dirty.swap(dirty_);
      announced.swap(announced_);
      for (const auto& [run, topic] : topics_) crowd += topic.followers.size();
    }
    for (const std::string& run : dirty) Pump(run);
    if (!announced.empty()) {
      std::string events;
      for (const std::string& id : announced) {
        auto document = store_.Get("run", id);
        if (!document.ok() || !*document) continue;
        if (auto run = engine::RunFromDocument(**document); run.ok())
          events += http::FormatEvent(
              "run", "", Json::MakeObject({{"id", id}, {"experiment", run->experiment}, {"status", model::StatusName(model::StatusOf(*run))}}).Dump());
      }
      std::lock_guard lock(mutex_);
      std::erase_if(watchers_, [&](const auto& stream) { return !stream->Write(events); });
    }
    if (Steady::now() >= heartbeat) {
      heartbeat = Steady::now() + std::chrono::seconds(15);
      std::list<Topic> ended;
      std::lock_guard lock(mutex_);
      for (auto& [run, topic] : topics_)
        for (Follower& follower : topic.followers) follower.gone |= !follower.stream->Write(": still here\n\n");
      std::erase_if(watchers_, [](const auto& stream) { return !stream->Write(": still here\n\n"); });
      for (auto it = topics_.begin(); it != topics_.end();) {
        std::erase_if(it->second.followers, [](const Follower& f) { return f.gone; });
        if (!it->second.followers.empty()) {
          ++it;
          continue;
        }
        ended.push_back(std::move(it->second));
        it = topics_.erase(it);
      }
    }
    // Many followers: let a little gather between rounds, so that each gets fewer, larger pieces.
    if (crowd > 50) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Feed::Pump(const std::string& id) {
  std::list<Follower> followers;
  bool metrics_dirty = false;
  {
    std::lock_guard lock(mutex_);
    auto it = topics_.find(id);
    if (it == topics_.end()) return;
    followers.swap(it->second.followers);
    metrics_dirty = std::exchange(it->second.metrics_dirty, false);
  }
  auto document = store_.Get("run", id);
  std::optional<model::Run> run;
  std::string view;
  if (document.ok() && *document)
    if (auto parsed = engine::RunFromDocument(**document); parsed.ok()) {
      run = std::move(*parsed);
      view = model::RunView(*run).Dump();
    }
  if (run) {
    int attempt = run->attempt().number;
    bool subscribed;
    {
      std::lock_guard lock(mutex_);
      subscribed = topics_[id].subscriptions.count(attempt) > 0;
    }
    if (!subscribed) {
      auto subscription = logs_.Follow(model::AttemptKey{id, attempt}.Name(), [this, id] { Wake(id); });
      std::lock_guard lock(mutex_);
      topics_[id].subscriptions[attempt] = std::move(subscription);
    }
  }
  Topic scratch;
  scratch.metrics_dirty = metrics_dirty;
  std::map<std::string, Piece> cache;
  for (auto it = followers.begin(); it != followers.end();)
    it = PumpOne(scratch, *it, run ? &*run : nullptr, view, cache) ? std::next(it) : followers.erase(it);
  Topic ended;
  std::lock_guard lock(mutex_);
  auto it = topics_.find(id);
  if (it == topics_.end()) return;
  it->second.followers.splice(it->second.followers.begin(), followers);
  if (it->second.followers.empty()) {
    ended.subscriptions.swap(it->second.subscriptions);
    topics_.erase(it);
  }
}

Feed::Piece Feed::ReadPiece(const std::string& owner, const std::string& stream, int attempt, uint64_t offset, bool complete) {
  auto bytes = logs_.Read(owner, stream, offset, kPiece);
  if (!bytes.ok() || bytes->empty()) return {};
  const bool full = bytes->size() == kPiece;
  // The rest of a character that is cut comes with the next bytes, if any can come.
  if (full || !complete) bytes->resize(bytes->size() - CutCharacter(*bytes));
  const uint64_t size = bytes->size();
  return {Json::MakeObject({{"stream", ToUtf8(stream)}, {"attempt", attempt}, {"offset", offset}, {"next", offset + size}, {"data", ToUtf8(std::move(*bytes))}})
              .Dump(),
          size, full};
}

bool Feed::PumpOne(Topic& topic, Follower& follower, const model::Run* run, const std::string& view, std::map<std::string, Piece>& cache) {
  auto send = [&](std::string_view event, const std::string& data) {
    return follower.stream->Write(http::FormatEvent(event, FormatId(follower.want.offsets), data));
  };
  if (!run) {
    send("end", "{}");
    return false;
  }
  if (follower.last_status != view) {
    follower.last_status = view;
    if (!send("status", view)) return false;
  }
  bool more = false;
  if (follower.want.logs) {
    for (int attempt = 1; attempt <= run->attempt().number; ++attempt) {
      std::string owner = model::AttemptKey{run->id, attempt}.Name();
      std::vector<std::string> streams = {kMainStream};
      if (!run->spec.environment_key.empty()) streams.insert(streams.begin(), kBuildStream);
      if (follower.want.all_streams) {
        streams.clear();
        if (auto infos = logs_.Streams(owner); infos.ok())
          for (const auto& info : *infos) streams.push_back(info.name);
      }
      for (const std::string& stream : streams) {
        std::string place = StrCat(attempt, "/", stream);
        uint64_t& offset = follower.want.offsets[place];
        // A slow reader keeps its place and is served again when it has drained.
        if (follower.stream->Pending() > (1u << 20)) {
          std::string id = run->id;
          follower.stream->OnDrained([this, id] { Wake(id); });
          return true;
        }
        std::string key = StrCat(place, "@", offset);
        auto cached = cache.find(key);
        if (cached == cache.end()) {
          const bool complete = attempt < run->attempt().number || model::IsTerminal(*run);
          cached = cache.emplace(key, ReadPiece(owner, stream, attempt, offset, complete)).first;
        }
        const Piece& piece = cached->second;
        if (piece.size == 0) continue;
        offset += piece.size;
        if (!send("log", piece.data)) return false;
        more |= piece.more;
      }
    }
  }
  if (follower.want.metrics && (topic.metrics_dirty || !follower.sent_metrics)) {
    follower.sent_metrics = true;
    auto cached = cache.find("metrics");
    if (cached == cache.end()) {
      Json all = Json::MakeObject();
      if (auto summaries = series_.Summaries(run->id); summaries.ok())
        for (const series::Summary& s : *summaries)
          all.Add(s.metric,
                  Json::MakeObject({{"latest", s.latest.value}, {"count", s.count}, {"min", s.minimum}, {"max", s.maximum}, {"step", s.latest.step}}));
      cached = cache.emplace("metrics", Piece{all.Dump(), 0, false}).first;
    }
    if (!send("metrics", cached->second.data)) return false;
  }
  if (more) {
    std::lock_guard lock(mutex_);
    dirty_.insert(run->id);
    return true;
  }
  if (model::IsTerminal(*run)) {
    send("end", Json::MakeObject({{"status", model::StatusName(model::StatusOf(*run))}}).Dump());
    return false;
  }
  return true;
}

}  // namespace ferry::rest
