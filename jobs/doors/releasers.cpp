#include <surety/jobs/doors/releasers.h>

#include <type_traits>
#include <utility>
#include <variant>

#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/doors/vector_releaser.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using accounting::Reservation;
using mechanisms::BitsRef;

class NoisyReleasers final : public ReleaserMaker {
 public:
  std::unique_ptr<Releaser> gaussian(Reservation& reservation, BitsRef bits) override {
    return std::make_unique<NoisyReleaser>(reservation, bits);
  }
  std::unique_ptr<Releaser> of_vector(Reservation& reservation, BitsRef bits) override {
    return std::make_unique<NoisyVectorReleaser>(reservation, bits);
  }
  std::unique_ptr<Releaser> of_batches(Reservation& reservation, BitsRef bits, const BatchPass& pass) override {
    return std::make_unique<NoisyBatchReleaser>(reservation, bits, pass);
  }
  std::unique_ptr<Releaser> of_run(NoiseMultiplier run, Adjacency adjacency, BitsRef bits) override {
    return std::make_unique<RunReleaser>(run, adjacency, bits);
  }
  std::unique_ptr<Releaser> of_score(const Reservation& training, BitsRef bits) override {
    return std::make_unique<ScoreReleaser>(training, bits);
  }
  std::unique_ptr<SamplingReleaser> sampling(Reservation& reservation, BitsRef bits, const AnySampler& sampler) override {
    return std::visit(
        [&](const auto& its) -> std::unique_ptr<SamplingReleaser> {
          using Sampler = std::decay_t<decltype(its)>;
          if constexpr (std::is_same_v<Sampler, mechanisms::Allocation>) {
            return std::make_unique<NoisyEpochReleaser>(reservation, bits, its);
          } else {
            return std::make_unique<NoisySamplingReleaser<Sampler>>(reservation, bits, its);
          }
        },
        sampler);
  }
  std::unique_ptr<PerturbingReleaser> perturbing(Reservation& reservation, BitsRef bits) override {
    return std::make_unique<NoisyPerturbingReleaser>(reservation, bits);
  }
  std::unique_ptr<LastIterateReleaser> of_last_iterate(Reservation& reservation, BitsRef bits) override {
    return std::make_unique<NoisyLastIterateReleaser>(reservation, bits);
  }
  std::unique_ptr<LearnerReleaser> of_learners(Reservation& reservation, LearnerBits& bits) override {
    return std::make_unique<NoisyLearnerReleaser>(reservation, bits);
  }
  std::unique_ptr<LearnerReleaser> of_learners(ChargedByFirstNode owner, LearnerBits& bits) override {
    return std::make_unique<NoisyLearnerReleaser>(owner, bits);
  }
  std::unique_ptr<Selector> selector(Reservation& reservation, BitsRef bits) override {
    return std::make_unique<NoisySelector>(reservation, bits);
  }
  std::unique_ptr<StreamReleaser<>> of_stream(Reservation& reservation, BitsRef bits, mechanisms::GaussianContinualSum sum,
                                              L2Sensitivity sensitivity) override {
    return std::make_unique<NoisyStream<mechanisms::GaussianContinualSum>>(reservation, bits, std::move(sum), sensitivity);
  }
};

}  // namespace

ReleaserMaker& releasers() {
  static NoisyReleasers noisy;
  return noisy;
}

}  // namespace surety::jobs
