#include <surety/accounting/ledger/filter.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/composition.h>
#include <surety/accounting/accountants/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/floating_point.h>

namespace surety::accounting {

namespace {

// Well beyond double, so that an enclosure of the sum is as narrow as double allows.
constexpr mpfr_prec_t precision = 128;

/// Whether a kind of release has a proof under a kind of filter. An accountant's ability to compose a kind of release is not
/// enough (see filter.h), hence an answer of its own for each kind, and no build without one.
struct HasRule {
  FilterKind kind;

  bool operator()(const Event::Gaussian&) const { return kind == FilterKind::gaussian || kind == FilterKind::zcdp; }
  bool operator()(const Event::RecordSum&) const { return kind == FilterKind::gaussian || kind == FilterKind::zcdp; }
  bool operator()(const Event::Laplace&) const { return pure(); }
  bool operator()(const Event::DiscreteGaussian&) const { return concentrated(); }
  bool operator()(const Event::DiscreteLaplace&) const { return pure(); }
  bool operator()(const Event::RandomizedResponse&) const { return pure(); }
  bool operator()(const Event::Exponential&) const { return pure(); }
  bool operator()(const Event::Pure&) const { return pure(); }
  bool operator()(const Event::Approximate&) const { return kind == FilterKind::basic; }
  bool operator()(const Event::Concentrated&) const { return concentrated(); }
  bool operator()(const Event::GeneralizedGaussian&) const { return concentrated(); }
  bool operator()(const Event::KNorm&) const { return pure(); }
  // These two are never leaves themselves, but may be parts of one.
  bool operator()(const Event::Repeated& e) const { return concentrated(e.event); }
  bool operator()(const Event::Composed& e) const { return concentrated(e.events); }
  bool operator()(const Event::Parallel& e) const { return concentrated(e.events); }
  bool operator()(const Event::PoissonSampled&) const { return false; }
  bool operator()(const Event::SampledWithoutReplacement&) const { return false; }
  bool operator()(const Event::Shuffled& e) const { return concentrated(e.event); }
  bool operator()(const Event::Deterministic& e) const { return concentrated(e.event); }
  bool operator()(const Event::Cyclic&) const { return false; }
  bool operator()(const Event::Allocated&) const { return false; }
  bool operator()(const Event::TruncatedPoisson&) const { return false; }
  bool operator()(const Event::Users&) const { return false; }

  /// The zcdp filter admits whatever has a rho.
  [[nodiscard]] bool concentrated() const { return kind == FilterKind::zcdp; }
  [[nodiscard]] bool concentrated(const Event& part) const { return concentrated() && std::visit(*this, part.node()); }
  [[nodiscard]] bool concentrated(const std::vector<Event>& parts) const {
    return std::all_of(parts.begin(), parts.end(), [this](const Event& part) { return concentrated(part); });
  }
  /// An (epsilon, 0)-private release has a rho as well.
  [[nodiscard]] bool pure() const { return concentrated() || kind == FilterKind::basic; }
};

/// The kinds of filter that have a rule for `leaf`, for a message.
std::string others_for(const Event& leaf, Delta delta) {
  std::string kinds;
  for (const auto kind : {FilterKind::zcdp, FilterKind::gaussian, FilterKind::basic}) {
    if (delta.value() == 0 && kind != FilterKind::basic) continue;
    if (std::visit(HasRule{kind}, leaf.node())) kinds += fmt::format("{}{}", kinds.empty() ? "" : " and ", name(kind));
  }
  if (kinds.empty()) return "no other kind is, so a ledger with this budget cannot hold it";
  return fmt::format("{} would be: a ledger's filter is chosen when it is made", kinds);
}

/// What the promises of a release add up to.
Interval sum_of(const Releases& total, double (*cost)(const Promise&)) {
  Interval sum{0, precision};
  for (const auto& entry : total.entries()) {
    for (const auto& promise : promises(entry.leaf)) {
      sum = sum + Interval{static_cast<double>(entry.count.value()), precision} * Interval{cost(promise), precision};
    }
  }
  return sum;
}
Interval sum_of_epsilons(const Releases& total) {
  return sum_of(total, [](const Promise& promise) { return promise.epsilon.value(); });
}
Interval sum_of_deltas(const Releases& total) {
  return sum_of(total, [](const Promise& promise) { return promise.delta.value(); });
}

constexpr Words<FilterKind, 3> filter_kinds{
    .what = "filter", .values = {FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}, .words = {"gaussian", "zcdp", "basic"}};

}  // namespace

std::string_view name(FilterKind kind) { return filter_kinds.name(kind); }

FilterKind parse_filter_kind(std::string_view text) { return filter_kinds.parse(text); }

Filter::Filter(const Budget& budget) : budget_{budget} {
  if (budget_.target.epsilon.value() == 0) {
    throw Error{ErrorCode::invalid_argument, "epsilon of the budget is 0, must be greater than 0"};
  }
  if (budget.target.delta.value() == 0 && budget.filter != FilterKind::basic) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("delta of the budget is 0, must be greater than 0 for a filter of kind {}; --filter basic needs none",
                            name(budget.filter))};
  }
}

void Filter::require_rule_for(const Releases& total) const {
  if (total.adjacency() != budget_.target.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the releases is {}, must be the budget's, {}",
                                                         surety::name(total.adjacency()), surety::name(budget_.target.adjacency))};
  }
  for (const auto& entry : total.entries()) {
    if (!std::visit(HasRule{budget_.filter}, entry.leaf.node())) {
      throw Error{ErrorCode::unsupported, fmt::format("no filter of kind {} is proved for {}; {}", name(budget_.filter),
                                                      describe(entry.leaf), others_for(entry.leaf, budget_.target.delta))};
    }
  }
}

bool Filter::admits(const Releases& total) const {
  const StandardFloatingPoint environment;
  require_rule_for(total);
  const auto event = total.event();
  if (!event) return true;
  const auto& target = budget_.target;
  if (budget_.filter == FilterKind::basic) {
    return sum_of_epsilons(total).compare(target.epsilon.value()) < 0 && sum_of_deltas(total).compare(target.delta.value()) < 0;
  }
  const Enclosure at_epsilon =
      budget_.filter == FilterKind::gaussian ? delta(ClosedForm{}, *event, target.epsilon) : delta(Zcdp{}, *event, target.epsilon);
  return at_epsilon.upper <= target.delta.value();
}

std::string_view Filter::unit() const {
  switch (budget_.filter) {
    case FilterKind::gaussian: return "mu^2";
    case FilterKind::zcdp: return "rho";
    case FilterKind::basic: return "epsilon";
  }
  throw Error{ErrorCode::internal, "a kind of filter without a unit"};
}

Enclosure Filter::spent(const Releases& total) const {
  const StandardFloatingPoint environment;
  require_rule_for(total);
  const auto event = total.event();
  if (!event) return {0.0, 0.0};
  switch (budget_.filter) {
    case FilterKind::gaussian: return gaussian_mu_squared(*event, precision).value().enclosure();
    case FilterKind::zcdp: return zcdp_rho(*event, precision).enclosure();
    case FilterKind::basic: return sum_of_epsilons(total).enclosure();
  }
  throw Error{ErrorCode::internal, "a kind of filter without a sum"};
}

Enclosure Filter::spent_delta(const Releases& total) const {
  const StandardFloatingPoint environment;
  require_rule_for(total);
  return budget_.filter == FilterKind::basic ? sum_of_deltas(total).enclosure() : Enclosure{0.0, 0.0};
}

Enclosure Filter::limit() const {
  const StandardFloatingPoint environment;
  const auto& target = budget_.target;
  if (budget_.filter == FilterKind::basic) return {target.epsilon.value(), target.epsilon.value()};
  if (budget_.filter == FilterKind::zcdp) {
    // Between a release that is certainly admitted and one that is not: rho falls as the multiplier grows.
    const auto release = [&](NoiseMultiplier z) { return gaussian(z, target.adjacency); };
    const auto found = calibrate(release, target, Zcdp{});
    return {zcdp_rho(found.event, precision).enclosure().lower,
            zcdp_rho(release(NoiseMultiplier{found.largest_failing}), precision).enclosure().upper};
  }
  const Enclosure mu = largest_mu(target.epsilon, target.delta);
  const auto square = [](double value) { return (Interval{value, precision} * Interval{value, precision}).enclosure(); };
  return {square(mu.lower).lower, square(mu.upper).upper};
}

}  // namespace surety::accounting
