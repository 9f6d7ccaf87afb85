#include <surety/accounting/laws/epochs/ratio_law.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting::laws {
namespace {

constexpr double most_points = 0x1p21;
/// Products of masses in one sum, some seconds of them.
constexpr double most_products = 4e9;
constexpr double least_log_cut = -290;

[[noreturn]] void refuse_size() {
  throw Error{ErrorCode::unsupported, "privacy-loss: the ratios of an allocated epoch take too many points"};
}

/// Of two numbers at once, which every processor has.
using Pair = double __attribute__((vector_size(16)));
Pair load(const double* from) {
  Pair both;
  std::memcpy(&both, from, sizeof both);
  return both;
}

/// out[i] += factor a[i] b[i]; no two of them overlap.
void accumulate(double* out, const double* a, const double* b, std::size_t size, double factor) {
  constexpr std::size_t block = 8;
  const Pair each{factor, factor};
  std::size_t i = 0;
  for (; i + block <= size; i += block) {
    for (std::size_t k = i; k < i + block; k += 2) {
      const Pair sum = load(out + k) + each * (load(a + k) * load(b + k));
      std::memcpy(out + k, &sum, sizeof sum);
    }
  }
  for (; i < size; ++i) out[i] += factor * (a[i] * b[i]);
}

/// Where e^(i h) + e^((i - n) h) lies: between points i + down and i + down + 1, with this share of the mass on the latter.
struct Place {
  std::int64_t down;
  double share;
};
Place place_above(double n, double h) {
  const double rise = std::log1p(std::exp(-n * h));
  const double down = std::floor(rise / h);
  return {checked_cast<std::int64_t>(down), std::clamp(std::expm1(rise - down * h) / std::expm1(h), 0.0, 1.0)};
}
/// Of a product of two numbers, each off by such a share.
Upper of_product(Upper a, Upper b) { return a + b + a * b; }
Upper units(double count) { return Exact{share_of_units(count)}; }

/// What masses may lose to underflow.
constexpr double tiny = 1e-300;

/// From the middles of the two cells, the cell that the sum is in.
std::int64_t cell_below(double n, double h) { return checked_cast<std::int64_t>(std::floor(0.5 + std::log1p(std::exp(-n * h)) / h)); }

}  // namespace

RatioLaw RatioLaw::share_of_round(Bound bound, double multiplier, double rounds, double step, double log_cut) {
  const StandardFloatingPoint environment;
  RatioLaw law{bound, step, std::max(log_cut, least_log_cut)};
  const GaussianShape shape{GaussianBase{multiplier}};
  const double log_rounds = std::log(rounds);
  const double reach = tail_point(law.log_cut_ - log_rounds - 1);
  const double low = -reach;
  const double high = shape.inverse + reach;
  const double least = shape.loss(low) - log_rounds;
  const double most = shape.loss(high) - log_rounds;
  if (!(std::max(std::abs(least), std::abs(most)) < 300 && (most - least) / step < most_points)) refuse_size();
  law.first_ = checked_cast<std::int64_t>(std::floor(least / step));
  const auto last = checked_cast<std::int64_t>(std::ceil(most / step));
  const auto size = static_cast<std::size_t>(last - law.first_);
  law.mass_.assign(size + 1, 0.0);
  if (bound == Bound::below) law.mean_.assign(size + 1, 0.0);
  const double width = -std::expm1(-step);
  double from = low;
  PollNowAndThen poll;
  for (std::size_t at = 0; at < size; ++at) {
    poll();
    const double l = static_cast<double>(law.first_ + static_cast<std::int64_t>(at)) * step;
    const double to = at + 1 == size ? high : std::clamp(shape.coordinate(l + step + log_rounds, false), low, high);
    if (!(to > from)) continue;
    const Piece piece = shape.piece(from, to);
    require_digits(piece);
    from = to;
    const double q = piece.mass * std::exp(piece.log_scale);
    const double over = piece.ratio * std::exp(piece.loss - (l + log_rounds));  // mean ratio over e^l, from 1 to e^step
    law.error_ = max(law.error_, units(4) + Exact{piece.mass_error});
    // log_rounds is within 2.5 units, and is rounded into two sums; l is a product.
    law.shift_ = max(law.shift_, units(4 + 2 * (std::abs(piece.loss) + std::abs(l)) + 4 * log_rounds) + Exact{piece.ratio_error});
    if (bound == Bound::below) {
      law.mass_[at] += q;
      law.mean_[at] += q * over;
      continue;
    }
    const double share = std::clamp((over - 1) * std::exp(-step) / width, 0.0, 1.0);
    law.mass_[at] += q * (1 - share);
    law.mass_[at + 1] += q * share;
  }
  law.shift_ += units(8) + Exact{shape.error(std::max(std::abs(least), std::abs(most)) + log_rounds, std::max(-low, high))};
  law.error_ += units(8);
  // P counts the share of a round.
  const LongUpper beyond = mass_beyond(law.log_cut_ - log_rounds - 1, shape.inverse);
  if (bound == Bound::above) {
    law.zero_ = shortened(2 * beyond) + Exact{tiny};  // from either end
    law.infinite_ = beyond / LongExact{rounds};
  } else {
    law.dropped_ = 2 * beyond;
  }
  return law;
}

RatioLaw RatioLaw::one(Bound bound, double step, double log_cut) {
  RatioLaw law{bound, step, std::max(log_cut, least_log_cut)};
  law.mass_ = {1};
  if (bound == Bound::below) law.mean_ = {1};
  return law;
}

RatioLaw RatioLaw::empty(double step, double log_cut) { return RatioLaw{Bound::above, step, std::max(log_cut, least_log_cut)}; }

/// The law of the sum of two independent values, gathered pair by pair.
class RatioLaw::Sum {
 public:
  Sum(const RatioLaw& a, const RatioLaw& b)
      : h_{a.step_},
        above_{a.bound_ == Bound::above},
        twice_{&a == &b},
        far_{checked_cast<std::int64_t>(std::ceil(-std::log(std::expm1(above_ ? h_ : 0.5 * h_)) / h_)) + 3},
        first_{std::min(a.first_, b.first_)},
        law_{a.bound_, h_, a.log_cut_} {
    const std::int64_t end = std::max(a.first_ + size(a.mass_), b.first_ + size(b.mass_));
    const auto room = static_cast<std::size_t>(end - first_) + static_cast<std::size_t>(std::ceil(0.7 / h_)) + 4;
    if (!(static_cast<double>(room) < 2 * most_points && static_cast<double>(room) * static_cast<double>(far_) < most_products)) {
      refuse_size();
    }
    law_.first_ = first_;
    law_.mass_.assign(room, 0.0);
    if (!above_) law_.mean_.assign(room, 0.0);
  }

  /// All pairs.
  void take_all(const RatioLaw& a, const RatioLaw& b) {
    for (std::int64_t n = 0; n < far_; ++n) {
      take(a, b, n);
      if (n > 0 && !twice_) take(b, a, n);
    }
    take_far(a, b);
    if (!twice_) take_far(b, a);
    // A value of zero leaves the other one as it is.
    if (a.zero_.value() > 0) keep(b, a.zero_.value());
    if (b.zero_.value() > 0) keep(a, b.zero_.value());
  }

  /// Their law, with its errors.
  [[nodiscard]] RatioLaw law(const RatioLaw& a, const RatioLaw& b) && {
    auto& sum = law_;
    sum.zero_ = a.zero_ * b.zero_;
    sum.infinite_ = a.infinite_ + b.infinite_;
    sum.dropped_ = a.dropped_ + b.dropped_;
    const double longest = static_cast<double>(std::max(a.mass_.size(), b.mass_.size()));
    sum.error_ = of_product(of_product(a.error_, b.error_), units(2 * most_terms_ + 1.5 * longest + 32));
    sum.shift_ = of_product(max(a.shift_, b.shift_), units(32 + 4 * h_ * longest + 2 * std::abs(std::log(h_))));
    if (!above_) sum.put_in_order();
    sum.trim();
    return std::move(law_);
  }

 private:
  static std::int64_t size(const std::vector<double>& v) { return static_cast<std::int64_t>(v.size()); }

  /// Pairs of a larger (or equal) value of x and a smaller one of y, n points below it.
  void take(const RatioLaw& x, const RatioLaw& y, std::int64_t n) {
    poll_limit();
    const std::int64_t low = std::max(x.first_, y.first_ + n);
    const std::int64_t high = std::min(x.first_ + size(x.mass_), y.first_ + n + size(y.mass_));
    if (low >= high) return;
    const auto count = static_cast<std::size_t>(high - low);
    const auto at_x = static_cast<std::size_t>(low - x.first_);
    const auto at_y = static_cast<std::size_t>(low - n - y.first_);
    const auto out = static_cast<std::size_t>(low - first_);
    // Each pair of different values has its mirror image.
    const double both = twice_ && n > 0 ? 2 : 1;
    if (above_) {
      const Place place = place_above(static_cast<double>(n), h_);
      double* to = law_.mass_.data() + out + place.down;
      accumulate(to, x.mass_.data() + at_x, y.mass_.data() + at_y, count, both * (1 - place.share));
      accumulate(to + 1, x.mass_.data() + at_x, y.mass_.data() + at_y, count, both * place.share);
    } else {
      const std::int64_t up = cell_below(static_cast<double>(n), h_);
      const auto to = out + static_cast<std::size_t>(up);
      const double scale = both * std::exp(-static_cast<double>(up) * h_);
      accumulate(law_.mass_.data() + to, x.mass_.data() + at_x, y.mass_.data() + at_y, count, both);
      accumulate(law_.mean_.data() + to, x.mean_.data() + at_x, y.mass_.data() + at_y, count, scale);
      accumulate(law_.mean_.data() + to, x.mass_.data() + at_x, y.mean_.data() + at_y, count,
                 both * std::exp(-static_cast<double>(up + n) * h_));
    }
    most_terms_ += 3;
  }

  /// All that is farther below, where the smaller one does not move the larger one out of its cell: the sums of masses and of means are all that counts.
  void take_far(const RatioLaw& x, const RatioLaw& y) {
    double mass = 0;
    double mean = 0;  // over e^(i h) of the current i
    const double both = twice_ ? 2 : 1;
    const double fall = std::exp(-h_);
    const double spread = std::expm1(h_);
    std::int64_t next = y.first_;
    std::int64_t at = std::max(x.first_, y.first_ + far_);
    for (; next < std::min(at - far_, y.first_ + size(y.mass_)); ++next) {
      // Up to the one before the last that is taken first below.
      const auto j = static_cast<std::size_t>(next - y.first_);
      mass += y.mass_[j];
      mean = mean * fall + (above_ ? y.mass_[j] : y.mean_[j]);
    }
    // `mean` is relative to point next - 1.
    mean *= std::exp(-static_cast<double>(at - (next - 1)) * h_);
    for (; at < x.first_ + size(x.mass_); ++at) {
      if (next == at - far_ && next < y.first_ + size(y.mass_)) {
        const auto j = static_cast<std::size_t>(next - y.first_);
        mass += y.mass_[j];
        mean += (above_ ? y.mass_[j] : y.mean_[j]) * std::exp(-static_cast<double>(far_) * h_);
        ++next;
      }
      const auto i = static_cast<std::size_t>(at - x.first_);
      const auto out = static_cast<std::size_t>(at - first_);
      const double own = both * x.mass_[i];
      if (above_) {
        const double moved = mean / spread;
        law_.mass_[out] += own * std::max(0.0, mass - moved);
        law_.mass_[out + 1] += own * moved;
      } else {
        law_.mass_[out] += own * mass;
        law_.mean_[out] += both * x.mean_[i] * mass + own * mean;
      }
      mean *= fall;
    }
    most_terms_ += 2;
  }

  void keep(const RatioLaw& x, double with) {
    for (std::size_t i = 0; i < x.mass_.size(); ++i) law_.mass_[i + static_cast<std::size_t>(x.first_ - first_)] += x.mass_[i] * with;
  }

  double h_;
  bool above_;
  bool twice_;
  std::int64_t far_;  // beyond this distance the smaller one does not move the larger one out of its cell
  std::int64_t first_;
  RatioLaw law_;
  double most_terms_ = 0;
};

RatioLaw operator+(const RatioLaw& a, const RatioLaw& b) {
  const StandardFloatingPoint environment;
  RatioLaw::Sum sum{a, b};
  sum.take_all(a, b);
  return std::move(sum).law(a, b);
}

RatioLaw operator*(const RatioLaw& a, const RatioLaw& b) {
  const StandardFloatingPoint environment;
  RatioLaw product{RatioLaw::Bound::above, a.step_, a.log_cut_};
  if (!(static_cast<double>(a.mass_.size()) * static_cast<double>(b.mass_.size()) < most_products)) refuse_size();
  product.first_ = a.first_ + b.first_;
  product.mass_.assign(a.mass_.size() + b.mass_.size(), 0.0);
  for (std::size_t i = 0; i < a.mass_.size(); ++i) {
    const double factor = a.mass_[i];
    if (factor == 0) continue;
    poll_limit();
    double* __restrict to = product.mass_.data() + i;
    const double* __restrict from = b.mass_.data();
    for (std::size_t j = 0; j < b.mass_.size(); ++j) to[j] += factor * from[j];
  }
  product.zero_ = a.zero_ + b.zero_;
  product.infinite_ = a.infinite_ + b.infinite_;
  product.error_ = of_product(of_product(a.error_, b.error_), units(static_cast<double>(a.mass_.size()) + 32));
  product.shift_ = of_product(of_product(a.shift_, b.shift_), units(4));
  product.trim();
  return product;
}

RatioLaw RatioLaw::times(Ball factor) const {
  const StandardFloatingPoint environment;
  RatioLaw product{*this};
  // The number lies between two points, as a value of mean 1 times it.
  const double log_factor = std::log(factor.value());
  const double down = std::floor(log_factor / step_);
  const double share = std::clamp(std::expm1(log_factor - down * step_) / std::expm1(step_), 0.0, 1.0);
  product.first_ = first_ + checked_cast<std::int64_t>(down);
  product.mass_.assign(mass_.size() + 1, 0.0);
  for (std::size_t i = 0; i < mass_.size(); ++i) {
    product.mass_[i] += mass_[i] * (1 - share);
    product.mass_[i + 1] += mass_[i] * share;
  }
  product.infinite_ = infinite_ * LongExact{factor.upper().value()};
  product.error_ = of_product(error_, units(4));
  product.shift_ = of_product(shift_, Exact{factor.share()} + units(16 + 4 * std::abs(log_factor)));
  return product;
}

void RatioLaw::add(const RatioLaw& other, Ball weight) {
  if (other.mass_.empty()) return;
  if (mass_.empty()) first_ = other.first_;
  const std::int64_t first = std::min(first_, other.first_);
  const auto end = std::max(first_ + static_cast<std::int64_t>(mass_.size()), other.first_ + static_cast<std::int64_t>(other.mass_.size()));
  std::vector<double> all(static_cast<std::size_t>(end - first), 0.0);
  for (std::size_t i = 0; i < mass_.size(); ++i) all[i + static_cast<std::size_t>(first_ - first)] = mass_[i];
  for (std::size_t i = 0; i < other.mass_.size(); ++i)
    all[i + static_cast<std::size_t>(other.first_ - first)] += weight.value() * other.mass_[i];
  mass_ = std::move(all);
  first_ = first;
  zero_ += weight.upper() * other.zero_;
  infinite_ += LongUpper{LongExact{weight.upper().value()}} * other.infinite_;
  error_ = of_product(max(error_, of_product(other.error_, Exact{weight.share()})), units(4));
  shift_ = max(shift_, other.shift_);
}

RatioLaw RatioLaw::sum_of(std::uint64_t count) const {
  std::optional<RatioLaw> sum;
  RatioLaw power = *this;
  for (;; count /= 2) {
    if (count % 2 == 1) sum = sum ? *sum + power : power;
    if (count <= 1) return *sum;
    power = power + power;
  }
}

/// Cuts both ends as far as they hold next to nothing.
void RatioLaw::trim() {
  const double least = std::exp(log_cut_) * 1e-6;
  std::size_t begin = 0;
  std::size_t end = mass_.size();
  long double low = 0;
  long double high = 0;
  long double high_mass = 0;
  const auto value = [&](std::size_t i) { return std::exp(static_cast<double>(first_ + static_cast<std::int64_t>(i)) * step_); };
  for (; begin < end && low + mass_[begin] < least; ++begin) low += mass_[begin];
  const auto p_mass = [&](std::size_t i) { return (bound_ == Bound::above ? mass_[i] : mean_[i]) * value(i); };
  for (; end > begin && high + p_mass(end - 1) < least && high_mass + mass_[end - 1] < least; --end) {
    high += p_mass(end - 1);
    high_mass += mass_[end - 1];
  }
  // Values e^(i h), whose exponents are within a unit.
  const auto count = static_cast<double>(mass_.size());
  const double largest = (std::abs(static_cast<double>(first_)) + count) * step_;
  const auto exact = [&](long double sum, Upper error) {
    return LongUpper::of_sum(sum, count) * (LongExact{1} + LongUpper{LongExact{error.value()}});
  };
  const LongUpper q_mass = exact(low + high_mass, error_);
  const LongUpper p_above = exact(high, of_product(error_, units(4 + largest)));
  if (bound_ == Bound::above) {
    zero_ += shortened(q_mass);
    infinite_ += p_above;
  } else {
    dropped_ += q_mass + p_above;
  }
  mass_.resize(end);
  mass_.erase(mass_.begin(), mass_.begin() + static_cast<std::ptrdiff_t>(begin));
  if (bound_ == Bound::below) {
    mean_.resize(end);
    mean_.erase(mean_.begin(), mean_.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  first_ += static_cast<std::int64_t>(begin);
}

/// Each value into the cell that it is in; any merging is a bound, this one is a sharp one.
void RatioLaw::put_in_order() {
  std::vector<double> mass(mass_.size() + 1, 0.0);
  std::vector<double> mean(mass_.size() + 1, 0.0);
  const auto last = static_cast<std::int64_t>(mass_.size());
  for (std::int64_t i = 0; i < last; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!(mass_[at] > 0)) continue;
    const double moved = std::floor(std::log(mean_[at] / mass_[at]) / step_);
    const std::int64_t to = std::clamp<std::int64_t>(i + static_cast<std::int64_t>(std::clamp(moved, -100.0, 100.0)), 0, last);
    mass[static_cast<std::size_t>(to)] += mass_[at];
    mean[static_cast<std::size_t>(to)] += mean_[at] * std::exp(static_cast<double>(i - to) * step_);
  }
  mass_ = std::move(mass);
  mean_ = std::move(mean);
}

LossCells RatioLaw::cells(bool reversed) const {
  const StandardFloatingPoint environment;
  const double most = (std::abs(static_cast<double>(first_)) + static_cast<double>(mass_.size())) * step_;
  LossCells found{
      .cells = {}, .anchor = 0, .step = step_, .loss_error = (shift_ + units(8 + 2 * most)).value(), .cut_above = 0, .cut_below = 0};
  const double error = of_product(of_product(error_, shift_), units(16 + 2 * most)).value();
  const double shrunk = std::exp(-step_);
  for (std::size_t at = 0; at < mass_.size(); ++at) {
    const auto i = first_ + static_cast<std::int64_t>(at);
    const double q = mass_[at];
    if (!(q > 0)) continue;
    const double scale = static_cast<double>(i) * step_;
    if (bound_ == Bound::above) {
      found.cells.push_back({.index = reversed ? -i : i,
                             .log_scale = reversed ? 0 : scale,
                             .mass = q,
                             .mass_error = error,
                             .excess = 0,
                             .excess_error = share_of_units(2.0)});
      continue;
    }
    const double mean = mean_[at];
    if (reversed) {
      found.cells.push_back(
          {.index = -i - 1, .log_scale = 0, .mass = q, .mass_error = error, .excess = 1 - shrunk * mean / q, .excess_error = 2 * error});
    } else {
      found.cells.push_back(
          {.index = i, .log_scale = scale, .mass = mean, .mass_error = error, .excess = 1 - q / mean, .excess_error = 2 * error});
    }
  }
  if (reversed) std::reverse(found.cells.begin(), found.cells.end());
  if (bound_ == Bound::above) {
    found.cut_above = reversed ? static_cast<long double>(zero_.value()) : infinite_.value();
  } else {
    found.cut_above = dropped_.value();
    found.cut_below = dropped_.value();
  }
  return found;
}

RatioLaw allocated_ratio(RatioLaw::Bound bound, double multiplier, std::uint64_t rounds, double step, double log_cut) {
  return RatioLaw::share_of_round(bound, multiplier, static_cast<double>(rounds), step, log_cut).sum_of(rounds);
}

namespace {

/// One way in which a user's records share rounds: the ratio of whoever is told that, its probability, and how much it counts.
struct ToldWay {
  RatioLaw ratio;
  Ball weight;
  std::vector<std::pair<double, double>> blocks;  // of how many rounds, and mu of the records in one of them
};

/// The last few are kept.
std::shared_ptr<const std::vector<ToldWay>> told_ways(double multiplier, std::uint64_t records, std::uint64_t rounds, double step,
                                                      double log_cut) {
  using Key = std::tuple<double, std::uint64_t, std::uint64_t, double, double>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const std::vector<ToldWay>>>;
  return kept.of(Key{multiplier, records, rounds, step, log_cut}, [&] {
    std::vector<ToldWay> ways;
    for (const auto& one : each_in_some_round(records, rounds)) {
      std::uint64_t blocks = 0;
      for (const auto number : one.rounds_with) blocks += number;
      ToldWay way{RatioLaw::one(RatioLaw::Bound::above, step, log_cut), one.weight, {}};
      std::uint64_t block = 0;
      for (std::size_t shared = one.rounds_with.size(); shared > 0; --shared) {
        // `multiplier` over a small whole number, rounded towards more cost.
        const double each = (Lower{Exact{multiplier}} / Exact{static_cast<double>(shared)}).value();
        for (std::uint64_t i = 0; i < one.rounds_with[shared - 1]; ++i, ++block) {
          const std::uint64_t length = rounds / blocks + (block < rounds % blocks ? 1 : 0);
          way.ratio = way.ratio * allocated_ratio(RatioLaw::Bound::above, each, length, step, log_cut);
          way.blocks.emplace_back(static_cast<double>(length), 1 / each);
        }
      }
      ways.push_back(std::move(way));
    }
    return std::make_shared<const std::vector<ToldWay>>(std::move(ways));
  });
}

/// What is told without the user: w_i M_i^(1 / (1 + s)), M_i about the mean of e^(s loss) where way i is the user's, makes the mean of it smallest.
std::vector<double> told_without(const std::vector<ToldWay>& ways, double tilt) {
  std::vector<double> logs;
  for (const auto& way : ways) {
    double log_moment = 0;
    for (const auto& [length, mu] : way.blocks) {
      const double one_round = (1 + tilt) * tilt * mu * mu / 2 - tilt * std::log(length);
      log_moment += std::max(one_round, 0.0) + std::log1p(std::exp(-std::abs(one_round)));
    }
    logs.push_back(std::log(way.weight.value()) + log_moment / (1 + tilt));
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - largest);
  // No way is told so rarely that its ratio leaves the grid.
  constexpr double floor = 1e-3;
  std::vector<double> told;
  for (std::size_t i = 0; i < ways.size(); ++i)
    told.push_back((std::exp(logs[i] - largest) / sum + floor * ways[i].weight.value()) / (1 + floor));
  return told;
}

}  // namespace

RatioLaw allocated_users_ratio(double multiplier, std::uint64_t records, std::uint64_t rounds, double step, double log_cut, double tilt) {
  const StandardFloatingPoint environment;
  const auto ways = told_ways(multiplier, records, rounds, step, log_cut);
  RatioLaw mixture = RatioLaw::empty(step, log_cut);
  if (tilt == 0) {
    for (const auto& way : *ways) mixture.add(way.ratio, way.weight);
    return mixture;
  }
  const auto told = told_without(*ways, tilt);
  // They sum to 1 because one of them is what the others leave.
  const auto rest = static_cast<std::size_t>(std::max_element(told.begin(), told.end()) - told.begin());
  Ball left = 1;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (i != rest) left = left - Exact{told[i]};
  }
  for (std::size_t i = 0; i < told.size(); ++i) {
    const Ball without = i == rest ? left : Ball{Exact{told[i]}};
    const auto& way = (*ways)[i];
    mixture.add(way.ratio.times(way.weight / without), without);
  }
  return mixture;
}

}  // namespace surety::accounting::laws
