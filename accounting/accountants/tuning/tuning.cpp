#include <surety/accounting/accountants/tuning/tuning.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/tuning/search_bounds.h>
#include <surety/accounting/accountants/tuning/search_orders.h>
#include <surety/accounting/accountants/tuning/several_runs.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/root.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision = 128;

/// More than a few operations of double err, relative to what they give.
constexpr double few = 0x1p-48;

/// Whether a curve falls by enough to follow it further out.
bool falls(double from, double to) { return from - to > 0x1p-30 * from; }

Refusal no_search_in(const Event& event, std::string_view why) { return {event, fmt::format("tuning: {{}} {}", why)}; }

/// How many searches hold one another.
int searches_in(const Event& event) {
  int most = 0;
  for (const auto& [leaf, count] : Releases::of(event).entries()) {
    if (const auto* search = std::get_if<Event::BestOf>(&leaf.node())) most = std::max(most, 1 + searches_in(search->event));
    const auto* parallel = std::get_if<Event::Parallel>(&leaf.node());
    if (parallel == nullptr) continue;
    for (const auto& part : parallel->events) most = std::max(most, searches_in(part));
  }
  return most;
}

/// The runs of an event, and what one of them is.
OrRefusal<Event::BestOf> search_or_refusal(const Event& event) {
  const auto entries = Releases::of(plainest(event)).entries();
  const auto* found =
      entries.size() == 1 && entries.front().count == Count{1} ? std::get_if<Event::BestOf>(&entries.front().leaf.node()) : nullptr;
  if (found == nullptr) return no_search_in(event, "is not one best_of alone");
  if (searches_in(found->event) > 1) {
    return no_search_in(event, "is a search of searches of searches: each point of a curve asks for a curve");
  }
  return *found;
}
/// \throws Error{unsupported} where there is none.
Event::BestOf search_of(const Event& event) { return search_or_refusal(event).value(); }

/// The probability of no run at all, from above.
double none(const Runs& runs) {
  if (runs.law() != RunsLaw::poisson) return 0;
  return exp(-Interval{runs.mean(), precision}).enclosure().upper;
}

/// The last few are kept.
std::optional<GaussianSearch> gaussian_runs(const Event::BestOf& search) {
  const auto mu_squared = gaussian_mu_squared(search.event, precision);
  if (!mu_squared) return std::nullopt;
  const auto mu = sqrt(*mu_squared).enclosure();
  constexpr double largest = 1e3;
  constexpr double least = 1e-6;
  if (!(mu.upper <= largest && mu.lower >= least)) {
    unsupported(search.event, fmt::format("tuning: a run of {{}} costs mu = {}, must be from {} to {}", mu.upper, least, largest));
  }
  using Key = std::tuple<Runs, double, double>;
  static auto& kept = *new LastFew<Key, GaussianSearch>;
  return kept.of(Key{search.runs, mu.lower, mu.upper}, [&] { return GaussianSearch{search.runs, mu}; });
}

/// The smallest epsilon at which a falling bound is at most `target`, or a little more: the bound itself says so there. Infinity where it
/// stays above.
double first_at_most(const std::function<double(double)>& bound, double target) {
  if (bound(0) <= target) return 0;
  double beyond = 1;
  while (!(bound(beyond) <= target)) {
    beyond *= 2;
    if (beyond > 1e6) return infinity;
  }
  double before = beyond == 1 ? 0 : beyond / 2;
  const auto distance = [&](double x) { return std::log(std::max(bound(x), 1e-320) / std::max(target, 1e-320)); };
  if (target > 0) {
    const auto near = narrow_root(distance, before, beyond, 44, 60);
    if (bound(near.high) <= target) beyond = near.high;
    if (!(bound(near.low) <= target)) before = near.low;
  }
  while (beyond - before > 1e-12 * (1 + beyond)) {
    const double middle = before + 0.5 * (beyond - before);
    (bound(middle) <= target ? beyond : before) = middle;
  }
  return beyond;
}
/// The same, of a bound that takes longer, to a few digits.
double roughly_last_above(const std::function<double(double)>& bound, double target, double most) {
  if (!(most < infinity) || !(bound(0) > target)) return 0;
  double before = 0;
  double beyond = most;
  while (beyond - before > 1e-5 * beyond) {
    const double middle = before + 0.5 * (beyond - before);
    (bound(middle) > target ? before : beyond) = middle;
  }
  return before;
}
/// An epsilon up to `most` at which a bound is above `target`, nearly the largest; 0 where none is found.
double last_above(const std::function<double(double)>& bound, double target, double most) {
  double before = most;
  double beyond = most;
  for (double step = 1e-10 * (1 + most); !(bound(before) > target); step *= 2) {
    if (before == 0) return 0;
    beyond = before;
    before = std::max(0.0, most - step);
  }
  while (beyond - before > 1e-12 * (1 + beyond)) {
    const double middle = before + 0.5 * (beyond - before);
    (bound(middle) > target ? before : beyond) = middle;
  }
  return before;
}

/// Points of the curve of a run, evenly between losses: many where one accountant knows it quickly, few of those that all accountants know.
class PointsOfRun {
 public:
  PointsOfRun(const Event& run, const Curve& curve) : run_{run}, curve_{curve} {}

  /// Says how many were known quickly.
  std::size_t add_quickly(double from, double to) {
    std::size_t answered = 0;
    for (std::size_t i = 0; i <= many && answered + many / 2 > i; ++i) answered += add_quick(between(from, to, i, many));
    sort();
    return answered;
  }
  void add(double from, double to) {
    constexpr std::size_t few_points = 20;
    const std::size_t answered = add_quickly(from, to);
    for (std::size_t i = 0; answered < least && i <= few_points; ++i) {
      const double loss = between(from, to, i, few_points);
      add_point(loss, curve_.rough_delta(Epsilon{loss}));
    }
    sort();
  }
  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }

  /// Where the curve has fallen to about `delta`.
  [[nodiscard]] double reach(double delta) const {
    constexpr double farthest = 600;
    const auto found = curve_.rough_epsilon(Delta{std::clamp(delta, 0.0, 0.5)}).upper;
    if (found >= farthest && found < infinity) {
      unsupported(run_,
                  fmt::format("tuning: a run of {{}} costs epsilon = {} at delta = {}, must be less than {}", found, delta, farthest));
    }
    if (found < infinity) return found + 1e-9 * (1 + found);
    // It stays above: as far as it falls by anything.
    double last = 1;
    const auto at = [&](double loss) { return curve_.rough_delta(Epsilon{loss}).upper; };
    while (last < farthest && falls(at(last), at(2 * last))) last *= 2;
    return std::min(last, farthest);
  }

 private:
  static constexpr std::size_t many = 500;
  static constexpr std::size_t least = many / 4;

  void sort() {
    std::sort(points_.begin(), points_.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.odds < b.odds; });
  }
  static double between(double from, double to, std::size_t i, std::size_t count) {
    return std::max(0.0, from + (to - from) * static_cast<double>(i) / static_cast<double>(count));
  }
  bool add_quick(double loss) {
    poll_limit();
    const auto found = curve_.quick_delta(Epsilon{loss});
    if (found) add_point(loss, *found);
    return found.has_value();
  }
  /// The point lies a little further than where it was asked for.
  void add_point(double loss, const Enclosure& delta) {
    points_.push_back({std::exp(loss) * (1 + few), std::clamp(delta.upper, 0.0, 1.0)});
  }

  Event run_;
  const Curve& curve_;
  std::vector<CurvePoint> points_;
};

/// From above, by points that lie denser where epsilon is: `near` says where that is, given a first bound.
SearchByCurve runs_by_curve(const Event::BestOf& search, const Curve& run, double faded,
                            const std::function<double(const SearchByCurve&)>& near) {
  PointsOfRun points{search.event, run};
  const double reach = points.reach(faded);
  points.add(0, reach);
  SearchByCurve first{search.runs, points.points()};
  const double at = near(first);
  if (!(at < infinity) || reach == 0) return first;
  const double from = std::clamp(at - first.steepest(), 0.0, reach);
  points.add(from, std::min(reach, from + 0.25 * (reach - from)));
  return SearchByCurve{search.runs, points.points()};
}

/// Bounds by the laws of a run, each direction by its own.
class SearchByLaws {
 public:
  SearchByLaws(const Runs& runs, const FiniteLaws& laws) {
    take(runs, laws.remove);
    if (laws.add) take(runs, *laws.add);
  }

  [[nodiscard]] double above(double epsilon) const {
    double most = 0;
    for (const auto& one : above_) most = std::max(most, one.above(epsilon));
    return most;
  }
  [[nodiscard]] double below(double epsilon) const {
    double most = 0;
    for (const auto& one : below_) most = std::max(most, one.below(epsilon));
    return most;
  }

 private:
  void take(const Runs& runs, const FiniteLaw& law) {
    above_.push_back(SearchByCurve::in_one_direction(runs, law.above));
    for (const auto& atoms : law.below) below_.emplace_back(runs, atoms);
  }

  std::vector<SearchByCurve> above_;
  std::vector<SearchOrders> below_;
};

/// Nothing where nobody makes the laws of a run. The last few are kept, by powers of ten of `delta`, which is one of the run.
std::shared_ptr<const SearchByLaws> search_by_laws(const Event::BestOf& search, double delta, const RunCurves& runs,
                                                   bool upper_only = false) {
  constexpr double least = 1e-30;
  constexpr double most = 0.1;
  const int power = static_cast<int>(std::floor(std::log10(std::clamp(delta, least, most))));
  using Key = std::tuple<const RunCurves*, Event, Runs, int, bool>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const SearchByLaws>>;
  return kept.of(Key{&runs, search.event, search.runs, power, upper_only}, [&]() -> std::shared_ptr<const SearchByLaws> {
    const auto laws = runs.laws(search.event, Delta{std::pow(10.0, power)}, upper_only);
    return laws ? std::make_shared<const SearchByLaws>(search.runs, *laws) : nullptr;
  });
}

/// All runs published, in the place of the best one: E delta_K. It counts where delta is large.
class PublishedRuns {
 public:
  static constexpr double counts_from = 0.02;

  PublishedRuns(const Runs& runs, const Enclosure& mu, std::size_t one_by_one = 128, double growth = 1.04)
      : counts_{counts_of_runs(runs, one_by_one, growth, 1e-6)}, several_{runs, counts_} {
    above_ = [counts = counts_, mu = mu.upper](std::size_t i, double x) {
      const double together = mu * std::sqrt(static_cast<double>(counts[i])) * (1 + few);
      return std::min(1.0, gaussian_run_above(together, x));
    };
  }
  PublishedRuns(const Event::BestOf& search, const RunCurves& runs)
      : counts_{counts_of_runs(search.runs, 6, 1.35, 5e-3)}, several_{search.runs, counts_} {
    std::vector<std::vector<RunCurve>> curves;
    for (const std::size_t count : counts_) {
      curves.emplace_back();
      const auto laws = runs.laws(repeat(Count{count}, search.event), Delta{0.1}, true);
      if (!laws) continue;
      curves.back().push_back(curve_of_points(laws->remove.above));
      if (laws->add) curves.back().push_back(curve_of_points(laws->add->above));
    }
    above_ = [curves = std::move(curves)](std::size_t i, double x) {
      double most = curves[i].empty() ? 1 : 0;
      for (const auto& curve : curves[i]) most = std::max(most, curve(x));
      return most;
    };
  }

  /// Of `known`, another bound there, and this one the smaller.
  [[nodiscard]] double above(double epsilon, double known) const {
    const auto of_count = [&](std::size_t i) { return above_(i, epsilon); };
    return several_.is_larger(known, of_count) ? known : std::min(known, several_.above(of_count));
  }

 private:
  std::vector<std::size_t> counts_;
  SeveralRuns several_;
  std::function<double(std::size_t i, double epsilon)> above_;
};

/// Of runs whose laws are made. The last few are kept.
std::shared_ptr<const PublishedRuns> published_runs(const Event::BestOf& search, const RunCurves& runs) {
  using Key = std::tuple<const RunCurves*, Event, Runs>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const PublishedRuns>>;
  return kept.of(Key{&runs, search.event, search.runs}, [&] { return std::make_shared<const PublishedRuns>(search, runs); });
}

/// The smaller of a bound and of what all runs published cost, and below its chords.
RunCurve beside_published(RunCurve bound, const std::function<std::shared_ptr<const PublishedRuns>()>& make) {
  auto known = std::make_shared<std::shared_ptr<const PublishedRuns>>();
  return [bound = std::move(bound), known, make](double epsilon) {
    const double first = bound(epsilon);
    if (!(first > PublishedRuns::counts_from)) return first;
    if (*known == nullptr) *known = make();
    return below_chords(
        [&](double x) {
          const double one = x == epsilon ? first : bound(x);
          return one > PublishedRuns::counts_from ? (*known)->above(x, one) : one;
        },
        epsilon);
  };
}
RunCurve beside_published(RunCurve bound, const Event::BestOf& search, const RunCurves& runs) {
  return beside_published(std::move(bound), [search, &runs] { return published_runs(search, runs); });
}
/// Of Gaussian runs; the chords are taken once.
RunCurve beside_published(const GaussianSearch& search, const Runs& runs) {
  return beside_published([search](double x) { return search.above_alone(x); },
                          [=, mu = search.mu()] { return std::make_shared<const PublishedRuns>(runs, mu); });
}

/// The delta of a run at which its law is to have digits where that of the search is `delta`.
double delta_of_run(double delta, const Runs& runs) { return delta / (3 * runs.mean()); }

/// A delta of a run that no longer counts beside `delta`.
double faded_beside(double delta, const Runs& runs) {
  constexpr double least = 1e-140;
  return delta == 0 ? 0 : std::max(1e-7 * delta / runs.mean(), least);
}

/// delta of the best of any runs from above, for those who ask whether it is at most `level`; nothing where no laws of a run are made.
std::optional<double> upper_for(const Event::BestOf& search, const Curve& curve, Epsilon epsilon, double level, const RunCurves& runs) {
  const auto laws = level > 0 ? search_by_laws(search, delta_of_run(level, search.runs), runs, true) : nullptr;
  if (!laws) return std::nullopt;
  const double at = epsilon.value();
  RunCurve bound = [&](double x) { return laws->above(x); };
  if (level > PublishedRuns::counts_from) bound = beside_published(bound, search, runs);
  const double upper = bound(at);
  if (upper <= level) return upper;
  const auto run = curve.quick_delta(epsilon);
  if (!run) return upper;
  return std::min(upper,
                  runs_by_curve(search, curve, faded_beside(run->upper, search.runs), [&](const SearchByCurve&) { return at; }).above(at));
}

}  // namespace

std::optional<Refusal> why_not(const Tuning&, const Event& event, const RunCurves& runs) {
  const StandardFloatingPoint environment;
  const auto search = search_or_refusal(event);
  if (!search) return search.refusal();
  if (runs.know(search->event)) return std::nullopt;
  return Refusal{search->event, "tuning: no accountant knows a run of {}"};
}

Enclosure delta(const Tuning& accountant, const Event& event, Epsilon epsilon, const RunCurves& runs, const GaussianCurve& gaussian_curve) {
  const StandardFloatingPoint environment;
  const auto search = search_of(event);
  const double at = epsilon.value();
  if (const auto gaussian = gaussian_runs(search)) {
    const double upper = beside_published(*gaussian, search.runs)(at);
    // delta falls, so what is below it further on is below it here.
    double lower = (1 - none(search.runs)) * gaussian_curve.delta(Mu{gaussian->mu().lower}, epsilon).lower * (1 - few);
    for (const double further : {0.0, 0.125, 0.25, 0.5, 1.0, 2.0}) {
      // Whether there is anything to find is asked a little before, where the answer is kept: it is larger there.
      const double before = kept_step * std::floor((at + further) / kept_step);
      if (gaussian->above_alone(before) > lower) lower = std::max(lower, gaussian->below(at + further));
    }
    if (upper > PublishedRuns::counts_from) {
      if (const auto laws = search_by_laws(search, upper, runs)) lower = std::max(lower, laws->below(at));
    }
    return {std::min(lower, upper), upper};
  }
  const auto curve = runs.of(search.event);
  if (const auto upper = accountant.level ? upper_for(search, *curve, epsilon, *accountant.level, runs) : std::nullopt)
    return at_most(*upper);
  const auto run = curve->delta(epsilon);
  double lower = std::max(0.0, (1 - none(search.runs)) * run.lower * (1 - few));
  if (run.upper == 0 && curve->epsilon(Delta{0}).upper == 0) return {0, 0};
  const auto laws = search_by_laws(search, run.upper, runs);
  std::optional<SearchByCurve> by_curve;
  if (!laws || curve->quick_delta(epsilon)) {
    by_curve = runs_by_curve(search, *curve, faded_beside(run.upper, search.runs), [&](const SearchByCurve&) { return at; });
  }
  const RunCurve both = [&](double x) { return std::min(laws ? laws->above(x) : 1, by_curve ? by_curve->above(x) : 1); };
  const double upper = laws ? beside_published(both, search, runs)(at) : both(at);
  if (laws) {
    for (const double further : {0.0, 0.125, 0.5}) lower = std::max(lower, laws->below(at + further));
  }
  return {std::min(lower, upper), upper};
}

Enclosure epsilon(const Tuning& accountant, const Event& event, Delta delta, const RunCurves& runs, const GaussianCurve& gaussian_curve) {
  const StandardFloatingPoint environment;
  const auto search = search_of(event);
  const double target = delta.value();
  // With a score that says nothing the first run is published.
  const double share = (1 - none(search.runs)) * (1 - few);
  const double once = share > 0 ? target / share * (1 + few) : 1;
  const bool is_large = target > PublishedRuns::counts_from;
  if (const auto gaussian = gaussian_runs(search)) {
    if (target == 0) return {infinity, infinity};
    RunCurve above = [&](double x) { return gaussian->above(x); };
    if (is_large) above = beside_published(*gaussian, search.runs);
    const double upper = first_at_most(above, target);
    double lower = last_above([&](double x) { return gaussian->below(x); }, target, upper);
    if (once < 1) lower = std::max(lower, gaussian_curve.epsilon(Mu{gaussian->mu().lower}, Delta{once}).lower);
    if (const auto laws = is_large ? search_by_laws(search, target, runs) : nullptr) {
      lower = std::max(lower, roughly_last_above([&](double x) { return laws->below(x); }, target, upper));
    }
    return {std::min(upper, lower), upper};
  }
  const auto curve = runs.of(search.event);
  const bool upper_only = accountant.level.has_value();
  const auto laws = target > 0 ? search_by_laws(search, delta_of_run(target, search.runs), runs, upper_only) : nullptr;
  const auto bound = [&](const SearchByCurve& found) { return first_at_most([&](double x) { return found.above(x); }, target); };
  double upper = infinity;
  if (laws) {
    RunCurve above = [&](double x) { return laws->above(x); };
    if (is_large) above = beside_published(above, search, runs);
    upper = first_at_most(above, target);
    if (upper_only && upper <= *accountant.level) return at_most(upper);
  }
  double lower = laws && !upper_only ? roughly_last_above([&](double x) { return laws->below(x); }, target, upper) : 0;
  if (once < 1 && !upper_only) lower = std::max(lower, curve->epsilon(Delta{once}).lower);
  // What only all accountants together know of a run takes long, and a law says more.
  if (upper == infinity || curve->quick_delta(Epsilon{0})) {
    upper = std::min(upper, bound(runs_by_curve(search, *curve, faded_beside(target, search.runs), bound)));
  }
  return {std::min(lower, upper), upper};
}

AttainedLaws tuning_laws(const Event& event, const RunCurves& runs) {
  const StandardFloatingPoint environment;
  const auto search = search_of(event);
  AttainedLaws found;
  const auto laws = runs.laws(search.event, Delta{1e-6});
  if (!laws) return found;
  const auto published = [&](const FiniteLaw& law) {
    std::vector<std::vector<WeighedAtom>> all;
    for (const auto& atoms : law.below) {
      auto several = SearchOrders{search.runs, atoms}.published_by_several();
      std::move(several.begin(), several.end(), std::back_inserter(all));
    }
    return all;
  };
  found.remove = published(laws->remove);
  found.symmetric = !laws->add;
  if (laws->add) found.add = published(*laws->add);
  return found;
}

std::vector<CurvePoint> tuning_curve(const Event& event, std::size_t points, const RunCurves& runs) {
  const StandardFloatingPoint environment;
  const auto search = search_of(event);
  RunCurve by_ranks;
  std::shared_ptr<const PublishedRuns> published;
  if (auto gaussian = gaussian_runs(search)) {
    published = std::make_shared<const PublishedRuns>(search.runs, gaussian->mu(), 40, 1.06);  // for hundreds of points
    by_ranks = [bounds = std::move(*gaussian)](double x) { return bounds.above(x); };
  } else {
    const auto curve = runs.of(search.event);
    const auto laws = search_by_laws(search, 1e-6, runs);
    const auto far = laws ? search_by_laws(search, 1e-12, runs) : nullptr;
    std::optional<SearchByCurve> by_curve;
    if (!laws || curve->quick_delta(Epsilon{0}))
      by_curve = runs_by_curve(search, *curve, 1e-25, [](const SearchByCurve&) { return infinity; });
    if (laws) published = published_runs(search, runs);
    by_ranks = [=](double x) { return std::min({laws ? laws->above(x) : 1, far ? far->above(x) : 1, by_curve ? by_curve->above(x) : 1}); };
  }
  // Chords between all of it are taken below.
  const auto bound = [&](double x) {
    const double one = by_ranks(x);
    return published && one > PublishedRuns::counts_from ? published->above(x, one) : one;
  };
  double reach = 1;
  // As far as it falls by anything, or has not begun to.
  const auto goes_on = [&](double at) { return bound(at) > 1e-22 && (bound(at) == 1 || falls(bound(at), bound(2 * at))); };
  while (reach < 600 && goes_on(reach)) reach *= 2;
  std::vector<CurvePoint> found;
  for (std::size_t i = 0; i <= points; ++i) {
    poll_limit();
    const double loss = reach * static_cast<double>(i) / static_cast<double>(points);
    found.push_back({std::exp(loss) * (1 + few), bound(loss)});
  }
  return convex_curve(found);
}

}  // namespace surety::accounting
