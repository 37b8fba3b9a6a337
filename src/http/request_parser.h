// Reads a request line and its headers into a Head. Bodies are left to the connection. Private to http/: brings in Boost.
#pragma once

#include <coroutine>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <string>
#include <string_view>

#include "base/text.h"
#include "http/message.h"

namespace ferry::http {

class RequestParser : public boost::beast::http::basic_parser<true> {
 public:
  using string_view = boost::beast::string_view;
  using error_code = boost::beast::error_code;

  RequestParser(uint64_t header_limit, const std::string& peer) : limit_(header_limit) {
    this->header_limit(static_cast<uint32_t>(std::min<uint64_t>(header_limit, std::numeric_limits<uint32_t>::max())));
    this->body_limit(std::numeric_limits<uint64_t>::max());
    this->skip(true);
    head_.peer = peer;
  }

  Head& head() { return head_; }
  const Head& head() const { return head_; }
  // REQUIRES: is_header_done().
  bool has_body() const { return chunked() || head_.content_length.value_or(0) > 0; }
  bool is_head() const { return is_head_; }
  bool is_http11() const { return version_ >= 11; }

 private:
  void on_request_impl(boost::beast::http::verb verb, string_view method, string_view target, int version, error_code& ec) override {
    head_.method.assign(method.data(), method.size());
    is_head_ = verb == boost::beast::http::verb::head;
    version_ = version;
    size_ += method.size() + target.size();
    if (!SplitTarget({target.data(), target.size()}, head_)) ec = boost::beast::http::error::bad_target;
  }

  void on_field_impl(boost::beast::http::field field, string_view name, string_view value, error_code& ec) override {
    size_ += name.size() + value.size() + 4;
    if (size_ > limit_) {
      ec = boost::beast::http::error::header_limit;
      return;
    }
    if (field == boost::beast::http::field::transfer_encoding && !beast_iequals(value, "chunked")) {
      ec = boost::beast::http::error::bad_transfer_encoding;
      return;
    }
    std::string key(name.data(), name.size());
    for (char& c : key)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    auto [at, fresh] = head_.headers.try_emplace(std::move(key), value.data(), value.size());
    if (fresh) return;
    at->second.append(field == boost::beast::http::field::cookie ? "; " : ", ");
    at->second.append(value.data(), value.size());
  }

  void on_header_impl(error_code&) override {
    if (auto length = this->content_length()) head_.content_length = *length;
  }

  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(uint64_t, string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, string_view body, error_code&) override { return body.size(); }
  void on_finish_impl(error_code&) override {}

  static bool beast_iequals(string_view a, string_view b) { return boost::beast::iequals(a, b); }

  const uint64_t limit_;
  uint64_t size_ = 0;
  int version_ = 11;
  bool is_head_ = false;
  Head head_;
};

}  // namespace ferry::http
