#include <surety/optimizers/empirical_risk/search.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/data/features/row_reader.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/choices/secret_runs.h>
#include <surety/mechanisms/queries/bounded_sum.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers {
namespace {

Runs runs_of(const SearchOptions& options) {
  const auto mean = static_cast<double>(options.runs.value());
  return options.most_runs ? Runs::capped_geometric(mean, *options.most_runs) : Runs{RunsLaw::geometric, mean};
}

std::size_t draw_below(std::size_t end, mechanisms::BitsRef bits) {
  return static_cast<std::size_t>(mechanisms::uniform_below(end, [&bits] { return mechanisms::draw_word(bits); }));
}

}  // namespace

Event plan(const SearchOptions& options) {
  const Event run = gaussian(options.noise_multiplier, options.adjacency);
  if (options.order == SearchOrder::at_random) return best_of(runs_of(options), run);
  if (options.runs.value() > options.candidates.value()) {
    invalid(fmt::format("the number of candidates to try is {}, must be at most {}", options.runs.value(), options.candidates.value()));
  }
  return repeat(options.runs, run);
}

SearchResult search(const SearchOptions& options, accounting::Reservation& reservation, mechanisms::BitsRef bits, const SearchRun& run) {
  return search(options, reservation, bits, run, [](NoiseMultiplier most, Adjacency adjacency, mechanisms::BitsRef its) {
    return std::make_unique<RunReleaser>(most, adjacency, its);
  });
}

SearchResult search(const SearchOptions& options, accounting::Reservation& reservation, mechanisms::BitsRef bits, const SearchRun& run,
                    const MakeRunReleaser& make) {
  reservation.spend(plan(options));
  const auto candidates = static_cast<std::size_t>(options.candidates.value());
  struct Found : SearchResult {
    double score;  // as best_run compares them
  };
  const auto run_of = [&](std::size_t candidate) {
    const auto training = make(options.noise_multiplier, options.adjacency, bits);
    const auto scoring = make(options.noise_multiplier, options.adjacency, bits);
    auto model = run(candidate, *training, *scoring);
    const double score = model.score;
    return Found{{.candidate = candidate, .model = std::move(model)}, score};
  };
  if (options.order == SearchOrder::at_random) {
    // These laws start at one run.
    return *mechanisms::best_run(mechanisms::SecretRuns{runs_of(options)}, bits, [&] { return run_of(draw_below(candidates, bits)); });
  }
  std::vector<std::size_t> left(candidates);
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::optional<Found> best;
  for (std::uint64_t k = 0; k < options.runs.value(); ++k) {
    const std::size_t place = draw_below(left.size(), bits);
    auto found = run_of(left[place]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
    if (!best || mechanisms::completed_score(found.score) > mechanisms::completed_score(best->score)) best.emplace(std::move(found));
  }
  return *std::move(best);
}

BoundedLoss bounded_loss(ObjectiveRef objective, double largest_label) {
  if (objective.name() == LogisticLoss::name) {
    return {.value =
                [](double score, double label) {
                  const double error = 1 / (1 + std::exp(label > 0 ? score : -score));
                  return error * error;
                },
            .bound = 1};
  }
  return {.value = [objective](double score, double label) { return objective.value(score, label); },
          .bound = 2 * objective.value(0, largest_label)};
}

double released_score(const Dataset& held_out, const BoundedLoss& loss, std::span<const double> weights, NoiseMultiplier noise,
                      Adjacency adjacency, Releaser& releaser) {
  const double bound = loss.bound;
  if (!(bound > 0 && std::isfinite(bound))) invalid(fmt::format("the bound on the loss is {}, must be positive and finite", bound));
  if (!held_out.has_labels()) invalid("a score needs labels, the data set has none");
  if (weights.size() != held_out.features()) {
    invalid(fmt::format("{} weights for {} features", weights.size(), held_out.features()));
  }
  const mechanisms::Bounds bounds{-bound / 2, bound / 2};
  const L2Sensitivity most{adjacency == Adjacency::replace_one ? bound : bound / 2};
  mechanisms::BoundedSum sum{bounds, mechanisms::grid_for(most, noise)};
  data::RowReader reader{held_out};
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    const auto row = reader.row(i);
    if (!(row.norm > 0)) continue;
    const double found = loss.value(row.dot(weights), held_out.label(i));
    sum.add(std::isnan(found) ? -bound / 2 : bound / 2 - found);
  }
  return releaser.release(sum.sum(), sum.l2_sensitivity(adjacency), gaussian(noise, adjacency)).front();
}

}  // namespace surety::optimizers
