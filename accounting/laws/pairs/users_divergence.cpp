#include <surety/accounting/laws/pairs/users_divergence.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/pairs/dominating_pair.h>
#include <surety/accounting/laws/pairs/gaussian_mixture.h>
#include <surety/accounting/laws/pairs/loss_law.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/limit.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting::privacy_loss {
namespace {

constexpr long double no_bound = std::numeric_limits<long double>::infinity();

/// At least the mean of e^(b loss) over what lies in cells, and below them. In a cell e^(b loss) is convex in e^-loss, whose mean is known: it
/// lies below its chord.
long double moment_of_cells(const LossCells& found, double order) {
  const long double b = static_cast<long double>(order) - 1;
  const long double rise = std::expm1(b * static_cast<long double>(found.step));
  const long double width = -std::expm1(-static_cast<long double>(found.step));
  const long double slack = std::exp(2 * b * static_cast<long double>(found.loss_error));
  long double sum = 0;
  for (const auto& cell : found.cells) {
    const long double x =
        static_cast<long double>(found.anchor) + static_cast<long double>(cell.index) * static_cast<long double>(found.step);
    const long double exponent = b * x + static_cast<long double>(cell.log_scale);
    if (!(exponent < 11000)) return no_bound;
    const long double excess = static_cast<long double>(cell.excess) + static_cast<long double>(cell.excess_error);
    const long double share = std::clamp(excess / width, 0.0L, 1.0L);
    sum += std::exp(exponent) * static_cast<long double>(cell.mass) * (1 + static_cast<long double>(cell.mass_error)) * (1 + rise * share);
  }
  const long double least = found.cells.empty()
                                ? 0
                                : static_cast<long double>(found.anchor) +
                                      static_cast<long double>(found.cells.front().index) * static_cast<long double>(found.step);
  return (sum + found.cut_below * std::exp(std::min(b * least, 11000.0L))) * slack * (1 + 1e-15L);
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

/// log of the ratio r at x, and of its last term, that of all records in the batch.
struct LogRatio {
  double whole;
  double last;
};
LogRatio log_ratio(const GaussianMixtureBase& base, double x) {
  std::vector<double> terms;
  for (std::size_t i = 0; i < base.log_weights.size(); ++i) {
    const double shift = static_cast<double>(i) / base.multiplier;
    terms.push_back(base.log_weights[i] + shift * (x - shift / 2));
  }
  const double top = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - top);
  return {top + std::log(sum), terms.back()};
}

/// At least the log of E_Q[r^a] where r exceeds e^beyond: from the x there on r is at most r / l as it is at that x, times l, l the last term.
double log_mixture_tail(const GaussianMixtureBase& base, double order, double beyond) {
  double low = -1e3;
  double high = 1e6;
  constexpr double slack = 1e-6;  // of the logarithms, well above what rounding moves
  for (int i = 0; i < 200 && high - low > 1e-12 * (1 + std::abs(low)); ++i) {
    const double middle = low + (high - low) / 2;
    (log_ratio(base, middle).whole < beyond - slack ? low : high) = middle;
  }
  const auto at = log_ratio(base, low);
  if (!(at.whole < beyond - slack)) return infinity;
  const double mu = static_cast<double>(base.log_weights.size() - 1) / base.multiplier;
  const double share = at.whole - at.last + base.log_weights.back();  // of r / N(mu, 1) over N(0, 1)
  return order * (share + base.weight_error) + order * (order - 1) * mu * mu / 2 * (1 + 16 * ulp) +
         log_tail(low - order * mu * (1 + 8 * ulp)) + 1e-9 * order;
}

/// The divergence of a moment from cells and what lies beyond them, at ever finer steps while that is worth it.
double finest(const std::function<long double(double step)>& moment, double coarsest, double order) {
  constexpr int halvings = 8;
  long double least = no_bound;
  double step = coarsest;
  for (int i = 0; i < halvings; ++i, step /= 2) {
    poll_limit();
    const long double found = moment(step);
    const long double before = least;
    least = std::min(least, std::max(found, 1.0L));
    if (std::isfinite(before) && (before - 1) - (least - 1) <= 1e-3L * (least - 1)) break;
  }
  if (!std::isfinite(least)) return infinity;
  const auto divergence = static_cast<double>(std::log(least) / (static_cast<long double>(order) - 1));
  return divergence * (1 + 8 * ulp) + 1e-300;
}

/// Of k records of which each is in the batch with probability `rate`, of a Gaussian release that one of them moves by `mu` deviations.
double divergence_of_users(Count records, SamplingRate rate, double mu, double order) {
  const auto k = static_cast<double>(records.value());
  const auto base = binomial_mixture(1 / mu * (1 - 2 * ulp), records.value(), rate.value());
  const LossLaw removed{base, Mixing::remove};
  const LossLaw added{base, Mixing::add};
  // Cells as far as the tail beyond them matters: ten deviations beyond where the mean of r^a has its mass.
  const double reach = (order - 1) * k * mu + 10;
  const Cut cut{std::min(-60.0, k * std::log(rate.value()) - reach * reach / 2 - 10), -60};
  const auto reached = range(removed, cut);
  const auto of_removed = [&](double step) {
    const auto found = cells(removed, step, cut);
    return moment_of_cells(found, order) + std::exp(static_cast<long double>(log_mixture_tail(base, order, end_of(found))));
  };
  // Of the reverse the loss is at most that of no record in the batch.
  const double largest = -k * std::log1p(-rate.value()) * (1 + 8 * ulp);
  const auto reached_added = range(added, {-60, -60});
  const auto of_added = [&](double step) {
    const auto found = cells(added, step, {-60, -60});
    return moment_of_cells(found, order) + found.cut_above * std::exp(static_cast<long double>((order - 1) * largest)) * (1 + 1e-15L);
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
         users->records.value() <= most_records_of_a_user && largest_mu(batch->event);
}

double users_divergence(const Event& leaf, RenyiOrder order) {
  const StandardFloatingPoint environment;
  constexpr double largest_order = 500;
  const auto& users = std::get<Event::Users>(leaf.node());
  const auto& batch = std::get<Event::PoissonSampled>(users.event.node());
  const double mu = largest_mu(batch.event).value();
  const double of_all = static_cast<double>(users.records.value()) * mu * (1 + 4 * ulp);  // in the batch
  const double whole = order.value() * of_all * of_all / 2 * (1 + 8 * ulp);
  if (order.value() > largest_order) return whole;
  try {
    return std::min(whole, divergence_of_users(users.records, batch.rate, mu, order.value()));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return whole;  // too little noise for cells
  }
}

}  // namespace surety::accounting::privacy_loss
