// Takes server-sent events apart as their bytes arrive. Private to http/.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"

namespace ferry::http {

class EventReader {
 public:
  explicit EventReader(const std::function<bool(const Event&)>& on_event) : on_event_(on_event) {}
  // False once on_event returned false. kTooLarge "http.event_too_large".
  Result<bool> Feed(std::string_view bytes);

 private:
  bool Line(std::string_view line);

  const std::function<bool(const Event&)>& on_event_;
  std::string rest_;  // of an unfinished line
  bool after_return_ = false;
  bool has_data_ = false;
  Event event_;  // the id stays until another comes
};

}  // namespace ferry::http
