#include <surety/statistics/integer_sum.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/statistics/exact.h>
#include <surety/statistics/variance.h>

namespace surety::statistics {

using namespace data;
namespace {

/// Numbers are counted from the middle of the bounds where every record that counts stays one, or is counted beside the sum.
bool is_centred(const Statistic& statistic) {
  return (statistic.adjacency == Adjacency::replace_one && statistic.has_public_count()) || is_ratio(statistic) ||
         std::holds_alternative<VarianceOf>(statistic.of);
}

/// The count is released beside the sums of a variance. Under zero-out, too: a zeroed record is none, which has no variance.
bool has_count_of_variance(const Statistic& statistic) {
  return std::holds_alternative<VarianceOf>(statistic.of) &&
         !(statistic.adjacency == Adjacency::replace_one && statistic.has_public_count());
}

}  // namespace

Grid grid_for(const Statistic& statistic, NoiseMultiplier noise) {
  statistic.validate();
  const auto* const bounds = bounds_of(statistic);
  if (bounds == nullptr) return {.log2_step = 0};
  if (std::holds_alternative<UnitSumOf>(statistic.of)) {
    // Some 2^20 steps: finer than any noise, and single numbers 2^20 times as large still fit.
    constexpr int steps_of_clip = 20;
    const double extent = std::min(bounds->upper - bounds->lower, std::max(std::abs(bounds->lower), std::abs(bounds->upper)));
    return {.log2_step = std::ilogb(extent) - steps_of_clip};
  }
  const double extent = is_centred(statistic) ? bounds->upper - bounds->lower : std::max(std::abs(bounds->lower), std::abs(bounds->upper));
  return mechanisms::grid_for(L2Sensitivity{extent}, noise);
}

StatisticSum::StatisticSum(Statistic statistic, Grid grid, NoiseLaw law, std::optional<double> weight)
    : statistic_{std::move(statistic)}, grid_{grid} {
  statistic_.validate();
  if (is_choice(statistic_) || keys_of(statistic_) != nullptr) {
    invalid(fmt::format("{} is no sum of records", describe(statistic_)));
  }
  if (const auto* const bounds = bounds_of(statistic_)) {
    bounds_ = *bounds;
    if (is_centred(statistic_)) origin_ = bounds_.lower / 2 + bounds_.upper / 2;
    constexpr double most = 0x1p40;
    const double extent = std::max(std::abs(bounds_.lower - origin_), std::abs(bounds_.upper - origin_)) * grid_.steps_per_unit();
    if (!(extent >= 1 && extent <= most)) {
      invalid(fmt::format("a bound is {} grid steps from the origin, must be from 1 to 2^40", extent));
    }
    steps_per_unit_ = grid_.steps_per_unit();
    low_ = steps_of(bounds_.lower);
    high_ = steps_of(bounds_.upper);
    if (is_ratio(statistic_)) {
      weight_ = weight ? std::llround(*weight * static_cast<double>(farthest())) : weight_beside_sum(law);
      coordinates_ = 2;
    } else if (is_variance()) {
      weight_ = has_count_of_variance(statistic_) ? farthest() : 0;
      coordinates_ = weight_ != 0 ? 3 : 2;
    }
  } else if (const auto* const histogram = std::get_if<HistogramOf>(&statistic_.of)) {
    cells_.emplace(histogram->cells);
    coordinates_ = number_of(histogram->cells);
  }
  sum_.resize(groups() * coordinates_);
}

std::int64_t StatisticSum::weight_beside_sum(NoiseLaw law) const {
  // With W = M the ratio has the least variance at the worst mean where the move is that of a record that comes (docs/proofs/statistics.md).
  if (law == NoiseLaw::laplace || statistic_.adjacency != Adjacency::replace_one || groups() > 1) return farthest();
  // Where one that changes moves the sum by more, the largest W that leaves it so: sqrt(M^2 + W^2) <= K' - K, both below 2^42.
  const Integer room = Integer{high_ - low_} * (high_ - low_) - Integer{farthest()} * farthest();
  auto weight = static_cast<std::int64_t>(std::sqrt(static_cast<double>(room)));
  while (Integer{weight} * weight > room) --weight;
  while (Integer{weight + 1} * (weight + 1) <= room) ++weight;
  return std::max(weight, farthest());
}

void StatisticSum::add(double number, std::size_t group) {
  if (cells_) {
    if (!cells_->is_text()) add_steps(group, cells_->find(number), 1);
  } else if (bounds_of(statistic_) != nullptr) {
    const auto steps = steps_of(number);
    add_steps(group, 0, steps);
    if (is_variance()) add_steps(group, 1, centred_square(steps, farthest()));
    if (weight_ != 0) add_steps(group, coordinates_ - 1, weight_);
  }
}

void StatisticSum::add(std::span<const double> numbers) {
  if (cells_) {
    if (cells_->is_text()) return;
    for (const double number : numbers) add_steps(0, cells_->find(number), 1);
    return;
  }
  if (bounds_of(statistic_) == nullptr || is_variance()) {
    for (const double number : numbers) add(number);
    return;
  }
  // A number has at most 2^40 steps, so a block of them at most 2^52 (docs/proofs/statistics.md#blocks).
  constexpr std::size_t block = 4096;
  while (!numbers.empty()) {
    const auto some = numbers.first(std::min(block, numbers.size()));
    std::int64_t steps = 0;
    for (const double number : some) steps += steps_of(number);
    add_steps(0, 0, steps);
    if (weight_ != 0) add_steps(0, coordinates_ - 1, weight_ * std::ssize(some));
    numbers = numbers.subspan(some.size());
  }
}

void StatisticSum::add(const std::string& text, std::size_t group) {
  if (!cells_ || !cells_->is_text()) return;
  if (const auto cell = cells_->find(text)) add_steps(group, *cell, 1);
}

void StatisticSum::add_damaged(std::size_t group) {
  const bool is_zeroed = weight_ != 0 && statistic_.adjacency == Adjacency::zero_out;
  if (!is_histogram() && !is_zeroed && statistic_.missing != MissingCells::left_out) add(0.0, group);
}

GridVector StatisticSum::sum() const {
  GridVector result{.grid = grid_, .steps = {}};
  result.steps.reserve(sum_.size());
  for (const Integer steps : sum_) {
    result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
  }
  return result;
}

void StatisticSum::add_total(const StepTotal& total, std::uint64_t records) {
  const auto require = [](bool holds) {
    if (!holds) invalid("a total is none of a statistic's, must be the sum of so many records");
  };
  require(total.steps.size() == sum_.size());
  const Integer most = records;
  Integer counted = 0;  // where that is told
  for (std::size_t group = 0; group < groups(); ++group) {
    const Integer* const steps = &total.steps[group * coordinates_];
    if (counts()) {
      for (std::size_t cell = 0; cell < coordinates_; ++cell) {
        require(steps[cell] >= 0 && steps[cell] <= most);
        counted += steps[cell];
      }
      continue;
    }
    Integer numbers = most;
    if (weight_ != 0) {
      numbers = steps[coordinates_ - 1] / weight_;
      require(numbers >= 0 && numbers <= most && numbers * weight_ == steps[coordinates_ - 1]);
      counted += numbers;
    }
    // Without a count beside them some records may be none.
    const Integer low = weight_ != 0 ? low_ : std::min<std::int64_t>(low_, 0);
    const Integer high = weight_ != 0 ? high_ : std::max<std::int64_t>(high_, 0);
    require(steps[0] >= numbers * low && steps[0] <= numbers * high);
    if (is_variance()) require(steps[1] >= -numbers * farthest() && steps[1] <= numbers * farthest());
  }
  require(counted <= most);
  for (std::size_t k = 0; k < sum_.size(); ++k) sum_[k] += total.steps[k];
}

std::optional<double> StatisticSum::norm_of_units(bool squared) const {
  const bool is_replaced = statistic_.adjacency == Adjacency::replace_one;
  // One text more or less for each that the unit brings, whatever is in its place brings others (docs/proofs/statistics.md#people).
  if (const auto* const distinct = std::get_if<DistinctOf>(&statistic_.of)) return static_cast<double>(distinct->most_keys.value());
  if (std::holds_alternative<UnitSumOf>(statistic_.of)) {
    if (statistic_.by) {
      // One vector of norm C, of so many groups; and that in its place.
      const auto slots = static_cast<double>(std::min<std::uint64_t>(statistic_.unit.most().value(), groups()));
      const Interval vectors = point((is_replaced ? 2.0 : 1.0) * grid_.step()) * point(high_);
      return (squared ? vectors : vectors * sqrt(point(slots))).enclosure().upper;
    }
    // Where units come or go; else each stays one, and adds something between the bounds.
    const auto moved = statistic_.adjacency == Adjacency::add_or_remove_one ? farthest() : high_ - low_;
    return (point(moved) * point(grid_.step())).enclosure().upper;
  }
  if (!std::holds_alternative<UnitsOf>(statistic_.of)) return std::nullopt;
  // Groups in which a unit counts, each once, and those of the unit in its place: of all groups at most.
  const std::uint64_t all = groups();
  const auto of_one = std::min<std::uint64_t>(statistic_.unit.most().value(), all);
  const auto moved = static_cast<double>(std::min(is_replaced ? 2 * of_one : of_one, all));
  return squared ? sqrt(point(moved)).enclosure().upper : moved;
}

std::int64_t StatisticSum::unclipped_steps_of(double number) const noexcept {
  constexpr double most = 0x1p40;
  if (std::isnan(number)) return 0;
  return std::llround(std::clamp(number * steps_per_unit_, -most, most));
}

void StatisticSum::add_unit(std::span<const OfGroup> sums) {
  if (!statistic_.by) {
    for (const auto& [group, steps] : sums)
      add_steps(group, 0, static_cast<std::int64_t>(std::clamp(steps, Integer{low_}, Integer{high_})));
    return;
  }
  // Coordinates beyond C are not squared as integers: 2^20 squares of 2^40 fit.
  const auto is_within = [&](const std::vector<Integer>& all) {
    Integer squares = 0;
    for (const Integer steps : all) {
      if (steps > high_ || steps < -Integer{high_}) return false;
      squares += steps * steps;
    }
    return squares <= Integer{high_} * high_;
  };
  std::vector<Integer> clipped;
  double squares = 0;
  for (const auto& [group, steps] : sums) {
    clipped.push_back(steps);
    squares += static_cast<double>(steps) * static_cast<double>(steps);
  }
  for (double factor = static_cast<double>(high_) / std::sqrt(squares); !is_within(clipped); factor *= 1 - 0x1p-40) {
    for (std::size_t k = 0; k < sums.size(); ++k) clipped[k] = static_cast<std::int64_t>(static_cast<double>(sums[k].second) * factor);
  }
  for (std::size_t k = 0; k < sums.size(); ++k) add_steps(sums[k].first, 0, static_cast<std::int64_t>(clipped[k]));
}

Interval StatisticSum::norm_under_cap(const Interval& comes, const Interval& changes, bool squared) const {
  const auto number = [](std::uint64_t count) { return point(static_cast<std::int64_t>(count)); };
  const auto power = [&](const Interval& norm) { return squared ? norm * norm : norm; };
  const std::uint64_t used = statistic_.unit.most().value();
  const std::uint64_t cap = statistic_.group_cap->most.value();
  const std::uint64_t all = groups();
  // Groups that a unit fills, and rows in one group more (docs/proofs/statistics.md#group-caps).
  const std::uint64_t full = std::min(all, used / cap);
  const std::uint64_t rest = full < all ? used - full * cap : 0;
  const Interval of_full = power(number(cap) * comes);
  const Interval of_rest = power(number(rest) * comes);
  const auto rooted = [&](const Interval& sum) { return squared ? sqrt(sum) : sum; };
  if (statistic_.adjacency != Adjacency::replace_one) return rooted(number(full) * of_full + of_rest);
  const Interval change = maximum(comes, changes);
  const Interval of_both_full = power(number(cap) * change);
  // A full group of one in which the other one has its rest.
  const Interval of_mixed = power(number(cap - rest) * comes + number(rest) * change);
  Interval most = point(0.0);
  /// \param alone groups that a rest has for itself \param mixed full groups with the other's rest \param beside what the groups of rests add
  const auto meet = [&](std::uint64_t alone, std::uint64_t mixed, const Interval& beside) {
    // So many full groups of one are full groups of the other, or all that are left.
    const std::uint64_t single = (mixed + 1) / 2;
    const std::uint64_t apart = 2 * full + alone;
    const std::uint64_t least = apart > all ? apart - all : 0;
    if (single > full || least > full - single) return;
    for (const std::uint64_t shared : {least, full - single}) {
      most =
          maximum(most, number(shared) * of_both_full + number(2 * (full - shared) - mixed) * of_full + number(mixed) * of_mixed + beside);
    }
  };
  if (rest == 0) {
    meet(0, 0, point(0.0));
  } else {
    meet(2, 0, point(2.0) * of_rest);
    meet(1, 0, power(number(rest) * change));
    meet(1, 1, of_rest);
    meet(0, 2, point(0.0));
  }
  return rooted(most);
}

double StatisticSum::norm(bool squared) const {
  if (const auto of_units = norm_of_units(squared)) return *of_units;
  const auto joint = [&](std::int64_t a, std::int64_t b) {
    return squared ? sqrt(point(a) * point(a) + point(b) * point(b)) : point(a) + point(b);
  };
  // One record more or less: its own contribution, and that to the count beside the sum.
  const auto of_variance = [&](const VarianceNorms& norms) { return squared ? norms.l2 : norms.l1; };
  const Interval comes = is_variance() ? of_variance(norms_of_a_record(farthest(), weight_ != 0)) : joint(farthest(), weight_);
  // One record for another: both in one cell of a sum, or in two cells of a histogram; or in two groups, of which each changes as where
  // one comes.
  Interval changes = is_histogram()  ? joint(1, coordinates_ > 1 ? 1 : 0)
                     : is_variance() ? of_variance(norms_of_a_change(farthest()))
                                     : point(high_ - low_);
  if (statistic_.group_cap) return (norm_under_cap(comes, changes, squared) * point(grid_.step())).enclosure().upper;
  if (groups() > 1) changes = maximum(changes, (squared ? sqrt(point(2.0)) : point(2.0)) * comes);
  const bool may_come = statistic_.adjacency != Adjacency::replace_one || !statistic_.has_public_count();
  const bool may_change = statistic_.adjacency == Adjacency::replace_one;
  const Interval most = !may_change ? comes : may_come ? maximum(comes, changes) : changes;
  // Each record of a unit may do so, all in one direction. But every unit has a row, and where all rows are counted so has what stands in its
  // place, another unit or itself with nothing but its name.
  const bool counts_all_rows = std::holds_alternative<CountOf>(statistic_.of) && !statistic_.where && !statistic_.by;
  const bool keeps_a_row = counts_all_rows && statistic_.adjacency != Adjacency::add_or_remove_one;
  const auto records = static_cast<std::int64_t>(statistic_.unit.most().value()) - (keeps_a_row ? 1 : 0);
  return (point(records) * most * point(grid_.step())).enclosure().upper;
}

L1Sensitivity StatisticSum::l1_sensitivity() const { return L1Sensitivity{norm(false)}; }
L2Sensitivity StatisticSum::l2_sensitivity() const { return L2Sensitivity{norm(true)}; }

std::vector<std::string> StatisticSum::names() const {
  const auto* const histogram = std::get_if<HistogramOf>(&statistic_.of);
  if (histogram == nullptr) return {describe(statistic_)};
  return names_of(histogram->cells);
}

std::string StatisticSum::what_is_released() const {
  const char* const of_each = statistic_.by ? " of each group" : "";
  if (is_histogram()) return fmt::format("each cell{}", of_each);
  if (std::holds_alternative<UnitsOf>(statistic_.of)) return fmt::format("the number of units{}", of_each);
  if (std::holds_alternative<DistinctOf>(statistic_.of)) return "the number of different texts";
  if (counts()) return fmt::format("the count{}", of_each);
  if (is_variance()) {
    const double half = static_cast<double>(farthest()) * grid_.step();
    const std::string beside = weight_ != 0 ? fmt::format(", and {:.6g} times that on the count", 1 / half) : "";
    return fmt::format("the sum{0} of d = ({1} - {2}) and of 2 d^2 / {3:.6g} - {3:.6g}{4}", of_each, term_of(statistic_), origin_, half,
                       beside);
  }
  if (std::holds_alternative<UnitSumOf>(statistic_.of)) return fmt::format("the sum{} of what units add", of_each);
  if (weight_ == 0) return fmt::format("the sum{}", of_each);
  return fmt::format("the sum{} of ({} - {}), and {:.6g} times that on the count", of_each, term_of(statistic_), origin_,
                     1 / (static_cast<double>(weight_) * grid_.step()));
}

}  // namespace surety::statistics
