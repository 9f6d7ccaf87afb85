#include "budget.h"

#include <fmt/format.h>

namespace surety::cli {

std::string filter_words(const accounting::Budget& budget) {
  const auto filter = accounting::name(budget.filter);
  return budget.order ? fmt::format("{} filter at order {:.6g}", filter, budget.order->value()) : fmt::format("{} filter", filter);
}

}  // namespace surety::cli
