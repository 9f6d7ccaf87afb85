// Streams whose noise is Gaussian and on prefix sums.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <surety/jobs/algorithms/on_stream.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::jobs {

/// `factorization`, behind which stand other fields of the noise.
void add_factorization(FieldTable& table, PrefixSumPlan& own);
[[nodiscard]] mechanisms::Factorization factorization_of(const PrefixSumPlan& own);

/// On noisy prefix sums of a stream: `learn_on` learns from records that it feeds.
class SumsRun : public StreamRun {
 public:
  [[nodiscard]] CalibratedNoise calibrate() override;

 protected:
  using Stream = optimizers::StreamReleaser<>;

  SumsRun(const PrefixSumPlan& own, const TrainPlan& shared, const TrainContext& context, mechanisms::Factorization factorization,
          CountNeeds needs = {})
      : StreamRun{own, shared, context, std::move(needs)}, factorization_{factorization}, steps_{own.steps.value()} {}

  [[nodiscard]] Count steps() const { return steps_; }
  [[nodiscard]] virtual optimizers::StreamShape<> shape_of_stream() const = 0;
  [[nodiscard]] virtual std::vector<double> learn_on(Stream& stream) = 0;
  [[nodiscard]] std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) final;

 private:
  mechanisms::Factorization factorization_;
  Count steps_;
};

/// One whose options say the shape, and whose algorithm is make(features).
template <class O, class Options, class Make>
class SumsOf : public SumsRun {
 public:
  SumsOf(const PrefixSumPlan& own, const TrainPlan& shared, const TrainContext& context, mechanisms::Factorization factorization,
         O objective, Options settings, Make make, CountNeeds needs = {})
      : SumsRun{own, shared, context, factorization, std::move(needs)},
        objective_{std::move(objective)},
        settings_{std::move(settings)},
        make_{std::move(make)} {}

 private:
  [[nodiscard]] optimizers::StreamShape<> shape_of_stream() const final { return shape(settings_, features()); }
  [[nodiscard]] std::vector<double> learn_on(Stream& stream) final { return feed(objective_, make_(features()), stream); }

  O objective_;
  Options settings_;
  Make make_;
};
template <class O, class Options, class Make>
[[nodiscard]] std::unique_ptr<TrainingRun> on_sums(const PrefixSumPlan& own, const TrainPlan& shared, const TrainContext& context,
                                                   mechanisms::Factorization factorization, const O& objective, const Options& settings,
                                                   Make make) {
  return std::make_unique<SumsOf<O, Options, Make>>(own, shared, context, factorization, objective, settings, std::move(make));
}

}  // namespace surety::jobs
