#include "environment/image/recipe.h"

#include <chrono>

#include "base/hash.h"
#include "base/text.h"
#include "environment/image/layer.h"
#include "environment/step.h"
#include "os/file.h"
#include "os/poll.h"
#include "os/watched.h"

extern "C" {
extern const char ferry_recipe_debian_python_begin[];
extern const char ferry_recipe_debian_python_end[];
}

namespace ferry::environment {
namespace {

// One maker at a time on this host; the others wait for its image.
Result<os::FileLock> TakeTurn(const std::string& path, const Job& job) {
  for (;;) {
    auto lock = os::FileLock::Take(path, false);
    if (lock.ok() || lock.error().slug != "file.locked") return lock;
    if (job.stopping && job.stopping()) return MakeError(Code::kCanceled, "image.stopped", "the build was stopped");
    std::vector<os::PollItem> nothing;
    os::Poll(nothing, std::chrono::milliseconds(200));
  }
}

}  // namespace

std::optional<std::string> Alias(const std::map<std::string, std::string>& aliases, std::string_view image) {
  std::optional<std::string> best;
  size_t length = 0;
  for (const auto& [pattern, value] : aliases) {
    bool fits = pattern.ends_with('*') ? image.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1)) : image == pattern;
    if (!fits || (best && pattern.size() < length)) continue;
    best = value;
    length = pattern.size();
  }
  return best;
}

const std::map<std::string, std::string>& DefaultAliases() {
  static const std::map<std::string, std::string> aliases = {{"mcr.microsoft.com/azureml/*", "recipe:debian-python"}};
  return aliases;
}

const std::map<std::string, std::string_view>& Recipes() {
  static const std::map<std::string, std::string_view> recipes = {
      {"debian-python",
       std::string_view(ferry_recipe_debian_python_begin, static_cast<size_t>(ferry_recipe_debian_python_end - ferry_recipe_debian_python_begin))}};
  return recipes;
}

Result<std::string> MakeRecipe(const Engine& engine, const Settings& settings, const Job& job, const std::string& recipe) {
  auto found = Recipes().find(recipe);
  if (found == Recipes().end()) {
    std::vector<std::string> names;
    for (const auto& [name, text] : Recipes()) names.push_back(name);
    return MakeError(Code::kNotFound, "recipe.unknown", StrCat("there is no recipe '", recipe, "' for an image; there is: ", Join(names, ", ")),
                     "image-aliases");
  }
  std::string image = StrCat("localhost/ferry/recipe-", recipe, ":", HashBytes(found->second).Hex().substr(0, 12));
  TRY(std::string id, ImageId(engine, image));
  if (!id.empty()) return image;
  TRY_VOID(os::MakeFolders(settings.cache));
  TRY(os::FileLock turn, TakeTurn(StrCat(settings.cache, "/recipe-", recipe, ".lock"), job));
  TRY(id, ImageId(engine, image));
  if (!id.empty()) return image;

  std::string scratch = os::JoinPath(job.folder, "recipe");
  TRY_VOID(os::MakeFolders(scratch));
  TRY_VOID(os::WriteFile(os::JoinPath(scratch, "build"), found->second, 0755));
  std::vector<std::string> last;
  auto run = [&](std::vector<std::string> argv) -> Result<void> {
    os::WatchedCommand command;
    command.argv = std::move(argv);
    command.environment = ToolVariables(job, settings);
    command.folder = scratch;
    command.stopping = job.stopping;
    command.line = [&](std::string_view line) {
      job.log(line);
      last.emplace_back(line);
      if (last.size() > 100) last.erase(last.begin());
    };
    TRY(os::WaitStatus status, os::RunWatched(command));
    if (status.code == 0 && status.signal == 0) return {};
    std::string why = LayerError(last);
    if (why.empty() && !last.empty()) why = last.back();
    return MakeError(Code::kInternal, "recipe.failed", StrCat("the recipe '", recipe, "' could not be made on this node: ", why.empty() ? "it failed" : why));
  };
  job.log(StrCat("ferry: making the image of recipe '", recipe, "', once on this host"));
  auto made = run({"/bin/sh", "./build", "image.tar"});
  if (made.ok()) made = run({engine.program, "import", "--message", StrCat("ferry recipe ", recipe), "image.tar", image});
  (void)os::RemoveAll(scratch);
  if (!made.ok()) return made.error();
  return image;
}

}  // namespace ferry::environment
