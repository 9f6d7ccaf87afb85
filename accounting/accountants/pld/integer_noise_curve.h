// The curve of one release with noise of coin flips or of Poisson variables: sums over its outcomes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/finite/integer_noise.h>
#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

class IntegerNoiseCurve {
 public:
  /// Kept for the questions that follow; null where it has too little noise for its sensitivity.
  /// \pre laws::why_no_integer_noise_laws has nothing to say of `release`. \complexity O(standard deviation)
  [[nodiscard]] static std::shared_ptr<const IntegerNoiseCurve> of(const Event& release);

  /// \complexity O(log standard deviation), and some sixty times that. \source docs/proofs/pld.md#one-integer-noise
  [[nodiscard]] Enclosure delta(double epsilon) const;
  [[nodiscard]] Enclosure epsilon(double target) const;

 private:
  /// Sums over the outcomes from each one on, by rising loss.
  class Side {
   public:
    explicit Side(const LossLaw& law);
    /// At least delta(epsilon) of the law as `direction` is +1, at most it as it is -1.
    [[nodiscard]] double delta(double epsilon, int direction) const;
    [[nodiscard]] double largest_loss() const { return losses_.empty() ? 0 : losses_.back(); }

   private:
    std::vector<double> losses_;
    std::vector<long double> first_;   ///< of the masses under P
    std::vector<long double> second_;  ///< of those under Q
    long double loss_error_;
    long double mass_error_;
    double infinite_;
  };

  explicit IntegerNoiseCurve(const laws::IntegerNoiseLaws& laws);

  Side upper_;
  std::optional<Side> lower_;
};

}  // namespace surety::accounting
