#include <surety/optimizers/streams/online_learner.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::optimizers::detail {

namespace {

double inner(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// \throws Error{invalid_argument} unless the gradient has one coordinate per weight.
void require_gradient(const Feedback& feedback, std::size_t dimension) {
  require_dimension("the gradient", feedback.gradient.size(), dimension);
}

}  // namespace

SubgradientRounds::SubgradientRounds(std::vector<double> start, double diameter, InitialAccumulator accumulator)
    : weights_{std::move(start)}, diameter_{diameter}, squares_{accumulator.value()} {}

void SubgradientRounds::update(const Feedback& feedback, const Projectable& domain) {
  require_gradient(feedback, weights_.size());
  squares_ += inner(feedback.gradient, feedback.gradient);
  if (!(squares_ > 0)) return;
  const double step = diameter_ / std::sqrt(2 * squares_);
  for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= step * feedback.gradient[j];
  domain.project(weights_);
}

LeaderRounds::LeaderRounds(std::vector<double> start, double diameter, bool optimistic, InitialAccumulator accumulator)
    : start_{std::move(start)},
      diameter_{diameter},
      optimistic_{optimistic},
      squares_{accumulator.value()},
      weights_{start_},
      sum_(start_.size(), 0.0),
      guess_(start_.size(), 0.0) {}

void LeaderRounds::update(const Feedback& feedback, const Projectable& domain) {
  require_gradient(feedback, weights_.size());
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    const double surprise = feedback.gradient[j] - guess_[j];
    squares_ += surprise * surprise;
    sum_[j] += feedback.gradient[j];
    if (optimistic_) guess_[j] = feedback.gradient[j];
  }
  if (!(squares_ > 0)) return;
  const double step = diameter_ / (2 * std::sqrt(squares_));
  for (std::size_t j = 0; j < sum_.size(); ++j) weights_[j] = start_[j] - step * (sum_[j] + guess_[j]);
  domain.project(weights_);
}

void StronglyConvexRounds::update(const Feedback& feedback, const Projectable& domain) {
  require_gradient(feedback, weights_.size());
  if (!(feedback.strong_convexity > 0 && std::isfinite(feedback.strong_convexity))) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("strong convexity is {}, must be finite and greater than 0 for this learner", feedback.strong_convexity)};
  }
  convexity_ += feedback.strong_convexity;
  for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= feedback.gradient[j] / convexity_;
  domain.project(weights_);
}

CoinBettingRounds::CoinBettingRounds(std::vector<double> start, double /*diameter*/, const CoinBettingOptions& options)
    : bound_{options.gradient_bound.value()},
      wealth_{options.wealth.value()},
      start_{std::move(start)},
      weights_{start_},
      bet_(start_.size(), 0.0),
      direction_{L2Ball{Radius{1}}, std::vector<double>(start_.size(), 0.0)} {}

void CoinBettingRounds::update(const Feedback& feedback, const Projectable& domain) {
  require_gradient(feedback, weights_.size());
  std::vector<double> coin(feedback.gradient.begin(), feedback.gradient.end());
  const double scale = 1 / std::max(bound_, mechanisms::l2_norm(coin));
  for (double& coordinate : coin) coordinate *= scale;
  remove_outward_pull(coin);

  const double outcome = inner(coin, direction_.predict());
  wealth_ *= 1 - outcome * share_;
  const double slope = outcome / (1 - outcome * share_);
  squares_ += slope * slope;
  // log(1 + x) <= x - (2 - log 3) x^2 / 4 for x in [-1, 2] is the curvature that the Newton step relies on.
  constexpr double log_of_three = 1.0986122886681098;
  share_ = std::clamp(share_ - 2 / (2 - log_of_three) * slope / squares_, -0.5, 0.5);
  direction_.update({.gradient = coin});

  for (std::size_t j = 0; j < bet_.size(); ++j) {
    bet_[j] = share_ * wealth_ * direction_.predict()[j];
    weights_[j] = start_[j] + bet_[j];
  }
  domain.project(weights_);
}

void CoinBettingRounds::remove_outward_pull(std::vector<double>& coin) const {
  std::vector<double> outward(bet_.size());
  for (std::size_t j = 0; j < outward.size(); ++j) outward[j] = start_[j] + bet_[j] - weights_[j];
  const double distance = mechanisms::l2_norm(outward);
  if (!(distance > 0)) return;
  for (double& coordinate : outward) coordinate /= distance;
  const double pull = inner(coin, outward);
  if (!(pull < 0)) return;
  for (std::size_t j = 0; j < coin.size(); ++j) coin[j] -= pull * outward[j];
}

}  // namespace surety::optimizers::detail
