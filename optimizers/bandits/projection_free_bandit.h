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
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/streams/noisy_oco.h>

namespace surety::optimizers {

/// Losses are clipped to [lowest, highest]. Public.
class LossRange {
 public:
  /// \throws Error{invalid_argument} unless lowest < highest, both finite, and so is their difference.
  LossRange(double lowest, double highest);
  [[nodiscard]] double lowest() const noexcept { return lowest_; }
  [[nodiscard]] double highest() const noexcept { return highest_; }
  /// V.
  [[nodiscard]] double width() const noexcept { return highest_ - lowest_; }

  /// Where in the range a loss is, once clipped: from -1/2 to 1/2; 0 for a NaN.
  [[nodiscard]] double place(double loss) const noexcept;

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

/// For points inside a domain that has `ball` in it, of radius r and dimension d, with losses of range V = L D:
///
///     zeta = min(r / 2, sqrt(d r D) / T^(1/4)),   eta = D / sqrt(T ((d V / 2 zeta)^2 + T_batch L^2)),   T_batch = sqrt(T).
///
/// Keeping zeta away from the boundary moves decisions by up to (zeta / r) D, at a cost of L zeta D / r per step, and the variance of terms
/// costs about d V D / (zeta sqrt(T)): zeta makes these equal, and eta is the paper's for terms of such a variance (Lemma C.2).
/// \throws Error{invalid_argument} when the ball is a point.
[[nodiscard]] ProjectionFreeBanditOptions options_inside(const BanditProblem& problem, const InnerBall& ball);

/// What the framework is run with: terms have norm at most 1/2.
[[nodiscard]] NoisyOcoOptions framework_options(const ProjectionFreeBanditOptions& options, std::size_t hull_dimension);

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
[[nodiscard]] Directions normal_directions(mechanisms::BitsRef bits);

/// A domain shrunken toward `centre` by the factor 1 - shrinkage.
template <std::derived_from<LinearlyMinimizable> D>
struct Shrunken final : LinearlyMinimizable {
  Shrunken(D inner, std::vector<double> fixed, double share) : domain{std::move(inner)}, centre{std::move(fixed)}, shrinkage{share} {}

  D domain;
  std::vector<double> centre;
  double shrinkage;  ///< from 0 to 1

  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override {
    std::vector<double> point = domain.minimize_linear(costs);
    if (shrinkage > 0) {
      for (std::size_t j = 0; j < point.size(); ++j) point[j] += shrinkage * (centre[j] - point[j]);
    }
    return point;
  }
};

namespace detail {

/// Where points are played: around decisions, in directions of the hull of a domain.
class PlayedPoint {
 public:
  PlayedPoint(Radius radius, InnerBall ball, Directions directions);

  /// x~ + zeta u_t. \throws Error{invalid_argument} when the direction drawn has no length.
  void choose_around(std::span<const double> decision);

  [[nodiscard]] std::span<const double> point() const noexcept { return point_; }
  /// u_t, of length 1.
  [[nodiscard]] RowView direction() const;
  [[nodiscard]] const InnerBall& ball() const noexcept { return ball_; }

 private:
  double radius_;
  InnerBall ball_;
  Directions directions_;
  std::vector<double> direction_;
  std::vector<double> point_;
};

/// For points around the domain: a ball of R^n that sets no limit.
[[nodiscard]] InnerBall unlimited_ball(Count dimension);
/// \throws Error{invalid_argument} when the ball is smaller than the radius of exploration.
void require_room(const ProjectionFreeBanditOptions& options, const InnerBall& ball);
/// \throws Error{unsupported}: points are to be played inside a domain that knows no ball.
[[noreturn]] void no_ball_is_known();

}  // namespace detail

/// The algorithm: `point()` is to be played, then `observe` is told what it cost.
///
/// Between two batches its state is released values and public ones; within a batch it also holds the exact sum of the terms so far.
template <std::derived_from<LinearlyMinimizable> D, class Sensitivity = L2Sensitivity>
class ProjectionFreeBandit {
 public:
  /// \throws as `shape`; Error{unsupported} for points inside a domain that knows no inner ball, Error{invalid_argument} when that
  ///         ball is smaller than the radius of exploration.
  ProjectionFreeBandit(D domain, const ProjectionFreeBanditOptions& options, Count dimension, Directions directions)
      : losses_{options.losses},
        played_{options.radius, ball_of(domain, options, dimension), std::move(directions)},
        oco_{map_of(std::move(domain), options, played_.ball()), framework_options(options, played_.ball().dimension()), dimension} {
    played_.choose_around(oco_.decision());
  }

  /// x_t: released values and public ones, may be shown. For `QueryRegion::inside` in the domain, to within rounding.
  [[nodiscard]] std::span<const double> point() const noexcept { return played_.point(); }

  /// Takes in f_t(x_t), any double. O(n); at the end of a batch one push and at most `oracle_calls` calls of the oracle.
  /// \throws Error{invalid_argument} beyond the horizon; what the stream throws.
  void observe(double loss, StreamReleaser<Sensitivity>& stream) {
    oco_.observe(losses_.place(loss), played_.direction(), stream);
    played_.choose_around(oco_.decision());
  }

  /// x~, around which points are played: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return oco_.decision(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return oco_.steps(); }

 private:
  using Map = ConditionalGradientMap<Shrunken<D>>;

  static InnerBall ball_of(const D& domain, const ProjectionFreeBanditOptions& options, Count dimension) {
    if (options.queries == QueryRegion::around) return detail::unlimited_ball(dimension);
    if constexpr (HasInnerBall<D>) {
      InnerBall ball = domain.inner_ball(dimension.value());
      detail::require_room(options, ball);
      return ball;
    } else {
      detail::no_ball_is_known();
    }
  }

  static Map map_of(D domain, const ProjectionFreeBanditOptions& options, const InnerBall& ball) {
    return {.domain = Shrunken<D>{std::move(domain), ball.centre, options.radius.value() / ball.radius},
            .calls = std::min(options.oracle_calls, options.batch)};
  }

  LossRange losses_;
  detail::PlayedPoint played_;
  NoisyOco<Map, Sensitivity> oco_;
};

namespace detail {
/// \throws Error{invalid_argument} unless these are options of epoch `epoch`, of the adjacency of all before.
void require_epoch(const ProjectionFreeBanditOptions& options, unsigned epoch, Adjacency adjacency);
}  // namespace detail

/// The algorithm for a horizon that nobody knows: epoch e = 0, 1, ... starts afresh and has 4^e records in 2^e batches of 2^e.
///
/// The stream is one of restarts (mechanisms::RestartedSum), whose epochs have 1, 2, 4, ... pushes. A record is in one epoch, so the epochs
/// are parallel and the dearest one is what the run costs, however long it is.
template <std::derived_from<LinearlyMinimizable> D, class Sensitivity = L2Sensitivity>
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
  void observe(double loss, StreamReleaser<Sensitivity>& stream) {
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
  class SinceRestart final : public StreamReleaser<Sensitivity> {
   public:
    SinceRestart(StreamReleaser<Sensitivity>& stream, const std::vector<double>& ended, std::vector<double>& latest)
        : stream_{stream}, ended_{ended}, latest_{latest} {}

    [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity) override {
      std::vector<double> sum = latest_ = stream_.push(contribution, sensitivity);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] -= ended_[j];
      return sum;
    }
    [[nodiscard]] Grid grid() const override { return stream_.grid(); }

   private:
    StreamReleaser<Sensitivity>& stream_;
    const std::vector<double>& ended_;
    std::vector<double>& latest_;
  };

  void start() {
    const Count steps{std::uint64_t{1} << (2 * epoch_)};
    const ProjectionFreeBanditOptions options = rule_(steps);
    if (epoch_ == 0) adjacency_ = options.adjacency;
    detail::require_epoch(options, epoch_, adjacency_);
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
[[nodiscard]] Count doubling_pushes(Count steps);

}  // namespace surety::optimizers
