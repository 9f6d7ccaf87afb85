#include <surety/mechanisms/choices/selection.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {
namespace {

constexpr double largest = std::numeric_limits<double>::max();

/// Scores in units of b = range / epsilon, relative to the best one: (s_i - max s) epsilon / range, never positive.
class RelativeScores {
 public:
  /// \throws Error{invalid_argument} unless there is one score for each candidate.
  RelativeScores(std::span<const double> scores, const SelectionOptions& options)
      : scores_{scores},
        epsilon_{options.epsilon.value()},
        sensitivity_{options.sensitivity.value()},
        range_factor_{options.change == ScoreChange::either_way ? 2.0 : 1.0},
        rate_{epsilon_ / range_factor_ / sensitivity_} {
    if (scores.size() != options.candidates.value()) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("{} scores are given, must be {}, one per candidate", scores.size(), options.candidates.value())};
    }
    for (const double score : scores) best_ = std::max(best_, completed_score(score));
  }

  [[nodiscard]] Interval enclose(std::size_t i, mpfr_prec_t precision) const {
    const auto point = [precision](double value) { return Interval{value, precision}; };
    return (point(completed_score(scores_[i])) - point(best_)) * point(epsilon_) / (point(range_factor_) * point(sensitivity_));
  }

  /// An enclosure before any margin.
  [[nodiscard]] DoubleBounds bounds(std::size_t i) const {
    // With a rate of another order, and unless it is exactly 0, products might underflow or overflow and lose their relative accuracy.
    const bool is_moderate = (rate_ >= 0x1p-900 && rate_ <= 0x1p900) || epsilon_ == 0;
    if (!is_moderate) return {-std::numeric_limits<double>::infinity(), 0};
    const double difference = completed_score(scores_[i]) - best_;
    // A difference beyond the range of double is at most -largest.
    return {std::isinf(difference) ? difference : difference * rate_, std::max(difference, -largest) * rate_};
  }

 private:
  std::span<const double> scores_;
  double epsilon_;
  double sensitivity_;
  double range_factor_;
  double rate_;
  double best_ = -largest;
};

/// The sum of two enclosures, with margin.
DoubleBounds sum_with_margin(const DoubleBounds& a, const DoubleBounds& b) {
  const auto margin = [](double x, double y) { return double_margin * (1 + std::abs(x) + std::abs(y)); };
  return {a.low + b.low - margin(a.low, b.low), a.high + b.high + margin(a.high, b.high)};
}

struct Contender {
  std::size_t index;
  LazyUniform uniform;
};

/// The contender whose ideal noisy score is largest, by intervals and as many more words as it takes.
std::size_t largest_of(std::vector<Contender> contenders, const RelativeScores& scores, NoiseShape shape, const NextWord& next_word) {
  while (contenders.size() > 1) {
    const auto precision = precision_for(contenders.front().uniform.words());
    std::vector<Interval> noisy;
    noisy.reserve(contenders.size());
    for (const auto& contender : contenders) {
      noisy.push_back(scores.enclose(contender.index, precision) + noise(shape, contender.uniform, precision));
    }
    const auto by_lower_end = [](const Interval& a, const Interval& b) { return mpfr_less_p(a.lower(), b.lower()) != 0; };
    const auto leader = std::max_element(noisy.begin(), noisy.end(), by_lower_end);
    std::vector<Contender> left;
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      if (&noisy[i] == &*leader || !is_at_most(noisy[i], *leader)) left.push_back(std::move(contenders[i]));
    }
    contenders = std::move(left);
    if (contenders.size() > 1) {
      for (auto& contender : contenders) contender.uniform.draw_another_word(next_word);
    }
  }
  return contenders.front().index;
}

}  // namespace

double completed_score(double score) noexcept { return std::isnan(score) ? -largest : std::clamp(score, -largest, largest); }

Event ReportNoisyMax::event() const {
  if (noise_ == NoiseShape::gumbel) return surety::exponential(options_.epsilon, options_.adjacency);
  return surety::pure(options_.epsilon, options_.adjacency);
}

std::size_t ReportNoisyMax::release(std::span<const double> scores, BitsRef bits) const {
  const NextWord next_word = words_of(bits);
  const StandardFloatingPoint environment;
  const RelativeScores relative{scores, options_};
  std::vector<std::uint64_t> words(scores.size());
  std::vector<double> upper(scores.size());
  double best_lower = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    words[i] = next_word();
    const auto noisy = sum_with_margin(relative.bounds(i), noise_of_first_word(noise_, words[i]));
    upper[i] = noisy.high;
    best_lower = std::max(best_lower, noisy.low);
  }
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!(upper[i] < best_lower)) contenders.push_back({i, LazyUniform{words[i]}});
  }
  return largest_of(std::move(contenders), relative, noise_, next_word);
}

std::size_t PermuteAndFlip::release(std::span<const double> scores, BitsRef bits) const {
  const NextWord next_word = words_of(bits);
  const StandardFloatingPoint environment;
  const RelativeScores relative{scores, options_};
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = order.size();; --left) {
    const auto place = static_cast<std::size_t>(uniform_below(left, next_word));
    const std::size_t i = order[place];
    const auto margined = sum_with_margin(relative.bounds(i), {0, 0});
    const Exponent exponent{.bounds = {-margined.high, -margined.low},
                            .enclose = [&](mpfr_prec_t precision) { return -relative.enclose(i, precision); }};
    // The best candidate always passes, so the order never runs out.
    if (happens_with_exp_minus(exponent, next_word)) return i;
    std::swap(order[place], order[left - 1]);
  }
}

}  // namespace surety::mechanisms
