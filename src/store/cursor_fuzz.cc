// libFuzzer: see tools/fuzz.
#include <cstdint>
#include <string_view>

#include "store/query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ferry;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  static const store::TableSpec table{"run", {{"created", store::ColumnType::kInt, false}, {"name", store::ColumnType::kText, false}}, {}};
  for (const char* field : {"key", "created", "name"}) {
    store::Order order{{"", field}, false};
    if (auto cursor = store::DecodeCursor(table, order, text); cursor.ok()) {
      auto again = store::DecodeCursor(table, order, store::EncodeCursor(order, *cursor));
      FERRY_CHECK(again.ok() && again->key == cursor->key);
    }
  }
  return 0;
}
