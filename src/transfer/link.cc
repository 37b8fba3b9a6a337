#include "transfer/link.h"

namespace ferry::transfer {

Link LinkOver(http::Client& client, std::string blobs) {
  auto exchange = [&client](const http::Call& call) -> Result<http::Reply> {
    TRY(http::Reply reply, client.Do(call));
    if (reply.status > 299) return http::ErrorFromReply(reply);
    return reply;
  };
  return {std::move(exchange), std::move(blobs), false};
}

Result<Json> Ask(const Link& link, std::string method, const std::string& path, const Json& body) {
  http::Call call;
  call.method = std::move(method);
  call.path = link.blobs + path;
  if (!body.is_null()) {
    call.headers.emplace_back("Content-Type", "application/json");
    call.body = body.Dump();
  }
  TRY(http::Reply reply, link.exchange(std::move(call)));
  return ParseJson(reply.body, "the server's answer");
}

}  // namespace ferry::transfer
