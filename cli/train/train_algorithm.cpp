#include "train_algorithm.h"

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>

#include "automatic.h"

namespace surety::cli {
namespace {

constexpr std::string_view mark_of_options = "--";

class FieldsOfAlgorithm final : public TrainAlgorithm {
 public:
  explicit FieldsOfAlgorithm(std::unique_ptr<jobs::Algorithm> its)
      : TrainAlgorithm{its->name(), its->summary()}, its_{std::move(its)}, own_{its_->standard()} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    jobs::FieldTable fields;
    its_->add_fields(fields, own_, shared.plan);
    add_fields(table, fields);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> refusals() const override {
    auto all = its_->refusals();
    for (auto& [field, reason] : all) {
      field = "--" + field;
      reason = jobs::with_marks(reason, mark_of_options);
    }
    return all;
  }
  [[nodiscard]] const jobs::Algorithm* its() const override { return its_.get(); }
  [[nodiscard]] jobs::AlgorithmPlan own() const override { return own_; }

 private:
  std::unique_ptr<jobs::Algorithm> its_;
  jobs::AlgorithmPlan own_;
};

}  // namespace

std::vector<std::unique_ptr<TrainAlgorithm>> all_train_algorithms() {
  std::vector<std::unique_ptr<TrainAlgorithm>> all;
  all.push_back(automatic_algorithm());
  for (auto& its : jobs::all_algorithms()) all.push_back(std::make_unique<FieldsOfAlgorithm>(std::move(its)));
  return all;
}

}  // namespace surety::cli
