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
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>

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

// Each record moves the map of a step by the sensitivity, so k of them move it k times as far; a domain is as much narrower in that unit.
TEST(EventOfGroup, OfALastIterateMovesItsMapsTogether) {
  const auto group = [](const char* text) { return describe(event_of_group(parse_event(text, Adjacency::replace_one), Count{4})); };
  EXPECT_EQ(group("last_iterate(9, 0.5, gaussian(8))"), "last_iterate(9, 0.5, gaussian(2))");
  EXPECT_EQ(group("last_iterate_of_passes(3, 5, 0.5, record_sum(8))"), "last_iterate_of_passes(3, 5, 0.5, record_sum(2))");
  EXPECT_EQ(group("last_iterate_of_batches(3, 5, 2, 7, gaussian(8))"), "last_iterate_of_batches(3, 5, 2, 7, gaussian(2))");
  EXPECT_EQ(group("repeat(3, last_iterate_within(8, 9, 0.5, gaussian(8)))"),
            "repeat(3, last_iterate_within(2.0000000000000004, 9, 0.5, gaussian(2)))");
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

// ---- Users of single releases ----

Enclosure of_users(const std::string& text, int records, double epsilon) {
  return best_delta(parse_event(fmt::format("users({}, {})", records, text), Adjacency::replace_one), Epsilon{epsilon}).value;
}

/// The trade-off of one step: what is at most likely where the neighbour has this probability.
double step_up(double epsilon, double delta, double x) {
  return std::min({1.0, delta + std::exp(epsilon) * x, 1 - std::exp(-epsilon) * (1 - delta - x)});
}
/// Where a step reaches y, or nothing below 0.
double step_down(double epsilon, double delta, double y) {
  const double vertex = (1 - delta) / (1 + std::exp(epsilon));
  return y <= step_up(epsilon, delta, vertex) ? (y - delta) * std::exp(-epsilon) : 1 - delta - (1 - y) * std::exp(epsilon);
}

/// Laws of which each is the worst (epsilon, delta)-private neighbour of the next: masses of the intervals between all places where a step bends.
Chain worst_chain(double epsilon, double delta, int records) {
  std::vector<double> places{0, 1};
  for (double bend : {(1 - delta) / (1 + std::exp(epsilon)), 1 - delta}) {
    for (int i = 0; i < records && bend > 0; ++i, bend = step_down(epsilon, delta, bend)) places.push_back(bend);
  }
  std::sort(places.begin(), places.end());
  Chain chain;
  std::vector<double> up_to = places;
  for (int i = records; i >= 0; --i) {
    std::vector<double> law{up_to[0]};
    for (std::size_t j = 0; j + 1 < up_to.size(); ++j) law.push_back(up_to[j + 1] - up_to[j]);
    chain.insert(chain.begin(), std::move(law));
    for (double& mass : up_to) mass = step_up(epsilon, delta, mass);
  }
  return chain;
}

TEST(GroupBounds, OfPureAndApproximateReleasesAreThoseOfTheWorstChain) {
  for (const int records : {2, 3, 6}) {
    for (const double epsilon : {0.05, 0.7}) {
      for (const double delta : {0.0, 1e-4, 0.01}) {
        const auto chain = worst_chain(epsilon, delta, records);
        ASSERT_LE(of_steps(chain, epsilon), delta + 1e-14) << "the chain keeps its guarantee";
        const auto text = fmt::format("approx({}, {})", epsilon, delta);
        for (const double share : {0.0, 0.31, 0.6, 0.9, 1.0, 1.2}) {
          const double at = share * records * epsilon;
          const double truth = of_ends(chain, at);
          const auto found = of_users(text, records, at);
          EXPECT_LE(found.lower, truth + 1e-12) << text << " " << records << " " << at;
          EXPECT_GE(found.upper, truth - 1e-12) << text << " " << records << " " << at;
          EXPECT_LE(found.upper - found.lower, 1e-7 + 1e-3 * found.upper) << text << " " << records << " " << at;
        }
      }
    }
  }
  // Where the delta of a chain runs out of mass, nothing is said from below.
  EXPECT_FALSE(group_bounds(parse_event("approx(1, 0.05)", Adjacency::zero_out), Count{5})->lower);
}

TEST(GroupBounds, OfEveryChainAreAboveIt) {
  std::mt19937_64 words{12};
  for (int number = 0; number < 4; ++number) {
    const int records = 2 + number;
    const auto chain = draw_chain(words, records, 0.1 + 0.3 * number);
    std::string points;
    double loss = 0;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      for (std::size_t r = 0; r < 4; ++r) loss = std::max(loss, std::abs(std::log(chain[i][r] / chain[i + 1][r])));
    }
    for (const double share : {0.0, 0.3, 0.6}) {
      points += fmt::format("{}{:.17g}, {:.17g}", points.empty() ? "" : ", ", share * loss, of_steps(chain, share * loss) * (1 + 1e-12));
    }
    for (const double at : {0.0, 0.4 * loss, loss, 0.8 * loss * records}) {
      for (const auto& text :
           {fmt::format("pure({:.17g})", loss), fmt::format("approx({:.17g}, {:.17g})", 0.5 * loss, of_steps(chain, 0.5 * loss) + 1e-15),
            "curve(" + points + ")"}) {
        try {
          EXPECT_LE(of_ends(chain, at), of_users(text, records, at).upper * (1 + 1e-9)) << text << " " << records << " " << at;
        } catch (const Error& error) {
          EXPECT_NE(std::string{error.what()}.find("its delta reaches 1"), std::string::npos) << error.what();
        }
      }
    }
  }
}

/// The larger divergence of an order of two laws, in both directions.
double divergence(const std::vector<double>& p, const std::vector<double>& q, double order) {
  const auto one_way = [order](const std::vector<double>& one, const std::vector<double>& other) {
    std::vector<double> exponents;
    for (std::size_t i = 0; i < one.size(); ++i) exponents.push_back(order * std::log(one[i]) + (1 - order) * std::log(other[i]));
    const double top = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0;
    for (const double exponent : exponents) sum += std::exp(exponent - top);
    return (top + std::log(sum)) / (order - 1);
  };
  return std::max(one_way(p, q), one_way(q, p));
}

// rho k^2 and xi k H_k, both of which a chain needs.
TEST(GroupBounds, OfShiftedConcentrationAreAboveTheDivergencesOfEveryChain) {
  std::mt19937_64 words{13};
  double closest = 0;
  for (int number = 0; number < 40; ++number) {
    const int records = 2 + number % 3;
    auto chain = draw_chain(words, records, 0.02 + 0.1 * (number % 5));
    if (number % 2 == 0) {
      // A Gaussian that moves, on a grid.
      const double mu = 0.05 * (1 + number);
      for (int i = 0; i <= records; ++i) {
        std::vector<double> law;
        double all = 0;
        for (double x = -9; x <= 9 + mu * records; x += 0.05)
          law.push_back(std::exp(-0.5 * (x - mu * i) * (x - mu * i))), all += law.back();
        for (double& mass : law) mass /= all;
        chain[static_cast<std::size_t>(i)] = std::move(law);
      }
    }
    for (const double share : {0.0, 0.4, 0.9}) {
      // The least rho beside a xi that is a share of the first order's divergence.
      std::vector<double> orders;
      for (double a = 1.02; a < 30; a *= 1.05) orders.push_back(a);
      double first = 0;
      for (std::size_t i = 0; i + 1 < chain.size(); ++i) first = std::max(first, divergence(chain[i], chain[i + 1], 1.0001));
      const double xi = share * first;
      double rho = 0;
      for (double a = 1.0001; a < 130; a *= 1.01) {
        for (std::size_t i = 0; i + 1 < chain.size(); ++i) rho = std::max(rho, (divergence(chain[i], chain[i + 1], a) - xi) / a);
      }
      const auto bounds = group_bounds(zcdp(Epsilon{xi}, Rho{rho}, Adjacency::zero_out), Count{static_cast<std::uint64_t>(records)});
      ASSERT_TRUE(bounds);
      const auto& all = std::get<Event::Concentrated>(bounds->upper.node());
      for (const double a : orders) {
        const double truth = divergence(chain.front(), chain.back(), a);
        const double most = all.xi.value() + all.rho.value() * a;
        EXPECT_LE(truth, most * (1 + 1e-3)) << records << " " << a << " " << share;
        closest = std::max(closest, truth / most);
      }
    }
  }
  EXPECT_GT(closest, 0.999);
  const auto bounds = group_bounds(parse_event("zcdp(0.1, 0.01)", Adjacency::zero_out), Count{3});
  const auto& three = std::get<Event::Concentrated>(bounds->upper.node());
  EXPECT_NEAR(three.xi.value(), 0.55, 1e-15);
  EXPECT_NEAR(three.rho.value(), 0.09, 1e-15);
  EXPECT_GE(three.xi.value(), 0.1 * 5.5);
  // H_k of many records.
  const auto many = group_bounds(parse_event("zcdp(1, 1e-9)", Adjacency::zero_out), Count{100000});
  EXPECT_NEAR(std::get<Event::Concentrated>(many->upper.node()).xi.value() / 1e5, 12.0901461299, 1e-3);
  EXPECT_GE(std::get<Event::Concentrated>(many->upper.node()).xi.value() / 1e5, 12.0901461298);
}

TEST(GroupBounds, AreTheNormalFormWhereTheyAreExact) {
  const auto plain = [](const char* text) { return describe(plainest(parse_event(text, Adjacency::zero_out))); };
  EXPECT_EQ(plain("users(4, laplace(1))"), "laplace(0.25)");
  EXPECT_EQ(plain("users(4, repeat(3, compose(laplace(1), k_norm(linf, 3, 2))))"),
            "repeat(3, compose(laplace(0.25), k_norm(linf, 3, 0.5)))");
  EXPECT_EQ(plain("users(3, discrete_laplace(5, 2))"), "discrete_laplace(5, 6)");
  EXPECT_EQ(plain("users(3, discrete_gaussian(5, 2))"), "discrete_gaussian(5, 6)");
  EXPECT_EQ(plain("users(3, randomized_response(0.75, 4))"), "repeat(3, randomized_response(0.75, 4))");
  EXPECT_EQ(plain("users(3, pure(0.5))"), "discrete_laplace(2, 3)");
  EXPECT_EQ(plain("users(3, pure(0))"), "pure(0)");
  EXPECT_EQ(plain("users(2, best_of(geometric_runs, 3, laplace(4)))"), "best_of(geometric_runs, 3, laplace(2))");
  EXPECT_EQ(plain("users(2, generalized_gaussian(2, 5, 4))"), "users(2, gaussian(4))");
  for (const char* text : {"users(3, laplace(1))", "users(3, pure(0.1))", "users(3, approx(0.1, 0.001))", "users(3, zcdp(0.1))",
                           "users(3, exponential(0.5))"}) {
    EXPECT_EQ(plain(text), text) << "bounds from above and from below are two events";
    const auto bounds = group_bounds(std::get<Event::Users>(parse_event(text, Adjacency::zero_out).node()).event, Count{3});
    EXPECT_TRUE(bounds && !bounds->is_exact());
  }
  // 1 / 3 lies between both scales.
  const auto third = group_bounds(parse_event("laplace(1)", Adjacency::zero_out), Count{3});
  const double noise = std::get<Event::Laplace>(third->upper.node()).scale.value();
  EXPECT_LT(3 * static_cast<long double>(noise), 1);
  EXPECT_GT(3 * static_cast<long double>(std::get<Event::Laplace>(third->lower->node()).scale.value()), 1);
}

TEST(GroupBounds, AnswerQuestionsAboutUsers) {
  const auto epsilon_of = [](const char* text, double delta) {
    return best_epsilon(parse_event(text, Adjacency::add_or_remove_one), Delta{delta}).value;
  };
  EXPECT_EQ(epsilon_of("users(4, laplace(1))", 0), Enclosure(4, 4));
  for (int records = 3; records < 40; ++records) {
    for (const double scale : {0.7, 1.0, 1.3}) {
      const auto user = parse_event(fmt::format("users({}, laplace({}))", records, scale), Adjacency::add_or_remove_one);
      const auto found = accounting::epsilon(ClosedForm{}, user, Delta{0});
      const long double truth = records / static_cast<long double>(scale);
      EXPECT_LE(found.lower, truth * (1 + 1e-18L)) << records << ' ' << scale << ", whose division rounds";
      EXPECT_GE(found.upper, truth * (1 - 1e-18L)) << records << ' ' << scale;
      EXPECT_LE(found.width(), 1e-15 * found.upper);
    }
  }
  EXPECT_THROW(static_cast<void>(epsilon_of("users(3, laplace(5e-324))", 1e-3)), Error);
  try {
    static_cast<void>(epsilon_of("users(3, laplace(5e-324))", 1e-3));
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("its noise per record vanishes"), std::string::npos) << error.what();
  }
  EXPECT_EQ(epsilon_of("users(4, zcdp(0.01))", 1e-6).upper, epsilon_of("zcdp(0.16)", 1e-6).upper);
  const double all = 1e-6 * std::expm1(4.0) / std::expm1(1.0);
  EXPECT_NEAR(epsilon_of("users(4, approx(1, 1e-6))", all * (1 + 1e-15)).upper, 4, 1e-12);
  EXPECT_EQ(epsilon_of("users(4, approx(1, 1e-6))", all * (1 - 1e-9)).lower, INFINITY);
  EXPECT_LE(epsilon_of("users(4, approx(1, 1e-6))", 1e-2).upper, 3.987) << "below the 4 that one point says";
  const auto chain = epsilon_of("repeat(5, users(3, pure(0.1)))", 1e-3);
  const auto noise = epsilon_of("repeat(5, discrete_laplace(10, 3))", 1e-3);
  EXPECT_NEAR(chain.lower, noise.lower, 1e-6);
  EXPECT_NEAR(chain.upper, noise.upper, 1e-6);
}

}  // namespace
}  // namespace surety::accounting::event_of_group_test
