#include <surety/research/papers/printed_gossip_cost.h>

#include <algorithm>

namespace surety::papers {

double printed_minibatch_factor(const optimizers::StepRule& step, optimizers::Regularization phi, std::uint64_t rounds) {
  double factor = 0;
  double largest = 0;
  for (std::uint64_t t = rounds; t > 0; --t) {
    // The record of the last round is in no later release.
    factor = t == rounds ? 1 : 1 + phi.value() * optimizers::step_size(step, t) * factor;
    largest = std::max(largest, factor);
  }
  return largest;
}

}  // namespace surety::papers
