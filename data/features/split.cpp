// How a data set is split (dataset.h): what is held out is decided record by record, by its index or by its own content.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/row_reader.h>

namespace surety::data {

namespace {

/// The finalizer of SplitMix64: a fixed bijection of 64-bit words in which every input bit moves every output bit.
/// [Steele, Lea, Flood 2014, Fast splittable pseudorandom number generators, section 4.]
constexpr std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

std::uint64_t absorb(std::uint64_t state, double value) {
  return mix(state ^ std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));  // -0 is the same number as +0
}

std::uint64_t content_key(std::uint64_t seed, const RowView& row, std::span<const double> label) {
  std::uint64_t state = mix(seed);
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    if (row.values[k] == 0) continue;
    const std::uint64_t feature = row.is_sparse() ? row.indices[k] : k;
    state = absorb(mix(state ^ feature), row.values[k]);
  }
  for (const double value : label) state = absorb(state, value);
  return state;
}

/// For each record, whether it is held out.
std::vector<bool> sides_by_content(const Dataset& data, double fraction, std::uint64_t seed) {
  const auto threshold = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
  std::vector<bool> sides(data.size());
  RowReader reader{data};
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto label = data.has_labels() ? data.labels().subspan(i, 1) : std::span<const double>{};
    sides[i] = content_key(seed, reader.row(i), label) < threshold;
  }
  return sides;
}

void require_fraction(double fraction) {
  if (!(fraction >= 0 && fraction < 1))
    invalid(fmt::format("data set: held-out fraction is {}, must be at least 0 and less than 1", fraction));
}

/// Runs of indices of which one record each is held out: run j holds those from ceil(j / fraction) up to the start of run j + 1, whatever the size; the last run
/// may be cut short. \pre fraction > 0
class Runs {
 public:
  Runs(double fraction, std::uint64_t seed) : fraction_{fraction}, seed_{seed} {}

  [[nodiscard]] std::uint64_t start(std::uint64_t run) const {
    return static_cast<std::uint64_t>(std::min(std::ceil(static_cast<double>(run) / fraction_), 0x1p63));
  }
  [[nodiscard]] std::uint64_t held_out(std::uint64_t run) const {
    const std::uint64_t size =
        std::max<std::uint64_t>(start(run + 1) - start(run), 1);  // 0 beyond 2^53, where doubles are not dense enough
    return start(run) + mix(mix(seed_) ^ run) % size;
  }
  /// How many runs begin below `size`. O(log size).
  [[nodiscard]] std::uint64_t below(std::uint64_t size) const {
    std::uint64_t none = size;  // start(run) >= run
    std::uint64_t some = 0;     // as many runs begin below size
    while (some < none) {
      const std::uint64_t middle = some + (none - some) / 2;
      if (start(middle) < size) {
        some = middle + 1;
      } else {
        none = middle;
      }
    }
    return some;
  }

 private:
  double fraction_;
  std::uint64_t seed_;
};

std::vector<bool> sides_by_index(std::size_t size, double fraction, std::uint64_t seed) {
  std::vector<bool> sides(size);
  if (fraction == 0) return sides;
  const Runs runs{fraction, seed};
  for (std::uint64_t run = 0; runs.start(run) < size; ++run) {
    const std::uint64_t held_out = runs.held_out(run);
    if (held_out < size) sides[held_out] = true;
  }
  return sides;
}

}  // namespace

std::size_t training_records(std::size_t records, const SplitOptions& options) {
  require_fraction(options.held_out_fraction);
  if (options.adjacency == Adjacency::add_or_remove_one) {
    invalid("data set: adjacency is add-or-remove-one, must be replace-one or zero-out for a public number of training records");
  }
  if (options.held_out_fraction == 0 || records == 0) return records;
  const Runs runs{options.held_out_fraction, options.seed};
  const std::uint64_t begun = runs.below(records);
  const bool holds_out_of_last = runs.held_out(begun - 1) < records;
  return records - static_cast<std::size_t>(begun - 1) - (holds_out_of_last ? 1 : 0);
}

Split split(Dataset data, const SplitOptions& options) {
  const double fraction = options.held_out_fraction;
  require_fraction(fraction);
  const auto held_out_sides = options.adjacency == Adjacency::add_or_remove_one ? sides_by_content(data, fraction, options.seed)
                                                                                : sides_by_index(data.size(), fraction, options.seed);
  Split parts{.training = Dataset{data.features_, data.is_sparse_, data.has_weights_},
              .held_out = Dataset{data.features_, data.is_sparse_, data.has_weights_}};
  parts.training.file_ = data.file_;
  parts.held_out.file_ = data.file_;
  for (std::size_t i = 0; i < data.size(); ++i) {
    (held_out_sides[i] ? parts.held_out : parts.training).append_from(data, i);
    if (!data.file_ && ((i + 1) & (data.rows_in_block() - 1)) == 0) data.forget_block(i >> data.shift_);
  }
  return parts;
}

}  // namespace surety::data
