#include "agent/data_log.h"

#include "base/text.h"
#include "base/time.h"

namespace ferry::agent {

using Steady = std::chrono::steady_clock;

DataLog::DataLog(const std::string& file, std::function<void()> grown) : grown_(std::move(grown)) {
  if (auto fd = os::Open(file, os::OpenMode::kAppend, 0600); fd.ok()) fd_ = std::move(*fd);
}

void DataLog::Say(const std::string& line) {
  if (fd_) (void)os::WriteAll(fd_, StrCat(FormatTime(Now()), " ", line, "\n"));
  if (grown_) grown_();
}

void DataLog::Begin(const std::string& what, uint64_t all) {
  what_ = what;
  all_ = all;
  done_ = 0;
  next_ = Steady::now() + std::chrono::seconds(1);
}

void DataLog::Add(uint64_t bytes) {
  done_ += bytes;
  if (Steady::now() < next_) return;
  next_ = Steady::now() + std::chrono::seconds(1);
  Say(StrCat(what_, ": ", FormatBytes(done_), all_ ? StrCat(" of ", FormatBytes(all_)) : std::string()));
}

}  // namespace ferry::agent
