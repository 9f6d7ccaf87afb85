#include <surety/accounting/accountants/privacy_loss/law_moments.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/privacy_loss/allocated_epoch.h>
#include <surety/accounting/accountants/privacy_loss/dominating_pair.h>
#include <surety/accounting/accountants/privacy_loss/gaussian_mixture.h>
#include <surety/accounting/accountants/privacy_loss/loss_law.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/interval.h>
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
double users_divergence(Count records, SamplingRate rate, double mu, double order) {
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

/// At least log E_Q[r^m] for m = 0, 1, ..., most, r the mean of t independent log-normals of mean 1: t^-m m! times a coefficient of the t-th power of the
/// series of their moments, by its recurrence.
std::vector<double> log_moments_of_mean(Count rounds, double mu, int most) {
  const auto size = static_cast<std::size_t>(most) + 1;
  const Interval t = exactly(static_cast<double>(rounds.value()));
  const Interval square = exactly(mu) * exactly(mu);
  std::vector<Interval> series;
  std::vector<Interval> power;
  Interval factorial = exactly(1);
  Interval powers_of_t = exactly(1);
  std::vector<double> found;
  for (std::size_t n = 0; n < size; ++n) {
    const auto number = static_cast<double>(n);
    if (n > 0) factorial = factorial * exactly(number);
    series.push_back(exp(exactly(number * (number - 1) / 2) * square) / factorial);
    if (n == 0) {
      power.push_back(exactly(1));
    } else {
      Interval sum = exactly(0);
      for (std::size_t k = 1; k <= n; ++k) {
        sum = sum + (exactly(static_cast<double>(k)) * t - exactly(static_cast<double>(n - k))) * series[k] * power[n - k];
      }
      power.push_back(sum / exactly(number));
      powers_of_t = powers_of_t * t;
    }
    const Interval moment = maximum(factorial * power[n] / powers_of_t, exactly(1));
    found.push_back(mpfr_number_p(moment.upper()) ? log(moment).enclosure().upper : infinity);
  }
  return found;
}

/// Of a record that is in one of so many rounds, and nobody knows which.
double allocated_divergence(Count rounds, double mu, double order) {
  const double a = order;
  const double b = order - 1;
  const auto t = static_cast<double>(rounds.value());
  const auto most = static_cast<int>(std::ceil(a)) + 4;
  const auto log_moments = log_moments_of_mean(rounds, mu, most);
  // Between whole orders the log of the moment is convex.
  const auto below = static_cast<std::size_t>(std::floor(a));
  const double fraction = a - static_cast<double>(below);
  const double chord = ((1 - fraction) * log_moments[below] + fraction * log_moments[below + 1]) / b * (1 + 16 * ulp) + 1e-300;

  const auto epoch = allocated_epoch(t, 1 / mu * (1 - 2 * ulp));
  const LossLaw removed{AllocatedBase{epoch}, Mixing::remove};
  const LossLaw added{AllocatedBase{epoch}, Mixing::add};
  const Cut cut{-100, -100};
  const auto of_removed = [&](double step) {
    const auto found = cells(removed, step, cut);
    // r^a beyond e^c is at most e^(c (a - m)) r^m, m >= a.
    long double beyond = no_bound;
    const double end = end_of(found);
    for (auto m = below + 1; m < log_moments.size(); ++m) {
      beyond = std::min(beyond, std::exp(static_cast<long double>(log_moments[m] + end * (a - static_cast<double>(m)) + 1e-12)));
    }
    return moment_of_cells(found, order) + beyond;
  };
  const auto of_added = [&](double step) {
    const auto found = cells(added, step, cut);
    // r is at least the geometric mean of its terms, and -log of that is N(mu^2 / 2, mu^2 / t); up to c the mass that is cut counts e^(b c).
    const double middle = mu * mu / 2 * (1 + 8 * ulp);
    const double deviation = mu / std::sqrt(t) * (1 + 8 * ulp);
    long double beyond = no_bound;
    for (double c = middle; c < middle + b * deviation * deviation + 40 * deviation; c += deviation) {
      const double start = (c - middle) / deviation - b * deviation;
      const double log_geometric = b * middle + b * b * deviation * deviation / 2 + log_tail(start - 1e-12 * (1 + std::abs(start))) + 1e-12;
      beyond =
          std::min(beyond, found.cut_above * std::exp(static_cast<long double>(b * c)) + std::exp(static_cast<long double>(log_geometric)));
    }
    return moment_of_cells(found, order) + beyond * (1 + 1e-12L);
  };
  const auto width = [&](const LossLaw& law) {
    const auto reached = range(law, {-30, -30});
    return (reached.largest - reached.least) / 256;
  };
  return std::max(std::min(chord, finest(of_removed, width(removed), order)), finest(of_added, width(added), order));
}

/// mu of the one Gaussian release that an event is, rounded up.
std::optional<double> largest_mu(const Event& event) {
  const auto squared = gaussian_mu_squared(event, 128);
  if (!squared) return std::nullopt;
  return sqrt(*squared).enclosure().upper;
}

}  // namespace

bool has_divergence_of_batch(const Event& leaf) {
  if (leaf.adjacency() == Adjacency::replace_one) return false;
  if (const auto* epoch = std::get_if<Event::Allocated>(&leaf.node()))
    return epoch->rounds > Count{1} && epoch->participations == Count{1} && largest_mu(epoch->event).has_value();
  const auto* users = std::get_if<Event::Users>(&leaf.node());
  const auto* batch = users != nullptr ? std::get_if<Event::PoissonSampled>(&users->event.node()) : nullptr;
  return batch != nullptr && batch->rate.value() < 1 && users->records.value() <= most_records_of_a_user && largest_mu(batch->event);
}

double divergence_of_batch(const Event& leaf, RenyiOrder order) {
  const StandardFloatingPoint environment;
  constexpr double largest_order = 500;
  const auto bounded = [&](double mu, const auto& found) {
    const double whole = order.value() * mu * mu / 2 * (1 + 8 * ulp);  // of all that may be in the batch
    if (order.value() > largest_order) return whole;
    try {
      return std::min(whole, found());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return whole;  // too little noise for cells
    }
  };
  if (const auto* epoch = std::get_if<Event::Allocated>(&leaf.node())) {
    const double mu = largest_mu(epoch->event).value();
    return bounded(mu, [&] { return allocated_divergence(epoch->rounds, mu, order.value()); });
  }
  const auto& users = std::get<Event::Users>(leaf.node());
  const auto& batch = std::get<Event::PoissonSampled>(users.event.node());
  const double mu = largest_mu(batch.event).value();
  return bounded(static_cast<double>(users.records.value()) * mu * (1 + 4 * ulp),
                 [&] { return users_divergence(users.records, batch.rate, mu, order.value()); });
}

}  // namespace surety::accounting::privacy_loss
