#include <surety/accounting/events/units.h>

#include <fmt/format.h>

#include <surety/accounting/events/words.h>

namespace surety {
namespace {

constexpr accounting::Words<Adjacency, 3> adjacencies{.what = "adjacency",
                                                      .values = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out},
                                                      .words = {"add-or-remove-one", "replace-one", "zero-out"}};
constexpr accounting::Words<NormName, 3> norms{
    .what = "norm", .values = {NormName::l1, NormName::l2, NormName::linf}, .words = {"l1", "l2", "linf"}};

}  // namespace

void refuse_quantity(std::string_view name, double value, std::string_view constraint) {
  invalid(fmt::format("{} is {}, must be {}", name, value, constraint));
}

std::string_view name(Adjacency adjacency) { return adjacencies.name(adjacency); }

Adjacency parse_adjacency(std::string_view text) { return adjacencies.parse(text); }

std::string_view name(NormName norm) { return norms.name(norm); }

NormName parse_norm(std::string_view text) { return norms.parse(text); }

Count::Count(std::uint64_t value) : value_{value} {
  if (value < 1 || value > (std::uint64_t{1} << 53)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("count is {}, must be an integer from 1 to 2^53", value)};
  }
}

Batches::Batches(Count records, Count size) : records_{records}, size_{size} {
  if (size > records) invalid(fmt::format("batch size is {}, must be at most the {} records", size.value(), records.value()));
}

}  // namespace surety
