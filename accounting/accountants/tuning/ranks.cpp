#include <surety/accounting/accountants/tuning/ranks.h>

#include <surety/accounting/events/runs_law.h>
#include <surety/accounting/numbers/interval.h>

namespace surety::accounting::tuning_ranks {

Slope::Slope(const Runs& runs) : mean_{runs.mean()}, is_poisson_{runs.law() == RunsLaw::poisson} {
  if (runs.cap()) capped_.emplace(runs);
  if (runs.cap() || is_poisson_) return;
  power_ = 1 + shape_of(runs);
  scale_ = expm1(minus_log_stopping(runs, 64)).enclosure().upper;
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
