#include <surety/jobs/algorithms/prefix_sums.h>

#include <fmt/ranges.h>

#include <surety/accounting/calibration/calibrate.h>

namespace surety::jobs {

using mechanisms::Factorization;

void add_factorization(FieldTable& table, PrefixSumPlan& own) {
  table.group("Privacy");
  std::vector<std::string> words;
  for (const auto one : mechanisms::all_factorizations) words.emplace_back(mechanisms::name(one));
  auto help = "How prefix sums are made private: " + fmt::format("{}", fmt::join(words, ", "));
  table.add("factorization", own.factorization, std::move(help), OneOfWords{std::move(words)}).standard("buffered");
}

Factorization factorization_of(const PrefixSumPlan& own) {
  const std::string said = own.factorization.value_or("buffered");
  for (const auto one : mechanisms::all_factorizations) {
    if (said == mechanisms::name(one)) return one;
  }
  refuse_plan("@factorization is '{}', must be the name of one", one_line(said));
}

std::function<CalibratedNoise()> calibrated_sums(Factorization factorization, Count steps, const Target& target) {
  return [=]() -> CalibratedNoise {
    const auto found =
        calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, steps, z, target.adjacency); }, target);
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  };
}

}  // namespace surety::jobs
