#include "algorithm.h"

#include <algorithm>
#include <thread>

#include "../validators.h"

namespace surety::cli {

using namespace optimizers;
using namespace data;

namespace {

template <class Ref, class O>
Owned<Ref> owned(O objective) {
  return Owned<Ref>{std::make_shared<const O>(std::move(objective))};
}

template <class Ref>
Owned<Ref> named_objective(const TrainOptions& options) {
  if (options.loss != SmoothedHingeLoss::name) {
    return with_objective(options, [](auto objective) { return owned<Ref>(std::move(objective)); });
  }
  require_options_of_loss(options);
  return owned<Ref>(SmoothedHingeLoss{.width = SmoothingWidth{options.smoothing.value_or(0.5)}});
}

template <class Ref>
Reader reader(const TrainOptions& options, const Source& source, const Owned<Ref>& objective, KeepRows keep) {
  return [&options, &source, objective, keep](const jobs::KeptUnits* units) { return read(options, source, objective, units, keep); };
}

}  // namespace

AnyObjective objective_of(const TrainOptions& options) {
  return with_objective(options, [](auto objective) { return owned<ObjectiveRef>(std::move(objective)); });
}

AnyObjective any_objective_of(const TrainOptions& options) {
  if (options.loss != HingeLoss::name) return named_objective<ObjectiveRef>(options);
  require_options_of_loss(options);
  return owned<ObjectiveRef>(HingeLoss{});
}

AnyConvexObjective smooth_objective_of(const TrainOptions& options) {
  if (options.loss != HingeLoss::name) return named_objective<ConvexObjectiveRef>(options);
  require_options_of_loss(options);
  invalid(fmt::format("--loss is {}, must be smooth for {}", options.loss, options.algorithm));
}

Reader reader_for(const TrainOptions& options, const Source& source, const AnyObjective& objective, KeepRows keep) {
  return reader(options, source, objective, keep);
}
Reader reader_for(const TrainOptions& options, const Source& source, const AnyConvexObjective& objective, KeepRows keep) {
  return reader(options, source, objective, keep);
}

ClippingNorm clip_of(const TrainOptions& options, ObjectiveRef objective) {
  return ClippingNorm{options.clip ? *options.clip : objective.gradient_bound(1)};
}

std::chrono::milliseconds timeout_of(const std::optional<double>& seconds) {
  if (!seconds) return default_timeout;
  constexpr double most = 86'400;
  if (!(*seconds >= 0.001 && *seconds <= most)) {
    invalid(fmt::format("--timeout is {}, must be at least 0.001 and at most {} seconds", *seconds, most));
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*seconds * 1000))};
}

void require_options_of_loss(const TrainOptions& options) {
  const bool is_squared = options.loss == SquaredLoss::name;
  if (options.label_bound && !is_squared)
    invalid(fmt::format("--label-bound is for squared loss, labels of {} loss are classes", options.loss));
  if (options.smoothing && options.loss != SmoothedHingeLoss::name) {
    invalid(fmt::format("--smoothing is for smoothed-hinge loss, not for {} loss", options.loss));
  }
  if (!is_squared) return;
  if (!options.label_bound) invalid("--label-bound is missing: squared loss needs a public bound on the labels' magnitude");
  if (!options.radius && !options.clip)
    invalid("--radius or --clip is missing: the gradient of squared loss is bounded only where the weights are");
}

void add_clip(OptionTable& table, TrainOptions& shared, std::string standard) {
  table.add("--clip", shared.clip, "What one record adds is clipped to this norm", number()).standard(std::move(standard));
}

void add_radius(OptionTable& table, TrainOptions& shared, std::string standard) {
  table.add("--radius", shared.radius, "Keep the weights in a ball of this radius", number()).standard(std::move(standard));
}

void add_records(OptionTable& table, std::optional<std::uint64_t>& records, std::string standard) {
  table
      .add("--records", records, "The public number of records in the file, checked; under add-or-remove-one a public guess of it",
           whole_number(1, max_count))
      .standard(std::move(standard));
}

void add_threads(OptionTable& table, std::optional<std::uint64_t>& threads) {
  table.add("--threads", threads, "For gradients of all records; the result is the same for every number", whole_number(1, 1024))
      .standard("as many as there are processors");
}

void add_public_count(OptionTable& table, std::optional<std::uint64_t>& count) {
  table.add("--public-count", count, "The number that divides summed gradients", whole_number(1, max_count))
      .standard("that of records, which add-or-remove-one keeps private");
}

void add_regularization(OptionTable& table, double& regularization) {
  table.add("--regularization", regularization, "lambda of (lambda / 2) ||w||^2", number());
}

void add_l1(OptionTable& table, std::optional<double>& l1) {
  table.add("--l1", l1, "The factor of ||w||_1, met by soft thresholding", number()).standard("0");
}

void add_tune(OptionTable& table, TrainOptions& shared, std::string standard) {
  table.group("Private tuning");
  table
      .add("--tune", shared.tune,
           "Run candidates, so many as are expected of a secret random number, and keep the one of the best noisy score on the held-out "
           "part",
           whole_number(2, most_tuned_candidates))
      .standard("no search");
  table.add("--tune-over", shared.tune_over, "option=value,value,...: what candidates differ in; may be repeated, for all combinations")
      .standard(std::move(standard));
  table.add(
      "--tune-by", shared.tune_by,
      "random: a secret number of runs, of which the best alone is seen; split: the budget, among as many candidates; cheapest: what needs "
      "less noise",
      one_of({"cheapest", "random", "split"}));
  table
      .add("--tune-most", shared.tune_most, "Of a random number of runs: no more than these, a public number that is above --tune",
           whole_number(3, most_capped_runs))
      .standard("any number; with --answer-at 5 times --tune");
  table
      .add(
          "--answer-at", shared.answer_at,
          "Publish the model then, and neither before nor after: a time, as 2026-11-24T06:00Z, or how long from now, as +90m. How long the "
          "search took would show how many runs it had. Refused before the charge where --tune-most runs of made-up records do not fit; a "
          "search that is late all the same publishes nothing, and stays charged")
      .standard("as soon as the search is done");
  table.group("Problem and algorithm");
}

std::size_t threads_of(const std::optional<std::uint64_t>& threads) {
  return threads.value_or(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace surety::cli
