#include "releases.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/text/error.h>
#include <surety/jobs/release/accuracy.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/release_steps.h>
#include <surety/jobs/release/released_json.h>
#include <surety/jobs/release/released_table.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/run/run_bits.h>

#include "calls.h"
#include "plans.h"
#include "sources.h"
#include "texts.h"

namespace surety::python {
namespace {

using namespace nb::literals;

/// The fields that a plan of a release may have.
std::vector<FieldRow> release_fields() {
  jobs::ReleaseFields fields;
  return rows_of(fields.table());
}

}  // namespace

PlannedRelease::PlannedRelease(std::string_view text, double epsilon, double delta, const std::string& adjacency) {
  static_cast<void>(Target{.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)});
  written_ = jobs::read_release_plan(text);
  require_said_unit(*written_, written_->plan.unit);
}

void PlannedRelease::calibrate(const jobs::RunContext& context) {
  job_.emplace(written_->plan, context);
  cost_ = job_->cost();
  jobs::require_follows(*written_, *cost_);
}

jobs::ReleaseJob PlannedRelease::next() {
  if (job_) return *std::exchange(job_, std::nullopt);
  return unlocked([this] { return in_order([this] { return jobs::ReleaseJob{written_->plan}; }); });
}

namespace {

/// \param source what it will read, if it is known: whether its columns are there is said before seconds of calibration
/// \param progress None or a callable
PlannedRelease plan_release(const std::string& text, double epsilon, double delta, const std::string& adjacency, const Source* source,
                            nb::handle progress) {
  const auto planned = [&](const jobs::RunContext& context) {
    PlannedRelease plan{text, epsilon, delta, adjacency};
    if (source != nullptr) {
      of_table(source->records(), [&](const auto& records) { jobs::require_columns(plan.written().plan, records); });
    }
    plan.calibrate(context);
    return plan;
  };
  return called_off_by_signals(planned, progress);
}

/// The epsilon of the plan in this text, whose epsilon is not read. \throws as `jobs::epsilon_for`
double epsilon_for(const std::string& text, double error) {
  return called_off_by_signals([&](const jobs::RunContext& context) {
    const auto written = jobs::read_release_plan(text);
    require_said_unit(written, written.plan.unit);
    if (!(error > 0)) invalid(fmt::format("error is {}, must be greater than 0", error));
    return jobs::epsilon_for(written.plan, {.error = error, .confidence = written.plan.confidence}, context).value();
  });
}

/// One run of a plan. It is done once.
class RunOfRelease final {
 public:
  RunOfRelease(PlannedRelease& plan, const LedgerOfRun& ledger, bool ledger_must_exist)
      : job_{plan.next()}, replay_seed_{plan.written().replay_seed}, ledger_{ledger, ledger_must_exist} {}

  RunOfRelease(const RunOfRelease&) = delete;
  RunOfRelease& operator=(const RunOfRelease&) = delete;

  /// \param progress None or a callable
  ResultOfRelease go(Source& source, nb::handle progress) {
    if (!job_) invalid("the run is done already, must be done once");
    try {
      const auto run = [&](const jobs::RunContext& context) {
        jobs::RunBits bits{replay_seed_};
        Steps steps{*this, source.take(), {.bits = bits.source(), .not_private = bits.not_private()}, context};
        auto released = std::move(steps).released();
        return ResultOfRelease{std::move(released), ledger_.path(), ledger_.is_new()};
      };
      return called_off_by_signals(run, progress);
    } catch (const Error&) {
      source.rethrow();
      throw;
    }
  }

  /// Its number in the ledger, once it is charged.
  [[nodiscard]] std::optional<std::uint64_t> charged() const noexcept { return ledger_.charged(); }

 private:
  class Steps final : public jobs::ReleaseSteps {
   public:
    Steps(RunOfRelease& run, Source::Records records, const jobs::Bits& bits, const jobs::RunContext& context)
        : ReleaseSteps{*std::exchange(run.job_, std::nullopt), bits, context}, run_{run}, records_{std::move(records)} {}

    void ask(const accounting::Plan& charge) override { run_.ledger_.ask(charge); }
    accounting::Reservation reserve(const accounting::Plan& charge) override { return run_.ledger_.reserve(charge); }

   private:
    jobs::ReadStatistics read_by(jobs::ReleaseJob job) override {
      return of_table(std::move(records_), [&](auto&& records) { return std::move(job).read(std::move(records), bits(), context()); });
    }

    RunOfRelease& run_;
    Source::Records records_;
  };

  std::optional<jobs::ReleaseJob> job_;
  std::optional<std::uint64_t> replay_seed_;
  ChargedLedger ledger_;
};

/// The numbers as an Arrow stream, in the capsule that Python's protocol asks for.
nb::object arrow_capsule(const ResultOfRelease& result) {
  auto stream = std::make_unique<ArrowArrayStream>();
  unlocked([&] { jobs::table_of(result.released).give(stream.get()); });
  const auto release = [](PyObject* capsule) {
    const std::unique_ptr<ArrowArrayStream> held{static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, stream_capsule))};
    if (held && held->release != nullptr) held->release(held.get());
  };
  nb::object capsule = nb::steal(PyCapsule_New(stream.get(), stream_capsule, release));
  if (!capsule.is_valid()) {
    stream->release(stream.get());
    python_error();
  }
  static_cast<void>(stream.release());
  return capsule;
}

/// As the command prints it.
std::string json_text(const ResultOfRelease& result) {
  auto object = jobs::to_json(result.released);
  object["ledger"] = result.ledger;
  object["ledger_is_new"] = result.ledger_is_new;
  return report_text(std::move(object));
}

}  // namespace

void add_releases(nb::module_& module) {
  module.def("meaning_of", &meaning_of, "word"_a, "keywords"_a);
  module.def("release_fields", [] { return unlocked(release_fields); });
  nb::class_<PlannedRelease>(module, "PlannedRelease", nb::is_final())
      .def("event", [](const PlannedRelease& plan) { return plan.cost().event; })
      .def("noise", [](const PlannedRelease& plan) { return plan.cost().value; })
      .def("epsilon",
           [](const PlannedRelease& plan) {
             const auto& cost = plan.cost().epsilon;
             return std::pair{cost.lower, cost.upper};
           })
      .def("unit", [](const PlannedRelease& plan) { return describe(plan.written().plan.unit); })
      .def("text", [](const PlannedRelease& plan) { return unlocked([&] { return plan.text(); }); });
  module.def("epsilon_for", &epsilon_for, "text"_a, "error"_a);
  module.def("plan_release", &plan_release, "text"_a, "epsilon"_a, "delta"_a, "adjacency"_a, "source"_a.none(), "progress"_a.none());

  nb::class_<Source>(module, "Source", nb::is_final()).def("has_column", &Source::has_column, "name"_a);
  module.def(
      "path_source", [](std::filesystem::path path) { return Source{std::move(path)}; }, "path"_a);
  module.def("arrow_source", &arrow_source, "capsule"_a, "no_limits"_a);
  module.def("array_source", &array_source, "names"_a, "types"_a, "next"_a, "convert"_a, "no_limits"_a, "rows"_a);
  module.def("cells_of", &cells_of, "source"_a, "as_texts"_a);
  module.def("sparse_source", &sparse_source, "columns"_a, "ends"_a, "indices"_a, "wide_indices"_a, "values"_a, "labels"_a.none());

  nb::class_<ResultOfRelease>(module, "ResultOfRelease", nb::is_final())
      .def("json", [](const ResultOfRelease& result) { return unlocked([&] { return json_text(result); }); })
      .def("event", [](const ResultOfRelease& result) { return result.released.cost.event; })
      .def("epsilon",
           [](const ResultOfRelease& result) {
             const auto& cost = result.released.cost.epsilon;
             return std::pair{cost.lower, cost.upper};
           })
      .def("unit", [](const ResultOfRelease& result) { return describe(result.released.unit); })
      .def("arrow", &arrow_capsule);
  nb::class_<RunOfRelease>(module, "RunOfRelease", nb::is_final())
      .def("go", &RunOfRelease::go, "source"_a, "progress"_a.none())
      .def("charged", &RunOfRelease::charged);
  module.def(
      "run_release",
      [](PlannedRelease& plan, const LedgerOfRun& ledger, bool must_exist) {
        return std::make_unique<RunOfRelease>(plan, ledger, must_exist);
      },
      "plan"_a, "ledger"_a, "must_exist"_a);
}

}  // namespace surety::python
