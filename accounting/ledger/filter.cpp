#include <surety/accounting/ledger/filter.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/words.h>
#include <surety/accounting/laws/batches/users_divergence.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {

namespace {

// Well beyond double, so that an enclosure of the sum is as narrow as double allows.
constexpr mpfr_prec_t precision = 128;

/// Whether a kind of release has a proof under a kind of filter. An accountant's ability to compose a kind of release is not
/// enough (see filter.h), hence an answer of its own for each kind, and no build without one.
struct HasRule {
  FilterKind kind;

  bool operator()(const Event::Gaussian&) const { return kind != FilterKind::basic; }
  bool operator()(const Event::RecordSum&) const { return kind != FilterKind::basic; }
  bool operator()(const Event::Laplace&) const { return pure(); }
  bool operator()(const Event::LaplaceRecordSum&) const { return pure(); }
  bool operator()(const Event::DiscreteGaussian&) const { return concentrated(); }
  bool operator()(const Event::DiscreteLaplace&) const { return pure(); }
  /// Only their privacy loss distribution is known, and no filter has a rule for it.
  bool operator()(const Event::Binomial&) const { return false; }
  bool operator()(const Event::Skellam&) const { return false; }
  bool operator()(const Event::RandomizedResponse&) const { return pure(); }
  bool operator()(const Event::Exponential&) const { return pure(); }
  bool operator()(const Event::Pure&) const { return pure(); }
  bool operator()(const Event::Approximate&) const { return kind == FilterKind::basic; }
  /// A rho that is shifted has a curve alone.
  bool operator()(const Event::Concentrated& e) const { return e.xi.value() > 0 ? kind == FilterKind::renyi : concentrated(); }
  bool operator()(const Event::RenyiCurve&) const { return kind == FilterKind::renyi; }
  bool operator()(const Event::Law&) const { return kind == FilterKind::renyi; }
  bool operator()(const Event::Profile&) const { return false; }
  bool operator()(const Event::Mixture&) const { return false; }
  bool operator()(const Event::GeneralizedGaussian&) const { return concentrated(); }
  bool operator()(const Event::KNorm&) const { return pure(); }
  // These two are never leaves themselves, but may be parts of one.
  bool operator()(const Event::Repeated& e) const { return concentrated(e.event); }
  bool operator()(const Event::Composed& e) const { return concentrated(e.events); }
  bool operator()(const Event::Parallel& e) const { return concentrated(e.events); }
  bool operator()(const Event::PoissonSampled& e) const { return secret_batch(e.event); }
  bool operator()(const Event::SampledWithoutReplacement& e) const { return secret_batch(e.event); }
  /// A batch full of one record has hardly any chance, and a moment that is out of all proportion.
  bool operator()(const Event::SampledWithReplacement&) const { return false; }
  bool operator()(const Event::Shuffled& e) const { return concentrated(e.event); }
  bool operator()(const Event::Deterministic& e) const { return concentrated(e.event); }
  bool operator()(const Event::Cyclic& e) const { return secret_batch(e.event); }
  /// No rule for a choice that was made by results is proved.
  bool operator()(const Event::BestOf&) const { return false; }
  bool operator()(const Event::Allocated& e) const { return secret_batch(e.event); }
  bool operator()(const Event::TruncatedPoisson& e) const { return secret_batch(e.event); }
  /// By what a record's own report costs.
  bool operator()(const Event::ShuffledReports&) const { return pure(); }
  bool operator()(const Event::ShuffledResponses&) const { return pure(); }
  bool operator()(const Event::LastIterate&) const { return kind != FilterKind::basic; }
  bool operator()(const Event::LastIterateOfPasses&) const { return kind != FilterKind::basic; }
  bool operator()(const Event::LastIterateOfBatches&) const { return kind != FilterKind::basic; }
  /// It has a rho, but it is no Gaussian release.
  bool operator()(const Event::LastIterateWithin&) const { return concentrated(); }
  bool operator()(const Event::Users& e) const { return kind == FilterKind::renyi || of_users(users(e.records, e.event)); }

  /// Releases without a batch, which cost a user what the normal form says, or what a chain of neighbours does.
  [[nodiscard]] bool of_users(const Event& event) const {
    if (kind == FilterKind::gaussian) return gaussian_mu_squared(event, precision).has_value();
    const Event plain = plainest(event);
    const auto* users = std::get_if<Event::Users>(&plain.node());
    if (users == nullptr) return inside(plain);
    if (users->event.has_sampling() || !inside(users->event)) return false;
    return kind == FilterKind::basic ? promises_of(plain).why_not() == std::nullopt : supports(Zcdp{}, plain);
  }
  /// Each release inside.
  [[nodiscard]] bool inside(const Event& event) const {
    const auto entries = Releases::of(event).entries();
    return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) { return std::visit(*this, entry.leaf.node()); });
  }

  /// The zcdp filter admits whatever has a rho, the renyi filter whatever has a curve.
  [[nodiscard]] bool concentrated() const { return kind == FilterKind::zcdp || kind == FilterKind::renyi; }
  [[nodiscard]] bool concentrated(const Event& part) const { return concentrated() && std::visit(*this, part.node()); }
  [[nodiscard]] bool concentrated(const std::vector<Event>& parts) const {
    return std::all_of(parts.begin(), parts.end(), [this](const Event& part) { return concentrated(part); });
  }
  /// An (epsilon, 0)-private release has a rho as well.
  [[nodiscard]] bool pure() const { return concentrated() || kind == FilterKind::basic; }
  [[nodiscard]] bool secret_batch(const Event& inner) const { return kind == FilterKind::renyi && std::visit(*this, inner.node()); }
};

// ---- Divergences of one order ----

Interval number(double value) { return {value, precision}; }

/// What a Poisson batch of record sums under replace-one costs between the data with a record and without it; nothing for other leaves.
std::optional<Event> batch_without_the_record(const Event& leaf) {
  const auto* batch = std::get_if<Event::PoissonSampled>(&leaf.node());
  if (batch == nullptr || leaf.adjacency() != Adjacency::replace_one || batch->rate.value() == 1) return std::nullopt;
  const auto is_sum = [](const Event& part) { return std::holds_alternative<Event::RecordSum>(part.node()); };
  if (!every_leaf(batch->event, is_sum)) return std::nullopt;
  // Two bounded vectors lie twice as far apart as one lies from nothing.
  const Interval mu = sqrt(gaussian_mu_squared(batch->event, precision).value()) / number(2);
  const double multiplier = (number(1) / mu).enclosure().lower;
  return poisson(batch->rate, gaussian(NoiseMultiplier{multiplier}, Adjacency::add_or_remove_one));
}

bool has_curve(const Event& leaf) { return batch_without_the_record(leaf) || laws::has_users_divergence(leaf) || supports(Renyi{}, leaf); }

/// At least D_order of the leaf in both directions; infinity where nothing less is known.
double certified_divergence(const Event& leaf, double order) {
  const auto divergence = [](const Event& event, double at) { return renyi_divergence(event, RenyiOrder{at}).divergence.upper; };
  if (const auto without = batch_without_the_record(leaf)) {
    // By way of the data without the record [Mir17, Proposition 11 with p = q = 2]; or what is done with the batch.
    const double whole = divergence(std::get<Event::PoissonSampled>(leaf.node()).event, order);
    const double half = divergence(*without, std::nextafter(2 * order, std::numeric_limits<double>::infinity()));
    if (!std::isfinite(half)) return whole;
    const Interval a = number(order);
    const Interval factor = (number(2) * a - number(1)) / (number(2) * (a - number(1)));
    return std::min(whole, (factor * number(half) + number(half)).enclosure().upper);
  }
  if (laws::has_users_divergence(leaf)) return laws::users_divergence(leaf, RenyiOrder{order});
  double least = divergence(leaf, order);
  if (supports(Zcdp{}, leaf)) least = std::min(least, zcdp_divergence(leaf, RenyiOrder{order}, precision).enclosure().upper);
  return least;
}

/// The sum over `total`; nothing where it is infinite.
std::optional<Interval> sum_of_divergences(const Releases& total, double order) {
  Interval sum = number(0);
  for (const auto& entry : total.entries()) {
    const double each = certified_divergence(entry.leaf, order);
    if (!std::isfinite(each)) return std::nullopt;
    sum = sum + number(static_cast<double>(entry.count.value())) * number(each);
  }
  return sum;
}

/// The largest divergence of `order` that proves the target: epsilon + log(a / b) + log(delta a) / b, b = a - 1 [CKS20, Proposition 12].
Interval largest_divergence(const Target& target, double order) {
  const Interval a = number(order);
  const Interval b = a - number(1);
  return number(target.epsilon.value()) + log(a) - log(b) + (log(number(target.delta.value())) + log(a)) / b;
}

/// The same in double, at the order 1 + e^s, for a search.
double divergence_near(const Target& target, double s) {
  const double b = std::exp(s);
  return target.epsilon.value() + std::log1p(1 / b) + (std::log(target.delta.value()) + std::log1p(b)) / b;
}

/// 1 + e^s for the s in [low, high] at which `objective` is least: on a grid, and on finer ones around its best point.
double order_of_least(const std::function<double(double)>& objective, double low, double high, int points) {
  double best = low;
  double least = std::numeric_limits<double>::infinity();
  for (double step = (high - low) / points; step > 1e-7; step /= 8) {
    const double begin = least < std::numeric_limits<double>::infinity() ? std::max(low, best - step * 8) : low;
    const double end = least < std::numeric_limits<double>::infinity() ? std::min(high, best + step * 8) : high;
    for (double s = begin; s <= end; s += step) {
      const double value = objective(s);
      if (!(value < least)) continue;
      least = value;
      best = s;
    }
  }
  return 1 + std::exp(best);
}

// ---- Sums of promises ----

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

/// Whether each release is (epsilon, 0)-private by a promise of its own.
bool promises_epsilons(const Releases& total) {
  const auto entries = total.entries();
  return std::all_of(entries.begin(), entries.end(), [](const auto& entry) {
    if (!std::visit(HasRule{FilterKind::basic}, entry.leaf.node())) return false;
    const auto all = promises(entry.leaf);
    return std::all_of(all.begin(), all.end(), [](const Promise& promise) { return promise.delta.value() == 0; });
  });
}

constexpr Words<FilterKind, 4> filter_kinds{.what = "filter",
                                            .values = {FilterKind::renyi, FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic},
                                            .words = {"renyi", "gaussian", "zcdp", "basic"}};

bool has_rule(FilterKind kind, const Event& leaf) {
  return std::visit(HasRule{kind}, leaf.node()) && (kind != FilterKind::renyi || has_curve(leaf));
}

/// The kinds of filter that have a rule for `leaf`, for a message.
std::string others_for(const Event& leaf, Delta delta) {
  std::vector<std::string_view> kinds;
  for (const auto kind : {FilterKind::renyi, FilterKind::gaussian, FilterKind::zcdp, FilterKind::basic}) {
    if (delta.value() == 0 && kind != FilterKind::basic) continue;
    if (has_rule(kind, leaf)) kinds.push_back(filter_kinds.name(kind));
  }
  if (kinds.empty()) return "no other kind is, so a ledger with this budget cannot hold it";
  std::string words;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == kinds.size() ? " and " : ", ", kinds[i]);
  }
  return fmt::format("{} would be: a ledger's filter is chosen when it is made", words);
}

}  // namespace

std::string_view name(FilterKind kind) { return filter_kinds.name(kind); }

FilterKind parse_filter_kind(std::string_view text) { return filter_kinds.parse(text); }

RenyiOrder renyi_order(const Target& target) {
  const StandardFloatingPoint environment;
  const auto objective = [&](double s) { return -divergence_near(target, s) / (1 + std::exp(s)); };
  return RenyiOrder{order_of_least(objective, std::log(1e-3), std::log(1e15), 400)};
}

RenyiOrder renyi_order(const Target& target, const Event& planned) {
  const StandardFloatingPoint environment;
  const Filter filter{{.target = target, .filter = FilterKind::renyi}};
  const auto total = Releases::of(planned);
  if (filter.spent(total).upper == 0) invalid(fmt::format("the planned '{}' costs nothing, must have a cost", describe(planned)));
  const auto objective = [&](double s) {
    const double limit = divergence_near(target, s);
    const auto cost = sum_of_divergences(total, 1 + std::exp(s));
    return limit > 0 && cost ? cost->enclosure().upper / limit : std::numeric_limits<double>::max();
  };
  return RenyiOrder{order_of_least(objective, std::log(0.05), std::log(2000.0), 100)};
}

Target target_of_rho(Rho rho, Delta delta, Adjacency adjacency) {
  const StandardFloatingPoint environment;
  if (rho.value() == 0) invalid("rho of the budget is 0, must be greater than 0");
  if (delta.value() == 0) invalid("delta of the budget is 0, must be greater than 0: a rho costs no finite epsilon there");
  const auto total = zcdp(rho, adjacency);
  double least = epsilon(Zcdp{}, total, delta).upper;
  if (!(least > 0)) {
    invalid(fmt::format("rho of the budget is {}, must be larger, or its delta smaller: at delta = {} it costs epsilon = 0", rho, delta));
  }
  // The filter compares deltas, whose rounding may differ from that of the epsilon.
  constexpr int most_steps = 64;
  for (int i = 0; i < most_steps && std::isfinite(least); ++i) {
    if (surety::accounting::delta(Zcdp{}, total, Epsilon{least}).upper <= delta.value()) {
      return {.epsilon = Epsilon{least}, .delta = delta, .adjacency = adjacency};
    }
    least = std::nextafter(least, std::numeric_limits<double>::infinity());
  }
  throw Error{ErrorCode::unreachable, fmt::format("rho of the budget is {}, must be one whose epsilon at delta = {} is known", rho, delta)};
}

Filter::Filter(const Budget& budget) : budget_{budget} {
  const StandardFloatingPoint environment;
  const auto& target = budget_.target;
  if (target.epsilon.value() == 0) invalid("epsilon of the budget is 0, must be greater than 0");
  if (target.delta.value() == 0 && budget.filter != FilterKind::basic) {
    invalid(fmt::format("delta of the budget is 0, must be greater than 0 for a filter of kind {}; the filter basic needs none",
                        name(budget.filter)));
  }
  if (budget.filter != FilterKind::renyi) {
    if (budget.order) invalid(fmt::format("an order goes with a filter of kind renyi, not {}", name(budget.filter)));
    return;
  }
  if (!budget_.order) budget_.order = renyi_order(target);
  if (limit().upper <= 0) {
    invalid(fmt::format("order of the budget is {}, must be larger: at it epsilon = {} at delta = {} leaves room for nothing",
                        budget_.order->value(), target.epsilon, target.delta));
  }
}

void Filter::require_rule_for(const Releases& total) const {
  if (total.adjacency() != budget_.target.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the releases is {}, must be the budget's, {}",
                                                         surety::name(total.adjacency()), surety::name(budget_.target.adjacency))};
  }
  for (const auto& entry : total.entries()) {
    if (!has_rule(budget_.filter, entry.leaf)) {
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
  switch (budget_.filter) {
    case FilterKind::renyi: {
      const auto sum = sum_of_divergences(total, budget_.order->value());
      if (sum && (*sum - largest_divergence(target, budget_.order->value())).compare(0) < 0) return true;
      return promises_epsilons(total) && sum_of_epsilons(total).compare(target.epsilon.value()) < 0;
    }
    case FilterKind::gaussian: return delta(ClosedForm{}, *event, target.epsilon).upper <= target.delta.value();
    case FilterKind::zcdp: return delta(Zcdp{}, *event, target.epsilon).upper <= target.delta.value();
    case FilterKind::basic:
      return sum_of_epsilons(total).compare(target.epsilon.value()) < 0 && sum_of_deltas(total).compare(target.delta.value()) < 0;
  }
  throw Error{ErrorCode::internal, "a kind of filter without a rule"};
}

std::uint64_t Filter::room_for(const Releases& total, const Event& event, std::uint64_t most) const {
  const auto fits = [&](std::uint64_t count) {
    const auto one = Releases::of(event);
    Releases all = total;
    for (const auto& entry : one.entries()) {
      const std::uint64_t left = Releases::max_count - all.count(entry.leaf);
      if (left / entry.count.value() < count) return false;
      all.add(Releases::of(repeat(Count{entry.count.value() * count}, entry.leaf)));
    }
    return admits(all);
  };
  std::uint64_t fitting = 0;
  std::uint64_t failing = 1;
  while (failing <= most && fits(failing)) {
    fitting = failing;
    failing *= 2;
  }
  failing = std::min(failing, most + 1);
  while (failing - fitting > 1) {
    const std::uint64_t middle = fitting + (failing - fitting) / 2;
    (fits(middle) ? fitting : failing) = middle;
  }
  return fitting;
}

std::string_view Filter::unit() const {
  switch (budget_.filter) {
    case FilterKind::renyi: return "divergence";
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
    case FilterKind::renyi: {
      const auto sum = sum_of_divergences(total, budget_.order->value());
      return sum ? sum->enclosure() : at_most(std::numeric_limits<double>::infinity());
    }
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

std::optional<Enclosure> Filter::spent_epsilon(const Releases& total) const {
  const StandardFloatingPoint environment;
  require_rule_for(total);
  if (budget_.filter != FilterKind::renyi || !promises_epsilons(total)) return std::nullopt;
  return sum_of_epsilons(total).enclosure();
}

std::optional<Enclosure> Filter::odometer(const Releases& total) const {
  const StandardFloatingPoint environment;
  require_rule_for(total);
  if (budget_.filter != FilterKind::renyi) return std::nullopt;
  double least = promises_epsilons(total) ? sum_of_epsilons(total).enclosure().upper : std::numeric_limits<double>::infinity();
  // Half of delta for the order of the filter, which matters most when much is spent; the other half for larger ones, which say more before.
  constexpr std::array<double, 6> larger{2, 4, 8, 16, 32, 64};
  const auto ask = [&](double order, const Interval& share) {
    const auto sum = sum_of_divergences(total, order);
    if (sum)
      least = std::min(least, (*sum - log(number(budget_.target.delta.value()) * share) / (number(order) - number(1))).enclosure().upper);
  };
  const double order = budget_.order->value();
  ask(order, number(0.5));
  for (const double factor : larger) ask(1 + factor * (order - 1), number(0.5) / number(static_cast<double>(larger.size())));
  return at_most(least);
}

Enclosure Filter::limit() const {
  const StandardFloatingPoint environment;
  const auto& target = budget_.target;
  if (budget_.filter == FilterKind::basic) return {target.epsilon.value(), target.epsilon.value()};
  if (budget_.filter == FilterKind::renyi) return largest_divergence(target, budget_.order->value()).enclosure();
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
