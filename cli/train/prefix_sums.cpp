#include "prefix_sums.h"

#include <surety/accounting/calibration/calibrate.h>

#include "../validators.h"

namespace surety::cli {

void PrefixSumAlgorithm::add_options(OptionTable& table, TrainOptions& shared) {
  add_stream_options(table, shared, clip_);
  add_own_options(table);
  table.group("Privacy");
  std::vector<std::string> words;
  for (const auto one : mechanisms::all_factorizations) words.emplace_back(mechanisms::name(one));
  table
      .add("--factorization", factorization_, "How prefix sums are made private: " + fmt::format("{}", fmt::join(words, ", ")),
           one_of(words))
      .standard("buffered");
  add_noise_options(table);
}

mechanisms::Factorization PrefixSumAlgorithm::factorization() const {
  for (const auto one : mechanisms::all_factorizations) {
    if (factorization_.value_or("buffered") == mechanisms::name(one)) return one;
  }
  throw Error{ErrorCode::internal, "a factorization without a name"};
}

std::function<CalibratedNoise()> PrefixSumAlgorithm::calibrated_sums(Factorization factorization, Count steps, const Target& target) {
  return [=]() -> CalibratedNoise {
    const auto found =
        calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, steps, z, target.adjacency); }, target);
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  };
}

}  // namespace surety::cli
