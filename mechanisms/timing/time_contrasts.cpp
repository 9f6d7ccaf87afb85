#include <surety/mechanisms/timing/time_contrasts.h>

#include <algorithm>
#include <cmath>

namespace surety::mechanisms {
namespace {

/// The least number of the sample of which at least `share` of the sample is no larger. Sorts a part of it.
double quantile(std::vector<double>& sample, double share) {
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(sample.size()))) - 1;
  const auto at = sample.begin() + std::max<std::ptrdiff_t>(rank, 0);
  std::nth_element(sample.begin(), at, sample.end());
  return *at;
}

/// Squared standard error of the mean.
double squared_error(const Moments& times) {
  const auto count = static_cast<double>(times.count);
  return std::max(times.squares / (count - 1), 1.0 / 12) / count;
}

double standard_error(const TimingContrast& contrast) {
  return std::sqrt(squared_error(contrast.first.times) + squared_error(contrast.second.times));
}

bool has_enough(const TimingContrast& contrast) {
  return std::min(contrast.first.times.count, contrast.second.times.count) >= TimingContrast::least_side;
}

/// Twice the log likelihood ratio of `observed` events where `expected` are expected.
double deviance(double observed, double expected) { return observed == 0 ? 0 : 2 * observed * std::log(observed / expected); }

}  // namespace

void Moments::add(double value) noexcept {
  ++count;
  const double difference = value - mean;
  mean += difference / static_cast<double>(count);
  squares += difference * (value - mean);
}

Moments& Moments::operator+=(const Moments& other) noexcept {
  if (other.count == 0) return *this;
  const double difference = other.mean - mean;
  const double share = static_cast<double>(other.count) / static_cast<double>(count + other.count);
  squares += other.squares + difference * difference * share * static_cast<double>(count);
  mean += difference * share;
  count += other.count;
  return *this;
}

TimingSide& TimingSide::operator+=(const TimingSide& other) noexcept {
  times += other.times;
  trimmed += other.trimmed;
  return *this;
}

std::optional<double> TimingContrast::t() const noexcept {
  if (!has_enough(*this)) return {};
  return (first.times.mean - second.times.mean) / standard_error(*this);
}

std::optional<double> TimingContrast::resolution() const noexcept {
  if (!has_enough(*this)) return {};
  return timing_threshold * standard_error(*this);
}

std::optional<double> TimingContrast::trimmed_z() const noexcept {
  const auto all = [](const TimingSide& side) { return static_cast<double>(side.times.count + side.trimmed); };
  if (std::min(all(first), all(second)) < static_cast<double>(least_side)) return {};
  const double share = static_cast<double>(first.trimmed + second.trimmed) / (all(first) + all(second));
  double ratio = 0;
  for (const TimingSide* side : {&first, &second}) {
    ratio += deviance(static_cast<double>(side->trimmed), share * all(*side));
    ratio += deviance(static_cast<double>(side->times.count), (1 - share) * all(*side));
  }
  // Rounding may leave a little less than 0.
  return std::copysign(std::sqrt(std::max(ratio, 0.0)), static_cast<double>(first.trimmed) - share * all(first));
}

bool TimingContrast::shows() const noexcept {
  return std::abs(t().value_or(0)) >= timing_threshold || std::abs(trimmed_z().value_or(0)) >= timing_threshold;
}

TimingVerdict TimingReport::verdict() const noexcept {
  if (std::any_of(contrasts.begin(), contrasts.end(), [](const auto& contrast) { return contrast.shows(); })) return TimingVerdict::depends;
  return has_enough(contrasts[0]) && has_enough(contrasts[1]) ? TimingVerdict::independent : TimingVerdict::too_few;
}

std::string_view TimingReport::verdict_text() const noexcept {
  static constexpr std::array<std::string_view, 4> shown{"time shows the tail", "time shows the magnitude", "time shows zero",
                                                         "time shows the sign"};
  switch (verdict()) {
    case TimingVerdict::independent: return "independent within |t| < 4.5";
    case TimingVerdict::too_few: return "too few draws";
    case TimingVerdict::depends: break;
  }
  const auto strength = [](const TimingContrast& contrast) {
    return std::max(std::abs(contrast.t().value_or(0)), std::abs(contrast.trimmed_z().value_or(0)));
  };
  const auto strongest = std::max_element(contrasts.begin(), contrasts.end(),
                                          [&](const auto& one, const auto& other) { return strength(one) < strength(other); });
  return shown[static_cast<std::size_t>(strongest - contrasts.begin())];
}

TimeContrasts::TimeContrasts(const std::vector<Draw>& first_batch) : cells_{} {
  std::vector<double> numbers(first_batch.size());
  std::transform(first_batch.begin(), first_batch.end(), numbers.begin(), [](const Draw& draw) { return std::abs(draw.value); });
  median_ = quantile(numbers, 0.5);
  body_ = quantile(numbers, 0.95);
  tail_ = quantile(numbers, 0.99);
  std::transform(first_batch.begin(), first_batch.end(), numbers.begin(), [](const Draw& draw) { return draw.ticks; });
  trim_above_ = trim_factor * std::max(quantile(numbers, 0.5), 1.0);
}

void TimeContrasts::add(Draw draw) noexcept {
  const double magnitude = std::abs(draw.value);
  // Of narrow laws the two percentiles are one value: the tail is then what lies beyond it.
  std::size_t size = 2;
  if (magnitude <= median_) {
    size = 0;
  } else if (magnitude <= body_) {
    size = 1;
  } else if (magnitude >= tail_) {
    size = 3;
  }
  TimingSide& cell = cells_[draw.value < 0 ? 0 : draw.value == 0 ? 1 : 2][size];
  if (draw.ticks > trim_above_) {
    ++cell.trimmed;
    return;
  }
  cell.times.add(draw.ticks);
  times_.add(draw.ticks);
  const double deviation = magnitude - magnitudes_.mean;
  magnitudes_.add(magnitude);
  products_ += deviation * (draw.ticks - times_.mean);
}

TimingReport TimeContrasts::report() const noexcept {
  TimingReport report{.trim_above = trim_above_,
                      .mean = times_.mean,
                      .correlation = {},
                      .contrasts = {{{"tail", {}, {}}, {"magnitude", {}, {}}, {"zero", {}, {}}, {"sign", {}, {}}}}};
  auto& [tail, magnitude, zero, sign] = report.contrasts;
  for (std::size_t of_sign = 0; of_sign < signs; ++of_sign) {
    for (std::size_t size = 0; size < sizes; ++size) {
      const TimingSide& cell = cells_[of_sign][size];
      report.draws += cell.times.count + cell.trimmed;
      report.trimmed += cell.trimmed;
      if (size != 2) (size == 3 ? tail.first : tail.second) += cell;
      (size > 0 ? magnitude.first : magnitude.second) += cell;
      (of_sign == 1 ? zero.first : zero.second) += cell;
      if (of_sign != 1) (of_sign == 0 ? sign.first : sign.second) += cell;
    }
  }
  const double correlation = products_ / (std::sqrt(times_.squares) * std::sqrt(magnitudes_.squares));
  if (std::isfinite(correlation)) report.correlation = std::clamp(correlation, -1.0, 1.0);
  return report;
}

}  // namespace surety::mechanisms
