#include <surety/testing/perturbing_releaser.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::testing {

std::vector<double> ScriptedPerturbingReleaser::perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) {
  if (dimension != perturbation_.size()) {
    invalid(fmt::format("the script's perturbation has {} coordinates, {} are asked for", perturbation_.size(), dimension));
  }
  perturbations_.push_back({dimension, sigma, event});
  return perturbation_;
}

}  // namespace surety::testing
