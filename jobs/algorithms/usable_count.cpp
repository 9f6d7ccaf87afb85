#include <surety/jobs/algorithms/usable_count.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/few.h>
#include <surety/jobs/doors/releasers.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/mechanisms/queries/bounded_sum.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::jobs {
namespace {

/// Exceeded by a normal number with probability .001: rounded up, with more than the step of the grid.
constexpr double normal_quantile = 3.0903;
/// Of the mu of the promise, so a hundredth of its square; of its epsilon a hundredth.
constexpr double share_of_mu = 0.1;
constexpr double share_of_epsilon = 0.01;
/// Beyond so many parts the exact tail would be a sum of numbers that underflow.
constexpr std::uint64_t most_exact_parts = 256;

double noise_for(const Target& target, bool is_pure) {
  if (is_pure) return 1 / (share_of_epsilon * target.epsilon.value());
  return 1 / (share_of_mu * accounting::largest_mu(target.epsilon, target.delta).lower);
}

}  // namespace

double laplace_tail(std::uint64_t parts, double t) {
  // A sum of n draws is G - H of two Gamma(n) numbers. G > t + H where fewer than n points of a Poisson process lie in [0, t + H]: those of [0, t], a Poisson number
  // of mean t, and those of the rest, a negative binomial number of n and 1/2.
  const auto n = static_cast<double>(parts);
  double rest = std::exp2(-n);  // P[negative binomial = m], m = 0
  double point = std::exp(-t);  // P[Poisson = m]
  std::vector<double> at_most;  // P[Poisson <= m]
  double sum = 0;
  for (double m = 0; m < n; ++m) {
    at_most.push_back(sum += point);
    point *= t / (m + 1);
  }
  double tail = 0;
  for (double m = 0; m < n; ++m) {
    tail += rest * at_most[static_cast<std::size_t>(n - 1 - m)];
    rest *= (n + m) / (2 * (m + 1));
  }
  return tail;
}

double laplace_reach(std::uint64_t parts) {
  constexpr double exceeded = 0.001;
  const auto n = static_cast<double>(parts);
  if (parts <= most_exact_parts) {
    double low = 0;
    double high = 16 * std::sqrt(n);
    while (high - low > 1e-6 * high) {
      const double middle = 0.5 * (low + high);
      (laplace_tail(parts, middle) > exceeded ? low : high) = middle;
    }
    return 1.0001 * high;  // with more than the step of the grid
  }
  // Markov's inequality for e^(s x): every s in (0, 1) gives a bound.
  double least = HUGE_VAL;
  for (double s = 0x1p-32; s < 1; s *= 1.02) least = std::min(least, (-std::log(exceeded) - n * std::log1p(-s * s)) / s);
  return least;
}

UsableCount::UsableCount(const CountPlan& own, const TrainPlan& shared, CountNeeds needs) : plan_{shared} {
  if (own.count_records && own.no_count_records)
    refuse_plan("cannot combine {} with {}; remove one", "count-records"_field, "no-count-records"_field);
  if (own.no_count_records) return;
  // Under add-or-remove-one the plan holds a guess of the number. A wrong guess may stop a run, so only --count-records compares with it.
  const bool is_number_public = shared.target.adjacency != Adjacency::add_or_remove_one;
  if (own.count_records) {
    if (!needs.why_not.empty()) refuse_plan("{} is {}", "count-records"_field, needs.why_not);
    if (!is_number_public && !needs.public_records) {
      refuse_plan("{} needs a public number of records to compare with, which add-or-remove-one has only by {}", "count-records"_field,
                  "public-count"_field);
    }
  } else if (!needs.why_not.empty() || !needs.is_standard || !is_number_public || shared.source.form_is_public || shared.search.tune) {
    return;
  }
  noise_ = noise_for(shared.target, needs.is_pure);
  // A promise without a delta, or one that no noise keeps: the calibration of the training says so.
  if (!std::isfinite(noise_) || !(noise_ > 0)) return;
  const auto parts = static_cast<double>(needs.parts);
  reach_ = noise_ * (needs.is_pure ? laplace_reach(needs.parts) : normal_quantile * std::sqrt(parts));
  if (!own.count_records && needs.public_records && !(reach_ < static_cast<double>(*needs.public_records) / 2)) return;
  event_.emplace(needs.is_pure ? laplace(NoiseScale{noise_}, shared.target.adjacency)
                               : gaussian(NoiseMultiplier{noise_}, shared.target.adjacency));
}

double UsableCount::pure_epsilon() const { return event_ ? accounting::epsilon(accounting::ClosedForm{}, *event_, Delta{0}).upper : 0; }

CountQuery UsableCount::query(std::uint64_t usable) const {
  mechanisms::BoundedSum sum{{0, 1}, mechanisms::grid_for(L2Sensitivity{1}, NoiseMultiplier{noise_})};
  for (std::uint64_t record = 0; record < usable; ++record) sum.add(1.0);
  return {.sum = sum.sum(), .sensitivity = sum.l2_sensitivity(event_->adjacency()), .event = *event_};
}

void UsableCount::keep(double released, std::uint64_t known) {
  usable_ = released;
  known_ = known;
  const double most = released + reach_;
  const auto all = static_cast<double>(known);
  // Noise that may hide half of all records says nothing of them: it alone would stop one run in a thousand.
  if (most >= all / 2 || !(reach_ < all / 2)) return;
  refuse(
      ErrorCode::bad_data,
      "{}: about {:.0f} of the {} {} trained on are usable, at most {:.0f} with confidence 0.999, must be at least half; the others are damaged, or have a missing cell or an unknown label. The run stops here, and all that it planned stays charged. Check the label and its classes, how numbers are written ({}, {}), missing cells ({}), and the number that was expected",
      one_line(plan_.source.path), std::max(released, 0.0), known, whose(), std::max(most, 0.0), "decimal"_field, "thousands"_field,
      "missing"_field);
}

void UsableCount::add_to(TrainingFacts& facts) const {
  if (!usable_) return;
  const double from = std::max(*usable_ - reach_, 0.0);
  const double to = std::max(*usable_ + reach_, 0.0);
  facts.lines.emplace_back("usable",
                           fmt::format("in [{:.0f}, {:.0f}] of the {} {} trained on, with confidence 0.998", from, to, known_, whose()));
  auto& usable = facts.fields["usable"];
  usable = {{"value", *usable_}, {"from", from}, {"to", to}, {"confidence", 0.998}, {"of", known_}};
  if (!are_few(to, static_cast<double>(known_))) return;
  const auto warning =
      field_text("at most {:.0f} of {} {} trained on are usable: check the label, how numbers are written ({}, {}), and missing cells ({})",
                 to, known_, whose(), "decimal"_field, "thousands"_field, "missing"_field);
  facts.lines.emplace_back("WARNING", warning.printed(facts.print_name));
  usable["warning"] = warning.plain();
}

double release_count(const CountQuery& query, accounting::Reservation& reservation, mechanisms::BitsRef bits) {
  if (std::holds_alternative<Event::Gaussian>(query.event.node())) {
    return releasers().gaussian(reservation, bits)->release(query.sum, query.sensitivity, query.event).front();
  }
  // Who holds all records is their one learner.
  optimizers::SharedBits own{bits};
  const auto releaser = releasers().of_learners(reservation, own);
  releaser->begin({.rounds = 1, .release = query.event, .pass = query.event});
  return releaser->release(0, 0, query.sum, query.sensitivity).front();
}

std::uint64_t usable_units(const data::Dataset& data, optimizers::UnitEnds ends) {
  std::uint64_t usable = 0;
  for (std::size_t unit = 0; unit < optimizers::units_in(data, ends); ++unit) {
    const auto rows = optimizers::rows_of_unit(ends, unit);
    bool is_usable = false;
    for (std::size_t i = rows.first; i < rows.end; ++i) is_usable = is_usable || data.norm(i) > 0;
    if (is_usable) ++usable;
  }
  return usable;
}

void add_count(FieldTable& table, CountPlan& own) {
  table.group("Data");
  table.add(
      "count-records", own.count_records,
      field_text(
          "Count usable records in private, for a hundredth of the promise's mu squared, and refuse where that cannot be. The run warns below nine tenths of the known number, and stops below half, with its whole plan charged. The default counts wherever it can: not under {}, with {}, without a public number of records, or where the noise would hide half of them",
          "tune"_field, "form-is-public"_field));
  table.add("no-count-records", own.no_count_records, "Train without that count");
  table.group("Problem and algorithm");
}

}  // namespace surety::jobs
