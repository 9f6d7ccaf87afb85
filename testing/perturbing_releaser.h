// A releaser that perturbs and is NOT private: a script.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/testing/releaser.h>

namespace surety::testing {

/// Replays one perturbation and the released values, and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedPerturbingReleaser final : public optimizers::PerturbingReleaser {
 public:
  /// What an algorithm asked in one perturbation.
  struct Perturbation {
    std::size_t dimension;
    L2Sensitivity sigma;
    Event event;

    bool operator==(const Perturbation&) const = default;
  };

  /// `perturbation` is the answer to each perturbation, `released[t]` to release t.
  ScriptedPerturbingReleaser(std::vector<double> perturbation, std::vector<std::vector<double>> released)
      : perturbation_{std::move(perturbation)}, output_{std::move(released)} {}

  /// \throws Error{invalid_argument} for another dimension than the script's.
  [[nodiscard]] std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) override;
  /// As `ScriptedReleaser`.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return output_.release(query, sensitivity, event);
  }

  [[nodiscard]] const std::vector<Perturbation>& perturbations() const noexcept { return perturbations_; }
  [[nodiscard]] const std::vector<ScriptedReleaser::Request>& log() const noexcept { return output_.log(); }

 private:
  std::vector<double> perturbation_;
  ScriptedReleaser output_;
  std::vector<Perturbation> perturbations_;
};

}  // namespace surety::testing
