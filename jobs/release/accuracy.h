// The epsilon that gives released numbers a stated accuracy.
#pragma once

#include <string_view>

#include <surety/accounting/events/units.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/jobs/run/run_context.h>

namespace surety::jobs {

/// Each interval reaches at most `error` to either side, at this confidence of each alone; the rank of a quantile misses by fewer records than that.
struct Accuracy {
  double error;
  double confidence;
};

/// Of "+-50 at 95 %": the sign and the confidence, 95 %, may be left out. \throws PlanError for another text, an error that is not positive and finite, and a
/// confidence that is not between 0 and 100 %
[[nodiscard]] Accuracy parse_accuracy(std::string_view text);

/// The least epsilon at the target's delta with which every number of these queries is so accurate, to four digits and rounded up. The intervals are those
/// that the release reports, over the noise alone. Reads no data. \param plan whose epsilon and confidence are not read
/// \throws Error{invalid_argument} as `ReleaseJob`; Error{unsupported} for queries whose error is not known before, such as means; Error{unreachable} where no
///         epsilon up to `largest_epsilon_of_accuracy` suffices; Error{stopped}
/// \complexity some 25 calibrations
[[nodiscard]] Epsilon epsilon_for(ReleasePlan plan, const Accuracy& accuracy, const RunContext& context = {});
inline constexpr double largest_epsilon_of_accuracy = 1000;

}  // namespace surety::jobs
