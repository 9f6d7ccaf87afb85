#include <surety/jobs/algorithms/private_ranges.h>

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/features/private_ranges.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/optimizers/empirical_risk/column_ranges.h>

namespace surety::jobs {
namespace {

/// Of the mu of the promise, so 4/25 of its square: docs/results/ranges.md.
constexpr double share_of_mu = 0.4;

NoiseMultiplier noise_of_ranges(const Target& target) {
  const double mu = accounting::largest_mu(target.epsilon, target.delta).lower;
  if (!(mu > 0)) {
    refuse(ErrorCode::unreachable,
           "private ranges of columns need Gaussian noise, which keeps no promise at delta = {}; give {} or a larger delta",
           target.delta.value(), "bounds"_field);
  }
  return NoiseMultiplier{std::sqrt(double{optimizers::range_releases}) / (share_of_mu * mu)};
}

}  // namespace

double share_of_range_noise(const Target& target, std::size_t columns, double records) {
  return noise_of_ranges(target).value() * optimizers::sensitivity_of_range_counts(columns, target.adjacency).value() / records;
}

PrivateRanges::PrivateRanges(const TrainPlan& shared, bool uses_no_column) : plan_{shared} {
  if (uses_no_column || !shared.source.has_private_ranges()) return;
  if (shared.has_unit()) {
    refuse(ErrorCode::unsupported, "private ranges of columns are for records: with {} they would count the rows of an owner; give {}",
           "unit"_field, "bounds"_field);
  }
  noise_ = noise_of_ranges(shared.target);
}

Event PrivateRanges::with_ranges(const Event& training) const {
  if (!noise_) return training;
  return compose({optimizers::ranges_event(*noise_, training.adjacency()), training});
}

void PrivateRanges::require_columns(const data::FeatureMap& planned) const {
  if (!noise_ || has_private_ranges(planned)) return;
  refuse_plan("{} is private, must be asinh or auto where every column has {} or {}", "ranges"_field, "bounds"_field, "categories"_field);
}

std::span<const data::Bounds> PrivateRanges::release(const data::Dataset& rows, const data::FeatureMap& planned, double count,
                                                     optimizers::Releaser& releaser) {
  const optimizers::RangeOptions options{
      .columns = places_of_ranges(planned), .adjacency = plan_.target.adjacency, .noise_multiplier = *noise_, .count = count};
  ranges_ = optimizers::release_ranges(rows, options, releaser);
  for (const auto& column : std::get<data::NamedColumns>(planned.inputs)) {
    if (std::holds_alternative<data::PrivateRange>(column.map)) columns_.push_back(column.name);
  }
  return ranges_;
}

void PrivateRanges::add_to(TrainingFacts& facts) const {
  if (ranges_.empty()) return;
  const Event event = optimizers::ranges_event(*noise_, plan_.target.adjacency);
  facts.lines.emplace_back("ranges",
                           fmt::format("of {} column{}, released as {}", ranges_.size(), ranges_.size() == 1 ? "" : "s", describe(event)));
  auto all = nlohmann::json::array();
  for (std::size_t k = 0; k < ranges_.size(); ++k) {
    const auto& [lower, upper] = ranges_[k];
    facts.lines.emplace_back("", fmt::format("  {} in [{:.6g}, {:.6g}]", one_line(columns_[k]), lower, upper));
    all.push_back({{"column", columns_[k]}, {"bounds", {lower, upper}}});
  }
  facts.fields["ranges"] = {{"columns", std::move(all)}, {"event", describe(event)}};
}

}  // namespace surety::jobs
