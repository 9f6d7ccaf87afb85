#include <surety/accounting/answers/two_outcomes.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t bits = 128;

Interval exactly(double value) { return {value, bits}; }

// Proved: docs/proofs/given.md#two-outcomes
/// log(p^(1 + t) q^-t + (1 - p)^(1 + t) (1 - q)^-t), which is t times the divergence of order 1 + t.
class LogMoment {
 public:
  LogMoment(double p, double q)
      : log_p_{log(exactly(p))}, log_q_{log(exactly(q))}, log_not_p_{log1p(-exactly(p))}, log_not_q_{log1p(-exactly(q))} {}

  [[nodiscard]] Interval at(const Interval& t) const {
    const Interval order = exactly(1) + t;
    return log(exp(order * log_p_ - t * log_q_) + exp(order * log_not_p_ - t * log_not_q_));
  }
  /// The divergence of infinite order.
  [[nodiscard]] Interval largest_loss() const { return maximum(log_p_ - log_q_, log_not_p_ - log_not_q_); }

 private:
  Interval log_p_;
  Interval log_q_;
  Interval log_not_p_;
  Interval log_not_q_;
};

/// Orders 1 + t at which divergences of a zcdp are looked at, t rising by a constant ratio.
std::vector<double> grid_of_orders(const Event::Concentrated& e, double largest_loss, double ratio) {
  constexpr double octaves = 20;
  const double last = std::max(1e-3, (largest_loss - e.xi.value()) / e.rho.value());
  std::vector<double> all;
  for (double t = last * std::exp2(-octaves); t < last; t *= ratio) all.push_back(t);
  all.push_back(last);
  return all;
}

constexpr double fine_ratio = 1 + 0x1p-7;

/// What t times the divergence of order 1 + t has to lie below xi t + rho t (1 + t) by: half of the way to the next order, squared.
Interval sag(double rho, const std::vector<double>& orders, std::size_t i) {
  const double before = i > 0 ? orders[i] - orders[i - 1] : 0;
  const double after = i + 1 < orders.size() ? orders[i + 1] - orders[i] : 0;
  const Interval longest = exactly(std::nextafter(std::max(before, after), std::numeric_limits<double>::infinity()));
  return exactly(rho) * longest * longest / exactly(4);
}

bool keeps(const LogMoment& moment, const Event::Concentrated& e, const std::vector<double>& orders) {
  const Interval xi = exactly(e.xi.value());
  const Interval rho = exactly(e.rho.value());
  // Below the first order by the divergence of that order, beyond the last one by the largest loss.
  const Interval first = exactly(orders.front());
  if (!((moment.at(first) - first * (xi + rho)).enclosure().upper <= 0)) return false;
  if (!((moment.largest_loss() - xi - rho * (exactly(1) + exactly(orders.back()))).enclosure().upper <= 0)) return false;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const Interval t = exactly(orders[i]);
    const Interval most = t * (xi + rho * (exactly(1) + t)) - sag(e.rho.value(), orders, i);
    if (!((moment.at(t) - most).enclosure().upper <= 0)) return false;
  }
  return true;
}

bool keeps(const LogMoment& moment, const Event::RenyiCurve& e) {
  return std::all_of(e.bounds.all().begin(), e.bounds.all().end(), [&](const NumberPair& one) {
    const Interval t = exactly(one.first) - exactly(1);
    return (moment.at(t) - t * exactly(one.second)).enclosure().upper <= 0;
  });
}
// Proved so far.

// ---- The search, in double: nothing rests on it ----

/// log of the moment of order t, both directions at once.
double near_log_moment(double p, double q, double loss, double t) {
  const double other = std::log1p((q - p) / (1 - q));
  const auto one_way = [t](double share, double own, double rest) {
    const double exponent = t * own + std::log(share);
    if (exponent > 30) return exponent;
    return std::log1p(share * std::expm1(t * own) + (1 - share) * std::expm1(t * rest));
  };
  return std::max(one_way(p, loss, other), one_way(q, -loss, -other));
}

class Search {
 public:
  Search(const Event& leaf, const Question& question) : leaf_{leaf}, question_{question} {}

  [[nodiscard]] TwoOutcomes best() const {
    // log p = -e^s.
    const auto* delta = std::get_if<Delta>(&question_);
    const double least = delta != nullptr && delta->value() > 0 ? std::log(delta->value()) : -690;
    const double end = std::log(-least);
    constexpr double begin = -9;
    constexpr int points = 24;
    double at = begin;
    double most = -std::numeric_limits<double>::infinity();
    const auto look = [&](double s, double ratio) {
      const double p = std::exp(-std::exp(s));
      return worth(p, largest_loss(p, ratio));
    };
    for (int i = 0; i < points; ++i) {
      poll_limit();
      const double s = begin + (end - begin) * (i + 0.5) / points;
      const double value = look(s, 1.1);
      if (value > most) most = value, at = s;
    }
    double low = at - (end - begin) / points;
    double high = std::min(end, at + (end - begin) / points);
    constexpr double golden = 0.6180339887498949;
    for (int i = 0; i < 20; ++i) {
      const double left = high - golden * (high - low);
      const double right = low + golden * (high - low);
      if (look(left, 1.05) > look(right, 1.05)) {
        high = right;
      } else {
        low = left;
      }
    }
    const double p = std::exp(-std::exp(0.5 * (low + high)));
    return {p, p * std::exp(-largest_loss(p, fine_ratio))};
  }

 private:
  [[nodiscard]] double worth(double p, double loss) const {
    if (const auto* delta = std::get_if<Delta>(&question_)) return loss + std::log1p(-std::min(1.0, delta->value() / p));
    const double at = std::get<Epsilon>(question_).value();
    return loss > at ? std::log(p) + std::log(-std::expm1(at - loss)) : -std::numeric_limits<double>::infinity();
  }
  /// log(p / q) at most, roughly.
  [[nodiscard]] double largest_loss(double p, double ratio) const {
    double low = 0;
    double high = most_loss(p);
    for (int i = 0; i < 30 && high - low > 1e-9 * high; ++i) {
      const double middle = low + (high - low) / 2;
      (is_allowed(p, middle, ratio) ? low : high) = middle;
    }
    return low;
  }
  [[nodiscard]] double most_loss(double p) const {
    double most = 700 + std::log(p);
    const double far = -std::log(p);
    if (const auto* e = std::get_if<Event::Concentrated>(&leaf_.node())) {
      return std::min(most, e->xi.value() + 4 * (e->rho.value() + std::sqrt(e->rho.value() * (far + 1))) + 1e-9);
    }
    for (const auto& [order, bound] : std::get<Event::RenyiCurve>(leaf_.node()).bounds.all()) {
      most = std::min(most, bound + (far + 1) / (order - 1) + 2 * std::sqrt(bound) + 1e-9);
    }
    return most;
  }
  [[nodiscard]] bool is_allowed(double p, double loss, double ratio) const {
    const double q = p * std::exp(-loss);
    if (!(q > 0 && q < 1)) return false;
    constexpr double rounding = 1e-9;
    if (const auto* e = std::get_if<Event::Concentrated>(&leaf_.node())) {
      const double xi = e->xi.value();
      const double rho = e->rho.value();
      const double farthest = std::max(loss, std::log1p((p - q) / (1 - p)));
      const double last = std::max(1e-3, (farthest - xi) / rho);
      const double first = last * 0x1p-20;
      if (!(near_log_moment(p, q, loss, first) <= first * (xi + rho) * (1 - rounding))) return false;
      for (double t = first; t < last * ratio; t *= ratio) {
        const double gap = t * (ratio - 1);
        if (!(near_log_moment(p, q, loss, t) <= t * (xi + rho * (1 + t)) * (1 - rounding) - rho * gap * gap / 4)) return false;
      }
      return true;
    }
    const auto& all = std::get<Event::RenyiCurve>(leaf_.node()).bounds.all();
    return std::all_of(all.begin(), all.end(), [&](const NumberPair& one) {
      const double t = one.first - 1;
      return near_log_moment(p, q, loss, t) <= t * one.second * (1 - rounding);
    });
  }

  const Event& leaf_;
  const Question& question_;
};

/// The one release that states its divergences; nothing for other events.
std::optional<Event> stated(const Event& event) {
  const auto entries = Releases::of(plainest(event)).entries();
  if (entries.size() != 1 || entries.front().count != Count{1}) return std::nullopt;
  const auto& node = entries.front().leaf.node();
  const auto* concentrated = std::get_if<Event::Concentrated>(&node);
  const bool has_rho = concentrated != nullptr && concentrated->rho.value() > 0 && concentrated->rho.value() < 1e4;
  if (!has_rho && !std::holds_alternative<Event::RenyiCurve>(node)) return std::nullopt;
  return entries.front().leaf;
}

}  // namespace

// Proved: docs/proofs/given.md#two-outcomes
bool keeps_divergences(const TwoOutcomes& pair, const Event& leaf) {
  const StandardFloatingPoint environment;
  if (!(pair.p > 0 && pair.p < 1 && pair.q > 0 && pair.q < 1)) return false;
  const LogMoment one{pair.p, pair.q};
  const LogMoment other{pair.q, pair.p};
  if (const auto* e = std::get_if<Event::RenyiCurve>(&leaf.node())) return keeps(one, *e) && keeps(other, *e);
  const auto* e = std::get_if<Event::Concentrated>(&leaf.node());
  if (e == nullptr || !(e->rho.value() > 0)) return false;
  const double farthest = maximum(one.largest_loss(), other.largest_loss()).enclosure().upper;
  const auto orders = grid_of_orders(*e, farthest, fine_ratio);
  return keeps(one, *e, orders) && keeps(other, *e, orders);
}

double lower_end(const TwoOutcomes& pair, const Question& question) {
  const StandardFloatingPoint environment;
  if (const auto* at = std::get_if<Epsilon>(&question)) {
    return std::max(0.0, (exactly(pair.p) - exp(exactly(at->value())) * exactly(pair.q)).enclosure().lower);
  }
  const Interval shown = exactly(pair.p) - exactly(std::get<Delta>(question).value());
  return shown.compare(0) > 0 ? std::max(0.0, log(shown / exactly(pair.q)).enclosure().lower) : 0;
}
// Proved so far.

std::optional<TwoOutcomes> two_outcomes(const Event& event, const Question& question) {
  const StandardFloatingPoint environment;
  const auto leaf = stated(event);
  if (!leaf) return std::nullopt;
  TwoOutcomes pair = Search{*leaf, question}.best();
  // Toward each other, until nothing is in doubt.
  for (double shrink = 1e-9; shrink < 0.1; shrink *= 8) {
    if (keeps_divergences(pair, *leaf)) return pair;
    pair.q = pair.p * std::exp(std::log(pair.q / pair.p) * (1 - shrink));
  }
  return std::nullopt;
}

}  // namespace surety::accounting
