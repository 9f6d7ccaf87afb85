#include <surety/accounting/laws/gaussian/gaussian_mixture.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::laws {
namespace {

/// How far off the logarithm of a ratio is by what the law says of its weights and of its densities.
double log_ratio_error(const GaussianMixtureBase& base) {
  if (base.density_error == 0) return base.weight_error;
  return (Upper{Exact{base.weight_error}} + Exact{2 * base.density_error}).value();
}

/// The pair (P, Q) of the mixture against N(0, 1): its loss L(t) = log sum_i w_i e^(b_i(t)), b_i the loss of N(i / multiplier, 1), is convex
/// and rises.
class MixtureShape {
 public:
  explicit MixtureShape(const GaussianMixtureBase& base) : log_weights_{base.log_weights}, error_{log_ratio_error(base)} {
    for (std::size_t i = 1; i < log_weights_.size(); ++i) shapes_.emplace_back(GaussianBase{base.multiplier / base.shift(i)});
    near_.all.resize(shapes_.size());
    std::iota(near_.all.begin(), near_.all.end(), std::size_t{0});
  }

  /// Finds out which components count where, of coordinates between these.
  void look_between(double low, double high) {
    constexpr std::size_t blocks = 512;
    near_.low = low;
    near_.width = (high - low) / blocks;
    near_.blocks.clear();
    for (std::size_t block = 0; block < blocks; ++block) {
      // A place may be taken for one of the block beside it.
      constexpr double overlap = 0.01;
      const double from = low + (static_cast<double>(block) - overlap) * near_.width;
      near_.blocks.push_back(near_between(from, from + (1 + 2 * overlap) * near_.width));
    }
  }

  [[nodiscard]] double largest_shift() const { return shapes_.back().inverse; }

  struct Slope {
    double loss;
    double derivative;
  };
  [[nodiscard]] Slope at(double t) const {
    const auto& near = near_.between(t, t);
    double top = log_weights_[0];
    for (const std::size_t i : near) top = std::max(top, exponent(i, t));
    const auto term_of = [&](double log_term) { return log_term < log_nothing ? 0 : std::exp(log_term); };
    double sum = term_of(log_weights_[0] - top);
    double moment = 0;
    for (const std::size_t i : near) {
      const double term = term_of(exponent(i, t) - top);
      sum += term;
      moment += term * shapes_[i].inverse;
    }
    return {top + std::log(sum), moment / sum};
  }
  [[nodiscard]] double loss(double t) const { return at(t).loss; }

  /// Bound on the error of `loss`, for losses and coordinates up to these. Shifts are rounded twice; all terms that are left out
  /// are less than a unit.
  [[nodiscard]] double error(double largest_loss, double largest_t) const {
    const double shift = largest_shift();
    double weight = 0;
    for (const double one : log_weights_) weight = std::max(weight, std::isfinite(one) ? std::abs(one) : 0);
    const auto terms = static_cast<double>(log_weights_.size());
    return error_ + share_of_units(9 + terms + 2 * weight + 4 * largest_loss + 8 * (shift * shift + largest_t * shift));
  }

  /// Of an interval: its mass under Q, and what P has there where Q has 1, e^scale value.
  struct Masses {
    Piece q;
    double scale;
    Ball value;
  };
  [[nodiscard]] Masses masses(double from, double to) const {
    const auto& near = near_.between(from, to);
    const auto largest_at = [&](double t) {
      double most = log_weights_[0];
      for (const std::size_t i : near) most = std::max(most, exponent(i, t));
      return most;
    };
    const double scale = largest_at(0.5 * (from + to));
    // Losses b(t) rise: a component that is far below the largest at `from` even at `to` is next to nothing beside it in all of the interval.
    const double least = largest_at(from);
    const Ball nothing = Ball::around(0, share_of_nothing * std::exp(std::min(0.0, least - scale)) + 1e-300);
    const double reach = reach_of(from, to);
    const bool is_still = is_far_below(log_weights_[0], least, reach);
    Ball value = is_still ? nothing : exp(Ball{Exact{log_weights_[0]}} - Exact{scale});
    double left_out = 0;
    // Each piece knows the mass under Q.
    std::optional<Piece> q;
    for (const std::size_t i : near) {
      if (is_far_below(exponent(i, to), least, reach)) {
        ++left_out;
        continue;
      }
      const Piece piece = shapes_[i].piece(from, to);
      require_digits(piece);
      // The multiplier of the component is rounded, its shift by u: that moves a loss b(t) = (t - shift / 2) shift by u shift (|t| + shift).
      const double shift = shapes_[i].inverse;
      const double moved = Ball::rounded(shift * (std::max(std::abs(from), std::abs(to)) + shift)).radius();
      value += (Ball::of_share(piece.ratio, piece.ratio_error) * exp(Ball{Exact{log_weights_[i + 1]}} + Exact{piece.loss} - Exact{scale}))
                   .widened(moved);
      if (!q) q = piece;
    }
    if (left_out > 0) value += nothing * Exact{left_out};
    const double far = static_cast<double>(shapes_.size() - near.size()) * share_of_nothing;
    return {q ? *q : shapes_.front().piece(from, to), scale, value.widened(error_ + far)};
  }

 private:
  /// What is below e^-60 of another component is between 0 and this share of it.
  static constexpr double log_nothing = -60;
  static constexpr double share_of_nothing = 3e-26;

  /// Whether a component is certainly below e^-60 of another, by their exponents at one place, rounded as they are where shifts and places reach so far.
  /// \source docs/proofs/users.md#far-components
  [[nodiscard]] static bool is_far_below(double exponent, double other, double reach) {
    return exponent == -infinity || exponent - other < log_nothing - share_of_units(8 * (std::abs(exponent) + std::abs(other) + reach));
  }
  /// A rounded shift moves an exponent by more than its own last place.
  [[nodiscard]] double reach_of(double from, double to) const {
    return largest_shift() * (largest_shift() + std::max(std::abs(from), std::abs(to)));
  }

  /// Components that are not next to nothing, by blocks of coordinates. Of an interval that is in no block they are all.
  struct Near {
    double low = 0;
    double width = 1;
    std::vector<std::vector<std::size_t>> blocks{};
    std::vector<std::size_t> all{};

    [[nodiscard]] const std::vector<std::size_t>& between(double from, double to) const {
      const double block = std::floor((from - low) / width);
      const bool is_one = block >= 0 && block < static_cast<double>(blocks.size()) && block == std::floor((to - low) / width);
      return is_one ? blocks[static_cast<std::size_t>(block)] : all;
    }
  };

  [[nodiscard]] double exponent(std::size_t i, double t) const { return log_weights_[i + 1] + shapes_[i].loss(t); }

  /// Without those that are far below one other at both ends: exponents are linear, so they are so in between.
  /// \source docs/proofs/users.md#far-components
  [[nodiscard]] std::vector<std::size_t> near_between(double from, double to) const {
    struct Ends {
      double from;
      double to;
    };
    std::vector<Ends> ends{{log_weights_[0], log_weights_[0]}};
    for (const std::size_t i : near_.all) ends.push_back({exponent(i, from), exponent(i, to)});
    const Ends first = *std::max_element(ends.begin(), ends.end(), [](const Ends& x, const Ends& y) { return x.from < y.from; });
    const Ends last = *std::max_element(ends.begin(), ends.end(), [](const Ends& x, const Ends& y) { return x.to < y.to; });
    const double reach = reach_of(from, to);
    const auto is_below = [&](double exponent, double other) { return is_far_below(exponent, other, reach); };
    std::vector<std::size_t> found;
    for (const std::size_t i : near_.all) {
      const Ends& one = ends[i + 1];
      const bool is_far =
          (is_below(one.from, first.from) && is_below(one.to, first.to)) || (is_below(one.from, last.from) && is_below(one.to, last.to));
      if (!is_far) found.push_back(i);
    }
    return found;
  }

  const std::vector<double>& log_weights_;
  double error_;
  std::vector<GaussianShape> shapes_;  // of the shifts 1, 2, ...
  Near near_;
};

struct Kept {
  double low;
  double high;
};
/// Beyond `high`, component i leaves at most e^(log_above) over their number, by its tail or by its weight; P has no more below `low` < 0
/// than Q has.
Kept kept_of(const GaussianMixtureBase& base, Mixing mixing, const Cut& cut) {
  const auto near = [&](double low, double high) { return Kept{std::max(low, -base.farthest), std::min(high, base.farthest)}; };
  if (mixing == Mixing::add) return near(-tail_point(cut.log_above), tail_point(cut.log_below));
  const double share = cut.log_above - std::log(static_cast<double>(base.log_weights.size()));
  double high = 1;
  for (std::size_t i = 0; i < base.log_weights.size(); ++i) {
    const double weight = base.log_weights[i] + 2 * base.weight_error;
    if (weight > share) high = std::max(high, base.shift(i) / base.multiplier + tail_point(share - weight));
  }
  return near(-tail_point(cut.log_below), high);
}

/// The inverse of a rising function on an interval, by Newton's steps within a bracket, and how far off it was at worst. Each search begins on the
/// tangent at the end of the one before.
template <class At>
class Inverse {
 public:
  Inverse(const At& at, double low, double high)
      : at_{at}, low_{low}, high_{high}, least_{at(low).loss}, most_{at(high).loss}, last_{0.5 * (low + high)}, found_{at(last_)} {}

  [[nodiscard]] double operator()(double wanted) {
    double low = low_;
    double high = high_;
    if (!(least_ < wanted)) return low;
    if (!(most_ > wanted)) return high;
    for (int i = 0; i < 200; ++i) {
      const double off = found_.loss - wanted;
      if (std::abs(off) <= Ball::within(1 + std::abs(wanted), 2).radius()) break;  // no closer by rounding
      (off < 0 ? low : high) = last_;
      const double newton = last_ - off / found_.derivative;
      const double next = newton > low && newton < high ? newton : 0.5 * (low + high);
      if (next == last_ || !(low < high)) break;
      last_ = next;
      found_ = at_(last_);
    }
    worst_ = std::max(worst_, std::abs(found_.loss - wanted));
    return last_;
  }
  [[nodiscard]] double worst() const { return worst_; }

 private:
  At at_;
  double low_;
  double high_;
  double least_;
  double most_;
  double last_;
  MixtureShape::Slope found_;
  double worst_ = 0;
};

}  // namespace

GaussianMixtureBase binomial_mixture(double multiplier, std::uint64_t records, double rate) {
  GaussianMixtureBase found{multiplier, {}, 0};
  const LongBall log_rate = log(LongBall{LongExact{static_cast<long double>(rate)}});
  const LongBall log_rest = log1p(LongBall{LongExact{-static_cast<long double>(rate)}});
  const auto n = static_cast<long double>(records);
  LongBall log_choices = 0;
  Upper error{0};
  for (std::uint64_t i = 0; i <= records; ++i) {
    const auto k = static_cast<long double>(i);
    if (i > 0) log_choices += log(LongBall{LongExact{n - k + 1}} / LongExact{k});
    const LongBall log_weight = log_choices + LongExact{k} * log_rate + LongExact{n - k} * log_rest;
    const auto nearest = static_cast<double>(log_weight.value());
    error = max(error, shortened(LongUpper{LongExact{log_weight.radius()}}) + Exact{Ball::rounded(nearest).radius()});
    found.log_weights.push_back(nearest);
  }
  found.weight_error = error.value();
  return found;
}

// Proved: docs/proofs/users.md#many
namespace {

constexpr mpfr_prec_t bits_of_shares = 192;

Interval exactly(double value) { return {value, bits_of_shares}; }

/// The probabilities of numbers of records in the batch, one after another.
class BinomialShares {
 public:
  BinomialShares(std::uint64_t records, double rate)
      : records_{static_cast<double>(records)},
        log_rate_{log(exactly(rate))},
        log_rest_{log1p(-exactly(rate))},
        odds_{exactly(rate) / (exactly(1) - exactly(rate))} {}

  [[nodiscard]] Interval at(double i) const {
    const auto log_factorial = [](double n) { return n < 2 ? exactly(0) : log_gamma(exactly(n) + exactly(1)); };
    const Interval choices = log_factorial(records_) - log_factorial(i) - log_factorial(records_ - i);
    return exp(choices + exactly(i) * log_rate_ + exactly(records_ - i) * log_rest_);
  }
  /// From that of i to that of i + 1, or of i - 1.
  [[nodiscard]] Interval up(const Interval& share, double i) const { return share * odds_ * exactly(records_ - i) / exactly(i + 1); }
  [[nodiscard]] Interval down(const Interval& share, double i) const { return share / odds_ * exactly(i) / exactly(records_ - i + 1); }

  /// Of all numbers above i, and of those from 1 to i - 1. Ratios of neighbours fall with the number.
  [[nodiscard]] Interval above(double i) const {
    return rest(
        i, records_, [this](const Interval& share, double at) { return up(share, at); }, 1);
  }
  [[nodiscard]] Interval below(double i) const {
    return rest(
        i, 1, [this](const Interval& share, double at) { return down(share, at); }, -1);
  }

  /// log of a bound on the probability of numbers at least as far from the mean as i, roughly: it only chooses.
  [[nodiscard]] double log_tail(double i, double rate) const {
    const double x = i / records_;
    const double more = x > 0 ? x * std::log(x / rate) : 0;
    const double less = x < 1 ? (1 - x) * std::log((1 - x) / (1 - rate)) : 0;
    return -records_ * (more + less);
  }

 private:
  template <class Next>
  [[nodiscard]] Interval rest(double from, double last, const Next& next, double step) const {
    Interval sum = exactly(0);
    Interval share = at(from);
    for (double i = from; i != last; i += step) {
      const Interval following = next(share, i);
      // Once they fall by so much at each step, all others are at most a geometric series.
      const Interval ratio = following / share;
      const Interval others = following / (exactly(1) - ratio);
      constexpr double negligible = 0x1p-80;
      if (ratio.compare(1) < 0 && sum.compare(0) > 0 && (others - exactly(negligible) * sum).compare(0) < 0) {
        return sum + hull(exactly(0), others);
      }
      sum = sum + following;
      share = following;
    }
    return sum;
  }

  double records_;
  Interval log_rate_;
  Interval log_rest_;
  Interval odds_;
};

}  // namespace

FewComponents few_components(double multiplier, std::uint64_t records, double rate, MixtureSide side) {
  constexpr double most_near = 768;
  constexpr double most_far = 256;
  constexpr double log_near = -50;
  constexpr double log_negligible = -800;
  const BinomialShares shares{records, rate};
  const auto k = static_cast<double>(records);
  const double mean = std::round(k * rate);
  // The numbers that get components.
  const auto end_of = [&](double log_least, double far) {
    double near = mean;
    while (std::abs(far - near) > 1) {
      const double middle = std::round(near + (far - near) / 2);
      (shares.log_tail(middle, rate) > log_least ? near : far) = middle;
    }
    return far;
  };
  const double first = std::max(1.0, end_of(log_negligible, 0));
  const double last = std::max(first, end_of(log_negligible, k));
  // Shifts near the mean represent the fewest neighbouring shifts.
  const double first_near = std::clamp(end_of(log_near, 0), first, last);
  const double last_near = std::clamp(end_of(log_near, k), first_near, last);
  const double near_run = std::ceil((last_near - first_near + 1) / most_near);
  const double far_run = std::ceil((last - last_near + first_near - first + 1) / most_far);
  const bool is_above = side == MixtureSide::above;

  FewComponents found{{multiplier, {}, 0, {}}, 0};
  Upper error{0};
  const auto add = [&](double number, const Interval& share) {
    const auto log_share = log(share).enclosure();
    const double nearest = log_share.lower + 0.5 * (log_share.upper - log_share.lower);
    error = max(error, Upper{Exact{log_share.upper}} - Exact{log_share.lower});
    found.base.shifts.push_back(number);
    found.base.log_weights.push_back(nearest);
  };
  const Interval none = shares.at(0);
  const Interval few = first > 1 ? shares.below(first) : exactly(0);
  // Of no records in the batch. From above they stand with the first ones where that is next to never.
  const bool is_never = is_above && none.approximate_log() < 2 * log_negligible;
  if (is_never) {
    found.base.shifts.push_back(0);
    found.base.log_weights.push_back(-infinity);
  } else {
    add(0, is_above ? none : none + few);
  }
  Interval together = exactly(0);
  if (is_above) together = is_never ? few + none : few;
  Interval share = shares.at(first);
  for (double from = first; from <= last;) {
    poll_limit();
    const bool is_near = from >= first_near && from <= last_near;
    const double to = std::min(is_near || from > last_near ? last : first_near - 1, from + (is_near ? near_run : far_run) - 1);
    for (double i = from; i <= to; ++i) {
      together = together + share;
      if (i < k) share = shares.up(share, i);
    }
    if (to == last && !is_above && last < k) together = together + shares.above(last);
    add(is_above ? to : from, together);
    together = exactly(0);
    from = to + 1;
  }
  if (is_above && last < k) found.lost = shares.above(last).enclosure().upper;
  // The rest of P is scaled to 1: -log(1 - lost) is at most twice `lost` up to 1/2.
  if (!(found.lost <= 0.5)) throw Error{ErrorCode::internal, fmt::format("a mixture loses a share {} of its components", found.lost)};
  found.base.weight_error = (error + Upper{Exact{2 * found.lost}}).value();
  return found;
}
// Proved so far.

std::optional<GaussianMixtureBase> given_mixture(double multiplier, const MixtureParts& components) {
  std::map<double, LongBall> weights{{0, 0}};
  LongBall all = 0;
  for (const auto& [weight, shift] : components.all()) {
    if (weight == 0) continue;
    const LongBall share{LongExact{weight}};
    all += share;
    const auto [place, is_new] = weights.try_emplace(shift, share);
    if (!is_new) place->second += share;
  }
  if (weights.size() == 1) return std::nullopt;
  GaussianMixtureBase given{multiplier, {}, 0};
  Upper error{0};
  for (const auto& [shift, weight] : weights) {
    given.shifts.push_back(shift);
    if (weight.value() == 0) {
      given.log_weights.push_back(-infinity);
      continue;
    }
    const LongBall log_weight = log(weight / all);
    const auto nearest = static_cast<double>(log_weight.value());
    error = max(error, shortened(LongUpper{LongExact{log_weight.radius()}}) + Exact{Ball::rounded(nearest).radius()});
    given.log_weights.push_back(nearest);
  }
  given.weight_error = error.value();
  return given;
}

LossRange mixture_range(const GaussianMixtureBase& base, Mixing mixing, const Cut& cut) {
  const MixtureShape shape{base};
  const auto [low, high] = kept_of(base, mixing, cut);
  if (mixing == Mixing::opposite) {
    const double reach = shape.loss(high) - shape.loss(-high);
    return {shape.loss(low) - shape.loss(-low), reach};
  }
  if (mixing == Mixing::add) return {-shape.loss(high), -shape.loss(low)};
  return {shape.loss(low), shape.loss(high)};
}

LossCells mixture_cells(const GaussianMixtureBase& base, Mixing mixing, double step, const Cut& cut) {
  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = 0, .cut_above = 0, .cut_below = 0};
  MixtureShape shape{base};
  const auto kept = kept_of(base, mixing, cut);
  shape.look_between(mixing == Mixing::opposite ? std::min(kept.low, -kept.high) : kept.low,
                     mixing == Mixing::opposite ? std::max(kept.high, -kept.low) : kept.high);
  const auto bounds = mixture_range(base, mixing, cut);
  const double largest_t = std::max(std::abs(kept.low), std::abs(kept.high));
  const double largest_loss = std::max(std::abs(shape.loss(largest_t)), std::abs(shape.loss(-largest_t))) + step;
  found.cut_above = mass_beyond(cut.log_above, shape.largest_shift()).value();
  found.cut_below = mass_beyond(cut.log_below, shape.largest_shift()).value();
  const auto slope = [&](double t) {
    if (mixing != Mixing::opposite) return shape.at(t);
    const auto right = shape.at(t);
    const auto left = shape.at(-t);
    return MixtureShape::Slope{right.loss - left.loss, right.derivative + left.derivative};
  };
  Inverse inverse{slope, kept.low, kept.high};
  const auto add = [&](std::int64_t i, const Piece& q, Ball log_factor, Ball factor, Ball excess) {
    const Ball log_scale = Exact{q.log_scale} + log_factor;
    Ball mass = (Ball::of_share(q.mass, q.mass_error) * factor).widened(log_scale.radius());
    if (base.density_error > 0) mass = mass.widened(base.density_error);
    found.cells.push_back({.index = i,
                           .log_scale = log_scale.value(),
                           .mass = mass.value(),
                           .mass_error = mass.share(),
                           .excess = excess.value(),
                           .excess_error = excess.radius()});
  };
  // A grid point is a product that is rounded.
  if (mixing == Mixing::add) {
    const auto add_cell = [&](std::int64_t i, double l, double from, double to) {
      const auto p = shape.masses(to, from);
      add(i, p.q, 0, 1, 1 - p.value * exp(Exact{p.scale} + Ball::rounded(l)));
    };
    sweep(
        found.cells, 0, step, bounds.least, bounds.largest, kept.high, kept.low, [&](double l) { return inverse(-l); }, add_cell);
  } else {
    const bool opposite = mixing == Mixing::opposite;
    const auto add_cell = [&](std::int64_t i, double l, double from, double to) {
      const auto p = shape.masses(from, to);
      const auto other = opposite ? shape.masses(-to, -from) : MixtureShape::Masses{{}, 0, 1};
      add(i, p.q, Exact{p.scale}, p.value, 1 - other.value / p.value * exp(Ball::rounded(l) + Exact{other.scale} - Exact{p.scale}));
    };
    sweep(
        found.cells, 0, step, bounds.least, bounds.largest, kept.low, kept.high, [&](double l) { return inverse(l); }, add_cell);
  }
  const double sides = mixing == Mixing::opposite ? 2 : 1;
  found.loss_error = 2 * (sides * shape.error(largest_loss, largest_t) + inverse.worst());
  return found;
}

std::optional<Enclosure> mixture_largest_loss(const GaussianMixtureBase& base, Mixing mixing) {
  if (mixing != Mixing::add || !std::isfinite(base.log_weights[0])) return std::nullopt;
  const double bound = -base.log_weights[0];
  return Enclosure{std::max(0.0, bound - 2 * base.weight_error), bound + 2 * base.weight_error};
}

}  // namespace surety::accounting::laws
