#include "agent/data_output.h"

#include <algorithm>

#include "base/text.h"
#include "os/file.h"
#include "transfer/upload.h"

namespace ferry::agent {

using model::DataOutput;
using model::DataUse;

namespace {

struct OutputFile {
  std::string relative;
  std::string file;
  uint64_t size = 0;
};

// The files below a folder. A link is followed into `roots` alone: what a script in a container calls its own may be the node's.
struct OutputWalk {
  std::vector<std::string> roots;
  std::vector<OutputFile> files;
  size_t left_out = 0;

  Result<void> Add(const std::string& folder, const std::string& prefix, int depth = 0) {
    if (depth > 64 || files.size() > kMostDataFiles)
      return MakeError(Code::kTooLarge, "data.too_many", StrCat("it has more than 64 folders in each other, or more than ", kMostDataFiles, " files"));
    TRY(auto entries, os::ListFolder(folder));
    for (const os::DirEntry& entry : entries) {
      std::string file = os::JoinPath(folder, entry.name), relative = prefix.empty() ? entry.name : StrCat(prefix, "/", entry.name);
      if (entry.type == os::FileType::kFolder) {
        TRY_VOID(Add(file, relative, depth + 1));
        continue;
      }
      if (entry.type == os::FileType::kLink && !MayFollow(file)) {
        ++left_out;
        continue;
      }
      auto stat = os::StatPath(file);
      if (stat.ok() && stat->type == os::FileType::kFile) files.push_back({std::move(relative), std::move(file), stat->size});
    }
    return {};
  }

  bool MayFollow(const std::string& link) const {
    auto real = os::RealPath(link);
    return real.ok() && std::any_of(roots.begin(), roots.end(), [&](const std::string& root) { return *real == root || real->starts_with(root + "/"); });
  }
};

class OutputJob {
 public:
  OutputJob(const DataJob& job, const std::string& name, const DataOutput& output, const std::string& root, const std::vector<std::string>& roots)
      : job_(job), name_(name), output_(output), root_(root), roots_(roots), client_(job.server) {
    link_ = transfer::LinkOver(client_, "/api/v1/agent/data");
  }

  Result<DataUse> Run() {
    OutputWalk walk{roots_, {}, 0};
    std::vector<OutputFile>& files = walk.files;
    auto stat = os::StatPath(root_, false);
    if (stat.ok() && stat->type == os::FileType::kLink && !walk.MayFollow(root_))
      return MakeError(Code::kForbidden, "data.path", StrCat("'", root_, "' was made a link that leads out of the run's folders"));
    stat = os::StatPath(root_);
    if (stat.ok() && stat->type == os::FileType::kFile) {
      files.push_back({root_.substr(root_.rfind('/') + 1), root_, stat->size});
    } else if (stat.ok()) {
      TRY_VOID(walk.Add(root_, ""));
    }
    if (walk.left_out) job_.log.Say(StrCat("output '", name_, "': left out ", walk.left_out, " symbolic link(s) that lead out of the run's folders"));
    if (!output_.globs.empty())
      std::erase_if(files, [&](const OutputFile& file) {
        return std::none_of(output_.globs.begin(), output_.globs.end(), [&](const std::string& glob) { return model::MatchesGlob(glob, file.relative); });
      });
    std::sort(files.begin(), files.end(), [](const OutputFile& a, const OutputFile& b) { return a.relative < b.relative; });
    DataUse use{name_, "uploaded", root_, static_cast<int64_t>(files.size()), 0, {}};
    for (const OutputFile& file : files) use.bytes += static_cast<int64_t>(file.size);
    TRY(Json about, transfer::Ask(link_, "POST", "/output", Key()));
    job_.log.Say(StrCat("output '", name_, "': uploading ", files.size(), " file(s), ", FormatBytes(static_cast<uint64_t>(use.bytes)), " to '",
                        about.GetString("path"), "' of datastore '", output_.datastore, "'"));
    job_.log.Begin(StrCat("output '", name_, "'"), static_cast<uint64_t>(use.bytes));
    if (about.GetBool("by_content")) {
      TRY_VOID(ByContent(files));
    } else {
      for (const OutputFile& file : files) TRY_VOID(Send(file));
    }
    job_.log.Say(StrCat("output '", name_, "': uploaded"));
    return use;
  }

 private:
  Json Key() const { return Json::MakeObject({{"run", job_.assign.key.run}, {"attempt", job_.assign.key.attempt}, {"output", name_}}); }

  Result<void> ByContent(const std::vector<OutputFile>& files) {
    constexpr size_t kBatch = 10'000;
    for (size_t at = 0; at < files.size(); at += kBatch) {
      std::vector<transfer::File> batch;
      Json list = Json::MakeArray();
      for (size_t i = at; i < std::min(files.size(), at + kBatch); ++i) {
        if (job_.watch.stopping()) return StagingStopped();
        TRY(Digest digest, os::HashFile(files[i].file));
        batch.push_back({digest, files[i].size, files[i].file, files[i].relative});
        list.Push(Json::MakeObject({{"path", files[i].relative}, {"digest", digest.Hex()}, {"size", files[i].size}}));
      }
      transfer::UploadOptions options;
      uint64_t before = 0;
      options.on_progress = [&](const transfer::UploadProgress& progress) {
        job_.log.Add(progress.bytes - std::min(before, progress.bytes));
        before = progress.bytes;
      };
      TRY_VOID(transfer::Upload(transfer::LinkOver(client_, "/api/v1/agent/blobs"), batch, options));
      TRY(Json added, transfer::Ask(link_, "POST", "/output", Key().Set("files", std::move(list))));
    }
    return {};
  }

  Result<void> Send(const OutputFile& file) {
    constexpr uint64_t kSmall = 4u << 20;
    http::Call call;
    call.method = "PUT";
    call.path = StrCat("/api/v1/agent/data/file?run=", EncodePercent(job_.assign.key.run), "&attempt=", job_.assign.key.attempt,
                       "&output=", EncodePercent(name_), "&path=", EncodePercent(file.relative));
    TRY(os::Fd fd, os::Open(file.file, os::OpenMode::kRead));
    if (file.size <= kSmall) {
      TRY(call.body, os::ReadAt(fd, 0, kSmall, file.file));
      TRY(http::Reply reply, link_.exchange(std::move(call)));
      job_.log.Add(file.size);
      return {};
    }
    call.body_source = [&, at = uint64_t{0}]() mutable -> Result<std::string> {
      if (job_.watch.stopping()) return StagingStopped();
      TRY(std::string piece, os::ReadAt(fd, at, 1u << 20, file.file));
      at += piece.size();
      job_.log.Add(piece.size());
      return piece;
    };
    // A stream cannot be begun again on a connection that turns out to be closed.
    http::Client fresh(job_.server);
    TRY(http::Reply reply, transfer::LinkOver(fresh, "").exchange(std::move(call)));
    return {};
  }

  const DataJob& job_;
  const std::string& name_;
  const DataOutput& output_;
  const std::string root_;
  const std::vector<std::string> roots_;  // where links may lead
  http::Client client_;
  transfer::Link link_;
};

}  // namespace

Result<DataUse> UploadOutput(const DataJob& job, const std::string& name, const DataOutput& output, const std::string& root,
                             const std::vector<std::string>& roots) {
  return OutputJob(job, name, output, root, roots).Run();
}

}  // namespace ferry::agent
