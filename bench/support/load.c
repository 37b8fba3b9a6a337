// A load generator for HTTP/1.1 over keep-alive connections: one thread, epoll, one request in flight on each.
//   load PORT CONNECTIONS REQUESTS TIMEOUT_S METHOD PATH HEADERS_FILE BODIES_FILE
// HEADERS_FILE has one header a line. BODIES_FILE has one body a line, used in turn; "-" is none. Where @N@NNNN stands in
// PATH or a body, the request's number in seven digits takes its place. Prints one JSON object.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMarkSize = 7, kMaxMarks = 16, kIn = 1 << 20 };
static const char kMark[] = "@N@NNNN";

struct Template {
  char* text;
  size_t size;
  size_t marks[kMaxMarks];
  int mark_count;
};
struct Connection {
  int fd;
  char* out;
  size_t out_size, out_done;
  char* in;
  size_t in_size;
  double began;
  int busy;
};

static double Now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char* ReadFile(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return perror(path), exit(2), NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char* text = malloc((size_t)size + 1);
  if (fread(text, 1, (size_t)size, file) != (size_t)size) exit(2);
  text[size] = 0;
  fclose(file);
  return text;
}

static int ByValue(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

// The size of the whole reply in the buffer, or 0 when there is more to come. Sets the status.
static size_t WholeReply(char* in, size_t size, int* status) {
  in[size] = 0;
  char* end = strstr(in, "\r\n\r\n");
  if (!end) return 0;
  *status = atoi(in + 9);
  size_t head = (size_t)(end - in) + 4, length = 0;
  int chunked = 0;
  for (char* line = strchr(in, '\n') + 1; line < end; line = strchr(line, '\n') + 1) {
    if (!strncasecmp(line, "content-length:", 15)) length = strtoull(line + 15, NULL, 10);
    if (!strncasecmp(line, "transfer-encoding:", 18)) chunked = 1;
  }
  if (chunked) {
    char* last = strstr(end, "\r\n0\r\n\r\n");
    return last ? (size_t)(last - in) + 7 : 0;
  }
  return size >= head + length ? head + length : 0;
}

int main(int argc, char** argv) {
  if (argc != 9) return fprintf(stderr, "usage: load PORT CONNECTIONS REQUESTS TIMEOUT_S METHOD PATH HEADERS_FILE BODIES_FILE\n"), 2;
  int port = atoi(argv[1]), connections = atoi(argv[2]);
  long total = atol(argv[3]);
  double timeout = atof(argv[4]);

  char headers[65536] = "";
  char* line_text = ReadFile(argv[7]);
  for (char* line = strtok(line_text, "\n"); line; line = strtok(NULL, "\n")) strcat(strcat(headers, line), "\r\n");
  size_t count = 0, room = 16;
  struct Template* templates = calloc(room, sizeof *templates);
  char* bodies = strcmp(argv[8], "-") ? ReadFile(argv[8]) : strdup("");
  for (char* body = bodies; body;) {
    char* next = strchr(body, '\n');
    if (next) *next++ = 0;
    if (*body || count == 0) {
      if (count == room) templates = realloc(templates, (room *= 2) * sizeof *templates);
      struct Template* t = &templates[count++];
      size_t length = strlen(body);
      t->text = malloc(length + strlen(headers) + strlen(argv[6]) + 256);
      t->size = (size_t)sprintf(t->text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sContent-Length: %zu\r\n\r\n%s", argv[5], argv[6], port, headers, length, body);
      t->mark_count = 0;
      for (char* at = t->text; (at = strstr(at, kMark)) && t->mark_count < kMaxMarks; at += kMarkSize) t->marks[t->mark_count++] = (size_t)(at - t->text);
    }
    body = next;
  }

  int poll = epoll_create1(0);
  struct Connection* all = calloc((size_t)connections, sizeof *all);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  size_t largest = 0;
  for (size_t i = 0; i < count; ++i) largest = templates[i].size > largest ? templates[i].size : largest;
  for (int i = 0; i < connections; ++i) {
    struct Connection* c = &all[i];
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c->fd, (struct sockaddr*)&address, sizeof address)) return perror("connect"), 2;
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->out = malloc(largest + 1);
    c->in = malloc(kIn + 1);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
    epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event);
  }
  double* spent = malloc((size_t)total * sizeof *spent);
  long sent = 0, done = 0, failed = 0;
  int last_status = 0;
  char last_reply[300] = "";
  double start = Now(), deadline = start + timeout;
  while (done < total && Now() < deadline) {
    struct epoll_event events[256];
    int got = epoll_wait(poll, events, 256, 100);
    for (int e = 0; e < got; ++e) {
      struct Connection* c = events[e].data.ptr;
      int reading = c->busy && (events[e].events & (EPOLLIN | EPOLLHUP | EPOLLERR));
      while (reading) {
        ssize_t n = recv(c->fd, c->in + c->in_size, kIn - c->in_size, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return fprintf(stderr, "load: the server closed a connection after %ld replies (%s)\n", done, n ? strerror(errno) : "end"), 3;
        if (n < 0) break;
        c->in_size += (size_t)n;
        int status = 0;
        size_t whole = WholeReply(c->in, c->in_size, &status);
        if (!whole) {
          if (c->in_size == kIn) return fprintf(stderr, "load: a reply is too large\n"), 3;
          continue;
        }
        spent[done++] = Now() - c->began;
        if (status < 200 || status > 299) {
          ++failed;
          last_status = status;
          snprintf(last_reply, sizeof last_reply, "%.*s", (int)whole, c->in);
        }
        c->busy = 0;
        c->in_size = 0;
        reading = 0;
      }
      if (!c->busy && sent < total) {
        struct Template* t = &templates[(size_t)sent % count];
        memcpy(c->out, t->text, t->size);
        char digits[32];
        snprintf(digits, sizeof digits, "%07ld", sent++);
        for (int m = 0; m < t->mark_count; ++m) memcpy(c->out + t->marks[m], digits, kMarkSize);
        c->out_size = t->size;
        c->out_done = 0;
        c->began = Now();
        c->busy = 1;
      }
      while (c->busy && c->out_done < c->out_size) {
        ssize_t n = send(c->fd, c->out + c->out_done, c->out_size - c->out_done, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) return perror("send"), 3;
        if (n < 0) break;
        c->out_done += (size_t)n;
      }
      struct epoll_event event = {.events = EPOLLIN | (c->busy && c->out_done < c->out_size ? EPOLLOUT : 0u), .data.ptr = c};
      epoll_ctl(poll, EPOLL_CTL_MOD, c->fd, &event);
    }
  }
  double seconds = Now() - start;
  qsort(spent, (size_t)done, sizeof *spent, ByValue);
  for (char* c = last_reply; *c; ++c)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < 32) *c = ' ';
#define AT(p) (done ? spent[(size_t)((double)(done - 1) * (p))] : 0.0)
  printf("{\"requests\": %ld, \"failed\": %ld, \"seconds\": %.6f, \"p50\": %.6f, \"p95\": %.6f, \"p99\": %.6f, \"max\": %.6f, \"last_status\": %d, \"last_reply\": \"%s\"}\n", done, failed,
         seconds, AT(0.5), AT(0.95), AT(0.99), AT(1.0), last_status, last_reply);
  return done == total ? 0 : 4;
}
