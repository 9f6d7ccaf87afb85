#include <surety/accounting/laws/shuffled/sum_of_values.h>

#include <algorithm>
#include <cmath>

#include <surety/base/numbers/limit.h>

namespace surety::accounting::laws {
namespace {

/// What is left out, as a share of the sum.
constexpr long double negligible = 1e-9L;

std::uint64_t most_blocks(std::uint64_t reports) {
  return static_cast<std::uint64_t>(std::clamp(2000 * std::sqrt(1e5 / static_cast<double>(reports)), 300.0, 3000.0));
}

}  // namespace

// Proved: docs/proofs/shuffled-reports.md#sums
SumOfValues::SumOfValues(std::uint64_t reports, const Outcome& likely, const Outcome& unlikely, const LongBall& rest_ratio, bool has_rest,
                         const std::optional<Neutral>& third, std::uint64_t blocks)
    : reports_{reports}, likely_{likely}, unlikely_{unlikely}, rest_ratio_{rest_ratio}, third_{third} {
  const LongBall active = likely.probability + unlikely.probability;
  share_ = likely.probability / active;
  if (!has_rest) {
    blocks_ = {{reports, reports, {LongLower{1}, LongUpper{1}}}};
  } else {
    blocks_ = count_blocks(reports, active, blocks > 0 ? blocks : most_blocks(reports), 38);
  }
  if (third) third_share_ = third->probability / (LongBall{1} - active);
  thirds_.resize(blocks_.size());
  // Where M is most likely.
  const auto heavier = [](const CountBlock& a, const CountBlock& b) { return a.weight.upper.value() < b.weight.upper.value(); };
  middle_ = static_cast<std::size_t>(std::max_element(blocks_.begin(), blocks_.end(), heavier) - blocks_.begin());
  LongUpper sum{0};
  for (const auto& block : blocks_) up_to_.push_back(sum = sum + block.weight.upper);
  sum = LongUpper{0};
  from_.resize(blocks_.size(), sum);
  for (std::size_t i = blocks_.size(); i-- > 0;) from_[i] = sum = sum + blocks_[i].weight.upper;
}

LongLower SumOfValues::lower(const LongBall& e) const {
  const Values values = at(e);
  const LongBall scale = (values.likely - values.unlikely) / exactly(reports_);
  LongLower sum{0};
  outward([&](std::size_t i, const LongUpper& rest) {
    const auto& [first, last, weight] = blocks_[i];
    // At the fewest active reports of a block. Each more in the place of another moves the mean by so much.
    const LongBall moved = exactly(last - first) * (values.mean - values.rest);
    const LongLower down = min(moved.lower(), LongLower{0});
    const LongUpper level = LongUpper{level_of(first, values).upper()} + (-down) / (values.likely - values.unlikely).lower();
    sum = sum + weight.lower * expected_excess(first, share_, {level.value()}).front().lower;
    return (rest * max(values.likely.upper(), LongUpper{0})).value() <= negligible * sum.value() * scale.value();
  });
  return max(sum * max(scale.lower(), LongLower{0}), LongLower{0});
}

LongUpper SumOfValues::upper(const LongBall& e) const {
  const Values values = at(e);
  const LongBall scale = (values.likely - values.unlikely) / exactly(reports_);
  LongUpper sum{0};
  LongUpper left_out{0};
  outward([&](std::size_t i, const LongUpper& rest) {
    const auto& [first, last, weight] = blocks_[i];
    // At the most active reports of a block. Each fewer, and another in its place, moves the mean by so much.
    const LongBall moved = exactly(last - first) * (values.rest - values.mean);
    const LongUpper up = max(moved.upper(), LongUpper{0}) / (values.likely - values.unlikely).lower();
    const LongLower level = level_of(last, values).lower() - up;
    if (third_) {
      const Thirds& thirds = thirds_of(i);
      // Each third value raises the level as much.
      const LongLower each = max((-values.third / (values.likely - values.unlikely)).lower(), LongLower{0});
      std::vector<long double> levels(thirds.first.size());
      std::transform(thirds.first.begin(), thirds.first.end(), levels.begin(),
                     [&](long double count) { return (level + each * LongExact{count}).value(); });
      // They rise, but for rounding.
      for (std::size_t j = levels.size() - 1; j-- > 0;) levels[j] = std::min(levels[j], levels[j + 1]);
      const auto excesses = expected_excess(last, share_, levels);
      LongUpper mean{0};
      for (std::size_t j = 0; j < levels.size(); ++j) mean = mean + LongUpper{LongExact{thirds.weight[j]}} * excesses[j].upper;
      sum = sum + weight.upper * mean;
    } else {
      sum = sum + weight.upper * expected_excess(last, share_, {level.value()}).front().upper;
    }
    // A sum of values is at most `likely` times all reports.
    left_out = rest * max(values.likely.upper(), LongUpper{0});
    return left_out.value() <= negligible * sum.value() * scale.value();
  });
  return sum * max(scale.upper(), LongUpper{0}) + left_out;
}

SumOfValues::Values SumOfValues::at(const LongBall& e) const {
  const LongBall likely = likely_.value(e);
  const LongBall unlikely = unlikely_.value(e);
  return {likely, unlikely, share_ * likely + (LongBall{1} - share_) * unlikely, rest_ratio_ * (LongBall{1} - e),
          third_ ? third_->ratio * (LongBall{1} - e) : LongBall{0}};
}

/// How many active reports have to be likely ones for a sum above 0, where none has the third value.
LongBall SumOfValues::level_of(std::uint64_t active, const Values& values) const {
  return -(values.unlikely * exactly(active) + values.rest * exactly(reports_ - active)) / (values.likely - values.unlikely);
}

template <class Add>
void SumOfValues::outward(const Add& add) const {
  std::size_t left = middle_;   // blocks before it are still to come
  std::size_t right = middle_;  // and those from it on
  for (;;) {
    poll_limit();
    LongUpper before = left > 0 ? up_to_[left - 1] : LongUpper{0};
    LongUpper after = right < blocks_.size() ? from_[right] : LongUpper{0};
    const bool goes_left = left > 0 && (right == blocks_.size() || before.value() > after.value());
    const std::size_t next = goes_left ? --left : right++;
    if (goes_left) {
      before = left > 0 ? up_to_[left - 1] : LongUpper{0};
    } else {
      after = right < blocks_.size() ? from_[right] : LongUpper{0};
    }
    if (add(next, before + after) || (left == 0 && right == blocks_.size())) return;
  }
}

/// How many of the reports that are not active have the third value, where as few as may be are not active.
const SumOfValues::Thirds& SumOfValues::thirds_of(std::size_t i) const {
  const std::scoped_lock lock{mutex_};
  Thirds& kept = thirds_[i];
  if (!kept.first.empty()) return kept;
  constexpr std::uint64_t most = 400;
  for (const auto& block : count_blocks(reports_ - blocks_[i].last, third_share_, most, 20)) {
    kept.first.push_back(static_cast<long double>(block.first));
    kept.weight.push_back(block.weight.upper.value());
  }
  return kept;
}
// Proved so far.

}  // namespace surety::accounting::laws
