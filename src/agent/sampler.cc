#include "agent/sampler.h"

#include <chrono>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::agent {

Sampler::Sampler(int64_t seconds, std::vector<int> gpus, std::function<void(const std::string&)> write)
    : seconds_(seconds), gpus_(std::move(gpus)), write_(std::move(write)) {
  if (seconds_ > 0) thread_ = std::thread([this] { Run(); });
}

Sampler::~Sampler() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Sampler::Run() {
  // The first sample soon, so that short runs have one.
  auto wait = std::chrono::milliseconds(1000);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait, [this] { return stop_; })) return;
    }
    write_(SampleLines());
    wait = std::chrono::milliseconds(seconds_ * 1000);
  }
}

std::string Sampler::SampleLines() {
  std::string lines;
  int64_t now = Now().micros;
  auto add = [&](std::string_view name, double value) {
    Json::MakeObject({{"metric", StrCat("system/", name)}, {"kind", "system"}, {"value", value}, {"time", now}}).DumpTo(lines);
    lines += '\n';
  };
  os::Usage usage = os::Measure(os::Descendants());
  double seconds = last_micros_ ? static_cast<double>(now - last_micros_) / 1e6 : 0;
  if (seconds > 0 && usage.cpu_seconds >= last_cpu_) add("cpu_percent", 100 * (usage.cpu_seconds - last_cpu_) / seconds);
  last_cpu_ = usage.cpu_seconds;
  last_micros_ = now;
  add("memory_bytes", static_cast<double>(usage.memory));
  add("disk_read_bytes", static_cast<double>(usage.read_bytes));
  add("disk_written_bytes", static_cast<double>(usage.written_bytes));
  add("processes", usage.processes);
  if (!gpus_.empty()) {
    auto text =
        os::OutputOf({"nvidia-smi", "--query-gpu=index,utilization.gpu,memory.used,power.draw", "--format=csv,noheader,nounits"}, std::chrono::seconds(5));
    if (text.ok())
      for (std::string_view line : Split(*text, '\n')) {
        auto fields = Split(line, ',');
        if (fields.size() < 4) continue;
        auto number = ParseInt(Trim(fields[0]));
        bool mine = false;
        for (int gpu : gpus_) mine |= number && *number == gpu;
        if (!mine) continue;
        if (auto v = ParseDouble(Trim(fields[1]))) add(StrCat("gpu_", *number, "_percent"), *v);
        if (auto v = ParseDouble(Trim(fields[2]))) add(StrCat("gpu_", *number, "_memory_bytes"), *v * 1024 * 1024);
        if (auto v = ParseDouble(Trim(fields[3]))) add(StrCat("gpu_", *number, "_watts"), *v);
      }
  }
  return lines;
}

std::vector<Gpu> FindGpus() {
  std::vector<Gpu> gpus;
  if (!os::FindProgram("nvidia-smi", os::GetEnv("PATH").value_or("/usr/local/bin:/usr/bin:/bin"))) return gpus;
  auto text = os::OutputOf({"nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv,noheader,nounits"}, std::chrono::seconds(20));
  if (!text.ok()) return gpus;
  for (std::string_view line : Split(*text, '\n')) {
    auto fields = Split(line, ',');
    if (fields.size() < 3) continue;
    if (auto number = ParseInt(Trim(fields[0])))
      gpus.push_back({static_cast<int>(*number), std::string(Trim(fields[1])), static_cast<uint64_t>(ParseInt(Trim(fields[2])).value_or(0)) << 20});
  }
  return gpus;
}

}  // namespace ferry::agent
