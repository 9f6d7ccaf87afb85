// Jobs and models from C.
#include <surety.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/arrow/arrow_table.h>
#include <surety/jobs/plans/written_plan.h>
#include <surety/jobs/predict/predictions.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/released_statistics.h>
#include <surety/jobs/release/released_table.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/run/prepared.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/optimizers/models/model.h>

#include "calls.h"
#include "runs.h"

namespace surety::c {

/// A training that can run again and again.
class Training {
 public:
  explicit Training(std::string_view json) : written_{jobs::read_train_plan(json, jobs::NamedRecords::or_given_later)} {
    prepare(false);
    noise_ = job_->calibrate();
    jobs::require_follows(written_, noise_.value());
  }

  [[nodiscard]] accounting::Plan charge() const {
    return {.event = noise_->event, .unit = written_.plan.unit, .promise = written_.plan.target};
  }
  [[nodiscard]] double noise() const { return noise_->value; }
  [[nodiscard]] const Enclosure& epsilon() const { return noise_->epsilon; }
  [[nodiscard]] const std::optional<std::uint64_t>& replay_seed() const noexcept { return written_.replay_seed; }

  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return written_.notes; }
  static constexpr const char* command = "train";
  using Result = jobs::TrainedModel;

  /// \param path nullptr: the plan's own
  [[nodiscard]] Result run(const char* path, accounting::Ledger& ledger, jobs::RunBits& bits, const surety_run_options& options) {
    auto job = next(options);
    if (path != nullptr) job.take_records(path);
    return jobs::run(std::move(job), ledger, bits, written_.note);
  }
  [[nodiscard]] Result run(data::ArrowStream rows, accounting::Ledger& ledger, jobs::RunBits& bits, const surety_run_options& options) {
    auto job = next(options);
    job.take_records(std::move(rows));
    return jobs::run(std::move(job), ledger, bits, written_.note);
  }

 private:
  jobs::TrainJob next(const surety_run_options& options) {
    if (!job_ || options.should_stop != nullptr) prepare(options.should_stop != nullptr);
    listener_->options = options;
    auto job = std::move(*job_);
    job_.reset();
    return job;
  }
  /// \param may_stop whether the run may be called off. What calibrates for `surety_job_prepare` is called off by the thread's limit alone.
  void prepare(bool may_stop) {
    listener_ = std::make_shared<Listener>();
    auto context = listener_->context();
    if (!may_stop) context.should_stop = {};
    job_.emplace(written_.plan, jobs::TrainContext{.team = *alone_, .run = std::move(context)}, written_.said);
  }

  jobs::WrittenTraining written_;
  std::unique_ptr<jobs::Alone> alone_ = std::make_unique<jobs::Alone>();
  std::shared_ptr<Listener> listener_;  ///< of the run to come
  std::optional<jobs::TrainJob> job_;
  std::optional<jobs::CalibratedNoise> noise_;
};

/// A release of statistics that can run again and again.
class Releasing {
 public:
  explicit Releasing(std::string_view json) : written_{jobs::read_release_plan(json)}, job_{std::in_place, written_.plan} {
    charge_ = job_->charge(written_.replay_seed.has_value());
    cost_ = job_->cost();
    jobs::require_follows(written_, *cost_);
  }

  [[nodiscard]] const accounting::Plan& charge() const { return *charge_; }
  [[nodiscard]] double noise() const { return cost_->value; }
  [[nodiscard]] const Enclosure& epsilon() const { return cost_->epsilon; }
  [[nodiscard]] const std::optional<std::uint64_t>& replay_seed() const noexcept { return written_.replay_seed; }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return written_.notes; }
  static constexpr const char* command = "release";
  using Result = jobs::ReleasedStatistics;

  /// \param path nullptr: the plan's own
  [[nodiscard]] Result run(const char* path, accounting::Ledger& ledger, jobs::RunBits& bits, const surety_run_options& options) {
    if (path == nullptr && !written_.data) invalid("data is missing, must name the records, or others must be given");
    const Listener listener{options};
    return jobs::run(next(), path != nullptr ? path : *written_.data, ledger, {.bits = bits.source(), .not_private = bits.not_private()},
                     listener.context());
  }
  [[nodiscard]] Result run(data::ArrowStream rows, accounting::Ledger& ledger, jobs::RunBits& bits, const surety_run_options& options) {
    const Listener listener{options};
    return jobs::run(next(), std::move(rows), ledger, {.bits = bits.source(), .not_private = bits.not_private()}, listener.context());
  }

 private:
  jobs::ReleaseJob next() {
    if (!job_) job_.emplace(written_.plan);
    auto job = std::move(*job_);
    job_.reset();
    return job;
  }

  jobs::WrittenRelease written_;
  std::optional<jobs::ReleaseJob> job_;  ///< of the run to come
  std::optional<accounting::Plan> charge_;
  std::optional<Solution> cost_;
};

using AnyJob = std::variant<Training, Releasing>;

}  // namespace surety::c

struct surety_job {
  surety::HomeProcess home;
  surety::c::AnyJob job;
};
struct surety_model {
  surety::optimizers::Model model;
};

namespace surety::c {
namespace {

/// What all runs have in common. \param run of the job, which is a Training or a Releasing
template <class Run>
void run_job(surety_job* job, surety_ledger* ledger, const surety_run_options* options, surety_result** result, const Run& run) {
  given(result, "result");
  auto& known = given(job, "job");
  known.home.require_here("a job");
  auto& book = given(ledger, "ledger").ledger;
  const auto asked = options_of(options);
  *result = std::visit(
      [&](auto& own) {
        BitsOfRun bits{asked.bits, own.replay_seed()};
        return handed_over(new surety_result{run(own, book, bits.bits(), asked)});
      },
      known.job);
}

/// The weights, and what each is of.
data::ArrowTable table_of(const jobs::TrainedModel& trained) {
  const auto& model = trained.model;
  data::ArrowTable table;
  auto& columns = table.texts("column");
  auto& categories = table.texts("category");
  auto& classes = table.texts("class");
  auto& weights = table.numbers("weight");
  const auto names = data::feature_names(model.features);
  for (std::size_t k = 0; k < model.weights.size(); ++k) {
    const auto& name = names[k % names.size()];
    columns.push_back(name.column);
    categories.push_back(name.category);
    classes.push_back(model.classes() > 1 ? std::optional{model.label->classes[k / names.size()]} : std::nullopt);
    weights.push_back(model.weights[k]);
  }
  return table;
}

/// Tells the caller what `model` says.
class Teller {
 public:
  Teller(const optimizers::Model& model, surety_prediction say, void* context)
      : model_{model}, say_{say}, context_{context}, nothing_(model.classes(), std::numeric_limits<double>::quiet_NaN()) {
    if (say == nullptr) invalid("say is NULL, must be given");
  }

  void operator()(std::span<const double> scores) const {
    const auto numbers = scores.empty() ? nothing_ : jobs::predictions(model_, scores);
    if (called_back(say_, context_, numbers.data(), numbers.size()) != 0) throw Error{ErrorCode::stopped, "predictions were called off"};
  }

 private:
  const optimizers::Model& model_;
  surety_prediction say_;
  void* context_;
  std::vector<double> nothing_;
};

template <class Question>
auto asked_of(const surety_job& job, const Question& question) {
  return std::visit(question, job.job);
}

constexpr const char* fate_of_damaged = "their numbers are NaN";

}  // namespace
}  // namespace surety::c

using namespace surety;
using namespace surety::c;

SURETY_API surety_code surety_job_prepare(const char* json, size_t length, surety_job** job, surety_failure** failure) {
  return asked(failure, [&] {
    given(job, "job");
    const auto text = text_of(json, length, "json");
    *job = handed_over(jobs::command_of(text) == Training::command
                           ? new surety_job{HomeProcess{}, AnyJob{std::in_place_type<Training>, text}}
                           : new surety_job{HomeProcess{}, AnyJob{std::in_place_type<Releasing>, text}});
  });
}
SURETY_API void surety_job_free(surety_job* job) {
  const WatchedCall watched;
  delete job;
}
SURETY_API surety_code surety_job_event(const surety_job* job, surety_event** event, surety_failure** failure) {
  return guarded(failure, [&] {
    given(event, "event");
    *event = handed_over(new surety_event{asked_of(given(job, "job"), [](const auto& own) { return own.charge().event; })});
  });
}
SURETY_API double surety_job_noise(const surety_job* job) {
  return job == nullptr ? std::numeric_limits<double>::quiet_NaN() : asked_of(*job, [](const auto& own) { return own.noise(); });
}
SURETY_API surety_code surety_job_cost(const surety_job* job, surety_enclosure* epsilon, double* delta, surety_failure** failure) {
  return guarded(failure, [&] {
    const auto& known = given(job, "job");
    given(epsilon, "epsilon") = for_c(asked_of(known, [](const auto& own) { return own.epsilon(); }));
    if (delta != nullptr) *delta = asked_of(known, [](const auto& own) { return own.charge().promise->delta.value(); });
  });
}
SURETY_API surety_code surety_job_json(const surety_job* job, char** json, size_t* length, surety_failure** failure) {
  return guarded(failure, [&] {
    given(json, "json");
    const auto text = asked_of(given(job, "job"), [](const auto& own) {
      return jobs::prepared_json_text(own.command, own.charge(), own.noise(), own.epsilon(), own.notes());
    });
    give_text(text, json, length);
  });
}

SURETY_API surety_code surety_job_run(surety_job* job, const char* path, surety_ledger* ledger, const surety_run_options* options,
                                      surety_result** result, surety_failure** failure) {
  return guarded(failure, [&] {
    if (path != nullptr && *path == 0) invalid("path is empty, must name a file");
    run_job(job, ledger, options, result,
            [&](auto& own, auto& book, auto& bits, const auto& asked) { return AnyResult{own.run(path, book, bits, asked)}; });
  });
}
SURETY_API surety_code surety_job_run_arrow(surety_job* job, struct ArrowArrayStream* records, surety_ledger* ledger,
                                            const surety_run_options* options, surety_result** result, surety_failure** failure) {
  ArrowTaken taken{records};
  return guarded(failure, [&] {
    auto rows = taken.stream("records");
    run_job(job, ledger, options, result,
            [&](auto& own, auto& book, auto& bits, const auto& asked) { return AnyResult{own.run(std::move(rows), book, bits, asked)}; });
  });
}
SURETY_API void surety_result_free(surety_result* result) {
  const WatchedCall watched;
  delete result;
}
SURETY_API surety_code surety_result_json(const surety_result* result, char** json, size_t* length, surety_failure** failure) {
  return guarded(failure, [&] {
    given(json, "json");
    give_text(std::visit([](const auto& own) { return json_text(own); }, given(result, "result").result), json, length);
  });
}
SURETY_API surety_code surety_result_arrow(const surety_result* result, struct ArrowArrayStream* stream, surety_failure** failure) {
  return guarded(failure, [&] {
    given(stream, "stream");
    std::visit([](const auto& own) { return table_of(own); }, given(result, "result").result).give(stream);
  });
}
SURETY_API surety_code surety_result_model(const surety_result* result, surety_model** model, surety_failure** failure) {
  return guarded(failure, [&] {
    given(model, "model");
    const auto* const trained = std::get_if<jobs::TrainedModel>(&given(result, "result").result);
    if (trained == nullptr) invalid("result is of a release, must be of a training");
    *model = handed_over(new surety_model{trained->model});
  });
}

SURETY_API surety_code surety_model_load(const char* path, surety_model** model, surety_failure** failure) {
  return guarded(failure, [&] {
    given(model, "model");
    *model = handed_over(new surety_model{optimizers::read_model(&given(path, "path"))});
  });
}
SURETY_API surety_code surety_model_parse(const char* text, size_t length, surety_model** model, surety_failure** failure) {
  return guarded(failure, [&] {
    given(model, "model");
    *model = handed_over(new surety_model{optimizers::parse_model(text_of(text, length, "text"), "the text of the model")});
  });
}
SURETY_API void surety_model_free(surety_model* model) {
  const WatchedCall watched;
  delete model;
}
SURETY_API surety_code surety_model_save(const surety_model* model, const char* path, surety_failure** failure) {
  return guarded(failure, [&] {
    const auto& known = given(model, "model").model;
    optimizers::ModelFile{&given(path, "path"), known.features, known.label}.commit(known);
  });
}
SURETY_API surety_code surety_model_json(const surety_model* model, char** json, size_t* length, surety_failure** failure) {
  return guarded(failure, [&] {
    given(json, "json");
    auto text = optimizers::write_model(given(model, "model").model);
    if (text.ends_with('\n')) text.pop_back();
    give_text(text, json, length);
  });
}
SURETY_API surety_code surety_model_predict(const surety_model* model, const char* path, surety_prediction say, void* context,
                                            surety_failure** failure) {
  return guarded(failure, [&] {
    const auto& known = given(model, "model").model;
    const Teller tell{known, say, context};
    jobs::predict_each(known, &given(path, "path"), {}, tell).require_undamaged(fate_of_damaged);
  });
}
SURETY_API surety_code surety_model_predict_arrow(const surety_model* model, struct ArrowArrayStream* records, surety_prediction say,
                                                  void* context, surety_failure** failure) {
  ArrowTaken taken{records};
  return guarded(failure, [&] {
    const auto& known = given(model, "model").model;
    const Teller tell{known, say, context};
    jobs::predict_each(known, taken.stream("records"), tell).require_undamaged(fate_of_damaged);
  });
}
