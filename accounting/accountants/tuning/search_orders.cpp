#include <surety/accounting/accountants/tuning/search_orders.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <surety/accounting/accountants/tuning/ranks.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

using namespace tuning_ranks;

/// Atoms as they are ranked: some neighbours as one where there are many, and in parts where they are heavy. A part is what a coin of its own
/// says beside the outcome.
std::vector<WeighedAtom> ranked_atoms(const std::vector<WeighedAtom>& atoms) {
  constexpr std::size_t most = 1 << 11;
  constexpr double heaviest = 0x1p-9;
  const std::size_t together = atoms.size() / most + 1;
  std::vector<WeighedAtom> ranked;
  for (std::size_t i = 0; i < atoms.size();) {
    WeighedAtom one{0, 0};
    const std::size_t end = std::min(atoms.size(), i + together);
    for (; i < end; ++i) {
      one.p += atoms[i].p;
      one.q += atoms[i].q;
    }
    const double error = share_of_units(static_cast<double>(together) + 2);
    const double parts = std::max(1.0, std::ceil(std::max(one.p, std::min(one.q, 1.0)) / heaviest));
    const WeighedAtom part{one.p / parts * (1 - error), one.q / parts * (1 + error)};
    ranked.insert(ranked.end(), static_cast<std::size_t>(parts), part);
  }
  return ranked;
}

}  // namespace

class SearchOrders::Tables {
 public:
  Tables(const Runs& runs, const std::vector<WeighedAtom>& atoms) : slope_{runs}, atoms_{ranked_atoms(atoms)} {
    constexpr double largest_loss = 700;
    std::vector<Corner> points;
    double u = 0;
    double v = 0;
    for (const auto& atom : atoms_) {
      losses_.push_back(atom.q > 0 ? std::min(std::log(atom.p / atom.q), largest_loss) : largest_loss);
      u += atom.p;
      v += atom.q;
      points.push_back({slope_.above(std::max(0.0, 1 - v)), slope_.above(std::max(0.0, 1 - u))});
    }
    hull_ = hull_of(points);
    for (const auto& edge : edges_of(points, hull_)) hull_slopes_.push_back(edge.log_slope);
    error_ = share_of_units(4 * static_cast<double>(atoms_.size() + 4));
  }

  [[nodiscard]] double below(double epsilon) const { return best(epsilon).value; }

  [[nodiscard]] std::vector<WeighedAtom> published(double epsilon) const {
    const auto order = best(epsilon);
    return published(epsilon, order.moved, order.is_greedy);
  }
  [[nodiscard]] std::vector<std::vector<WeighedAtom>> published_by_several() const {
    std::vector<std::vector<WeighedAtom>> found;
    if (atoms_.empty()) return found;
    for (const double epsilon : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0}) {
      for (const double mass : {1.0, 0.95, 0.92, 0.9, 0.88, 0.85, 0.8, 0.7, 0.5, 0.2, 0.02}) {
        double sum = 0;
        std::size_t moved = 0;
        while (moved < atoms_.size() && sum < mass) sum += atoms_[moved++].p;
        found.push_back(published(epsilon, moved, true));
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::vector<WeighedAtom> published(double epsilon, std::size_t moved, bool is_greedy) const {
    std::vector<WeighedAtom> found;
    if (atoms_.empty()) return found;
    sum_of(epsilon, moved, is_greedy, &found);
    const double none = slope_.none_below();
    if (none > 0) found.push_back({none, slope_.none_above()});
    return found;
  }

  /// Which atoms are moved, how they are placed, and what that says of delta.
  struct Order {
    double value;
    std::size_t moved;
    bool is_greedy;
  };

  [[nodiscard]] Order best(double epsilon) const {
    Order found{0, 0, true};
    if (atoms_.empty() || epsilon > 600) return found;
    const std::size_t size = atoms_.size();
    const double least = std::max(losses_.back(), epsilon - (hull_slopes_.empty() ? 0 : std::max(hull_slopes_.front(), 0.0)) - 1e-9);
    const double most = std::max(least, std::min(losses_.front(), losses_[size / 64]));
    const auto above = [&](double loss) {
      return static_cast<std::size_t>(std::partition_point(losses_.begin(), losses_.end(), [&](double one) { return one > loss; }) -
                                      losses_.begin());
    };
    constexpr int steps = 12;
    std::size_t before = size + 1;
    for (int i = 0; i <= steps; ++i) {
      const std::size_t moved = i == 0 ? size : above(least + (most - least) * (i - 1) / steps);
      if (std::exchange(before, moved) == moved) continue;
      for (const bool is_greedy : {true, false}) {
        const double value = sum_of(epsilon, moved, is_greedy, nullptr);
        if (value > found.value) found = {value, moved, is_greedy};
      }
    }
    // Near the best of these.
    for (std::size_t step = size / (2 * steps); step > size / 256; step /= 2) {
      const std::size_t from = found.moved;
      for (const std::size_t moved : {from > step ? from - step : 0, std::min(size, from + step)}) {
        const double value = sum_of(epsilon, moved, found.is_greedy, nullptr);
        if (value > found.value) found = {value, moved, found.is_greedy};
      }
    }
    return found;
  }

  /// The first `moved` atoms are placed by rising loss among the others, which stay by falling loss: each before the first of those that it
  /// had better lie below as its neighbour, or where it is published with the largest difference if nothing else moves.
  double sum_of(double epsilon, std::size_t moved, bool is_greedy, std::vector<WeighedAtom>* all) const {
    poll_limit();
    const double odds = std::exp(epsilon) * (1 + few * (1 + epsilon));
    double u = 0;
    double v = 0;
    double sum = 0;
    std::size_t stays = moved;
    std::size_t vertex = 0;
    const auto take = [&](std::size_t i, bool counts) {
      const auto [p, q] = atoms_[i];
      if (counts || all != nullptr) {
        const auto one = increment(u, v, atoms_[i]);
        if (counts) sum += std::max(0.0, one.p - odds * one.q);
        if (all != nullptr && one.p > 0) all->push_back(one);
      }
      u += p;
      v += q;
    };
    for (std::size_t i = moved; i-- > 0;) {
      while (vertex < hull_.size() && hull_slopes_[vertex] >= epsilon - losses_[i]) ++vertex;
      while (stays < atoms_.size()) {
        const bool goes_below = is_greedy ? losses_[stays] + losses_[i] > epsilon + slope_.bend_between(1 - v, 1 - u)
                                          : vertex > 0 && stays <= hull_[vertex - 1];
        if (!goes_below) break;
        take(stays++, false);
      }
      take(i, true);
    }
    if (all != nullptr) {
      while (stays < atoms_.size()) take(stays++, false);
    }
    return sum * (1 - rounding(atoms_.size()));
  }

  /// phi(u + p) - phi(u) from below and phi(v + q) - phi(v) from above: phi' is convex. Below the sum of Q is cut at 1, as that of the run is.
  [[nodiscard]] WeighedAtom increment(double u, double v, const WeighedAtom& atom) const {
    const double middle = 1 - (u + 0.5 * atom.p) + error_;
    const double end = std::max(0.0, 1 - (v + atom.q) - error_);
    const double start = end + atom.q * (1 - few);
    return {slope_.below(middle) * atom.p * (1 - few), 0.5 * (slope_.above(start) + slope_.above(end)) * atom.q * (1 + few)};
  }

  Slope slope_;
  std::vector<WeighedAtom> atoms_;
  std::vector<double> losses_;
  std::vector<std::size_t> hull_;
  std::vector<double> hull_slopes_;
  double error_ = 0;  ///< of sums of masses
};

SearchOrders::SearchOrders(const Runs& runs, const std::vector<WeighedAtom>& atoms) {
  const StandardFloatingPoint environment;
  tables_ = std::make_shared<const Tables>(runs, atoms);
}
double SearchOrders::below(double epsilon) const {
  const StandardFloatingPoint environment;
  return tables_->below(epsilon);
}
std::vector<WeighedAtom> SearchOrders::published(double epsilon) const {
  const StandardFloatingPoint environment;
  return tables_->published(epsilon);
}

std::vector<std::vector<WeighedAtom>> SearchOrders::published_by_several() const {
  const StandardFloatingPoint environment;
  return tables_->published_by_several();
}

}  // namespace surety::accounting
