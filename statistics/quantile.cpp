#include <surety/statistics/quantile.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::statistics {
namespace {

using Integer = WideInteger;

/// Fractions [first, last) of a list, which are asked of the records between two others, in billionths: a half of a half, or all.
struct Span {
  std::size_t first;
  std::size_t last;
  std::int64_t lower;
  std::int64_t upper;
};

bool is_divided(const Span& span) noexcept { return span.last - span.first > 1; }
std::size_t middle_of(const Span& span) noexcept { return span.first + (span.last - span.first) / 2; }
Share share_of(const Span& span, const Fractions& fractions) {
  return {fractions.all()[middle_of(span)].billionths() - span.lower, span.upper - span.lower};
}
/// What is left to choose below and above the middle.
std::pair<Span, Span> halves_of(const Span& span, const Fractions& fractions) {
  const auto middle = middle_of(span);
  const auto at = fractions.all()[middle].billionths();
  return {{span.first, middle, span.lower, at}, {middle + 1, span.last, at, span.upper}};
}

/// The shares that are chosen at a level.
std::vector<Share> shares_at(std::size_t level, const Fractions& fractions) {
  std::vector<Span> spans{{0, fractions.size(), 0, Fraction::whole}};
  for (std::size_t above = 0; above < level; ++above) {
    std::vector<Span> next;
    for (const auto& span : spans) {
      const auto [below, beyond] = halves_of(span, fractions);
      for (const auto& half : {below, beyond}) {
        if (half.first < half.last) next.push_back(half);
      }
    }
    spans = std::move(next);
  }
  std::vector<Share> shares;
  shares.reserve(spans.size());
  for (const auto& span : spans) shares.push_back(share_of(span, fractions));
  return shares;
}

/// By how much a record that comes or goes moves a rank error, as parts of the whole.
std::int64_t larger_part(Share share) noexcept { return std::max(share.part, share.whole - share.part); }

/// In records, rounded up.
double shift_of(const std::vector<Share>& shares, Adjacency adjacency, std::size_t groups) {
  // Where a row comes or goes each choice is made for its own share.
  if (adjacency != Adjacency::replace_one) return 1;
  // One that becomes another moves one choice by 1, or two by the larger part of each.
  const auto is_less = [](Share a, Share b) { return Integer{larger_part(a)} * b.whole < Integer{larger_part(b)} * a.whole; };
  auto sorted = shares;
  std::sort(sorted.begin(), sorted.end(), [&](Share a, Share b) { return is_less(b, a); });
  if (groups > 1) sorted.insert(sorted.begin(), sorted.front());
  if (sorted.size() < 2) return 1;
  const auto [a, b] = std::pair{sorted[0], sorted[1]};
  if (Integer{larger_part(a)} * b.whole + Integer{larger_part(b)} * a.whole <= Integer{a.whole} * b.whole) return 1;
  const auto part = [](Share share) {
    const double quotient = static_cast<double>(larger_part(share)) / static_cast<double>(share.whole);
    return std::nextafter(quotient, 2);
  };
  return std::nextafter(part(a) + part(b), 3);
}

double checked_rows(Count rows) {
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;
  if (rows.value() > most_rows) invalid(fmt::format("a unit has {} rows, must be at most 2^20 where a quantile is released", rows.value()));
  return static_cast<double>(rows.value());
}

/// Scores as doubles, cut off.
double score_of(Integer error, std::int64_t whole) {
  const Integer worst = Integer{largest_rank_error} * whole;
  return -static_cast<double>(static_cast<std::int64_t>(std::min(error, worst)));
}

Integer records_of(std::span<const RankCount> counts) {
  Integer records = 0;
  for (const auto& count : counts) records += count.all();
  return records;
}

constexpr auto places_each = RankTotal::places_each;
std::uint64_t& at_place(std::vector<RankCount>& counts, std::uint32_t place) {
  auto& count = counts[place / places_each];
  return place % places_each == 0 ? count.below : place % places_each == 1 ? count.equal : count.above;
}

/// Records of a group between two candidates, and which fractions are chosen from them.
struct Node {
  std::size_t group;
  Span span;
  std::size_t first;  ///< candidate
  std::vector<RankCount> counts;
};

}  // namespace

Fraction::Fraction(double value) : billionths_{0} {
  const double scaled = value * static_cast<double>(whole);
  if (!(value > 0 && value < 1)) invalid(fmt::format("the fraction of a quantile is {}, must be above 0 and below 1", value));
  billionths_ = std::llround(scaled);
  if (!(std::abs(scaled - static_cast<double>(billionths_)) <= 1e-6 && billionths_ > 0 && billionths_ < whole)) {
    invalid(fmt::format("the fraction of a quantile is {}, must have at most 9 digits after the point", value));
  }
}

Fractions::Fractions(std::vector<Fraction> all) : all_{std::move(all)} {
  if (all_.empty() || all_.size() > most)
    invalid(fmt::format("the fractions of a quantile are {}, must be from 1 to {}", all_.size(), most));
  for (std::size_t k = 1; k < all_.size(); ++k) {
    if (all_[k - 1].billionths() < all_[k].billionths()) continue;
    invalid(fmt::format("the fractions of a quantile have {} behind {}, must ascend", all_[k].value(), all_[k - 1].value()));
  }
}

std::size_t Fractions::levels() const noexcept { return static_cast<std::size_t>(std::bit_width(all_.size())); }

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

void RankCounts::add(double number) noexcept {
  const auto& bounds = candidates_.bounds();
  const double clamped = number > bounds.lower ? std::min(number, bounds.upper) : bounds.lower;  // a NaN is the lower bound
  const auto nearest = candidates_.nearest(clamped);
  const double candidate = candidates_[nearest];
  // Without branches: on which side it lies nobody can predict.
  auto& count = counts_[nearest];
  count.below += clamped < candidate ? 1U : 0U;
  count.equal += clamped == candidate ? 1U : 0U;
  count.above += clamped > candidate ? 1U : 0U;
}

RankTotal RankCounts::total() const {
  RankTotal result;
  std::uint32_t place = 0;
  for (const auto& count : counts_) {
    for (const auto records : {count.below, count.equal, count.above}) {
      if (records != 0) result.counts.emplace_back(place, records);
      ++place;
    }
  }
  return result;
}

void RankCounts::add_total(const RankTotal& total, std::uint64_t records) {
  std::uint64_t left = records;
  std::size_t next = 0;
  for (const auto& [place, count] : total.counts) {
    if (!(place >= next && place < counts_.size() * places_each && count >= 1 && count <= left)) {
      invalid("a total is none of a quantile's, must be the counts of so many records");
    }
    next = std::size_t{place} + 1;
    left -= count;
  }
  for (const auto& [place, count] : total.counts) at_place(counts_, place) += count;
}

std::vector<double> target_scores(std::span<const RankCount> counts, Integer requested, std::int64_t whole) {
  const Integer penalty = Integer{rounding_penalty} * whole;
  const auto missed = [&](Integer below, Integer reached) {
    return std::max({Integer{0}, below * whole - requested, requested - reached * whole});
  };
  std::vector<double> result;
  result.reserve(counts.size());
  Integer before = 0;
  for (const auto& count : counts) {
    const Integer below = before + count.below;
    const Integer exact = missed(below, below + count.equal);
    const Integer rounded = missed(before, before + count.all());
    result.push_back(score_of(std::min(exact, rounded + penalty), whole));
    before += count.all();
  }
  return result;
}

std::vector<double> rank_scores(std::span<const RankCount> counts, Share share) {
  // 2^64 records in billionths fit into 128 bits.
  return target_scores(counts, records_of(counts) * share.part, share.whole);
}

std::int64_t division_target(std::span<const RankCount> counts, std::size_t at, Share share) {
  constexpr Integer most = Integer{1} << 61;
  const Integer requested = records_of(counts) * share.part * division_parts / share.whole;
  return static_cast<std::int64_t>(std::clamp(requested - records_of(counts.first(at)) * division_parts, -most, most));
}

std::uint64_t divided_records(std::uint64_t records, std::int64_t noisy_target) noexcept {
  const Integer rounded = (Integer{noisy_target} + division_parts / 2) >> std::countr_zero(static_cast<std::uint64_t>(division_parts));
  return static_cast<std::uint64_t>(std::clamp(rounded, Integer{0}, Integer{records}));
}

Halves halves_at(std::span<const RankCount> counts, std::size_t at, std::uint64_t divided) {
  const auto lower = counts.first(at + 1);
  const auto upper = counts.subspan(at);
  Halves halves{{lower.begin(), lower.end()}, {upper.begin(), upper.end()}};
  halves.below.back() = {.equal = divided};
  halves.above.front() = {.equal = counts[at].all() - divided};
  return halves;
}

QuantileMechanism::QuantileMechanism(Fractions fractions, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency,
                                     const UnitOfPrivacy& unit, std::size_t groups, QuantileChoice choice)
    : QuantileMechanism{std::move(fractions), candidates, epsilon, adjacency, unit.most(), groups, choice} {}
QuantileMechanism::QuantileMechanism(Fractions fractions, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency,
                                     Count most_rows, std::size_t groups, QuantileChoice choice)
    : fractions_{std::move(fractions)},
      candidates_{candidates},
      epsilon_{epsilon},
      adjacency_{adjacency},
      choice_{choice},
      rows_{checked_rows(most_rows)} {
  for (std::size_t level = 0; level < levels(); ++level) shifts_.push_back(shift_of(shares_at(level, fractions_), adjacency, groups));
}

Event QuantileMechanism::event() const {
  return choice_ == QuantileChoice::permute_and_flip ? surety::pure(epsilon_, adjacency_) : surety::exponential(epsilon_, adjacency_);
}

// The division follows the choice: largest losses add, and where ranges are charged noise of loss e has a range of 2 e.
// docs/proofs/quantiles.md#halving
Epsilon QuantileMechanism::of_division() const { return Epsilon{epsilon_.value() / 16}; }
Epsilon QuantileMechanism::beside_division() const {
  const double counted = choice_ == QuantileChoice::permute_and_flip ? 1 : 2;
  return Epsilon{std::nextafter(epsilon_.value() - counted * of_division().value(), 0.0)};
}

std::optional<std::uint64_t> QuantileMechanism::division_scale(std::size_t level, Share share) const {
  // One row moves the target by the sensitivity, in whole parts of a record: rounding adds at most one part for each of two halves.
  const double of_row = sensitivity(level, share).value() / static_cast<double>(share.whole) * static_cast<double>(division_parts);
  const double scale = (of_row + 2 * rows_) * (1 + 0x1p-50) / of_division().value() * (1 + 0x1p-50);
  if (!(scale <= 0x1p57)) return std::nullopt;
  return static_cast<std::uint64_t>(std::ceil(std::max(scale, 1.0)));
}

ScoreSensitivity QuantileMechanism::sensitivity(std::size_t level, Share share) const {
  // Below 2^51, so exact but for what two choices are moved by.
  const auto parts = static_cast<double>(adjacency_ == Adjacency::replace_one ? share.whole : larger_part(share));
  const double exact = parts * rows_;
  const double shift = shifts_.at(level);
  return ScoreSensitivity{shift == 1 ? exact : std::nextafter(exact * shift, HUGE_VAL)};
}

std::size_t QuantileMechanism::choose(const std::vector<double>& scores, Epsilon epsilon, ScoreSensitivity sensitivity,
                                      mechanisms::BitsRef bits) const {
  // Permute-and-flip as the largest with exponential noise, whose time tells nothing.
  const auto shape = choice_ == QuantileChoice::permute_and_flip ? mechanisms::NoiseShape::exponential : mechanisms::NoiseShape::gumbel;
  const mechanisms::SelectionOptions options{.epsilon = epsilon,
                                             .sensitivity = sensitivity,
                                             .change = ScoreChange::either_way,
                                             .candidates = Count{scores.size()},
                                             .adjacency = adjacency_};
  return mechanisms::ReportNoisyMax{options, shape}.release(scores, bits);
}

std::vector<std::vector<std::size_t>> QuantileMechanism::release_places(std::span<const RankCounts> groups,
                                                                        const std::function<void()>& spend,
                                                                        mechanisms::BitsRef bits) const {
  std::vector<std::vector<std::size_t>> result(groups.size(), std::vector<std::size_t>(fractions_.size()));
  std::vector<Node> nodes;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto counts = groups[group].counts();
    nodes.push_back({group, {0, fractions_.size(), 0, Fraction::whole}, 0, {counts.begin(), counts.end()}});
  }
  // Groups have the same shares, and a sampler takes a millisecond to make.
  std::map<std::uint64_t, mechanisms::DiscreteLaplaceNoise> samplers;
  const auto divided_at = [&](const std::vector<RankCount>& counts, std::size_t at, std::size_t level, Share share) -> std::uint64_t {
    const auto scale = division_scale(level, share);
    if (!scale) return 0;
    const auto sampler = samplers.try_emplace(*scale, mechanisms::Rational{.num = *scale, .den = 1}).first;
    std::array noisy_target{division_target(counts, at, share)};
    mechanisms::add_noise(sampler->second, noisy_target, bits);
    return divided_records(counts[at].all(), noisy_target.front());
  };
  for (std::size_t level = 0; level < levels(); ++level) {
    spend();
    std::vector<Node> next;
    for (const auto& [group, span, first, counts] : nodes) {
      const auto share = share_of(span, fractions_);
      // Between two equal numbers, which are public by now, there is nothing to choose.
      const bool is_open = counts.size() > 1;
      const auto at =
          is_open ? choose(rank_scores(counts, share), is_divided(span) ? beside_division() : epsilon_, sensitivity(level, share), bits)
                  : 0;
      result[group][middle_of(span)] = first + at;
      if (!is_divided(span)) continue;
      const auto [below, above] = halves_of(span, fractions_);
      auto halves = halves_at(counts, at, is_open ? divided_at(counts, at, level, share) : 0);
      if (below.first < below.last) next.push_back({group, below, first, std::move(halves.below)});
      if (above.first < above.last) next.push_back({group, above, first + at, std::move(halves.above)});
    }
    nodes = std::move(next);
  }
  return result;
}

std::vector<std::vector<double>> QuantileMechanism::release(std::span<const RankCounts> groups, const std::function<void()>& spend,
                                                            mechanisms::BitsRef bits) const {
  std::vector<std::vector<double>> result;
  for (const auto& places : release_places(groups, spend, bits)) {
    auto& values = result.emplace_back();
    for (const auto place : places) values.push_back(candidates_[place]);
  }
  return result;
}

ShiftedExponential QuantileMechanism::missed_by(Epsilon epsilon, std::size_t level, Share share) const {
  const auto point = [](double value) { return Interval{value, 256}; };
  const auto others = static_cast<double>(candidates_.count() - 1);
  const auto scale = point(2) * point(sensitivity(level, share).value()) / point(static_cast<double>(share.whole)) / point(epsilon.value());
  const auto odds = choice_ == QuantileChoice::permute_and_flip ? point(others + 1) / point(2) : point(others);
  const auto least = point(static_cast<double>(rounding_penalty)) + scale * log(odds);
  return {least.enclosure().upper, scale.enclosure().upper};
}

double QuantileMechanism::rank_error(double exceeded, std::size_t index) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto bounded = [](double records) { return records <= static_cast<double>(largest_rank_error) ? records : infinity; };
  if (epsilon_.value() == 0) return infinity;
  Span span{0, fractions_.size(), 0, Fraction::whole};
  // How much of what each division misses is missed at the two ends of the node.
  std::vector<double> at_lower;
  std::vector<double> at_upper;
  std::vector<LargerOfTwo> terms;
  const auto between_ends = [&](Share share) {
    const double part = static_cast<double>(share.part) / static_cast<double>(share.whole);
    std::vector<double> weights;
    // Rounded up; a weight is at most 1.
    for (std::size_t k = 0; k < terms.size(); ++k) {
      weights.push_back(std::min(1.0, ((1 - part) * at_lower[k] + part * at_upper[k]) * (1 + 0x1p-50)));
    }
    return weights;
  };
  double rounding = 0;
  for (std::size_t level = 0; middle_of(span) != index; ++level) {
    const auto share = share_of(span, fractions_);
    const auto scale = division_scale(level, share);
    if (!scale) return infinity;
    auto weights = between_ends(share);
    weights.push_back(1);
    constexpr auto parts = static_cast<double>(division_parts);
    terms.push_back(
        {1, missed_by(beside_division(), level, share), {0.5 / parts, std::nextafter(static_cast<double>(*scale) / parts, infinity)}});
    const auto halves = halves_of(span, fractions_);
    const bool is_lower = index < middle_of(span);
    span = is_lower ? halves.first : halves.second;
    auto& kept = is_lower ? at_lower : at_upper;
    kept.push_back(0);
    (is_lower ? at_upper : at_lower) = std::move(weights);
  }
  const auto share = share_of(span, fractions_);
  const auto weights = between_ends(share);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k].weight = weights[k];
    // Half a record by which the number that is divided is rounded, and the part by which its target is.
    rounding += weights[k] * (0.5 + 2.0 / static_cast<double>(division_parts));
  }
  const auto level = terms.size();
  const auto last = missed_by(is_divided(span) ? beside_division() : epsilon_, level, share);
  if (level == 0) {
    // One choice alone has its own distribution, whose tail is below the exponential one.
    const auto tail = choice_ == QuantileChoice::permute_and_flip ? exceeded : exceeded / (1 - exceeded);
    const double missed = last.least - last.scale * std::log(tail);
    return bounded(std::max(missed * (1 + 0x1p-50), static_cast<double>(rounding_penalty)));
  }
  terms.push_back({1, last, {0, 0}});
  return bounded((quantile_of_larger(terms, exceeded) + rounding) * (1 + 0x1p-50));
}

}  // namespace surety::statistics
