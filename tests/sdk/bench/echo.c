// A supervisor that acknowledges every line at once: the other end of bench_log.py. Prints its port.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, size) || listen(listener, 8)) return 1;
  getsockname(listener, (struct sockaddr*)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    int client = accept(listener, NULL, NULL);
    int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char buffer[65536];
    ssize_t got;
    while ((got = recv(client, buffer, sizeof buffer, 0)) > 0)
      for (char* at = buffer; (at = memchr(at, '\n', (size_t)(buffer + got - at))); ++at)
        if (send(client, "ok\n", 3, MSG_NOSIGNAL) != 3) break;
    close(client);
  }
}
