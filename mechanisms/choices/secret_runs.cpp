#include <surety/mechanisms/choices/secret_runs.h>

#include <algorithm>
#include <limits>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/runs_law.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/lazy_real.h>

namespace surety::mechanisms {
namespace {

/// P(K = k) for k = first, first + 1, ..., each from the one before.
class RunsMasses {
 public:
  RunsMasses(const Runs& runs, mpfr_prec_t precision)
      : precision_{precision}, is_poisson_{runs.law() == RunsLaw::poisson}, ratio_{runs.mean(), precision}, mass_{0, precision} {
    if (is_poisson_) {
      mass_ = exp(-ratio_);
      return;
    }
    // With g = e^-w: P(K = 1) = mean g^(1 + shape), and P(K = k + 1) / P(K = k) = (1 - g) (k + shape) / (k + 1); g itself where there is a cap.
    shape_ = accounting::shape_of(runs);
    const Interval w = accounting::minus_log_stopping(runs, precision);
    mass_ = runs.cap() ? exp(-w) : ratio_ * exp(-(number(1) + number(shape_)) * w);
    ratio_ = -expm1(-w);
    k_ = 1;
  }

  [[nodiscard]] const Interval& mass() const { return mass_; }
  [[nodiscard]] std::uint64_t k() const { return k_; }
  void advance() {
    const auto k = static_cast<double>(k_++);
    mass_ = is_poisson_ ? mass_ * ratio_ / number(k + 1) : mass_ * ratio_ * (number(k) + number(shape_)) / number(k + 1);
  }

 private:
  [[nodiscard]] Interval number(double value) const { return {value, precision_}; }

  mpfr_prec_t precision_;
  bool is_poisson_;
  Interval ratio_;
  Interval mass_;
  double shape_ = 0;
  std::uint64_t k_ = 0;
};

}  // namespace

SecretRuns::SecretRuns(const Runs& runs) : runs_{runs} {
  const StandardFloatingPoint environment;
  // At the cap the sum is 1, and nothing is left to be decided.
  const std::uint64_t decided = runs_.cap() ? runs_.cap()->value() - 1 : std::numeric_limits<std::uint64_t>::max();
  const std::size_t most_kept = std::min<std::uint64_t>(decided, 64);
  RunsMasses masses{runs_, precision_for(1)};
  Interval sum = masses.mass();
  up_to_.push_back(sum);
  while (up_to_.size() < most_kept) {
    masses.advance();
    sum = sum + masses.mass();
    up_to_.push_back(sum);
  }
}

std::uint64_t SecretRuns::draw(BitsRef bits) const {
  const StandardFloatingPoint environment;
  const auto next_word = words_of(bits);
  const LazyUniform uniform{next_word};
  const Interval cell = uniform.cell(precision_for(1));
  // All of the cell lies above P(K < k), so k is certain where all of it lies below P(K <= k).
  const std::uint64_t least = runs_.law() == RunsLaw::poisson ? 0 : 1;
  for (std::size_t i = 0; i < up_to_.size(); ++i) {
    if (is_at_most(up_to_[i], cell)) continue;
    if (is_at_most(cell, up_to_[i])) return least + i;
    return draw_by_intervals(uniform, next_word);
  }
  if (runs_.cap() && runs_.cap()->value() == least + up_to_.size()) return runs_.cap()->value();
  return draw_by_intervals(uniform, next_word);
}

std::uint64_t SecretRuns::draw_by_intervals(LazyUniform uniform, const NextWord& next_word) const {
  for (;; uniform.draw_another_word(next_word)) {
    const auto precision = precision_for(uniform.words());
    const Interval cell = uniform.cell(precision);
    RunsMasses masses{runs_, precision};
    Interval sum = masses.mass();
    while (is_at_most(sum, cell)) {
      masses.advance();
      // All of the cell lies above P(K < k), and K is at most the cap.
      if (runs_.cap() && masses.k() == runs_.cap()->value()) return masses.k();
      sum = sum + masses.mass();
    }
    if (is_at_most(cell, sum)) return masses.k();
  }
}

Event SecretRuns::event(const Event& run) const { return best_of(runs_, run); }

}  // namespace surety::mechanisms
