// The files of the contour accountant, each by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <support/refusal.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/line.h>

namespace surety::accounting::contour::parts_test {
namespace {

using reference::refusal_of;

Loss loss_of(const std::string& text) { return collect(parse_event(text, Adjacency::add_or_remove_one)); }

TEST(ContourLoss, GathersBatchesOfOneKindAndMergesGaussianReleases) {
  const auto loss = loss_of(
      "compose(gaussian(2), repeat(3, poisson(0.1, gaussian(2))), poisson(0.1, gaussian(2)), poisson(0.2, gaussian(1)), parallel(gaussian(1), gaussian(2)), poisson(1, gaussian(2)))");
  EXPECT_DOUBLE_EQ(loss.mu_squared, 1.5);
  ASSERT_EQ(loss.parts.size(), 2U);
  EXPECT_EQ(loss.parts[0].rate, 0.1);
  EXPECT_EQ(loss.parts[0].count, 4);
  EXPECT_EQ(loss.parts[0].mu, 0.5);
  EXPECT_EQ(loss.parts[1].count, 1);
}

TEST(ContourLoss, RefusesByNameWhatHasNoDensity) {
  const auto refusal = refusal_of([] { return loss_of("compose(gaussian(2), repeat(3, pure(1)))"); });
  EXPECT_TRUE(refusal.says(ErrorCode::unsupported, "contour has no answer for pure(1)")) << refusal;
  EXPECT_THROW(static_cast<void>(loss_of("poisson(0.1, gaussian(1e-5))")), Unsuitable);
}

TEST(ContourLoss, IsBoundedInOneDirectionAlone) {
  const auto loss = loss_of("repeat(3, poisson(0.1, gaussian(2)))");
  EXPECT_EQ(largest_loss(loss, Direction::remove), (Enclosure{infinity, infinity}));
  const auto largest = largest_loss(loss, Direction::add);
  const long double truth = -3 * std::log1p(-static_cast<long double>(0.1));
  EXPECT_LE(largest.lower, truth);
  EXPECT_GE(largest.upper, truth);
  EXPECT_LE(largest.width(), 1e-14);
  EXPECT_EQ(largest_loss(loss_of("compose(gaussian(9), poisson(0.1, gaussian(2)))"), Direction::add), (Enclosure{infinity, infinity}));
}

/// Lambda(s) of one batch at s = 1 is known: E[r^2] = 1 + q^2 (e^(mu^2) - 1) where the record is removed.
TEST(ContourMoments, AreThoseOfTheBinomialFormula) {
  const auto loss = loss_of("repeat(7, poisson(0.1, gaussian(2)))");
  Cumulants cumulants{loss, Direction::remove, 40};
  const auto found = cumulants(1);
  const double truth = 7 * std::log1p(0.01 * std::expm1(0.25));
  EXPECT_NEAR(found.value, truth, found.error);
  EXPECT_LT(found.error, 1e-12);
  EXPECT_GT(found.variance, 0);
}

/// As few nodes as a few digits need leave visibly much out; E[r^(s+1)] is a binomial sum where the record is removed.
TEST(ContourMoments, OfFewNodesErrByAsMuchAsTheySay) {
  int between = 0;
  for (const auto& [rate, mu] : {std::tuple{0.1, 0.5}, std::tuple{0.4, 1.5}, std::tuple{0.02, 2.0}}) {
    for (const int order : {2, 3, 4}) {
      long double moment = 0;
      long double binomial = 1;
      for (int k = 0; k <= order; ++k) {
        moment += binomial * std::pow(1 - static_cast<long double>(rate), order - k) * std::pow(static_cast<long double>(rate), k) *
                  std::exp(static_cast<long double>(mu) * static_cast<long double>(mu) * k * (k - 1) / 2);
        binomial = binomial * (order - k) / (k + 1);
      }
      const long double truth = std::log(moment);
      const SampledReleases part{.rate = rate, .mu = mu, .count = 1};
      std::vector<double> weights;
      for (double digits = 1; digits < 12; digits += 0.5) {
        // Far apart, and no further than the range of so many digits; each by itself.
        for (const bool is_coarse : {true, false}) {
          NodeGrid grid;
          fill(grid, part, step_for(mu, 0, order, is_coarse ? digits : 60), range_of(part, order, is_coarse ? 60 : digits));
          const auto found = log_moment(grid, order, tilt(grid, order, weights));
          const long double off = std::abs(static_cast<long double>(found.value()) - truth);
          EXPECT_LE(off, found.radius()) << rate << ' ' << order << ' ' << digits << ' ' << is_coarse;
          between += off > 1e-12L && found.radius() < 1 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(between, 200);
}

TEST(ContourMoments, ARangeThatIsCutIsPaidForByItsError) {
  const SampledReleases part{.rate = 0.1, .mu = 0.5, .count = 1};
  const auto whole = range_of(part, 2, 40);
  EXPECT_LT(range_error(part, 2, whole, 0), 1e-16);
  EXPECT_GT(range_error(part, 2, {whole.low / 4, whole.high / 4}, 0), 1e-3);
}

/// Each of a million additions loses all of what it adds.
// By it one direction is not computed: it may say nothing of a delta that it is far below, and never says that one is smaller than it is.
TEST(ContourChernoff, SaysThatADeltaIsSmallWhereItIs) {
  int shown = 0;
  for (const auto* text : {"repeat(3, poisson(0.3, gaussian(1)))", "repeat(9, poisson(0.01, gaussian(1)))",
                           "repeat(40, poisson(0.1, gaussian(1)))", "compose(gaussian(3), repeat(2, poisson(0.5, gaussian(1))))"}) {
    const auto event = parse_event(text, Adjacency::add_or_remove_one);
    const auto loss = collect(event);
    for (const auto direction : {Direction::remove, Direction::add}) {
      Cumulants cumulants{loss, direction, 30};
      for (const double epsilon : {0.01, 0.1, 0.6, 2.0}) {
        Enclosure found{0, 1};
        try {
          found = delta(Contour{}, event, Epsilon{epsilon}, direction);
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::unsupported);
          continue;
        }
        if (found.lower > 0) {
          EXPECT_FALSE(is_small_by_chernoff(cumulants, epsilon, 0.999 * found.lower)) << text << ' ' << epsilon;
          EXPECT_FALSE(is_small_by_chernoff(cumulants, epsilon, 0.5 * found.lower)) << text << ' ' << epsilon;
        }
        if (found.upper < 1e-4) {
          EXPECT_TRUE(is_small_by_chernoff(cumulants, epsilon, std::sqrt(found.upper))) << text << ' ' << epsilon;
          ++shown;
        }
      }
    }
  }
  EXPECT_GT(shown, 3);
  // What it rests on: (1 - e^-x) e^(-s x) at its largest.
  for (const double s : {1e-6, 0.3, 1.0, 17.0, 1e5}) {
    double most = 0;
    for (double x = 1e-2 * std::log1p(1 / s); x < 30 * std::log1p(1 / s); x *= 1.001)
      most = std::max(most, -std::expm1(-x) * std::exp(-s * x));
    EXPECT_GE(log_chernoff(s).value(), std::log(most)) << s;
    EXPECT_LE(log_chernoff(s).value(), std::log(most) + 1e-5) << s;
  }
}

TEST(ContourSums, CoverWhatTheyLose) {
  constexpr int count = 1 << 20;
  double sum = 1;
  for (int i = 0; i < count; ++i) sum += 0x1p-54;
  EXPECT_EQ(sum, 1);
  EXPECT_GE(covered(sum).value(), 1 + count * 0x1p-54);
  EXPECT_LE(covered(sum).value(), 1 + 1e-8);
}

TEST(ContourSaddle, IsTheLastPointThatIsStillTooSmall) {
  const auto loss = loss_of("gaussian(1)");
  Cumulants cumulants{loss, Direction::remove, 40};
  const auto found = find_saddle(
      cumulants, [](const Saddle& at) { return at.epsilon < 3; }, 0.05);
  EXPECT_LT(found.epsilon, 3);
  EXPECT_GT(found.epsilon, 2);
  EXPECT_EQ(found.variance, 1);
}

/// Where the loss is flat on the left, the nodes' losses differ by no more than their rounding.
TEST(ContourDecay, PiecesLieBelowTheTiltedLaw) {
  using Long = long double;
  for (const auto& [rate, mu, s] : {std::tuple{0.3, 2.0, 1.0}, std::tuple{0.01, 1.0, 4.0}, std::tuple{0.5, 3.0, 0.5}}) {
    const SampledReleases part{.rate = rate, .mu = mu, .count = 1};
    for (const double w : {power(Direction::remove, s), power(Direction::add, s)}) {
      NodeGrid grid;
      std::vector<double> weights;
      fill(grid, part, step_for(mu, 0, w, 40), range_of(part, w, 40));
      const auto moment = log_moment(grid, w, tilt(grid, w, weights));
      const auto found = pieces_of(part, w, moment, grid);
      const auto loss = [&, rate = rate, mu = mu](Long u) {
        return std::log1p(static_cast<Long>(rate) *
                          std::expm1(static_cast<Long>(mu) * u - static_cast<Long>(mu) * static_cast<Long>(mu) / 2));
      };
      const auto tilted = [&](Long u) {
        return std::exp(-u * u / 2 + static_cast<Long>(w) * loss(u) - static_cast<Long>(moment.value())) /
               std::sqrt(2 * std::numbers::pi_v<Long>);
      };
      std::size_t j = 1;
      double all = 0;
      for (const auto& piece : found.pieces) {
        while (j + 1 < grid.u.size() && loss(grid.u[j]) < static_cast<Long>(piece.high)) ++j;
        const Long from = grid.u[j - 1];
        const Long to = grid.u[j];
        ASSERT_GE(piece.low, loss(from)) << rate << ' ' << w;
        ASSERT_LE(piece.high, loss(to)) << rate << ' ' << w;
        const Long simpson = (to - from) / 6 * (tilted(from) + 4 * tilted((from + to) / 2) + tilted(to));
        ASSERT_LE(piece.mass, simpson * (1 + 1e-4L)) << rate << ' ' << w << ' ' << grid.u[j];
        all += piece.mass;
      }
      EXPECT_GT(all, 0.8);
    }
  }
}

TEST(ContourDecay, BoundsTheCharacteristicFunctionOfABatch) {
  const SampledReleases part{.rate = 0.3, .mu = 2, .count = 1};
  NodeGrid grid;
  std::vector<double> weights;
  fill(grid, part, step_for(part.mu, 8, 1, 40), range_of(part, 1, 40));
  const auto moment = log_moment(grid, 1, tilt(grid, 1, weights));
  NodeGrid other;
  const auto pieces = pieces_of(part, 1, moment, other);
  for (const double t : {0.5, 1.0, 3.0, 8.0}) {
    double real = 0;
    double imaginary = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      real += weights[j] * std::cos(t * grid.loss[j]);
      imaginary += weights[j] * std::sin(t * grid.loss[j]);
    }
    EXPECT_LE(std::hypot(real, imaginary), exp(log_decay(pieces, t, t * 1.2)).value() * (1 + 1e-9)) << t;
  }
  EXPECT_LT(log_decay(pieces, 8, 9).value(), -0.05);
}

}  // namespace
}  // namespace surety::accounting::contour::parts_test
