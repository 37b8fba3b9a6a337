#include "snapshot/walk.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "snapshot/parallel.h"
#include "snapshot/paths.h"

namespace ferry::snapshot {

namespace {

// How many notes of one kind are worth reading.
constexpr size_t kMostNotes = 10;

// What one thread has come across.
struct Harvest {
  std::vector<Found> found;
  std::vector<std::string> special;
  std::vector<std::string> unreadable;
};

class Walker {
 public:
  Walker(const os::Folder& root, const IgnoreRules& rules, unsigned threads) : root_(root), rules_(rules), harvests_(threads) {}

  std::vector<Harvest> Run() {
    folders_.Push(std::string());
    RunOnThreads(static_cast<unsigned>(harvests_.size()), [this](unsigned worker) {
      while (auto folder = folders_.Next()) {
        Visit(*folder, harvests_[worker]);
        folders_.Done();
      }
    });
    return std::move(harvests_);
  }

 private:
  void Visit(const std::string& path, Harvest& harvest) {
    auto folder = root_.OpenFolder(path);
    if (!folder.ok()) {
      if (folder.error().code != Code::kNotFound) harvest.unreadable.push_back(path);
      return;
    }
    bool empty = true;
    std::string at = path.empty() ? path : path + "/";
    const size_t prefix = at.size();
    auto listed = folder->List([&](const char* name, os::FileType type) {
      empty = false;
      at.resize(prefix);
      at += name;
      if (std::string_view(at).substr(prefix) == ".git" || rules_.IgnoredHere(at, type == os::FileType::kFolder)) return;
      switch (type) {
        case os::FileType::kFolder: folders_.Push(at); break;
        case os::FileType::kOther: harvest.special.push_back(at); break;
        case os::FileType::kFile:
        case os::FileType::kLink:
          if (auto stat = folder->Look(name); stat.ok()) {
            Found found;
            found.path = at;
            found.stat = *stat;
            harvest.found.push_back(std::move(found));
          } else if (stat.error().code != Code::kNotFound) {
            harvest.unreadable.push_back(at);
          }
          break;
      }
    });
    if (!listed.ok()) harvest.unreadable.push_back(path);
    if (empty && listed.ok() && !path.empty()) {
      Found found;
      found.path = path;
      found.stat.type = os::FileType::kFolder;
      harvest.found.push_back(std::move(found));
    }
  }

  const os::Folder& root_;
  const IgnoreRules& rules_;
  TaskStack<std::string> folders_;
  std::vector<Harvest> harvests_;
};

// Decides what becomes of the links.
class Links {
 public:
  Links(const os::Folder& root, std::string real_root, const std::vector<Found>& found) : root_(root), real_root_(std::move(real_root)), found_(found) {}

  // The entry to take for the link, or none, with a note.
  std::optional<Found> Resolve(const Found& link, std::vector<std::string>& notes) {
    auto stat = root_.Look(link.path.c_str(), true);
    auto text = root_.ReadLink(link.path);
    auto real = os::RealPath(os::JoinPath(real_root_, link.path));
    if (!stat.ok() || !text.ok() || !real.ok()) {
      notes.push_back(StrCat(link.path, " is a link that leads nowhere and was left out"));
      return std::nullopt;
    }
    if (auto inside = Inside(*real); inside && InSnapshot(*inside)) {
      Found kept = link;
      auto plain = Lexical(link.path, *text);
      kept.target = plain && InSnapshot(*plain) ? Simplified(*text) : RelativeTo(link.path, *inside);
      if (IsSafeTarget(link.path, kept.target)) return kept;
    }
    if (stat->type == os::FileType::kFile) {
      Found taken;
      taken.path = link.path;
      taken.stat = *stat;
      taken.followed = true;
      return taken;
    }
    notes.push_back(
        StrCat(link.path, " is a link to ", stat->type == os::FileType::kFolder ? "a folder" : "something", " outside of the snapshot and was left out"));
    return std::nullopt;
  }

 private:
  // The path relative to the root, empty for the root itself.
  std::optional<std::string> Inside(const std::string& real) const {
    if (real == real_root_) return std::string();
    const std::string prefix = real_root_ == "/" ? real_root_ : real_root_ + "/";
    if (!real.starts_with(prefix)) return std::nullopt;
    return real.substr(prefix.size());
  }

  // Whether an entry has this path or lies below it.
  bool InSnapshot(const std::string& path) const {
    if (path.empty()) return true;
    auto at = [&](const std::string& key) {
      return std::lower_bound(found_.begin(), found_.end(), key, [](const Found& f, const std::string& k) { return f.path < k; });
    };
    if (auto exact = at(path); exact != found_.end() && exact->path == path) return true;
    auto below = at(path + "/");
    return below != found_.end() && below->path.starts_with(path + "/");
  }

  static std::string Simplified(std::string_view target) {
    std::string out;
    for (std::string_view part : Split(target, '/'))
      if (!part.empty() && part != ".") out += StrCat(out.empty() ? "" : "/", part);
    return out.empty() ? "." : out;
  }

  // Where a relative target leads as text; none when it is absolute, leaves the root, or has a ".." behind a name.
  static std::optional<std::string> Lexical(const std::string& path, const std::string& target) {
    if (target.starts_with('/')) return std::nullopt;
    const std::string simple = Simplified(target);
    if (!IsSafeTarget(path, simple)) return std::nullopt;
    const size_t slash = path.rfind('/');
    std::string at = slash == std::string::npos ? std::string() : path.substr(0, slash);
    std::string_view rest = simple;
    if (rest == ".") return at;
    while (rest == ".." || rest.starts_with("../")) {
      const size_t up = at.rfind('/');
      at.resize(up == std::string::npos ? 0 : up);
      rest.remove_prefix(std::min<size_t>(3, rest.size()));
    }
    return rest.empty() ? at : os::JoinPath(at, rest);
  }

  static std::string RelativeTo(const std::string& path, const std::string& inside) {
    auto from = Split(path, '/');
    from.pop_back();
    auto to = inside.empty() ? std::vector<std::string_view>() : Split(inside, '/');
    size_t common = 0;
    while (common < from.size() && common < to.size() && from[common] == to[common]) ++common;
    std::string out;
    for (size_t i = common; i < from.size(); ++i) out += StrCat(out.empty() ? "" : "/", "..");
    for (size_t i = common; i < to.size(); ++i) out += StrCat(out.empty() ? "" : "/", to[i]);
    return out.empty() ? "." : out;
  }

  const os::Folder& root_;
  const std::string real_root_;
  const std::vector<Found>& found_;
};

void Shorten(std::vector<std::string>& notes, std::string_view what) {
  if (notes.size() <= kMostNotes) return;
  const size_t more = notes.size() - kMostNotes;
  notes.resize(kMostNotes);
  notes.push_back(StrCat("and ", more, " more ", what));
}

}  // namespace

Result<WalkResult> Walk(const os::Folder& root, const std::string& folder, const IgnoreRules& rules, unsigned threads) {
  WalkResult result;
  std::vector<std::string> special;
  size_t links = 0;
  {
    auto harvests = Walker(root, rules, threads).Run();
    size_t count = 0;
    for (const Harvest& harvest : harvests) count += harvest.found.size();
    result.found.reserve(count);
    for (Harvest& harvest : harvests) {
      std::move(harvest.found.begin(), harvest.found.end(), std::back_inserter(result.found));
      std::move(harvest.special.begin(), harvest.special.end(), std::back_inserter(special));
      std::move(harvest.unreadable.begin(), harvest.unreadable.end(), std::back_inserter(result.unreadable));
    }
  }
  std::sort(result.found.begin(), result.found.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
  std::sort(result.unreadable.begin(), result.unreadable.end());
  std::sort(special.begin(), special.end());
  for (const Found& found : result.found) links += found.stat.type == os::FileType::kLink;
  if (links > 0) {
    TRY(std::string real_root, os::RealPath(folder));
    Links resolver(root, real_root, result.found);
    std::vector<Found> kept;
    kept.reserve(result.found.size());
    std::vector<std::optional<Found>> resolved;
    for (const Found& found : result.found)
      if (found.stat.type == os::FileType::kLink) resolved.push_back(resolver.Resolve(found, result.notes));
    auto next = resolved.begin();
    for (Found& found : result.found) {
      if (found.stat.type != os::FileType::kLink)
        kept.push_back(std::move(found));
      else if (auto& link = *next++)
        kept.push_back(std::move(*link));
    }
    result.found = std::move(kept);
    Shorten(result.notes, "links were left out");
  }
  for (std::string& path : special) path += " is neither a file nor a folder and was left out";
  Shorten(special, "special files were left out");
  std::move(special.begin(), special.end(), std::back_inserter(result.notes));
  return result;
}

}  // namespace ferry::snapshot
