// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "model/access.h"
#include "model/message.h"
#include "model/run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto json = ParseJson(text);
  if (!json.ok()) return 0;
  if (auto message = model::MessageFromJson(*json); message.ok()) FERRY_CHECK(model::MessageFromJson(model::ToJson(*message)).ok());
  if (auto event = model::EventFromJson(*json); event.ok()) FERRY_CHECK(model::EventFromJson(model::ToJson(*event)).ok());
  if (auto hello = model::HelloFromJson(*json); hello.ok()) FERRY_CHECK(model::HelloFromJson(model::ToJson(*hello)).ok());
  if (auto facts = model::FactsFromJson(*json); facts.ok()) FERRY_CHECK(model::FactsFromJson(model::ToJson(*facts)).ok());
  if (auto run = model::RunFromJson(*json); run.ok()) {
    auto again = model::RunFromJson(model::ToJson(*run));
    FERRY_CHECK(again.ok() && *again == *run);
    (void)model::RunView(*run);
    (void)model::ParametersOf(run->spec);
  }
  (void)model::TokenFromJson(*json);
  (void)model::NodeFromJson(*json);
  return 0;
}
