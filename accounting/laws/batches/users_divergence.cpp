#include <surety/accounting/laws/batches/users_divergence.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/cells/dominating_pair.h>
#include <surety/accounting/laws/gaussian/gaussian_mixture.h>
#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr LongUpper no_bound{LongExact{std::numeric_limits<long double>::infinity()}};

/// At least the mean of e^(b loss) over what lies in cells, and below them. In a cell e^(b loss) is convex in e^-loss, whose mean is known: it
/// lies below its chord.
LongUpper moment_of_cells(const LossCells& found, double order) {
  const long double b = static_cast<long double>(order) - 1;
  const long double step = found.step;
  const long double rise = std::expm1(b * step);
  const long double width = -std::expm1(-step);
  const auto place = [&](std::int64_t index) { return static_cast<long double>(found.anchor) + static_cast<long double>(index) * step; };
  long double sum = 0;
  long double largest_scale = 0;
  for (const auto& cell : found.cells) {
    const long double exponent = b * place(cell.index) + static_cast<long double>(cell.log_scale);
    if (!(exponent < 11000)) return no_bound;
    largest_scale = std::max(largest_scale, std::abs(static_cast<long double>(cell.log_scale)));
    const long double excess = static_cast<long double>(cell.excess) + static_cast<long double>(cell.excess_error);
    const long double share = std::clamp(excess / width, 0.0L, 1.0L);
    sum += std::exp(exponent) * static_cast<long double>(cell.mass) * (1 + static_cast<long double>(cell.mass_error)) * (1 + rise * share);
  }
  if (found.cells.empty()) return LongUpper{LongExact{found.cut_below}};
  // Units of each term: of its exponent, whose parts are rounded at most twice, of the exponential, of the rise, whose exponent is rounded, and
  // of the width; ten operations round besides. All terms are positive.
  using Library = LibraryError<long double>;
  const long double first = place(found.cells.front().index);
  const long double farthest =
      std::max(std::abs(first), std::abs(place(found.cells.back().index))) + std::abs(static_cast<long double>(found.anchor));
  const long double units = 2 * (b * farthest + largest_scale) + Library::exp + (Library::expm1 + 1 + b * step) + Library::expm1 + 10;
  const LongUpper in_cells = LongUpper::within(sum, static_cast<long double>(found.cells.size()) + units);
  const LongUpper lowest = LongUpper::within(first, 1 + std::abs(static_cast<long double>(found.anchor) / first));
  const LongUpper below = found.cut_below > 0 ? LongExact{found.cut_below} * exp(lowest * LongExact{b}) : LongUpper{0};
  return (in_cells + below) * exp(LongUpper{LongExact{2 * b}} * LongExact{found.loss_error});
}

/// The end of the cells: what is cut off above lies beyond it.
double end_of(const LossCells& found) {
  return found.cells.empty() ? found.anchor
                             : found.anchor + static_cast<double>(found.cells.back().index + 1) * found.step - found.loss_error;
}

Interval exactly(double value) { return {value, 128}; }

/// At least log P(N(0, 1) > x).
double log_tail(double x) {
  if (x < 1) return 0;
  const Interval log_density = -(exactly(x) * exactly(x)) / exactly(2) - log(Interval::pi(128) * exactly(2)) / exactly(2);
  return (log_density + log(mills_ratio(exactly(x)))).enclosure().upper;
}

/// log of the ratio r at x, and of its last term, that of all records in the batch. In doubles, which a search can do with, or in balls.
template <class Number>
struct LogRatio {
  Number whole;
  Number last;
};
template <class Number>
LogRatio<Number> log_ratio(const GaussianMixtureBase& base, double x) {
  using std::exp;
  using std::log;
  const auto exactly = [](double value) {
    if constexpr (std::is_same_v<Number, Ball>) {
      return Ball{Exact{value}};
    } else {
      return value;
    }
  };
  std::vector<Number> terms;
  double top = -infinity;
  for (std::size_t i = 0; i < base.log_weights.size(); ++i) {
    const Number shift = exactly(static_cast<double>(i)) / exactly(base.multiplier);
    terms.push_back(exactly(base.log_weights[i]) + shift * (exactly(x) - shift * exactly(0.5)));
    if constexpr (std::is_same_v<Number, Ball>) {
      top = std::max(top, terms.back().value());
    } else {
      top = std::max(top, terms.back());
    }
  }
  Number sum = exactly(0);
  for (const Number& term : terms) sum += exp(term - exactly(top));
  return {exactly(top) + log(sum), terms.back()};
}

/// At least the log of E_Q[r^a] where r exceeds e^beyond: from the x there on r is at most r / l as it is at that x, times l, l the last term.
Upper log_mixture_tail(const GaussianMixtureBase& base, double order, double beyond) {
  double low = -1e3;
  double high = 1e6;
  constexpr double slack = 1e-6;  // of the search, well above what rounding moves
  for (int i = 0; i < 200 && high - low > 1e-12 * (1 + std::abs(low)); ++i) {
    const double middle = low + (high - low) / 2;
    (log_ratio<double>(base, middle).whole < beyond - slack ? low : high) = middle;
  }
  const auto at = log_ratio<Ball>(base, low);
  if (!(at.whole.upper().value() < beyond)) return Upper{Exact{infinity}};
  const Ball mu = Ball{Exact{static_cast<double>(base.log_weights.size() - 1)}} / Exact{base.multiplier};
  const Ball share = at.whole - at.last + Exact{base.log_weights.back()};  // of r / N(mu, 1) over N(0, 1)
  const Upper of_share = Exact{order} * (share.upper() + Exact{base.weight_error});
  const Upper of_moment = (Ball{Exact{order}} * (Ball{Exact{order}} - 1) * mu * mu * Exact{0.5}).upper();
  return of_share + of_moment + Exact{log_tail((Ball{Exact{low}} - Exact{order} * mu).lower().value())};
}

/// The divergence of a moment from cells and what lies beyond them, at ever finer steps while that is worth it.
double finest(const std::function<LongUpper(double step)>& moment, double coarsest, double order) {
  constexpr int halvings = 8;
  LongUpper least = no_bound;
  double step = coarsest;
  for (int i = 0; i < halvings; ++i, step /= 2) {
    poll_limit();
    const LongUpper found = moment(step);
    const LongUpper before = least;
    least = min(least, max(found, LongUpper{1}));
    if (std::isfinite(before.value()) && before.value() - least.value() <= 1e-3L * (least.value() - 1)) break;
  }
  if (!std::isfinite(least.value())) return infinity;
  return shortened(log(least) / LongExact{static_cast<long double>(order) - 1}).value();
}

/// Of k records of which each is in the batch with probability `rate`, of a Gaussian release that one of them moves by `mu` deviations.
double divergence_of_users(Count records, SamplingRate rate, double mu, double order) {
  const auto k = static_cast<double>(records.value());
  const auto base = binomial_mixture((Lower{1} / Upper{Exact{mu}}).value(), records.value(), rate.value());
  const LossLaw removed{base, Mixing::remove};
  const LossLaw added{base, Mixing::add};
  // Cells as far as the tail beyond them matters: ten deviations beyond where the mean of r^a has its mass.
  const double reach = (order - 1) * k * mu + 10;
  const Cut cut{std::min(-60.0, k * std::log(rate.value()) - reach * reach / 2 - 10), -60};
  const auto reached = range(removed, cut);
  const auto of_removed = [&](double step) {
    const auto found = cells(removed, step, cut);
    return moment_of_cells(found, order) + exp(LongUpper{LongExact{log_mixture_tail(base, order, end_of(found)).value()}});
  };
  // Of the reverse the loss is at most that of no record in the batch.
  const LongUpper largest = -(log1p(LongLower{LongExact{-rate.value()}}) * LongExact{k});
  const auto reached_added = range(added, {-60, -60});
  const auto of_added = [&](double step) {
    const auto found = cells(added, step, {-60, -60});
    return moment_of_cells(found, order) + LongExact{found.cut_above} * exp(largest * LongExact{static_cast<long double>(order) - 1});
  };
  return std::max(finest(of_removed, (reached.largest - reached.least) / 256, order),
                  finest(of_added, (reached_added.largest - reached_added.least) / 256, order));
}

/// mu of the one Gaussian release that an event is, rounded up.
std::optional<double> largest_mu(const Event& event) {
  const auto squared = gaussian_mu_squared(event, 128);
  if (!squared) return std::nullopt;
  return sqrt(*squared).enclosure().upper;
}

}  // namespace

bool has_users_divergence(const Event& leaf) {
  const auto* users = std::get_if<Event::Users>(&leaf.node());
  const auto* batch = users != nullptr ? std::get_if<Event::PoissonSampled>(&users->event.node()) : nullptr;
  return batch != nullptr && leaf.adjacency() != Adjacency::replace_one && batch->rate.value() < 1 &&
         users->records.value() <= most_single_records && largest_mu(batch->event);
}

double users_divergence(const Event& leaf, RenyiOrder order) {
  const StandardFloatingPoint environment;
  constexpr double largest_order = 500;
  const auto& users = std::get<Event::Users>(leaf.node());
  const auto& batch = std::get<Event::PoissonSampled>(users.event.node());
  const double mu = largest_mu(batch.event).value();
  const Upper of_all = Upper{Exact{mu}} * Exact{static_cast<double>(users.records.value())};  // in the batch
  const double whole = (of_all * of_all / 2 * Exact{order.value()}).value();
  if (order.value() > largest_order) return whole;
  try {
    return std::min(whole, divergence_of_users(users.records, batch.rate, mu, order.value()));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return whole;  // too little noise for cells
  }
}

}  // namespace surety::accounting::laws
