#include "http/event_reader.h"

#include "base/text.h"

namespace ferry::http {
namespace {

constexpr size_t kMaxEvent = 64u << 20;

}  // namespace

Result<bool> EventReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    size_t end = bytes.find_first_of("\r\n");
    std::string_view part = bytes.substr(0, end);
    if (rest_.size() + event_.data.size() + part.size() > kMaxEvent)
      return MakeError(Code::kTooLarge, "http.event_too_large", StrCat("an event is larger than ", FormatBytes(kMaxEvent)));
    if (end == std::string_view::npos) {
      rest_ += part;
      return true;
    }
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    bool more;
    if (rest_.empty()) {
      more = Line(part);
    } else {
      rest_ += part;
      more = Line(rest_);
      rest_.clear();
    }
    if (!more) return false;
  }
  return true;
}

bool EventReader::Line(std::string_view line) {
  if (line.empty()) {
    bool more = true;
    if (has_data_) more = on_event_(event_);
    event_.event.clear();
    event_.data.clear();
    has_data_ = false;
    return more;
  }
  size_t colon = line.find(':');
  std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id") {
    event_.id = value;
  }
  return true;
}

}  // namespace ferry::http
