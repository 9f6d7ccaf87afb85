// Streams whose noise is Gaussian and on prefix sums.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/stream.h>

#include "on_stream.h"

namespace surety::cli {

/// Those that know --factorization.
class PrefixSumAlgorithm : public StreamAlgorithm {
 public:
  /// \param clip what holds without --clip
  PrefixSumAlgorithm(std::string_view name, std::string_view summary, std::string_view clip)
      : StreamAlgorithm{name, summary}, clip_{clip} {}

  void add_options(OptionTable& table, TrainOptions& shared) final;

 protected:
  using Factorization = mechanisms::Factorization;

  /// What no other one knows, of the problem and algorithm and of its noise.
  virtual void add_own_options(OptionTable& table) = 0;
  virtual void add_noise_options(OptionTable& /*table*/) {}
  [[nodiscard]] bool is_factorization_given() const { return factorization_.has_value(); }
  [[nodiscard]] Factorization factorization() const;
  /// The least noise on the sums of so many steps that keeps the promise.
  [[nodiscard]] static std::function<CalibratedNoise()> calibrated_sums(Factorization factorization, Count steps, const Target& target);

  /// `make(features)` returns the algorithm for that many features; `shape_of(features)` what it asks of its stream.
  template <class O, class Make, class ShapeOf>
  [[nodiscard]] std::unique_ptr<TrainingRun> on_sums(const TrainOptions& shared, const Source& source, const O& objective,
                                                     Factorization factorization, std::function<CalibratedNoise()> calibrate, Make make,
                                                     ShapeOf shape_of) const {
    return on_stream(
        shared, source,
        {.calibrate = std::move(calibrate),
         .run = [this, objective, factorization, make, shape_of](optimizers::RecordStream& records, Count features, double noise,
                                                                 accounting::Reservation& reservation, mechanisms::BitsRef bits) {
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

 private:
  std::string clip_;
  std::optional<std::string> factorization_;
};

}  // namespace surety::cli
