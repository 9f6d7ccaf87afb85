#include <surety/mechanisms/choices/randomized_response.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {
namespace {

// Products of three doubles are exact.
constexpr mpfr_prec_t response_precision = 192;

Interval point(double value) { return {value, response_precision}; }

/// A double next to numerator / denominator, on the side of 1 / categories where the loss is larger.
Probability with_more_loss(const Ratio& truth, Count categories) {
  const Interval exact = point(static_cast<double>(truth.numerator())) / point(static_cast<double>(truth.denominator()));
  const Interval against_uniform = point(static_cast<double>(truth.numerator())) * point(static_cast<double>(categories.value())) -
                                   point(static_cast<double>(truth.denominator()));
  const bool is_likelier = against_uniform.compare(0) > 0;
  return Probability{is_likelier ? exact.enclosure().upper : exact.enclosure().lower};
}

}  // namespace

Ratio::Ratio(std::uint64_t numerator, std::uint64_t denominator) : numerator_{numerator}, denominator_{denominator} {
  if (!(numerator > 0 && numerator < denominator && denominator <= std::uint64_t{1} << 53)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("ratio is {} / {}, must be between 0 and 1 with a denominator of at most 2^53", numerator, denominator)};
  }
}

RandomizedResponse::RandomizedResponse(Probability truth, Count categories, Adjacency adjacency)
    : truth_{truth.value()}, categories_{categories.value()}, event_{surety::randomized_response(truth, categories, adjacency)} {}

RandomizedResponse::RandomizedResponse(Ratio truth, Count categories, Adjacency adjacency)
    : numerator_{truth.numerator()},
      denominator_{truth.denominator()},
      truth_{static_cast<double>(truth.numerator()) / static_cast<double>(truth.denominator())},
      categories_{categories.value()},
      event_{surety::randomized_response(with_more_loss(truth, categories), categories, adjacency)} {}

Probability RandomizedResponse::truth_for(Epsilon epsilon, Count categories) {
  const StandardFloatingPoint environment;
  const auto k = static_cast<double>(categories.value());
  if (k < 2) throw Error{ErrorCode::invalid_argument, "categories is 1, must be at least 2"};
  const Interval exact = point(1) / (point(1) + point(k - 1) * exp(-point(epsilon.value())));
  const double p = exact.enclosure().lower;
  // Below 1 / k a smaller p loses more, not less.
  if (std::fma(p, k, -1.0) < 0) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("epsilon is {}, must be larger: no double is as close to 1 / {} as that", epsilon.value(), categories.value())};
  }
  return Probability{p};
}

bool RandomizedResponse::tells_truth(const NextWord& next_word) const {
  return denominator_ == 0 ? happens_with(truth_, next_word) : happens_with_ratio(numerator_, denominator_, next_word);
}

std::uint64_t RandomizedResponse::release(std::uint64_t own, BitsRef bits) const {
  const NextWord next_word = words_of(bits);
  own = std::min(own, categories_ - 1);
  const bool truth = tells_truth(next_word);
  const std::uint64_t place = uniform_below(categories_ - 1, next_word);
  const std::uint64_t other = place + (place >= own ? 1 : 0);
  return truth ? own : other;
}

std::vector<std::uint64_t> RandomizedResponse::release(std::span<const std::uint64_t> records, BitsRef bits) const {
  std::vector<std::uint64_t> answers;
  answers.reserve(records.size());
  for (const auto own : records) answers.push_back(release(own, bits));
  return answers;
}

std::vector<Frequency> RandomizedResponse::frequencies(std::span<const std::uint64_t> counts) const {
  if (counts.size() != categories_) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} counts are given, must be {}, one per category", counts.size(), categories_)};
  }
  double n = 0;
  for (const auto count : counts) n += static_cast<double>(count);
  if (n == 0) throw Error{ErrorCode::invalid_argument, "no answer is counted, must be at least 1"};
  const double p = truth_;
  const double q = (1 - p) / (static_cast<double>(categories_) - 1);
  const double contrast = p - q;
  if (contrast == 0) throw Error{ErrorCode::invalid_argument, "truth is 1 / categories: answers tell nothing about the records"};
  std::vector<Frequency> result;
  result.reserve(counts.size());
  for (const auto count : counts) {
    const double value = (static_cast<double>(count) / n - q) / contrast;
    const double fraction = std::clamp(value, 0.0, 1.0);
    const double variance = fraction * p * (1 - p) + (1 - fraction) * q * (1 - q);
    result.push_back({.value = value, .standard_error = std::sqrt(variance / n) / std::abs(contrast)});
  }
  return result;
}

}  // namespace surety::mechanisms
