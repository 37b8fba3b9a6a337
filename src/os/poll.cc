#include "os/poll.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ferry::os {

bool Poll(std::vector<PollItem>& items, std::optional<std::chrono::milliseconds> limit) {
  std::vector<pollfd> fds;
  fds.reserve(items.size());
  for (const PollItem& item : items) fds.push_back({item.fd, static_cast<short>(POLLIN | (item.want_write ? POLLOUT : 0)), 0});
  auto deadline = std::chrono::steady_clock::now() + limit.value_or(std::chrono::milliseconds(0));
  int ready;
  for (;;) {
    int wait = -1;
    if (limit) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      wait = left > 0 ? static_cast<int>(std::min<long long>(left, 1'000'000'000)) : 0;
    }
    ready = ::poll(fds.data(), fds.size(), wait);
    if (ready >= 0 || errno != EINTR) break;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].readable = fds[i].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL);
    items[i].writable = fds[i].revents & (POLLOUT | POLLERR);
  }
  return ready > 0;
}

Signals::Signals(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Signals::Take() {
  signalfd_siginfo info;
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Waker::Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
void Waker::Wake() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(fd_.get(), &one, sizeof one);
}
void Waker::Clear() {
  uint64_t count;
  [[maybe_unused]] ssize_t n = ::read(fd_.get(), &count, sizeof count);
}

FolderWatch::FolderWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

int FolderWatch::Add(const std::string& folder) {
  return ::inotify_add_watch(fd_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR);
}

void FolderWatch::Remove(int id) { ::inotify_rm_watch(fd_.get(), id); }

std::vector<FolderWatch::Change> FolderWatch::Take() {
  std::vector<Change> changes;
  alignas(inotify_event) char buffer[65536];
  for (;;) {
    ssize_t n = ::read(fd_.get(), buffer, sizeof buffer);
    if (n <= 0) return changes;
    for (char* at = buffer; at < buffer + n;) {
      auto* event = reinterpret_cast<inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if (event->mask & IN_Q_OVERFLOW) {
        changes.push_back({-1, {}, false});
        continue;
      }
      if (event->mask & IN_IGNORED) continue;
      std::string name = event->len ? std::string(event->name) : std::string();
      if (!changes.empty() && changes.back().id == event->wd && changes.back().name == name && !(event->mask & IN_MOVED_TO)) continue;
      changes.push_back({event->wd, std::move(name), (event->mask & IN_MOVED_TO) != 0});
    }
  }
}

}  // namespace ferry::os
