// Private bandit convex optimization without projections: [ENV21] Algorithm 1 (PrivateBandit).
//
//     play x_t = x~ + zeta u_t, u_t uniform on the unit sphere of the hull of dimension d;   see the number f_t(x_t) alone
//     term of record t: c_t u_t,  c_t = (clip(f_t(x_t), [lowest, highest]) - lowest) / V - 1/2,  V = highest - lowest
//     after each batch: s = noisy prefix sum of all terms,   x~ = argmin over the domain of 1/2 ||x||^2 + eta (d V / zeta) <s, x>
//
// (d V / zeta) E[c_t u_t] is the gradient at x~ of f_t smoothed over a ball of radius zeta; a constant taken from f_t changes nothing. u_t
// depends on no record and is public. Given the released sums the point x_t is fixed, and record t (the loss function f_t) moves its
// number c_t in [-1/2, 1/2] alone: one push, by 1 in l2 and sqrt(n) in l1.
//
// Differences from the paper (see also noisy_oco.h):
//   sign         line 14 must add eta <s, x>, as the paper's Algorithm 2 does
//   sensitivity  (n / zeta) V in the paper's units, where the factor d V / zeta is applied before the noise: no factor T_batch, no
//                concentration lemma (Lemma 5.3), no part of delta
//   losses       are clipped to a public interval, whose middle is taken off; the paper assumes |f_t| <= L D, but points are played at
//                distance zeta outside the domain, where f_t may reach L (D + zeta)
//   inside       for losses known in the domain only, decisions are kept zeta away from its boundary (Appendix D, for any centre); where
//                the domain has no interior, everything happens in its affine hull, of dimension d < n
//
// [ENV21] Ene, Nguyen, Vladu: Projection-Free Bandit Optimization with Privacy Guarantees, 2021.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/accountant.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/enclosure.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/streams/noisy_oco.h>

namespace surety::optimizers {

/// Losses are clipped to [lowest, highest]. Public.
class LossRange {
 public:
  /// \throws Error{invalid_argument} unless lowest < highest, both finite, and so is their difference.
  LossRange(double lowest, double highest) : lowest_{lowest}, highest_{highest} {
    if (!(lowest < highest) || !std::isfinite(highest - lowest)) {
      throw Error{ErrorCode::invalid_argument, fmt::format("loss range is {} to {}, must be finite and ascending", lowest, highest)};
    }
  }
  [[nodiscard]] double lowest() const noexcept { return lowest_; }
  [[nodiscard]] double highest() const noexcept { return highest_; }
  /// V.
  [[nodiscard]] double width() const noexcept { return highest_ - lowest_; }

  /// Where in the range a loss is, once clipped: from -1/2 to 1/2; 0 for a NaN.
  [[nodiscard]] double place(double loss) const noexcept {
    return std::isnan(loss) ? 0 : (std::clamp(loss, lowest_, highest_) - lowest_) / width() - 0.5;
  }

 private:
  double lowest_;
  double highest_;
};

/// Where points may be played.
enum class QueryRegion {
  around,  ///< up to zeta outside the domain: losses are defined everywhere
  inside   ///< in the domain, whose decisions keep away from the boundary: needs an inner ball of radius at least zeta
};

/// All public; choosing options by the results of private runs is a release of its own.
struct ProjectionFreeBanditOptions {
  Count steps;         ///< T, the horizon
  Count batch;         ///< T_batch, records per push
  Radius radius;       ///< zeta
  StepSize step_size;  ///< eta
  LossRange losses;
  QueryRegion queries = QueryRegion::around;
  Count oracle_calls{100};  ///< the most per batch; never more than `batch`, so that a record pays for at most one
  Adjacency adjacency = Adjacency::replace_one;
};

/// What is assumed of losses, for choosing options; no guarantee of privacy rests on it. Rules throw Error{invalid_argument} unless D and L
/// are finite and greater than 0.
struct BanditProblem {
  Count steps;
  Count dimension;   ///< n, of the space
  double diameter;   ///< D, of the domain in l2
  double lipschitz;  ///< L, of the losses in l2
};

/// Line 1 of Algorithm 1: T_round = sqrt(T), zeta = D sqrt(n) / T^(1/4), eta = D / (T^(3/4) sqrt(n) L), and losses in [0, L (D + zeta)].
[[nodiscard]] inline ProjectionFreeBanditOptions printed_options(const BanditProblem& problem) {
  const auto t = static_cast<double>(problem.steps.value());
  const double root_n = std::sqrt(static_cast<double>(problem.dimension.value()));
  const Radius radius{problem.diameter * root_n / std::pow(t, 0.25)};
  return {.steps = problem.steps,
          .batch = Count{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(t)))},
          .radius = radius,
          .step_size = StepSize{problem.diameter / (std::pow(t, 0.75) * root_n * problem.lipschitz)},
          .losses = {0, problem.lipschitz * (problem.diameter + radius.value())}};
}

/// For points inside a domain that has `ball` in it, of radius r and dimension d, with losses of range V = L D:
///
///     zeta = min(r / 2, sqrt(d r D) / T^(1/4)),   eta = D / sqrt(T ((d V / 2 zeta)^2 + T_batch L^2)),   T_batch = sqrt(T).
///
/// Keeping zeta away from the boundary moves decisions by up to (zeta / r) D, at a cost of L zeta D / r per step, and the variance of terms
/// costs about d V D / (zeta sqrt(T)): zeta makes these equal, and eta is the paper's for terms of such a variance (Lemma C.2).
/// \throws Error{invalid_argument} when the ball is a point.
[[nodiscard]] inline ProjectionFreeBanditOptions options_inside(const BanditProblem& problem, const InnerBall& ball) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto d = static_cast<double>(ball.dimension());
  const Radius radius{std::min(ball.radius / 2, std::sqrt(d * ball.radius * problem.diameter) / std::pow(t, 0.25))};
  const double range = problem.lipschitz * problem.diameter;
  const double slope = d * range / (2 * radius.value());
  const Count batch{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(t)))};
  const double variance = slope * slope + static_cast<double>(batch.value()) * problem.lipschitz * problem.lipschitz;
  return {.steps = problem.steps,
          .batch = batch,
          .radius = radius,
          .step_size = StepSize{problem.diameter / std::sqrt(t * variance)},
          .losses = {0, range},
          .queries = QueryRegion::inside};
}

/// What the framework is run with: terms have norm at most 1/2.
[[nodiscard]] inline NoisyOcoOptions framework_options(const ProjectionFreeBanditOptions& options, std::size_t hull_dimension) {
  return {.steps = options.steps,
          .batch = options.batch,
          .clip = ClippingNorm{0.5},
          .step_size =
              StepSize{options.step_size.value() * static_cast<double>(hull_dimension) * options.losses.width() / options.radius.value()},
          .adjacency = options.adjacency};
}

/// What the algorithm asks of its stream: one push per batch, of l2 sensitivity 1 under replace-one (l1: sqrt(n)), half of that under
/// zero-out, whatever zeta, the range of losses and the batch are. \throws as `shape` of the framework.
template <class Sensitivity = L2Sensitivity>
[[nodiscard]] StreamShape<Sensitivity> shape(const ProjectionFreeBanditOptions& options, Count dimension) {
  return shape<Sensitivity>(framework_options(options, dimension.value()), dimension);
}

/// Fills a vector with independent standard normal numbers: public ones, which need not be exact. They must not be predictable to whoever
/// chooses the losses, or regret is lost, not privacy.
using Directions = std::function<void(std::span<double>)>;

/// From a source of bits, which must outlive the result. Two words for two coordinates (Box and Muller 1958).
[[nodiscard]] inline Directions normal_directions(mechanisms::BitsRef bits) {
  return [bits](std::span<double> direction) {
    for (std::size_t j = 0; j < direction.size(); j += 2) {
      const auto unit = [&] { return (static_cast<double>(mechanisms::draw_word(bits) >> 12) + 0.5) * 0x1p-52; };  // in (0, 1)
      const double length = std::sqrt(-2 * std::log(unit()));
      const double angle = 2 * std::numbers::pi * unit();
      direction[j] = length * std::cos(angle);
      if (j + 1 < direction.size()) direction[j + 1] = length * std::sin(angle);
    }
  };
}

/// A domain shrunken toward `centre` by the factor 1 - shrinkage.
template <LinearlyMinimizable D>
struct Shrunken {
  D domain;
  std::vector<double> centre;
  double shrinkage;  ///< from 0 to 1

  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const {
    std::vector<double> point = domain.minimize_linear(costs);
    if (shrinkage > 0) {
      for (std::size_t j = 0; j < point.size(); ++j) point[j] += shrinkage * (centre[j] - point[j]);
    }
    return point;
  }
};

/// The algorithm: `point()` is to be played, then `observe` is told what it cost.
///
/// Between two batches its state is released values and public ones; within a batch it also holds the exact sum of the terms so far.
template <LinearlyMinimizable D, class Sensitivity = L2Sensitivity>
class ProjectionFreeBandit {
 public:
  /// \throws as `shape`; Error{unsupported} for points inside a domain that knows no inner ball, Error{invalid_argument} when that
  ///         ball is smaller than the radius of exploration.
  ProjectionFreeBandit(D domain, const ProjectionFreeBanditOptions& options, Count dimension, Directions directions)
      : options_{options},
        ball_{ball_of(domain, options, dimension)},
        directions_{std::move(directions)},
        oco_{map_of(std::move(domain), options, ball_), framework_options(options, ball_.dimension()), dimension},
        direction_(dimension.value()),
        point_(dimension.value()) {
    choose_point();
  }

  /// x_t: released values and public ones, may be shown. For `QueryRegion::inside` in the domain, to within rounding.
  [[nodiscard]] std::span<const double> point() const noexcept { return point_; }

  /// Takes in f_t(x_t), any double. O(n); at the end of a batch one push and at most `oracle_calls` calls of the oracle.
  /// \throws Error{invalid_argument} beyond the horizon; what the stream throws.
  void observe(double loss, StreamReleaserRef<Sensitivity> stream) {
    const RowView row{.indices = {}, .values = direction_, .norm = mechanisms::l2_norm(direction_)};
    oco_.observe(options_.losses.place(loss), row, stream);
    choose_point();
  }

  /// x~, around which points are played: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return oco_.decision(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return oco_.steps(); }

 private:
  using Map = ConditionalGradientMap<Shrunken<D>>;

  /// For points around the domain: a ball of R^n that sets no limit.
  static InnerBall ball_of(const D& domain, const ProjectionFreeBanditOptions& options, Count dimension) {
    if (options.queries == QueryRegion::around) {
      return {.centre = std::vector<double>(dimension.value()), .radius = std::numeric_limits<double>::infinity()};
    }
    if constexpr (HasInnerBall<D>) {
      InnerBall ball = domain.inner_ball(dimension.value());
      if (!(options.radius.value() <= ball.radius)) {
        throw Error{
            ErrorCode::invalid_argument,
            fmt::format("radius of exploration is {}, must be at most {}, that of a ball in the domain", options.radius, ball.radius)};
      }
      return ball;
    } else {
      throw Error{ErrorCode::unsupported, "points are to be played inside the domain, must be around it: no ball in this domain is known"};
    }
  }

  static Map map_of(D domain, const ProjectionFreeBanditOptions& options, const InnerBall& ball) {
    return {.domain = {.domain = std::move(domain), .centre = ball.centre, .shrinkage = options.radius.value() / ball.radius},
            .calls = std::min(options.oracle_calls, options.batch)};
  }

  void choose_point() {
    directions_(direction_);
    ball_.project_direction(direction_);
    const double norm = mechanisms::l2_norm(direction_);
    if (!(norm > 0) || !std::isfinite(norm)) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the norm of a direction is {}, must be finite and greater than 0", norm)};
    }
    for (std::size_t j = 0; j < point_.size(); ++j) {
      direction_[j] /= norm;
      point_[j] = oco_.decision()[j] + options_.radius.value() * direction_[j];
    }
  }

  ProjectionFreeBanditOptions options_;
  InnerBall ball_;
  Directions directions_;
  NoisyOco<Map, Sensitivity> oco_;
  std::vector<double> direction_;  ///< u_t
  std::vector<double> point_;
};

/// The algorithm for a horizon that nobody knows: epoch e = 0, 1, ... starts afresh and has 4^e records in 2^e batches of 2^e.
///
/// The stream is one of restarts (mechanisms::RestartedSum), whose epochs have 1, 2, 4, ... pushes. A record is in one epoch, so the epochs
/// are parallel and the dearest one is what the run costs, however long it is.
template <LinearlyMinimizable D, class Sensitivity = L2Sensitivity>
class DoublingBandit {
 public:
  /// Options of an epoch, from its number of records: a public rule.
  using Rule = std::function<ProjectionFreeBanditOptions(Count steps)>;

  /// \throws as `ProjectionFreeBandit`, for the first epoch.
  DoublingBandit(D domain, Rule rule, Count dimension, Directions directions)
      : domain_{std::move(domain)},
        rule_{std::move(rule)},
        dimension_{dimension},
        directions_{std::move(directions)},
        ended_(dimension.value()),
        latest_(dimension.value()) {
    start();
  }

  [[nodiscard]] std::span<const double> point() const noexcept { return bandit_->point(); }
  [[nodiscard]] std::span<const double> weights() const noexcept { return bandit_->weights(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return ended_steps_ + bandit_->steps(); }

  /// As `ProjectionFreeBandit::observe`. \throws also what the next epoch's construction throws, and Error{invalid_argument} when the rule
  /// has other steps, batches or adjacency than the epoch.
  void observe(double loss, StreamReleaserRef<Sensitivity> stream) {
    SinceRestart since{stream, ended_, latest_};
    bandit_->observe(loss, since);
    if (bandit_->steps() < (std::uint64_t{1} << (2 * epoch_))) return;
    ended_steps_ += bandit_->steps();
    ended_ = latest_;
    ++epoch_;
    start();
  }

 private:
  /// The sums of the current epoch alone: released ones less a released one.
  struct SinceRestart {
    StreamReleaserRef<Sensitivity> stream;
    const std::vector<double>& ended;
    std::vector<double>& latest;

    [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) {
      std::vector<double> sum = latest = stream.push(contribution, sensitivity);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] -= ended[j];
      return sum;
    }
    [[nodiscard]] Grid grid() const { return stream.grid(); }
  };

  void start() {
    const Count steps{std::uint64_t{1} << (2 * epoch_)};
    const ProjectionFreeBanditOptions options = rule_(steps);
    if (options.steps != steps || options.batch.value() != std::uint64_t{1} << epoch_) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("epoch {} has {} steps in batches of {}, must have {} in batches of {}", epoch_, options.steps.value(),
                              options.batch.value(), steps.value(), std::uint64_t{1} << epoch_)};
    }
    if (epoch_ > 0 && options.adjacency != adjacency_) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("adjacency of epoch {} is {}, must be {} as before", epoch_, name(options.adjacency), name(adjacency_))};
    }
    adjacency_ = options.adjacency;
    bandit_.emplace(domain_, options, dimension_, directions_);
  }

  D domain_;
  Rule rule_;
  Count dimension_;
  Directions directions_;
  unsigned epoch_ = 0;
  Adjacency adjacency_ = Adjacency::replace_one;
  std::uint64_t ended_steps_ = 0;
  std::vector<double> ended_;   ///< the released sum at the end of the last epoch
  std::vector<double> latest_;  ///< the latest released sum
  std::optional<ProjectionFreeBandit<D, Sensitivity>> bandit_;
};

/// How often the algorithm pushes in its first `steps` steps. O(log steps).
[[nodiscard]] inline Count doubling_pushes(Count steps) {
  std::uint64_t pushes = 0;
  std::uint64_t left = steps.value();
  std::uint64_t batch = 1;
  for (; left > batch * batch; batch *= 2) {
    left -= batch * batch;
    pushes += batch;
  }
  return Count{pushes + left / batch};
}

/// Noise that the paper prints, and what it really costs.
template <class Noise>
struct PrintedBanditNoise {
  Noise noise;        ///< over the sensitivity of a push
  Event event;        ///< of the tree that has it
  Enclosure epsilon;  ///< of that event at the target's delta
};

namespace detail {
/// `noise` in the paper's units, over the sensitivity (n / zeta) V of a push there.
inline double over_sensitivity(double noise, const ProjectionFreeBanditOptions& options, const BanditProblem& problem) {
  const auto n = static_cast<double>(problem.dimension.value());
  return noise * options.radius.value() / (n * options.losses.width() * (options.adjacency == Adjacency::zero_out ? 0.5 : 1));
}

/// \throws Error{unsupported} when the printed noise is too little for what it claims.
template <class Noise>
PrintedBanditNoise<Noise> accounted(Noise noise, const Event& node, const ProjectionFreeBanditOptions& options,
                                    const BanditProblem& problem, const Target& target) {
  if (options.adjacency != target.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the target is {}, must be {} as of the options",
                                                         name(target.adjacency), name(options.adjacency))};
  }
  const Event event = accounting::tree(shape(options, problem.dimension).steps, node);
  const Enclosure epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta);
  if (epsilon.upper > target.epsilon.value()) {
    throw Error{ErrorCode::unsupported, fmt::format("the printed noise costs epsilon = {} at delta = {}, must cost at most {}",
                                                    epsilon.upper, target.delta, target.epsilon)};
  }
  return {.noise = noise, .event = event, .epsilon = epsilon};
}
}  // namespace detail

/// Lemma 5.1: lambda = sqrt(T) n L log(T) / epsilon in the paper's units.
/// \throws Error{unsupported} when it costs more than the target, as for few steps in a high dimension; Error{invalid_argument} for one
///         step.
[[nodiscard]] inline PrintedBanditNoise<NoiseScale> printed_laplace(const ProjectionFreeBanditOptions& options,
                                                                    const BanditProblem& problem, const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double lambda = std::sqrt(t) * n * problem.lipschitz * std::log(t) / target.epsilon.value();
  const NoiseScale scale{detail::over_sensitivity(lambda, options, problem) / std::sqrt(n)};
  return detail::accounted(scale, release(Event::Laplace{scale}, options.adjacency), options, problem, target);
}

/// Lemma 5.4: sigma = T^(1/4) sqrt(n) L log(T) log(T / delta) / epsilon (a + sqrt((1 + sqrt(T) / n) a)), a = log((n + T) / delta), in the
/// paper's units. \throws as `printed_laplace`; Error{invalid_argument} when delta is 0.
[[nodiscard]] inline PrintedBanditNoise<NoiseMultiplier> printed_gaussian(const ProjectionFreeBanditOptions& options,
                                                                          const BanditProblem& problem, const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double a = std::log((n + t) / target.delta.value());
  const double sigma = std::pow(t, 0.25) * std::sqrt(n) * problem.lipschitz * std::log(t) * std::log(t / target.delta.value()) /
                       target.epsilon.value() * (a + std::sqrt((1 + std::sqrt(t) / n) * a));
  const NoiseMultiplier multiplier{detail::over_sensitivity(sigma, options, problem)};
  return detail::accounted(multiplier, gaussian(multiplier, options.adjacency), options, problem, target);
}

}  // namespace surety::optimizers
