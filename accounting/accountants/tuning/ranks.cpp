#include <surety/accounting/accountants/tuning/ranks.h>

#include <surety/accounting/events/runs_law.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::tuning_ranks {

Slope::Slope(const Runs& runs) : mean_{runs.mean()}, is_poisson_{runs.law() == RunsLaw::poisson} {
  if (runs.cap()) capped_.emplace(runs);
  if (runs.cap() || is_poisson_) return;
  power_ = 1 + shape_of(runs);
  scale_ = expm1(minus_log_stopping(runs, 64)).enclosure().upper;
}

std::vector<double> survival_above(const Runs& runs, std::size_t most) {
  constexpr double hardly_any = 1e-10;
  const bool is_poisson = runs.law() == RunsLaw::poisson;
  const double shape = is_poisson ? 0 : shape_of(runs);
  const double goes_on = is_poisson ? 0 : -std::expm1(-minus_log_stopping(runs, 64).enclosure().lower);
  // Each probability is a product of as many factors as there are runs, and each factor of a few roundings.
  double mass = is_poisson ? std::exp(-runs.mean()) * (1 - margin) : Slope{runs}.below(1);
  double known = 0;
  std::vector<double> found{1};
  if (!is_poisson) found.push_back(1);
  for (std::size_t k = found.size() - 1; k < most && found.back() > hardly_any; ++k) {
    known += mass * (1 - few * (8 + static_cast<double>(k)) - margin);
    found.push_back(std::clamp(1 - known + margin, 0.0, found.back()));
    if (runs.cap() && k >= runs.cap()->value()) found.back() = 0;
    const auto times = static_cast<double>(k);
    mass *= is_poisson ? runs.mean() / (times + 1) : goes_on * (times + shape) / (times + 1);
  }
  return found;
}

double Slope::bend_between(double v_bar, double u_bar) const {
  if (is_poisson_) return mean_ * (u_bar - v_bar);
  const auto within = [](double bar) { return std::clamp(bar, 0.0, 1.0); };
  if (capped_) return std::log(capped_->above(2, within(v_bar)) / capped_->above(2, within(u_bar)));
  return (power_ + 1) * std::log((1 + scale_ * within(u_bar)) / (1 + scale_ * within(v_bar)));
}

std::vector<std::size_t> hull_of(const std::vector<Corner>& points) {
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return points[i].b < points[j].b || (points[i].b == points[j].b && points[i].a > points[j].a);
  });
  std::vector<std::size_t> kept;
  const auto at = [&](std::size_t back) { return kept.size() >= back ? points[kept[kept.size() - back]] : Corner{0, 0}; };
  for (const std::size_t i : order) {
    const Corner next = points[i];
    if (next.a <= at(1).a) continue;
    while (!kept.empty()) {
      const Corner last = at(1);
      const Corner before = at(2);
      const auto rise = static_cast<long double>(last.a - before.a) * static_cast<long double>(next.b - before.b);
      const auto run = static_cast<long double>(next.a - before.a) * static_cast<long double>(last.b - before.b);
      if (rise > run) break;
      kept.pop_back();
    }
    kept.push_back(i);
  }
  return kept;
}

std::vector<Edge> edges_of(const std::vector<Corner>& points, const std::vector<std::size_t>& hull) {
  std::vector<Edge> edges;
  Corner from{0, 0};
  for (const std::size_t i : hull) {
    const Corner to = points[i];
    const double rise = to.a - from.a;
    const double run = to.b - from.b;
    edges.push_back({rise, run, run > 0 ? std::log(rise / run) : infinity});
    from = to;
  }
  return edges;
}

}  // namespace surety::accounting::tuning_ranks
