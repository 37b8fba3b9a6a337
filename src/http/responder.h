// What stands behind a Responder and a Stream. Private to http/: brings in Boost.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "http/connection.h"

namespace ferry::http {

class Responder::Impl {
 public:
  explicit Impl(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Send(Response response);
  std::shared_ptr<Stream> Begin(StreamStart start);

 private:
  const std::shared_ptr<Connection> connection_;
  std::atomic<bool> answered_ = false;
};

}  // namespace ferry::http
