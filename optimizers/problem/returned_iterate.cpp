#include <surety/optimizers/problem/returned_iterate.h>

#include <fmt/format.h>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {

IterateKeeper::IterateKeeper(const ReturnedIterate& which, Count steps) : which_{which}, steps_{steps.value()} {
  if (const auto* const average = std::get_if<AverageIterate>(&which_); average != nullptr && average->of_last > steps) {
    invalid(fmt::format("iterates to average are {}, must be at most the {} steps", average->of_last->value(), steps_));
  }
  if (const auto* const at = std::get_if<IterateAt>(&which_); at != nullptr && at->index > steps_) {
    invalid(fmt::format("index of the returned iterate is {}, must be at most the {} steps", at->index, steps_));
  }
}

void IterateKeeper::see(std::span<const double> weights) {
  std::visit(Overload{[&](LastIterate) { kept_.assign(weights.begin(), weights.end()); },
                      [&](const AverageIterate& average) {
                        const std::uint64_t last = average.of_last ? average.of_last->value() : steps_;
                        if (seen_ <= steps_ - last) return;
                        // The running mean: no sum that could overflow.
                        const auto share = 1 / static_cast<double>(seen_ - (steps_ - last));
                        kept_.resize(weights.size());
                        for (std::size_t j = 0; j < weights.size(); ++j) kept_[j] += share * (weights[j] - kept_[j]);
                      },
                      [&](IterateAt at) {
                        if (seen_ == at.index) kept_.assign(weights.begin(), weights.end());
                      }},
             which_);
  ++seen_;
}

}  // namespace surety::optimizers
