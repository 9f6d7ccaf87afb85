// One batch that several releases share: the pair of all of them together, and that of the batch.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/losses/loss_law.h>

namespace surety::accounting::laws {

/// What the bounds are made of. A test leaves one out and sees the truth escape.
struct BatchTerms {
  bool rounding = true;  ///< masses that are too large or too small are evened out, so that what is mixed is a pair
  bool infinite = true;  ///< what is at infinite loss, and what was cut there
};

/// Finitely many outcomes of the composed pair: P-mass by loss, from above or from below.
struct Outcomes {
  struct Outcome {
    long double loss;
    long double mass;
  };
  std::vector<Outcome> finite;  ///< by rising loss
  long double infinite = 0;
};

/// The pair of all releases in a batch, which equals its own reverse.
struct BatchPair {
  Outcomes above;
  Outcomes below;
};

/// \pre the laws of all parts equal their own reverses, and are not mixed. A part without a lower law shows nothing from below.
/// \complexity some 10^8 products in all: the step is such. Memory 12,000 outcomes.
/// \source docs/proofs/batches.md#shared.
[[nodiscard]] BatchPair batch_pair(const Parts& parts, const BatchTerms& terms = {});

/// The law of a batch of that rate: `remove`, `add`, `symmetric` or `revealed`, bounded from above or from below as `direction` is +1 or -1.
/// \pre 0 < rate < 1; `symmetric` only from above.
[[nodiscard]] LossLaw batch_law(const BatchPair& pair, Mixing mixing, double rate, int direction, const BatchTerms& terms = {});

/// A pair that dominates every release whose curve is known by its divergences alone, and below it the Gaussian release of that rho, or nothing where
/// rho is 0.
/// \param end where the curve has no more digits, roughly. \param curve at least delta(epsilon) of each of them, at an epsilon.
/// \pre end > 0, finite. \source docs/proofs/batches.md#shared.
[[nodiscard]] ReleaseLaws divergence_part(double rho, double end, const std::function<double(double)>& curve);

/// That end, of a divergence of at most `divergence` at one order above 1, or of at most rho a at every order a.
[[nodiscard]] double end_of_curve(double order, double divergence);
[[nodiscard]] double end_of_concentrated(double rho);

}  // namespace surety::accounting::laws
