#include <surety/accounting/laws/cells/maximum_profile.h>

#include <surety/accounting/laws/cells/dominating_pair.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <support/plain_law.h>

namespace surety::accounting::maximum_profile_test {
namespace {

using namespace testing;

/// Connect the dots of the larger of two curves, finely, in plain double arithmetic.
std::vector<Atom> larger(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  const double step = 1e-3;
  const int least = -1800;
  const int largest = 1800;
  std::vector<double> delta;
  for (int i = least; i <= largest; ++i) delta.push_back(std::max(delta_of(a, i * step), delta_of(b, i * step)));
  std::vector<Atom> found;
  for (std::size_t i = 0; i < delta.size(); ++i) {
    const double before = i == 0 ? delta[i] - 1 : (delta[i] - delta[i - 1]) / -std::expm1(-step);
    const double after = i + 1 == delta.size() ? 0 : (delta[i + 1] - delta[i]) / std::expm1(step);
    found.push_back({(static_cast<int>(i) + least) * step, after - before});
  }
  return found;
}
std::vector<Atom> twice(const std::vector<Atom>& law) {
  std::vector<Atom> found;
  for (const auto& a : law) {
    for (const auto& b : law) {
      if (std::abs(a.mass * b.mass) > 1e-18) found.push_back({a.loss + b.loss, a.mass * b.mass});
    }
  }
  return found;
}

// Neither curve lies above the other: one has the larger losses, the other more mass on them.
TEST(Parallel, ComposesTheLargerOfTwoCurves) {
  const double e = std::exp(1.0);
  const std::vector<Atom> pure{{-1, 1 / (1 + e)}, {1, e / (1 + e)}};
  const double loss = std::log(0.3 * 9 / 0.7);
  const std::vector<Atom> response{{-loss, 0.7 / 9}, {0, 0.7 / 9 * 8}, {loss, 0.3}};
  const std::string text = "parallel(pure(1), randomized_response(0.3, 10))";
  const auto brute = larger(pure, response);
  for (const double at : {0.0, 0.4, 0.9, 1.2}) {
    const double once = std::max(delta_of(pure, at), delta_of(response, at));
    EXPECT_NEAR(delta_of(text, at, 1e-5).upper, once, 1e-7) << at;
    EXPECT_NEAR(delta_of(text, at, 1e-5).lower, once, 1e-7) << at;
  }
  for (const double at : {0.0, 0.4, 0.9, 1.2, 1.7, 2.2}) {
    const double truth = delta_of(twice(brute), at);
    const auto found = delta_of("repeat(2, " + text + ")", at, 1e-5);
    EXPECT_NEAR(found.upper, truth, 5e-5) << at;
    EXPECT_LE(found.lower, truth + 1e-9) << at;
    // More than twice either part, and their lower bounds hold.
    EXPECT_GE(found.upper, delta_of(twice(pure), at)) << at;
    EXPECT_GE(found.upper, delta_of(twice(response), at)) << at;
    EXPECT_GE(found.lower, std::max(delta_of(twice(pure), at), delta_of(twice(response), at)) * 0.9 - 1e-9) << at;
  }
}

TEST(Parallel, LiesOnOrAboveEachOfItsCurves) {
  const std::vector<LossLaw> laws{LossLaw{GaussianBase{1.5}}, LossLaw{LaplaceBase{1.2}}, LossLaw{GaussianBase{0.7}, Mixing::remove, 0.2}};
  const Cut cut{-40, -40};
  for (const double step : {0.1, 0.01, 1e-3}) {
    const auto found = maximum_cells(laws, step, cut, cells);
    std::vector<Atom> all{{infinity, static_cast<double>(found.cut_above)}};
    double total = 0;
    for (const auto& cell : found.cells) {
      all.push_back({found.anchor + static_cast<double>(cell.index) * step, cell.mass * std::exp(cell.log_scale)});
      total += all.back().mass;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    double highest = 0;
    for (const auto& law : laws) {
      // The cells' own merged losses bound the curve of the law from below.
      const auto cells_of = cells(law, 1e-3, cut);
      std::vector<Atom> below;
      for (const auto& cell : cells_of.cells) {
        below.push_back(
            {cells_of.anchor + static_cast<double>(cell.index) * 1e-3 - std::log1p(-cell.excess), cell.mass * std::exp(cell.log_scale)});
      }
      for (double at = -6; at < 6; at += 0.037) {
        EXPECT_GE(delta_of(all, at), delta_of(below, at) * (1 - 1e-9)) << at << ' ' << step;
        highest = std::max(highest, delta_of(below, at));
      }
    }
    EXPECT_GT(highest, 0.9);
  }
}

// Parts that several laws have are spread once, each with the share that it has in a law.
TEST(Parallel, HasPublicMixturesAmongItsLaws) {
  const LossLaw often{GaussianBase{1.5}, Mixing::remove, 0.2};
  const LossLaw twice{GaussianBase{0.75}, Mixing::remove, 0.15};
  const LossLaw seldom{GaussianBase{0.75}, Mixing::remove, 0.01};
  const auto mixture = [](const LossLaw& one, const LossLaw& other, double share) {
    return LossLaw{PublicMixtureBase{std::make_shared<const std::vector<LossLaw>>(std::vector{one, other}), {1 - share, share}, 1e-15}};
  };
  const Cut cut{-40, -40};
  const std::vector<LossLaw> laws{often, mixture(often, twice, 0.3), mixture(often, seldom, 0.6)};
  const double step = 1e-3;
  const auto atoms_of = [&](const LossCells& found, bool is_merged) {
    std::vector<Atom> atoms{{infinity, static_cast<double>(found.cut_above)}};
    for (const auto& cell : found.cells) {
      const double rise = is_merged ? -std::log1p(-cell.excess) : 0;
      atoms.push_back({found.anchor + static_cast<double>(cell.index) * step + rise, cell.mass * std::exp(cell.log_scale)});
    }
    return atoms;
  };
  const auto largest = atoms_of(maximum_cells(laws, step, cut, cells), false);
  int differing = 0;
  for (double at = -0.2; at < 6; at += 0.0371) {
    std::vector<double> each;
    for (const auto& law : laws) each.push_back(delta_of(atoms_of(cells(law, step, cut), true), at));
    const double most = *std::max_element(each.begin(), each.end());
    EXPECT_GE(delta_of(largest, at), most * (1 - 1e-9)) << at;
    EXPECT_LE(delta_of(largest, at), most + 1e-6) << at;
    differing += most > each[0] + 1e-4 ? 1 : 0;
  }
  EXPECT_GT(differing, 10);
}

TEST(Parallel, CostsAtLeastEachPartWhateverIsReleasedBeside) {
  const std::vector<std::string> parts{"laplace(4)", "gaussian(3)", "repeat(3, pure(0.1))", "poisson(0.5, gaussian(1.6))"};
  for (const std::string beside : {"gaussian(5)", "repeat(4, randomized_response(0.6, 3))"}) {
    const std::string all = "parallel(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ", " + parts[3] + ")";
    const auto found = epsilon_of("compose(repeat(5, " + all + "), " + beside + ")", 1e-5, 1e-3, zero);
    double most = 0;
    double least = infinity;
    for (const auto& part : parts) {
      const auto one = epsilon_of("compose(repeat(5, " + part + "), " + beside + ")", 1e-5, 1e-3, zero);
      EXPECT_LE(one.lower, found.upper) << part;
      most = std::max(most, one.upper);
      least = std::min(least, one.upper);
    }
    EXPECT_GT(found.lower, least) << beside;
    EXPECT_NEAR(found.lower, most, 0.02 * most) << beside;
    EXPECT_LT(found.upper, 1.5 * most) << beside;
  }
}

}  // namespace
}  // namespace surety::accounting::maximum_profile_test
