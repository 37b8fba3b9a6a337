// Many followers of one event stream: one thread, epoll.
//   follow PORT FOLLOWERS SECONDS PATH TOKEN
// Every "T <time in ns>" that arrives is a sample: now less that time. Prints one JSON object when every follower has been
// ended by the server or the time is over.
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kTail = 32, kBuffer = 1 << 18 };
struct Follower {
  int fd;
  size_t tail;
  char kept[kTail];
};

static long long Now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}
static int ByValue(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char** argv) {
  if (argc != 6) return fprintf(stderr, "usage: follow PORT FOLLOWERS SECONDS PATH TOKEN\n"), 2;
  int count = atoi(argv[2]);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char request[4096];
  int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", argv[4], argv[5]);
  int poll = epoll_create1(0);
  struct Follower* all = calloc((size_t)count, sizeof *all);
  for (int i = 0; i < count; ++i) {
    all[i].fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(all[i].fd, (struct sockaddr*)&address, sizeof address)) return perror("connect"), 2;
    if (send(all[i].fd, request, (size_t)size, MSG_NOSIGNAL) != size) return perror("send"), 2;
    fcntl(all[i].fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
    epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event);
  }
  printf("following\n");
  fflush(stdout);
  size_t samples = 0, room = 1 << 16;
  double* spent = malloc(room * sizeof *spent);
  int open = count, refused = 0;
  long long deadline = Now(CLOCK_MONOTONIC) + atoll(argv[3]) * 1000000000LL;
  static char buffer[kTail + kBuffer + 1];
  while (open > 0 && Now(CLOCK_MONOTONIC) < deadline) {
    struct epoll_event events[256];
    int got = epoll_wait(poll, events, 256, 100);
    for (int e = 0; e < got; ++e) {
      struct Follower* f = events[e].data.ptr;
      memcpy(buffer, f->kept, f->tail);
      ssize_t n = recv(f->fd, buffer + f->tail, kBuffer, 0);
      if (n <= 0) {
        close(f->fd);
        --open;
        continue;
      }
      long long now = Now(CLOCK_REALTIME);
      size_t have = f->tail + (size_t)n;
      buffer[have] = 0;
      if (!strncmp(buffer, "HTTP/1.1 ", 9) && strncmp(buffer + 9, "200", 3)) ++refused;
      size_t from = 0;
      for (char* at = buffer; (at = memchr(at, 'T', have - (size_t)(at - buffer)));) {
        // "T " and 19 digits.
        if (have - (size_t)(at - buffer) < 21) break;
        if (at[1] != ' ' || strspn(at + 2, "0123456789") < 19) {
          ++at;
          continue;
        }
        char digits[20];
        memcpy(digits, at + 2, 19);
        digits[19] = 0;
        if (samples == room) spent = realloc(spent, (room *= 2) * sizeof *spent);
        spent[samples++] = (double)(now - atoll(digits)) / 1e6;
        at += 21;
        from = (size_t)(at - buffer);
      }
      size_t rest = have - from;
      f->tail = rest < 21 ? rest : 20;
      memcpy(f->kept, buffer + have - f->tail, f->tail);
      if (strstr(buffer, "event: end")) {
        close(f->fd);
        --open;
      }
    }
  }
  qsort(spent, samples, sizeof *spent, ByValue);
#define AT(p) (samples ? spent[(size_t)((double)(samples - 1) * (p))] : 0.0)
  printf("{\"samples\": %zu, \"open\": %d, \"refused\": %d, \"p50\": %.3f, \"p95\": %.3f, \"p99\": %.3f, \"max\": %.3f}\n", samples, open, refused, AT(0.5), AT(0.95), AT(0.99), AT(1.0));
  return 0;
}
