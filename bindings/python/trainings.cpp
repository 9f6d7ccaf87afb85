#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/units.h>
#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/jobs/train/chosen_text.h>
#include <surety/jobs/train/train_fields.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/train_steps.h>
#include <surety/jobs/train/trained_json.h>
#include <surety/jobs/train/trained_report.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/optimizers/models/model.h>

#include "calls.h"
#include "ledgers.h"
#include "models.h"
#include "plans.h"
#include "sources.h"
#include "texts.h"

namespace surety::python {
namespace {

using namespace nb::literals;

/// The fields that plans of trainings may have, each once, in the words of the first algorithm that knows it.
std::vector<FieldRow> training_fields() {
  std::vector<FieldRow> all;
  for (const auto& algorithm : jobs::all_algorithms()) {
    jobs::TrainFields fields{*algorithm};
    for (auto& row : rows_of(fields.table())) {
      const auto has_its_name = [&](const FieldRow& other) { return std::get<0>(other) == std::get<0>(row); };
      if (std::none_of(all.begin(), all.end(), has_its_name)) all.push_back(std::move(row));
    }
  }
  return all;
}

/// Names, what each is, and the keywords that it knows.
std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> training_algorithms() {
  std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> rows;
  for (const auto& algorithm : jobs::all_algorithms()) {
    jobs::TrainFields fields{*algorithm};
    std::vector<std::string> known;
    for (const auto& row : rows_of(fields.table())) known.push_back(std::get<0>(row));
    rows.emplace_back(algorithm->name(), algorithm->summary(), std::move(known));
  }
  return rows;
}

/// Whom a job asks whether it goes on, and tells how far it is: the signals and the progress of the call that it is in.
struct Listener {
  Signals* signals = nullptr;
  Progress* progress = nullptr;
  [[nodiscard]] bool is_called_off() const { return signals != nullptr && signals->are_raised(); }
  void tell(jobs::Phase phase, std::uint64_t done, std::uint64_t all) const {
    if (progress != nullptr) progress->tell(jobs::name(phase), done, all);
  }
};

/// Does `work()` without the interpreter's lock, which signals call off through `listener`, and tells `callable`, unless it is None.
template <class Work>
auto called_off_by_signals(Listener& listener, nb::handle callable, const Work& work) {
  Signals signals;
  Progress progress{callable, signals};
  if (signals.is_of_main_thread() || progress.is_wanted()) listener.signals = &signals;
  if (progress.is_wanted()) listener.progress = &progress;
  const auto done = [&] {
    struct Silence {
      Listener& listener;
      ~Silence() { listener = {}; }
    } const silence{listener};
    return in_order(work);
  };
  return with_signals(signals, done);
}

/// A job, with what it refers to.
struct PreparedTraining {
  std::unique_ptr<jobs::Alone> alone = std::make_unique<jobs::Alone>();
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();
  std::optional<jobs::TrainJob> job = std::nullopt;
};

/// A plan that was prepared, and can run again and again.
class PlannedTraining {
 public:
  PlannedTraining(PlannedTraining&&) = default;
  PlannedTraining(const PlannedTraining&) = delete;

  /// \param text a plan whose algorithm is named. \param chosen by the rule, if it was
  PlannedTraining(std::string_view text, jobs::FieldText chosen)
      : written_{std::make_unique<jobs::WrittenTraining>(jobs::read_train_plan(text, jobs::NamedRecords::or_given_later))},
        chosen_{std::move(chosen)} {
    require_said_unit(*written_, written_->plan.unit);
  }

  /// \param ledger whose budget a search looks at, if it is known
  void calibrate(PreparedTraining&& prepared, const std::shared_ptr<ChargedLedger>& ledger) {
    prepare(prepared, ledger);
    noise_ = prepared.job->calibrate();
    jobs::require_follows(*written_, *noise_);
    ready_ = std::move(prepared);
  }

  [[nodiscard]] const jobs::WrittenTraining& written() const { return *written_; }
  [[nodiscard]] const jobs::FieldText& chosen() const { return chosen_; }
  [[nodiscard]] const jobs::CalibratedNoise& noise() const { return noise_.value(); }
  [[nodiscard]] std::string text() const { return text_with(*written_, written_->plan.unit, noise().event, noise().value); }
  /// What runs next: the same again. \pre with the interpreter's lock, which keeps threads apart
  [[nodiscard]] PreparedTraining next() {
    if (ready_) return *std::exchange(ready_, std::nullopt);
    PreparedTraining made;
    unlocked([&] { in_order([&] { prepare(made, nullptr); }); });
    return made;
  }

 private:
  void prepare(PreparedTraining& prepared, const std::shared_ptr<ChargedLedger>& ledger) const {
    jobs::TrainContext context{.team = *prepared.alone, .print_name = keyword};
    context.run.should_stop = [listener = prepared.listener] { return listener->is_called_off(); };
    context.run.progress = [listener = prepared.listener](jobs::Phase phase, std::uint64_t done, std::uint64_t all) {
      listener->tell(phase, done, all);
    };
    if (ledger != nullptr) {
      context.budget_knows = [unit = written_->plan.unit, target = written_->plan.target, ledger](const Event& event) {
        try {
          ledger->ask({.event = event, .unit = unit, .promise = target, .note = "a search"});
        } catch (const Error& error) {
          return error.code() != ErrorCode::unsupported;
        }
        return true;
      };
    }
    prepared.job.emplace(written_->plan, context, written_->said);
  }

  std::unique_ptr<jobs::WrittenTraining> written_;
  jobs::FieldText chosen_;
  std::optional<PreparedTraining> ready_;  ///< of the run to come
  std::optional<jobs::CalibratedNoise> noise_;
};

/// The choice of an algorithm, or of the fields of one that is named, by the form and the number of rows of `source`, which stay there: what can be read once is read by the run.
jobs::ChosenText chosen_by(const std::string& text, Source* source) {
  const auto choose = [&](std::shared_ptr<jobs::GivenRows> rows) {
    return jobs::is_automatic(text) ? jobs::chosen_text(text, std::move(rows)) : jobs::ruled_text(text, std::move(rows));
  };
  if (source == nullptr) return choose(nullptr);
  auto records = source->take();
  if (std::holds_alternative<std::filesystem::path>(records)) {
    source->give_back(std::move(records));
    return choose(nullptr);
  }
  auto* const stream = std::get_if<data::ArrowStream>(&records);
  const auto rows = stream != nullptr ? std::make_shared<jobs::GivenRows>(std::move(*stream))
                                      : std::make_shared<jobs::GivenRows>(std::get<data::SparseMatrix>(std::move(records)));
  auto found = choose(rows);
  std::visit([&](auto taken) { source->give_back(std::move(taken)); }, rows->take());
  return found;
}

/// \param source what it will read, if it is known. \param progress None or a callable
PlannedTraining plan_training(const std::string& text, double epsilon, double delta, const std::string& adjacency, Source* source,
                              const std::optional<LedgerOfRun>& ledger, bool ledger_must_exist, nb::handle progress) {
  const auto book = ledger ? std::make_shared<ChargedLedger>(*ledger, ledger_must_exist) : nullptr;
  PreparedTraining prepared;
  const auto listener = prepared.listener;
  try {
    return called_off_by_signals(*listener, progress, [&] {
      static_cast<void>(Target{.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)});
      const auto found = [&] {
        const data::CalledOff may_be_called_off{[&] { return listener->is_called_off(); }};
        return chosen_by(text, source);
      }();
      PlannedTraining plan{found.text, found.chosen};
      plan.calibrate(std::move(prepared), book);
      return plan;
    });
  } catch (const Error&) {
    if (source != nullptr) source->rethrow();
    throw;
  }
}

/// What came of a run, and where it was charged.
struct ResultOfTraining {
  jobs::TrainedModel trained;
  std::string ledger;
  bool ledger_is_new;
  std::optional<std::string> model;  ///< the path of its file
  jobs::FieldText chosen;

  [[nodiscard]] std::string json() const {
    auto object = jobs::to_json(trained);
    if (model) object["model"] = *model;
    if (!chosen.empty()) object["chosen"] = chosen.plain();
    if (const auto& missing = trained.plan.source.reading.csv.missing; !missing.empty()) object["missing"] = missing;
    object["ledger"] = ledger;
    object["ledger_is_new"] = ledger_is_new;
    return report_text(std::move(object));
  }
  [[nodiscard]] std::string text() const {
    const auto place = (ledger.empty() ? "memory" : ledger) + ", run " + std::to_string(trained.run.value);
    return jobs::report_text(trained,
                             {.ledger = place, .model = model ? std::string_view{*model} : "in memory", .chosen = chosen.printed(keyword)});
  }
};

/// One run of a plan. It is done once.
class RunOfTraining final {
 public:
  RunOfTraining(PlannedTraining& plan, const LedgerOfRun& ledger, bool ledger_must_exist)
      : prepared_{plan.next()},
        replay_seed_{plan.written().replay_seed},
        note_{plan.written().note},
        model_{plan.written().model},
        chosen_{plan.chosen()},
        ledger_{ledger, ledger_must_exist} {}
  RunOfTraining(const RunOfTraining&) = delete;
  RunOfTraining& operator=(const RunOfTraining&) = delete;

  /// \param source nullptr: what the plan names. \param progress None or a callable
  ResultOfTraining go(Source* source, nb::handle progress) {
    if (!prepared_) invalid("the run is done already, must be done once");
    auto prepared = *std::exchange(prepared_, std::nullopt);
    try {
      return called_off_by_signals(*prepared.listener, progress, [&] {
        jobs::RunBits bits{replay_seed_};
        if (source != nullptr) give(*prepared.job, source->take());
        auto trained = Steps{*this, *prepared.job, bits}.trained();
        return ResultOfTraining{std::move(trained), ledger_.path(), ledger_.is_new(), model_, chosen_};
      });
    } catch (const Error&) {
      if (source != nullptr) source->rethrow();
      throw;
    }
  }
  /// Its number in the ledger, once it is charged.
  [[nodiscard]] std::optional<std::uint64_t> charged() const noexcept { return ledger_.charged(); }

 private:
  class Steps final : public jobs::TrainSteps {
   public:
    Steps(RunOfTraining& run, jobs::TrainJob& job, jobs::RunBits& bits) : TrainSteps{job, bits, run.note_}, run_{run} {}

    void ask(const accounting::Plan& charge) override { run_.ledger_.ask(charge); }
    void take_place() override {
      if (run_.model_) file_.emplace(*run_.model_, features(), plan().source.label);
    }
    accounting::Reservation reserve(const accounting::Plan& charge) override { return run_.ledger_.reserve(charge); }
    void write(const accounting::Reservation& reservation) override {
      if (file_) file_->commit(model(), reservation.time());
    }

   private:
    RunOfTraining& run_;
    std::optional<optimizers::ModelFile> file_;
  };

  static void give(jobs::TrainJob& job, Source::Records records) {
    if (auto* const path = std::get_if<std::filesystem::path>(&records)) {
      job.take_records(path->string());
    } else if (auto* const matrix = std::get_if<data::SparseMatrix>(&records)) {
      job.take_records(std::move(*matrix));
    } else {
      job.take_records(std::get<data::ArrowStream>(std::move(records)));
    }
  }

  std::optional<PreparedTraining> prepared_;
  std::optional<std::uint64_t> replay_seed_;
  std::string note_;
  std::optional<std::string> model_;
  jobs::FieldText chosen_;
  ChargedLedger ledger_;
};

}  // namespace

void add_trainings(nb::module_& module) {
  module.def("training_fields", [] { return unlocked(training_fields); });
  module.def("training_algorithms", [] { return unlocked(training_algorithms); });
  nb::class_<PlannedTraining>(module, "PlannedTraining", nb::is_final())
      .def("event", [](const PlannedTraining& plan) { return plan.noise().event; })
      .def("noise", [](const PlannedTraining& plan) { return plan.noise().value; })
      .def("epsilon",
           [](const PlannedTraining& plan) {
             const auto& cost = plan.noise().epsilon;
             return std::pair{cost.lower, cost.upper};
           })
      .def("unit", [](const PlannedTraining& plan) { return describe(plan.written().plan.unit); })
      .def("algorithm", [](const PlannedTraining& plan) { return std::string{plan.written().plan.algorithm_name()}; })
      .def("chosen", [](const PlannedTraining& plan) { return plan.chosen().printed(keyword); })
      .def("text", [](const PlannedTraining& plan) { return unlocked([&] { return plan.text(); }); });
  module.def("plan_training", &plan_training, "text"_a, "epsilon"_a, "delta"_a, "adjacency"_a, "source"_a.none(), "ledger"_a.none(),
             "ledger_must_exist"_a, "progress"_a.none());

  nb::class_<ResultOfTraining>(module, "ResultOfTraining", nb::is_final())
      .def("json", [](const ResultOfTraining& result) { return unlocked([&] { return result.json(); }); })
      .def("text", [](const ResultOfTraining& result) { return unlocked([&] { return result.text(); }); })
      .def("model", [](const ResultOfTraining& result) { return result.trained.model; })
      .def("run", [](const ResultOfTraining& result) { return result.trained.run.value; })
      .def("epsilon", [](const ResultOfTraining& result) {
        const auto& cost = result.trained.released.epsilon;
        return std::pair{cost.lower, cost.upper};
      });
  nb::class_<RunOfTraining>(module, "RunOfTraining", nb::is_final())
      .def("go", &RunOfTraining::go, "source"_a.none(), "progress"_a.none())
      .def("charged", &RunOfTraining::charged);
  module.def(
      "run_training",
      [](PlannedTraining& plan, const LedgerOfRun& ledger, bool must_exist) {
        return std::make_unique<RunOfTraining>(plan, ledger, must_exist);
      },
      "plan"_a, "ledger"_a, "must_exist"_a);
}

}  // namespace surety::python
