// The doors of a run, and the one place where they are made.
//
// A job asks `releasers()` for each door that it opens, and makes none itself. Tests put a maker of their own in the place of this one, whose
// doors hold those that are made here and keep what passes; the linker does it between objects, and this library knows no way to do it.
#pragma once

#include <memory>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/last_iterate_releaser.h>
#include <surety/optimizers/doors/learner_releaser.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>

namespace surety::jobs {

/// Makes doors, each as the class of `optimizers` does that it names. Reservation and bits must outlive what is made of them.
class ReleaserMaker {
 public:
  virtual ~ReleaserMaker() = default;

  /// NoisyReleaser.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Releaser> gaussian(accounting::Reservation& reservation, mechanisms::BitsRef bits) = 0;
  /// NoisyVectorReleaser.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Releaser> of_vector(accounting::Reservation& reservation, mechanisms::BitsRef bits) = 0;
  /// NoisyBatchReleaser.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Releaser> of_batches(accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                                                         const optimizers::BatchPass& pass) = 0;
  /// RunReleaser: charged by its search.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Releaser> of_run(NoiseMultiplier run, Adjacency adjacency,
                                                                     mechanisms::BitsRef bits) = 0;
  /// ScoreReleaser: within the charge of `training`.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Releaser> of_score(const accounting::Reservation& training,
                                                                       mechanisms::BitsRef bits) = 0;
  /// NoisyEpochReleaser for an allocation, NoisySamplingReleaser for the others.
  [[nodiscard]] virtual std::unique_ptr<optimizers::SamplingReleaser> sampling(accounting::Reservation& reservation,
                                                                               mechanisms::BitsRef bits,
                                                                               const optimizers::AnySampler& sampler) = 0;
  /// NoisyPerturbingReleaser.
  [[nodiscard]] virtual std::unique_ptr<optimizers::PerturbingReleaser> perturbing(accounting::Reservation& reservation,
                                                                                   mechanisms::BitsRef bits) = 0;
  /// NoisyLastIterateReleaser.
  [[nodiscard]] virtual std::unique_ptr<optimizers::LastIterateReleaser> of_last_iterate(accounting::Reservation& reservation,
                                                                                         mechanisms::BitsRef bits) = 0;
  /// NoisyLearnerReleaser, which the learners' bits must outlive.
  [[nodiscard]] virtual std::unique_ptr<optimizers::LearnerReleaser> of_learners(accounting::Reservation& reservation,
                                                                                 optimizers::LearnerBits& bits) = 0;
  [[nodiscard]] virtual std::unique_ptr<optimizers::LearnerReleaser> of_learners(optimizers::ChargedByFirstNode owner,
                                                                                 optimizers::LearnerBits& bits) = 0;
  /// NoisySelector.
  [[nodiscard]] virtual std::unique_ptr<optimizers::Selector> selector(accounting::Reservation& reservation, mechanisms::BitsRef bits) = 0;
  /// NoisyStream.
  [[nodiscard]] virtual std::unique_ptr<optimizers::StreamReleaser<>> of_stream(accounting::Reservation& reservation,
                                                                                mechanisms::BitsRef bits,
                                                                                mechanisms::GaussianContinualSum sum,
                                                                                L2Sensitivity sensitivity) = 0;
};

/// The maker of all doors of this library's jobs.
[[nodiscard]] ReleaserMaker& releasers();

}  // namespace surety::jobs
