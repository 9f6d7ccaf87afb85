#include <surety/accounting/events/units.h>

#include <fmt/format.h>

namespace surety {

void refuse_quantity(std::string_view name, double value, std::string_view constraint) {
  invalid(fmt::format("{} is {}, must be {}", name, value, constraint));
}

std::string_view name(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::add_or_remove_one: return "add-or-remove-one";
    case Adjacency::replace_one: return "replace-one";
    case Adjacency::zero_out: return "zero-out";
  }
  throw Error{ErrorCode::internal, "an adjacency without a name"};
}

Adjacency parse_adjacency(std::string_view text) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    if (text == name(adjacency)) return adjacency;
  }
  throw Error{ErrorCode::invalid_argument,
              fmt::format("adjacency is '{}', must be add-or-remove-one, replace-one or zero-out", one_line(text))};
}

Count::Count(std::uint64_t value) : value_{value} {
  if (value < 1 || value > (std::uint64_t{1} << 53)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("count is {}, must be an integer from 1 to 2^53", value)};
  }
}

}  // namespace surety
