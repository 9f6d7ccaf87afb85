// The event of several records, against mechanisms on a chain of data sets of which each differs from the next in one record.
#include <surety/accounting/events/event_of_group.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>

namespace surety::accounting::event_of_group_test {
namespace {

/// The laws of one release on data sets 0, 1, ..., k.
using Chain = std::vector<std::vector<double>>;

double hockey_stick(const std::vector<double>& p, const std::vector<double>& q, double odds) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - odds * q[i]);
  return sum;
}
/// Of the ends of the chain, or of each of its steps at worst, in both directions.
double of_ends(const Chain& chain, double epsilon) {
  const double odds = std::exp(epsilon);
  return std::max(hockey_stick(chain.front(), chain.back(), odds), hockey_stick(chain.back(), chain.front(), odds));
}
double of_steps(const Chain& chain, double epsilon) {
  double most = 0;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) most = std::max(most, of_ends({chain[i], chain[i + 1]}, epsilon));
  return most;
}

Enclosure said(const std::string& text, int records, double epsilon) {
  const Event event = parse_event(text, Adjacency::replace_one);
  return best_delta(event_of_group(event, Count{static_cast<std::uint64_t>(records)}), Epsilon{epsilon}).value;
}

/// What is said encloses the chain's ends, which attain it.
void expect_attained(const std::string& text, const Chain& chain) {
  const int records = static_cast<int>(chain.size()) - 1;
  for (const double epsilon : {0.0, 0.3, 1.1, 2.5}) {
    const double truth = of_ends(chain, epsilon);
    const auto found = said(text, records, epsilon);
    EXPECT_LE(truth, found.upper + 1e-12) << text << " " << records << " " << epsilon;
    EXPECT_NEAR(truth, found.lower, 1e-4) << text << " " << records << " " << epsilon;
    EXPECT_NEAR(truth, found.upper, 1e-4) << text << " " << records << " " << epsilon;
  }
}

// Each of the records moves a query by the sensitivity, all the same way.
TEST(EventOfGroup, OfNoiseOnIntegersIsAttainedByASum) {
  constexpr int reach = 60;
  for (const int records : {1, 2, 5}) {
    for (const int sensitivity : {1, 3}) {
      const auto chain_of = [&](auto weight) {
        Chain chain;
        for (int i = 0; i <= records; ++i) {
          std::vector<double> law;
          double all = 0;
          for (int x = -reach; x <= reach + records * sensitivity; ++x) law.push_back(weight(x - i * sensitivity)), all += law.back();
          for (double& mass : law) mass /= all;
          chain.push_back(std::move(law));
        }
        return chain;
      };
      expect_attained(fmt::format("discrete_laplace(2, {})", sensitivity), chain_of([](int k) { return std::exp(-0.5 * std::abs(k)); }));
      expect_attained(fmt::format("discrete_gaussian(3, {})", sensitivity), chain_of([](int k) { return std::exp(-k * k / 18.0); }));
    }
  }
}

// Each answers for itself: of data set i the first i records say 1.
TEST(EventOfGroup, OfRandomizedResponseIsAttainedByAnswersOfEach) {
  for (const int records : {1, 2, 4}) {
    Chain chain;
    for (int i = 0; i <= records; ++i) {
      std::vector<double> law;
      for (int answers = 0; answers < 1 << records; ++answers) {
        double probability = 1;
        for (int at = 0; at < records; ++at) probability *= ((answers >> at) & 1) == (at < i ? 1 : 0) ? 0.7 : 0.3;
        law.push_back(probability);
      }
      chain.push_back(std::move(law));
    }
    expect_attained("randomized_response(0.7, 2)", chain);
  }
}

Chain draw_chain(std::mt19937_64& words, int records, double spread) {
  std::uniform_real_distribution<double> unit{0, 1};
  Chain chain;
  for (int i = 0; i <= records; ++i) {
    std::vector<double> law;
    double all = 0;
    for (int r = 0; r < 4; ++r) {
      const double before = i == 0 ? 0 : std::log(chain.back()[static_cast<std::size_t>(r)]);
      law.push_back(std::exp(before + spread * (2 * unit(words) - 1 + (r == 0 ? 0.8 : 0))));
      all += law.back();
    }
    for (double& mass : law) mass /= all;
    chain.push_back(std::move(law));
  }
  return chain;
}

// Whatever promise each step of a chain keeps, its ends keep the promise of the group.
TEST(EventOfGroup, OfPromisesHoldsOfEveryChain) {
  std::mt19937_64 words{11};
  double closest = 0;
  for (int number = 0; number < 4; ++number) {
    const int records = 2 + number % 4;
    const auto chain = draw_chain(words, records, 0.1 + 0.3 * number);
    double loss = 0;
    double range = 0;
    double concentration = 0;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      double least = INFINITY;
      double most = -INFINITY;
      for (std::size_t r = 0; r < 4; ++r) {
        least = std::min(least, std::log(chain[i][r] / chain[i + 1][r]));
        most = std::max(most, std::log(chain[i][r] / chain[i + 1][r]));
      }
      loss = std::max({loss, most, -least});
      range = std::max(range, most - least);
    }
    concentration = 0.5 * loss * loss;  // of anything pure
    const double part = 0.6 * loss;
    const double rest = of_steps(chain, part) * (1 + 1e-12);
    for (const double epsilon : {0.0, 0.4 * loss, loss, 0.8 * loss * records}) {
      const double truth = of_ends(chain, epsilon);
      for (const auto& text : {fmt::format("pure({:.17g})", loss), fmt::format("exponential({:.17g})", range),
                               fmt::format("zcdp({:.17g})", concentration), fmt::format("approx({:.17g}, {:.17g})", part, rest)}) {
        if (rest * std::expm1(records * part) > std::expm1(part) * 0.999 && text[0] == 'a') continue;  // says nothing
        const double most = said(text, records, epsilon).upper;
        EXPECT_LE(truth, most * (1 + 1e-9)) << text << " " << records << " " << epsilon;
        closest = std::max(closest, truth / most);
      }
    }
  }
  EXPECT_GT(closest, 0.3);
}

// Uniform laws that move by one of ten places are (0, 1/10)-private, and k steps are (0, k/10)-private and no more.
TEST(EventOfGroup, OfApproximateReleasesIsAttainedByASlidingInterval) {
  for (const int records : {1, 3, 7}) {
    Chain chain;
    for (int i = 0; i <= records; ++i) {
      std::vector<double> law(20, 0.0);
      std::fill_n(law.begin() + i, 10, 0.1);
      chain.push_back(std::move(law));
    }
    EXPECT_NEAR(of_steps(chain, 0), 0.1, 1e-15);
    EXPECT_NEAR(said("approx(0, 0.1)", records, 0).upper, of_ends(chain, 0), 1e-12);
    EXPECT_NEAR(said("approx(0, 0.1)", records, 0).upper, 0.1 * records, 1e-12);
  }
}

// Of records that fall into two parts some way or other: no way costs more.
TEST(EventOfGroup, OfGaussianPartsIsAtLeastEveryWayToFallIntoThem) {
  const auto gaussian_curve = [](double mu, double epsilon) {
    const auto tail = [](double t) { return 0.5 * std::erfc(t / std::sqrt(2.0)); };
    return tail(epsilon / mu - 0.5 * mu) - std::exp(epsilon) * tail(epsilon / mu + 0.5 * mu);
  };
  for (const int records : {2, 6}) {
    for (const double epsilon : {0.1, 1.0}) {
      const auto found = said("parallel(gaussian(4), gaussian(9))", records, epsilon);
      double most = 0;
      for (int first = 0; first <= records; ++first)
        most = std::max(most, gaussian_curve(std::hypot(first / 4.0, (records - first) / 9.0), epsilon));
      EXPECT_LE(most, found.upper * (1 + 1e-9));
      EXPECT_GE(most, found.lower * (1 - 1e-9));
    }
  }
}

TEST(ChainDelta, IsTheSumOfItsStepsRoundedUp) {
  for (const double epsilon : {0.0, 1e-12, 0.01, 0.7, 9.0}) {
    for (const double delta : {0.0, 1e-290, 1e-9, 0.2}) {
      for (const int steps : {1, 2, 7, 40}) {
        long double sum = 0;
        for (int i = 0; i < steps; ++i) sum += static_cast<long double>(delta) * std::exp(static_cast<long double>(epsilon) * i);
        const double found = chain_delta(epsilon, delta, steps);
        EXPECT_LE(found, 1);
        EXPECT_GE(found, std::min(1.0L, sum * (1 - 1e-17L * steps))) << epsilon << " " << delta << " " << steps;
        EXPECT_LE(found, std::min(1.0L, sum * (1 + 1e-14L))) << epsilon << " " << delta << " " << steps;
      }
    }
  }
  EXPECT_EQ(chain_delta(1e300, 1e-300, 2), 1) << "no delta of double is left of so many steps";
}

}  // namespace
}  // namespace surety::accounting::event_of_group_test
