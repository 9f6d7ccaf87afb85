#include <surety/statistics/quantile.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/numbers/interval.h>

namespace surety::statistics {
namespace {

/// How far one unit moves a rank error, in billionths of a record.
ScoreSensitivity rank_sensitivity(Fraction fraction, Adjacency adjacency, const UnitOfPrivacy& unit) {
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;
  const std::uint64_t rows = unit.most().value();
  if (rows > most_rows) invalid(fmt::format("a unit has {} rows, must be at most 2^20 where a quantile is released", rows));
  const std::int64_t per_row =
      adjacency == Adjacency::replace_one ? Fraction::whole : std::max(fraction.billionths(), Fraction::whole - fraction.billionths());
  // Below 2^50, so exact.
  return ScoreSensitivity{static_cast<double>(per_row) * static_cast<double>(rows)};
}

}  // namespace

Fraction::Fraction(double value) : billionths_{0} {
  const double scaled = value * static_cast<double>(whole);
  if (!(value > 0 && value < 1)) invalid(fmt::format("the fraction of a quantile is {}, must be above 0 and below 1", value));
  billionths_ = std::llround(scaled);
  if (!(std::abs(scaled - static_cast<double>(billionths_)) <= 1e-6 && billionths_ > 0 && billionths_ < whole)) {
    invalid(fmt::format("the fraction of a quantile is {}, must have at most 9 digits after the point", value));
  }
}

Candidates::Candidates(data::Bounds bounds, std::size_t count) : bounds_{bounds}, count_{count} {
  constexpr double largest = 0x1p900;
  if (!(bounds.lower < bounds.upper && std::abs(bounds.lower) <= largest && std::abs(bounds.upper) <= largest)) {
    invalid(fmt::format("bounds are {} and {}, must ascend and be within +-2^900", bounds.lower, bounds.upper));
  }
  if (!(count >= 2 && count <= most)) invalid(fmt::format("the number of candidates is {}, must be from 2 to 2^22", count));
  const double step = (bounds.upper - bounds.lower) / static_cast<double>(count - 1);
  if (!(step >= 0x1p-900 && step >= std::max(std::abs(bounds.lower), std::abs(bounds.upper)) * 0x1p-48)) {
    invalid(fmt::format("{} candidates from {} to {} are nearer to each other than numbers can tell apart, must be fewer", count,
                        bounds.lower, bounds.upper));
  }
}

Candidates Candidates::between(data::Bounds bounds) {
  constexpr double cells = 0x1p14;
  const double width = bounds.upper - bounds.lower;
  const bool is_whole = bounds.lower == std::floor(bounds.lower) && bounds.upper == std::floor(bounds.upper);
  if (!(is_whole && width >= 1 && width <= cells)) return {bounds, static_cast<std::size_t>(cells) + 1};
  return {bounds, static_cast<std::size_t>(width * std::floor(cells / width)) + 1};
}

double Candidates::operator[](std::size_t index) const noexcept {
  if (index + 1 == count_) return bounds_.upper;
  // The product is exact where the width is a small whole number.
  return bounds_.lower + (bounds_.upper - bounds_.lower) * static_cast<double>(index) / static_cast<double>(count_ - 1);
}

std::size_t Candidates::nearest(double number) const noexcept {
  if (!(number > bounds_.lower)) return 0;
  if (number >= bounds_.upper) return count_ - 1;
  const double position = (number - bounds_.lower) / (bounds_.upper - bounds_.lower) * static_cast<double>(count_ - 1);
  return std::min(static_cast<std::size_t>(position + 0.5), count_ - 1);
}

RankTotal RankCounts::total() const {
  RankTotal result;
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (counts_[k] != 0) result.counts.emplace_back(static_cast<std::uint32_t>(k), counts_[k]);
  }
  return result;
}

void RankCounts::add_total(const RankTotal& total, std::uint64_t records) {
  std::uint64_t left = records;
  std::size_t next = 0;
  for (const auto& [candidate, count] : total.counts) {
    if (!(candidate >= next && candidate < counts_.size() && count >= 1 && count <= left)) {
      invalid("a total is none of a quantile's, must be the counts of so many records");
    }
    next = std::size_t{candidate} + 1;
    left -= count;
  }
  for (const auto& [candidate, count] : total.counts) counts_[candidate] += count;
}

std::vector<double> RankCounts::scores(Fraction fraction) const {
  // 2^64 records in billionths fit into 128 bits.
  __extension__ using Integer = __int128;
  constexpr Integer worst = Integer{QuantileMechanism::largest_rank_error} * Fraction::whole;
  Integer records = 0;
  for (const auto count : counts_) records += count;
  const Integer asked = records * fraction.billionths();
  std::vector<double> result;
  result.reserve(counts_.size());
  Integer below = 0;
  for (const auto count : counts_) {
    const Integer reached = below + count;
    const Integer error = std::max({Integer{0}, below * Fraction::whole - asked, asked - reached * Fraction::whole});
    result.push_back(-static_cast<double>(static_cast<std::int64_t>(std::min(error, worst))));
    below = reached;
  }
  return result;
}

QuantileMechanism::QuantileMechanism(Fraction fraction, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency,
                                     const UnitOfPrivacy& unit)
    : fraction_{fraction},
      candidates_{candidates},
      choice_{{.epsilon = epsilon,
               .sensitivity = rank_sensitivity(fraction, adjacency, unit),
               .change = ScoreChange::either_way,
               .candidates = Count{candidates.count()},
               .adjacency = adjacency}} {}

double QuantileMechanism::release(const RankCounts& counts, mechanisms::BitsRef bits) const {
  return candidates_[choice_.release(counts.scores(fraction_), bits)];
}

double QuantileMechanism::rank_error(double exceeded) const {
  const auto point = [](double value) { return accounting::Interval{value, 256}; };
  const double epsilon = choice_.options().epsilon.value();
  const auto others = point(static_cast<double>(candidates_.count() - 1));
  const auto odds = others * (point(1) - point(exceeded)) / point(exceeded);
  if (odds.compare(1) <= 0) return 0;
  if (epsilon == 0) return std::numeric_limits<double>::infinity();
  const auto scale = point(2) * point(choice_.options().sensitivity.value()) / point(static_cast<double>(Fraction::whole)) / point(epsilon);
  const double records = (scale * log(odds)).enclosure().upper;
  return records <= static_cast<double>(largest_rank_error) ? records : std::numeric_limits<double>::infinity();
}

}  // namespace surety::statistics
