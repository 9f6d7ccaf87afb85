#include <surety/mechanisms/choices/sparse_vector.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {

AboveThreshold::AboveThreshold(Options options) : options_{options}, answers_left_{options.answers.value()} {
  if (options.change == ScoreChange::range) {
    throw Error{ErrorCode::invalid_argument, "score change is range, must be either_way or one_way for AboveThreshold"};
  }
}

bool AboveThreshold::release(double query, double threshold, BitsRef bits) {
  home_.require_here("this AboveThreshold");
  if (answers_left_ == 0) {
    throw Error{ErrorCode::budget_exceeded, fmt::format("all {} answers of the run are given", options_.answers.value())};
  }
  if (!std::isfinite(threshold)) throw Error{ErrorCode::invalid_argument, fmt::format("threshold is {}, must be finite", threshold)};
  const bool above = is_above(completed_score(query), threshold, words_of(bits));
  if (above) {
    --answers_left_;
    threshold_noise_.reset();
  }
  return above;
}

bool AboveThreshold::is_above(double query, double threshold, const NextWord& next_word) {
  const StandardFloatingPoint environment;
  if (!threshold_noise_) threshold_noise_.emplace(next_word);
  LazyUniform query_noise{next_word};
  // In units of b_T: above when distance + factor N >= M.
  const double factor = options_.change == ScoreChange::either_way ? 2 : 1;
  const double epsilon = options_.epsilon.value();
  const double sensitivity = options_.sensitivity.value();
  const auto answers = static_cast<double>(options_.answers.value());

  const double rate = epsilon / 2 / answers / sensitivity;
  const double distance = (query - threshold) * rate;
  // With a rate of another order the product might lose its relative accuracy.
  if (((rate >= 0x1p-900 && rate <= 0x1p900) || epsilon == 0) && std::isfinite(distance)) {
    const auto n = noise_of_first_word(NoiseShape::laplace, query_noise.first_word());
    const auto m = noise_of_first_word(NoiseShape::laplace, threshold_noise_->first_word());
    const auto margin = [&](double x, double y) { return 2 * double_margin * (1 + std::abs(distance) + std::abs(x) + std::abs(y)); };
    if (distance + factor * n.low - m.high > margin(n.low, m.high)) return true;
    if (distance + factor * n.high - m.low < -margin(n.high, m.low)) return false;
  }
  for (;;) {
    const auto precision = precision_for(std::max(query_noise.words(), threshold_noise_->words()));
    const auto point = [precision](double value) { return Interval{value, precision}; };
    const Interval exact_distance = (point(query) - point(threshold)) * point(epsilon) / (point(2) * point(answers) * point(sensitivity));
    const Interval left = exact_distance + point(factor) * noise(NoiseShape::laplace, query_noise, precision);
    const Interval right = noise(NoiseShape::laplace, *threshold_noise_, precision);
    if (is_at_most(right, left)) return true;
    if (is_at_most(left, right)) return false;
    query_noise.draw_another_word(next_word);
    if (threshold_noise_->words() < query_noise.words()) threshold_noise_->draw_another_word(next_word);
  }
}

}  // namespace surety::mechanisms
