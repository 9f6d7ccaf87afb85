// The steps of a training, wherever its ledger is and whatever becomes of its model.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <surety/jobs/run/order.h>
#include <surety/jobs/train/train_job.h>

namespace surety::jobs {

class TrainSteps : public RunSteps {
 public:
  [[nodiscard]] accounting::Plan calibrate() final {
    noise_ = job_.calibrate().value;
    return job_.charge(bits_.not_private(), note_);
  }
  void read() final {
    features_ = &job_.read(noise_, bits_);
    job_.context().require_going_on();
  }
  void release(accounting::Reservation& reservation) final {
    auto weights = job_.learn(noise_, &reservation, bits_);
    trained_.emplace(job_.trained(job_.model(std::move(weights), bits_.not_private()), reservation));
  }

  /// All of them. \throws as `run_in_order`
  [[nodiscard]] TrainedModel trained() && {
    run_in_order(*this);
    return *std::move(trained_);
  }

 protected:
  /// Whatever is referred to outlives this. \param note for the ledger, in the place of the algorithm's name
  TrainSteps(TrainJob& job, RunBits& bits, const std::string& note) : job_{job}, bits_{bits}, note_{note} {}

  /// \pre `read` was called
  [[nodiscard]] const data::FeatureMap& features() const { return *features_; }
  [[nodiscard]] const TrainPlan& plan() const { return job_.plan(); }
  /// \pre `release` was called
  [[nodiscard]] const optimizers::Model& model() const { return trained_->model; }

 private:
  TrainJob& job_;
  RunBits& bits_;
  const std::string& note_;
  double noise_ = 0;
  const data::FeatureMap* features_ = nullptr;
  std::optional<TrainedModel> trained_;
};

}  // namespace surety::jobs
