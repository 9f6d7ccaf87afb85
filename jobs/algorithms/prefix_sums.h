// Streams whose noise is Gaussian and on prefix sums.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <surety/jobs/algorithms/on_stream.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::jobs {

/// `factorization`, behind which stand other fields of the noise.
void add_factorization(FieldTable& table, PrefixSumPlan& own);
[[nodiscard]] mechanisms::Factorization factorization_of(const PrefixSumPlan& own);
/// The least noise on the sums of so many steps that keeps the promise.
[[nodiscard]] std::function<CalibratedNoise()> calibrated_sums(mechanisms::Factorization factorization, Count steps, const Target& target);

/// `make(features)` returns the algorithm for that many features; `shape_of(features)` what it asks of its stream.
template <class O, class Make, class ShapeOf>
[[nodiscard]] std::unique_ptr<TrainingRun> on_sums(const PrefixSumPlan& own, const TrainPlan& shared, const TrainContext& context,
                                                   const O& objective, mechanisms::Factorization factorization,
                                                   std::function<CalibratedNoise()> calibrate, Make make, ShapeOf shape_of) {
  return on_stream(own, shared,
                   {.calibrate = std::move(calibrate),
                    .run = [feed = Feed{own, context}, objective, factorization, make, shape_of](
                               optimizers::RecordStream& records, Count features, double noise, accounting::Reservation& reservation,
                               mechanisms::BitsRef bits) {
                      const optimizers::StreamShape<> shape = shape_of(features);
                      const NoiseMultiplier multiplier{noise};
                      mechanisms::GaussianContinualSum sum{
                          {.factorization = factorization,
                           .steps = shape.steps,
                           .dimension = shape.dimension,
                           .sensitivity = shape.sensitivity,
                           .multiplier = multiplier,
                           .grid = mechanisms::continual_grid(factorization, shape.steps, shape.sensitivity, multiplier),
                           .adjacency = shape.adjacency}};
                      optimizers::NoisyStream stream{reservation, bits, std::move(sum), shape.sensitivity};
                      return feed(objective, records, make(features), stream);
                    }});
}

}  // namespace surety::jobs
