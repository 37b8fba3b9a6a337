// Registers environments in a SQLite store, then decides for each that it is unchanged: as a request does it, but for the wire.
//   registry_bench FOLDER [ENVIRONMENTS]
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "engine/tables.h"
#include "os/file.h"
#include "store/sqlite/sqlite_store.h"

using namespace ferry;

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: registry_bench FOLDER [ENVIRONMENTS]\n"), 2;
  const int64_t count = argc > 2 ? std::atoll(argv[2]) : 1000;
  FERRY_CHECK(os::MakeFolders(argv[1]).ok());
  std::string path = os::JoinPath(argv[1], "registry_bench.db");
  for (const char* suffix : {"", "-wal", "-shm"}) FERRY_CHECK(os::RemoveFile(path + suffix).ok());
  auto store = std::move(store::OpenSqliteStore(path, engine::Tables())).value();

  std::vector<std::string> requests;
  std::vector<store::Change> changes;
  for (int64_t i = 0; i < count; ++i) {
    model::EnvironmentRecord record;
    record.workspace = "default";
    record.name = StrCat("environment-", i);
    record.version = 1;
    record.definition.conda.channels = {"conda-forge"};
    record.definition.conda.dependencies = {"python=3.11", "pip", "libgomp >= 12"};
    for (int package = 0; package < 12; ++package) record.definition.conda.pip.push_back(StrCat("Package_", package * 7 % 12, " == ", i, ".", package));
    requests.push_back(model::ToJson(record.definition).Dump());
    record.hash = model::DefinitionHash(record.definition);
    record.key = model::BuildKey(record.definition);
    changes.emplace_back(engine::PutEnvironment(record));
    changes.emplace_back(engine::PutEnvironmentName({record.workspace, record.name, 1, 1, record.hash, record.key, {}, Time{1}}));
  }
  FERRY_CHECK(store->Commit(changes).ok());

  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    auto start = std::chrono::steady_clock::now();
    int64_t unchanged = 0;
    for (int64_t i = 0; i < count; ++i) {
      auto definition = model::EnvironmentFromJson(*ParseJson(requests[static_cast<size_t>(i)]));
      std::string hash = model::DefinitionHash(*definition);
      auto document = store->Get("environment_name", engine::EnvironmentNameKey("default", StrCat("environment-", i)));
      unchanged += model::EnvironmentNameFromJson(*ParseJson((*document)->body)).hash == hash;
    }
    FERRY_CHECK(unchanged == count);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%lld environments are unchanged: %.1f ms\n", static_cast<long long>(count), best);
  return 0;
}
