#include <surety/jobs/algorithms/prefix_sums.h>
#include <surety/jobs/doors/releasers.h>

#include <fmt/ranges.h>

#include <surety/jobs/plans/factorization_choice.h>

namespace surety::jobs {

using mechanisms::Factorization;

void add_factorization(FieldTable& table, PrefixSumPlan& own) {
  table.group("Privacy");
  table
      .add("factorization", own.factorization,
           fmt::format("How prefix sums are made private: {}", fmt::join(names_of<Factorization>(), ", ")))
      .standard("buffered");
}

Factorization factorization_of(const PrefixSumPlan& own) { return own.factorization.value_or(Factorization::buffered); }

CalibratedNoise SumsRun::calibrate() {
  return calibrated(
      [&](NoiseMultiplier z) {
        return usable_count().with_count(mechanisms::continual_event(factorization_, steps_, z, target().adjacency));
      },
      target());
}

std::vector<double> SumsRun::learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) {
  const auto its = shape_of_stream();
  const NoiseMultiplier multiplier{noise};
  mechanisms::GaussianContinualSum sum{{.factorization = factorization_,
                                        .steps = its.steps,
                                        .dimension = its.dimension,
                                        .sensitivity = its.sensitivity,
                                        .multiplier = multiplier,
                                        .grid = mechanisms::continual_grid(factorization_, its.steps, its.sensitivity, multiplier),
                                        .adjacency = its.adjacency}};
  const auto stream = releasers().of_stream(reservation, bits, std::move(sum), its.sensitivity);
  return learn_on(*stream);
}

}  // namespace surety::jobs
