// Releases and their parts, as the module hands them out.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <surety/accounting/calibration/solve.h>
#include <surety/base/text/error.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/run/run_context.h>

#include "calls.h"
#include "plans.h"
#include "sources.h"

namespace surety::python {

/// Does `work` with the records of a path or a stream. \throws Error{invalid_argument} for a sparse matrix
template <class Records, class Work>
auto of_table(Records&& records, const Work& work) {
  return std::visit(
      [&]<class Its>(Its&& its) -> decltype(work(std::declval<data::ArrowStream&&>())) {
        if constexpr (std::is_same_v<std::decay_t<Its>, data::SparseMatrix>) {
          invalid("data is a sparse matrix, must be a table");
        } else {
          return work(std::forward<Its>(its));
        }
      },
      std::forward<Records>(records));
}

/// A plan that was prepared, and can run again and again.
class PlannedRelease {
 public:
  /// Reads the plan; `calibrate` makes the rest of it.
  PlannedRelease(std::string_view text, double epsilon, double delta, const std::string& adjacency);
  PlannedRelease(PlannedRelease&& other) = default;
  PlannedRelease(const PlannedRelease&) = delete;

  void calibrate(const jobs::RunContext& context);

  [[nodiscard]] const jobs::WrittenRelease& written() const { return *written_; }
  [[nodiscard]] const Solution& cost() const { return cost_.value(); }
  /// What runs next: the same again. \pre with the interpreter's lock, which keeps threads apart
  [[nodiscard]] jobs::ReleaseJob next();
  /// What was not run, for a run to come. \pre as `next`
  void give_back(jobs::ReleaseJob job) {
    if (!job_) job_.emplace(std::move(job));
  }
  [[nodiscard]] std::string text() const { return text_with(*written_, written_->plan.unit, cost().event, cost().value); }

 private:
  std::optional<jobs::WrittenRelease> written_;
  std::optional<jobs::ReleaseJob> job_;  ///< of the run to come
  std::optional<Solution> cost_;
};

/// Does `work(context)` without the interpreter's lock, which signals call off, and tells `progress`, None or a callable.
template <class Work>
auto called_off_by_signals(const Work& work, nb::handle callable = nb::none()) {
  Signals signals;
  Progress progress{callable, signals};
  return with_signals(signals, [&] {
    jobs::RunContext context;
    if (signals.is_of_main_thread() || progress.is_wanted()) context.should_stop = [&signals] { return signals.are_raised(); };
    if (progress.is_wanted()) {
      context.progress = [&progress](jobs::Phase phase, std::uint64_t done, std::uint64_t all) {
        progress.tell(jobs::name(phase), done, all);
      };
    }
    return in_order([&] { return work(context); });
  });
}

/// What came of a run, and where it was charged.
struct ResultOfRelease {
  jobs::ReleasedStatistics released;
  std::string ledger;
  bool ledger_is_new;
};

void add_releases(nanobind::module_& module);
/// \pre after `add_releases`
void add_parts(nanobind::module_& module);

}  // namespace surety::python
