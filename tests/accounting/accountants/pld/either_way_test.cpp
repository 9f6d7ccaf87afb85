// Rounds that may be seen either way against strategies integrated by a program of its own.
#include <surety/accounting/accountants/pld/either_way.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::either_way_test {
namespace {

using pld::either_way;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// (1 - rate) N(0, 1) + rate N(shift, 1) against N(0, 1), and reversed.
struct Batch {
  double rate;
  double shift;

  [[nodiscard]] double loss(double y) const { return std::log1p(rate * std::expm1(shift * y - 0.5 * shift * shift)); }
  [[nodiscard]] double density(double y, bool with_record) const {
    const auto normal = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); };
    return with_record ? (1 - rate) * normal(y) + rate * normal(y - shift) : normal(y);
  }
};

/// What the best choice of directions attains of so many rounds, by the trapezoid rule on outcomes and linear interpolation on losses.
class Strategies {
 public:
  Strategies(const Batch& batch, int rounds, bool chooses) {
    constexpr double outcome_step = 0.03;
    for (double y = -9; y < 9 + batch.shift; y += outcome_step) {
      forward_.push_back({batch.loss(y), outcome_step * batch.density(y, true)});
      backward_.push_back({-batch.loss(y), outcome_step * batch.density(y, false)});
    }
    const std::size_t size = 6001;
    values_.resize(size);
    for (std::size_t i = 0; i < size; ++i) values_[i] = std::max(0.0, -std::expm1(loss_of(i)));
    for (int k = 0; k < rounds; ++k) {
      std::vector<double> next(size);
      for (std::size_t i = 0; i < size; ++i) {
        next[i] = expected(forward_, loss_of(i));
        if (chooses) next[i] = std::max(next[i], expected(backward_, loss_of(i)));
      }
      values_ = std::move(next);
    }
  }
  [[nodiscard]] double delta(double x) const {
    const double place = (x - least_) / step_;
    if (place <= 0) return -std::expm1(x);
    const auto i = static_cast<std::size_t>(place);
    if (i + 1 >= values_.size()) return 0;
    const double share = place - static_cast<double>(i);
    return (1 - share) * values_[i] + share * values_[i + 1];
  }

 private:
  [[nodiscard]] double loss_of(std::size_t i) const { return least_ + static_cast<double>(i) * step_; }
  struct Outcome {
    double loss;
    double mass;
  };
  [[nodiscard]] double expected(const std::vector<Outcome>& outcomes, double x) const {
    double sum = 0;
    for (const auto& [loss, mass] : outcomes) sum += mass * delta(x - loss);
    return sum;
  }

  static constexpr double least_ = -6;
  static constexpr double step_ = 0.002;
  std::vector<Outcome> forward_;
  std::vector<Outcome> backward_;
  std::vector<double> values_;
};

/// Cells of outcomes of one round, by falling loss.
std::vector<WeighedAtom> atoms_of(const Batch& batch) {
  constexpr double width = 0.002;
  std::vector<WeighedAtom> atoms;
  for (double y = 8 + batch.shift; y > -8; y -= width) {
    const double q = normal_cdf(y) - normal_cdf(y - width);
    const double p = (1 - batch.rate) * q + batch.rate * (normal_cdf(y - batch.shift) - normal_cdf(y - width - batch.shift));
    atoms.push_back({p * (1 - 1e-9), q * (1 + 1e-9)});
  }
  return atoms;
}

// Two and three rounds at high rates: more than one direction throughout attains, and no more than any strategy does.
TEST(EitherWay, LiesBelowStrategiesAndNear) {
  for (const auto& [rate, shift, rounds] : {std::tuple{0.8, 2.0, 2}, {0.3, 1.5, 3}, {0.05, 1.0, 3}}) {
    const Batch batch{rate, shift};
    const Strategies truth{batch, rounds, true};
    const Strategies one_direction{batch, rounds, false};
    const auto curve = either_way({atoms_of(batch), {}}, static_cast<std::uint64_t>(rounds), 0.004, 1600, 8);
    double gained = 0;
    for (const double x : {0.0, 0.099999, 0.399999, 0.999999, 1.999999}) {
      EXPECT_LE(curve.delta(x), truth.delta(x) + 3e-6) << rate << ' ' << x;
      EXPECT_GE(curve.delta(x), 0.998 * truth.delta(x)) << rate << ' ' << x;
      gained = std::max(gained, curve.delta(x) / one_direction.delta(x));
    }
    EXPECT_GT(gained, 1.0005) << rate;
  }
}

TEST(EitherWay, ARowKeepsWhatItIsMadeOf) {
  const Batch batch{0.3, 1.5};
  const Strategies truth{batch, 3, true};
  pld::EitherWayTerms terms;
  terms.merged = false;
  EXPECT_LE(either_way({atoms_of(batch), {}}, 3, 0.1, 80, 1).delta(0.6), truth.delta(0.6));
  EXPECT_GT(either_way({atoms_of(batch), {}}, 3, 0.1, 80, 1, terms).delta(0.6), 1.01 * truth.delta(0.6));
}

// What is shown last is one law, and an outcome without Q-mass shows all.
TEST(EitherWay, TakesWhatIsShownLastAndWhatShowsAll) {
  const Batch batch{0.3, 1.5};
  const auto atoms = atoms_of(batch);
  const auto three = either_way({atoms, {}}, 3, 0.004, 2000, 1);
  const auto two_and_one = either_way({atoms, atoms}, 2, 0.004, 2000, 1);
  EXPECT_DOUBLE_EQ(three.delta(0.4), two_and_one.delta(0.4));
  const auto shown = either_way({{{0.25, 0}, {0.75, 0.75}}, {}}, 2, 0.01, 100, 1);
  EXPECT_LE(shown.delta(0.5), 1 - 0.75 * 0.75);
  EXPECT_NEAR(shown.delta(0.5), 1 - 0.75 * 0.75, 1e-12);
  EXPECT_EQ(shown.epsilon(0.5), 0);
}

// Rounding leaves atoms of next to no mass in a composed law, whose losses are not in order.
TEST(EitherWay, MakesNoMassOfAtomsThatAreOutOfOrder) {
  const Batch batch{0.05, 1.0};
  const Strategies truth{batch, 3, true};
  auto atoms = atoms_of(batch);
  for (std::size_t i = 500; i < atoms.size(); i += 500) atoms.insert(atoms.begin() + static_cast<std::ptrdiff_t>(i), {1e-12, 1.0001e-12});
  for (const double step : {0.004, 0.01}) {
    const auto curve = either_way({atoms, {}}, 3, step, 1600, 8);
    for (const double x : {0.0, 0.099999, 0.399999}) EXPECT_LE(curve.delta(x), truth.delta(x) + 3e-6) << step << ' ' << x;
  }
}

// A block of several rounds is such a law: its lower end once lay above what a finer grid proves from above.
TEST(EitherWay, LiesBelowTheUpperEndOfFinerGrids) {
  const Event event = parse_event("repeat(700, without_replacement(1000, 21, gaussian(30)))", Adjacency::replace_one);
  const auto coarse = best_epsilon(event, Delta{1e-4}).value;
  const auto fine = best_epsilon(event, Delta{1e-4}, {.width = 1e-6}).value;
  EXPECT_LE(coarse.lower, fine.upper);
  // By two programs on floating-point grids: the game 0.0403, the upper law 0.0409.
  EXPECT_LE(coarse.lower, 0.04033);
  EXPECT_GE(coarse.lower, 0.0401);
}

// Through the entrance: the lower end lies above what one direction throughout proves, and below strategies.
TEST(EitherWay, RaisesTheLowerEndOfBatchesOfFixedSize) {
  const Batch batch{0.5, 1.0};
  const Strategies truth{batch, 3, true};
  const Strategies one_direction{batch, 3, false};
  const Event event = parse_event("repeat(3, without_replacement(2, 1, gaussian(1)))", Adjacency::replace_one);
  for (const double x : {0.1, 0.5, 1.5}) {
    const auto found = best_delta(event, Epsilon{x}).value;
    EXPECT_LE(found.lower, truth.delta(x) + 3e-6) << x;
    EXPECT_GE(found.lower, 0.5 * (truth.delta(x) + one_direction.delta(x)) - 1e-5) << x;
  }
}

}  // namespace
}  // namespace surety::accounting::either_way_test
