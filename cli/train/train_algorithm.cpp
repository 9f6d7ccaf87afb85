#include "train_algorithm.h"

#include <variant>

#include <surety/accounting/numbers/overload.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>

#include "automatic.h"

namespace surety::cli {
namespace {

constexpr std::string_view mark_of_options = "--";

Check check_of(const jobs::Constraint& constraint) {
  return std::visit(Overload{[](const jobs::AnyText&) -> Check { return {}; }, [](const jobs::AnyNumber&) { return number(); },
                             [](const jobs::WholeNumber& its) { return whole_number(its.least, its.most); },
                             [](const jobs::OneOfWords& its) { return one_of(its.words); }},
                    constraint);
}

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

void add_fields(OptionTable& table, const jobs::FieldTable& fields) {
  for (const auto& group : fields.groups()) {
    table.group(group.heading);
    for (const auto& field : group.fields) {
      const auto add = [&](auto* value) {
        auto& option =
            table.add("--" + field.name(), *value, jobs::with_marks(field.help(), mark_of_options), check_of(field.constraint()));
        if (field.standard()) option.standard(jobs::with_marks(*field.standard(), mark_of_options));
      };
      std::visit(add, field.value());
    }
  }
}

std::vector<std::unique_ptr<TrainAlgorithm>> all_train_algorithms() {
  std::vector<std::unique_ptr<TrainAlgorithm>> all;
  all.push_back(automatic_algorithm());
  for (auto& its : jobs::all_algorithms()) all.push_back(std::make_unique<FieldsOfAlgorithm>(std::move(its)));
  return all;
}

}  // namespace surety::cli
