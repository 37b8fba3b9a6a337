// The filter and order language of run lists: "metrics.accuracy > 0.9 and tags.team = 'vision' and created >= '2026-11-01'". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace ferry::rest {

// Comparisons joined by "and". Fields: the columns of runs, tags.NAME, properties.NAME, params.NAME, metrics.NAME with an optional .min, .max or
// .latest; NAME may be quoted with backticks or double quotes. Operators: = == != < <= > >= like 'prefix%' or '%part%', in ('a', 'b'), exists, absent.
// kInvalid "filter.invalid" names the position.
Result<std::vector<store::Condition>> ParseFilter(std::string_view text);

// "created", "-created", "metrics.loss", "started desc". kInvalid "order.invalid".
Result<store::Order> ParseOrder(std::string_view text);

}  // namespace ferry::rest
