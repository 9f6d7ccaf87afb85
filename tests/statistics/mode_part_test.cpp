#include <surety/statistics/mode_part.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>
#include <surety/statistics/parts.h>

namespace surety::statistics::mode_part_test {

using namespace data;

namespace {

using mechanisms::ReplayBits;

constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
const Categories texts{{"a", "b", "c"}};

using Counts = std::vector<std::int64_t>;
/// Probabilities of the texts.
using Law = std::vector<double>;

UnitOfPrivacy unit_of(std::uint64_t rows) {
  UnitOfPrivacy unit;
  if (rows > 1) unit = UnitOfPrivacy{"who", Count{rows}};
  return unit;
}

Statistic mode_of(Adjacency adjacency, std::uint64_t rows = 1, std::size_t top = 1) {
  return {.of = ModeOf{"x", texts, top}, .adjacency = adjacency, .unit = unit_of(rows)};
}

/// b: candidates are weighed by exp(count / b), or have exponential noise of this scale.
double scale_of(const ModeChoice& choice) {
  const auto options = choice.options(3);
  const double range = options.sensitivity.value() * (options.change == ScoreChange::either_way ? 2 : 1);
  return range / options.epsilon.value();
}

Law exponential_law(const Counts& counts, double scale) {
  const auto most = *std::max_element(counts.begin(), counts.end());
  Law law;
  for (const auto count : counts) law.push_back(std::exp(static_cast<double>(count - most) / scale));
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (auto& one : law) one /= sum;
  return law;
}

/// Over all orders of the candidates.
Law permute_and_flip_law(const Counts& counts, double scale) {
  const auto most = *std::max_element(counts.begin(), counts.end());
  Law coins;
  for (const auto count : counts) coins.push_back(std::exp(static_cast<double>(count - most) / scale));
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Law law(counts.size());
  double orders = 0;
  do {
    double left = 1;
    for (const auto candidate : order) {
      law[candidate] += left * coins[candidate];
      left *= 1 - coins[candidate];
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& one : law) one /= orders;
  return law;
}

Law law_of(const ModeChoice& choice, const Counts& counts) {
  return choice.is_permute_and_flip() ? permute_and_flip_law(counts, scale_of(choice)) : exponential_law(counts, scale_of(choice));
}

/// Each vector of `cells` numbers of at most `most` rows together.
std::vector<Counts> rows_in_cells(std::size_t cells, std::int64_t most) {
  std::vector<Counts> all;
  const std::function<void(Counts, std::int64_t)> fill = [&](const Counts& start, std::int64_t left) {
    if (start.size() == cells) {
      all.push_back(start);
      return;
    }
    for (std::int64_t rows = 0; rows <= left; ++rows) {
      auto more = start;
      more.push_back(rows);
      fill(more, left - rows);
    }
  };
  fill({}, most);
  return all;
}

Counts sum_of(Counts a, const Counts& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
  return a;
}

struct Losses {
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
};

/// The losses of the joint choice of all groups, of 3 texts each, among the texts that `left` has: those of groups are independent, so they add.
Losses losses_of(const ModeChoice& choice, const Counts& with, const Counts& without, const std::vector<std::size_t>& left) {
  Losses all{0, 0};
  for (std::size_t group = 0; group < with.size() / 3; ++group) {
    const auto of_group = [&](const Counts& counts) {
      Counts some;
      for (const auto text : left) some.push_back(counts[3 * group + text]);
      return law_of(choice, some);
    };
    const auto p = of_group(with);
    const auto q = of_group(without);
    Losses one;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double loss = std::log(p[k] / q[k]);
      one = {std::min(one.least, loss), std::max(one.largest, loss)};
    }
    all = {all.least + one.least, all.largest + one.largest};
  }
  return all;
}

/// Calls `visit` with every table of up to 3 rows and one unit, and its neighbour.
void for_each_pair(Adjacency adjacency, std::size_t groups, std::int64_t rows,
                   const std::function<void(const Counts&, const Counts&)>& visit) {
  const auto units = rows_in_cells(3 * groups, rows);
  for (const auto& others : rows_in_cells(3 * groups, groups == 1 ? 3 : 1)) {
    for (const auto& unit : units) {
      const auto with = sum_of(others, unit);
      if (adjacency != Adjacency::replace_one) {
        visit(with, others);
        continue;
      }
      for (const auto& other : units) visit(with, sum_of(others, other));
    }
  }
}

// Brute force: of the exponential mechanism the range of the losses is at most epsilon, and some pair of tables has all of it; of permute-and-flip the
// losses are within epsilon of 0, and some are near to it.
TEST(ModeChoice, LosesNoMoreThanItsEventOnTinyTables) {
  constexpr double epsilon = 0.8;
  for (const auto adjacency : all_adjacencies) {
    for (const std::uint64_t rows : {1, 2}) {
      for (const std::size_t groups : {1, 2}) {
        for (const bool is_pure : {false, true}) {
          const auto event = is_pure ? pure(Epsilon{epsilon}, adjacency) : exponential(Epsilon{epsilon}, adjacency);
          const ModeChoice choice{mode_of(adjacency, rows), event};
          double worst = 0;
          for (const std::vector<std::size_t>& left : {std::vector<std::size_t>{0, 1, 2}, {0, 2}}) {
            for_each_pair(adjacency, groups, static_cast<std::int64_t>(rows), [&](const Counts& with, const Counts& without) {
              const auto found = losses_of(choice, with, without, left);
              worst = std::max(worst, is_pure ? std::max(found.largest, -found.least) : found.largest - found.least);
            });
          }
          EXPECT_LE(worst, epsilon * (1 + 1e-12)) << name(adjacency) << rows << groups << is_pure;
          EXPECT_GE(worst, (is_pure ? 0.7 : 1 - 1e-12) * epsilon) << name(adjacency) << rows << groups << is_pure;
        }
      }
    }
  }
}

TEST(ModeChoice, DrawsFromItsLaw) {
  const Counts counts{4, 3, 1};
  constexpr int draws = 20'000;
  for (const bool is_pure : {false, true}) {
    const auto adjacency = Adjacency::add_or_remove_one;
    const ModeChoice choice{mode_of(adjacency), is_pure ? pure(Epsilon{0.5}, adjacency) : exponential(Epsilon{0.5}, adjacency)};
    ReplayBits bits{1};
    std::vector<int> drawn(3);
    for (int k = 0; k < draws; ++k) ++drawn[choice.choose(counts, bits)];
    const auto law = law_of(choice, counts);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(drawn[k], draws * law[k], 5 * std::sqrt(draws * law[k] * (1 - law[k]))) << is_pure << k;
    }
  }
}

// More records than doubles tell apart are as many as 2^53.
TEST(ModeChoice, TakesEveryCount) {
  const ModeChoice choice{mode_of(Adjacency::add_or_remove_one), exponential(Epsilon{1}, Adjacency::add_or_remove_one)};
  ReplayBits bits{1};
  for (int k = 0; k < 100; ++k) EXPECT_LE(choice.choose({std::int64_t{1} << 62, (std::int64_t{1} << 62) - 1, 0}, bits), 1U);
}

// At the error that is stated, the probability of a text whose count is so much less is at most what is stated, and of the exponential mechanism
// just that where all other counts are as small.
TEST(ModeChoice, MissesTheLargestCountByLessThanItStates) {
  for (const auto adjacency : all_adjacencies) {
    for (const bool is_pure : {false, true}) {
      const ModeChoice choice{mode_of(adjacency), is_pure ? pure(Epsilon{0.5}, adjacency) : exponential(Epsilon{0.5}, adjacency)};
      for (const std::size_t candidates : {2, 3, 5}) {
        for (const double exceeded : {0.05, 0.3}) {
          const double error = choice.count_error(exceeded, candidates);
          // Counts in so many parts of the error: the others are less by all of it.
          constexpr std::int64_t parts = 1'000;
          Counts counts(candidates, 0);
          counts.front() = parts;
          const double scale = scale_of(choice) / error * parts;
          const auto law = is_pure ? permute_and_flip_law(counts, scale) : exponential_law(counts, scale);
          EXPECT_LE(1 - law.front(), exceeded * (1 + 1e-9)) << is_pure << candidates;
          EXPECT_GE(1 - law.front(), exceeded * (is_pure && candidates > 2 ? 0.7 : 1 - 1e-6)) << is_pure << candidates;
        }
      }
    }
  }
  const ModeChoice none{mode_of(Adjacency::zero_out), pure(Epsilon{0}, Adjacency::zero_out)};
  EXPECT_EQ(none.count_error(0.05, 3), std::numeric_limits<double>::infinity());
}

TEST(ModePart, ReleasesTheMostFrequentTextsOfEachGroup) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,g\na,p\nb,p\nb,p\nc,q\nc,q\nc,q\na,q\na,q\nz,q\nz,q\nz,q\nz,q\n,p\nb,r\n");
  for (const auto adjacency : all_adjacencies) {
    for (const auto family : {NoiseFamily::laplace, NoiseFamily::gaussian, NoiseFamily::pure}) {
      const Statistic statistic{.of = ModeOf{"x", texts, 2}, .adjacency = adjacency, .by = Groups{"g", Categories{{"p", "q"}}}};
      const std::vector<WeightedStatistic> queries{{.statistic = statistic}};
      const auto parts = parts_of(queries, family, 1e-3, 0.95);
      static_cast<void>(read_parts(CsvReader{data, {}}, parts, false));
      const auto& part = parts.front();
      EXPECT_EQ(part->event(), event_of(queries, family, 1e-3));
      EXPECT_EQ(part->event(), repeat(Count{2}, level_event_of(queries.front(), family, 1e-3)));
      const auto facts = part->facts();
      EXPECT_FALSE(facts.has_values);
      EXPECT_EQ(facts.query, "mode(x) by g");
      EXPECT_EQ(facts.other_cells, "texts that are not listed are in no cell");
      EXPECT_GT(facts.half_length.value_or(0), 0);

      // Totals of parts are those of the same counts, and add up to as many.
      const auto adding = adding_parts_of(queries, family, 1e-3);
      adding.front()->add_total(part->total(), 14);
      EXPECT_EQ(adding.front()->total(), part->total());
      EXPECT_TRUE(refuses([&] { adding.front()->add_total(part->total(), 5); }, ErrorCode::invalid_argument, {"total"}));

      auto ledger = accounting::Ledger::create(folder / fmt::format("{}{}.db", name(adjacency), static_cast<int>(family)), adjacency);
      auto reservation = ledger.reserve({.event = event_of(queries, family, 1e-3)});
      ReplayBits bits{3};
      std::vector<std::string> found;
      for (const auto& answer : part->release(reservation, bits, 0)) {
        found.push_back(answer.group + answer.cell);
        EXPECT_EQ(answer.rank_error, facts.half_length);
      }
      EXPECT_EQ(found, (std::vector<std::string>{"pb", "pa", "qc", "qa"}));
      EXPECT_EQ(reservation.released().event(), event_of(queries, family, 1e-3));
      EXPECT_TRUE(refuses([&] { return part->release(reservation, bits, 0); }, ErrorCode::budget_exceeded, {}));
    }
  }
}

TEST(ModePart, RefusesWhatHasNoMeaning) {
  const auto refused = [](const ModeOf& mode, const std::vector<std::string_view>& words) {
    return refuses([&] { Statistic{.of = mode, .adjacency = Adjacency::replace_one}.validate(); }, ErrorCode::invalid_argument, words);
  };
  EXPECT_TRUE(refused({"x", Categories{}}, {"empty"}));
  EXPECT_TRUE(refused({"x", Categories{{"a"}}}, {"texts of a mode are 1", "from 2"}));
  EXPECT_TRUE(refused({"x", Categories{{"a", "a"}}}, {"twice"}));
  for (const std::size_t top : {0, 3, 4}) EXPECT_TRUE(refused({"x", texts, top}, {"from 1 to 2"})) << top;
  Categories many;
  for (int k = 0; k < 2000; ++k) many.names.push_back(std::to_string(k));
  EXPECT_TRUE(refused({"x", many, 1025}, {"from 1 to 1024"}));
  EXPECT_NO_THROW((Statistic{.of = ModeOf{"x", many, 1024}, .adjacency = Adjacency::replace_one}.validate()));
  const ModeOf mode{"x", texts, 2};
  EXPECT_NO_THROW((Statistic{.of = mode, .adjacency = Adjacency::replace_one}.validate()));
  EXPECT_TRUE(refuses(
      [&] {
        return ModeChoice{mode_of(Adjacency::replace_one, (std::uint64_t{1} << 52) + 1), pure(Epsilon{1}, Adjacency::replace_one)};
      },
      ErrorCode::invalid_argument, {"at most 2^52"}));
  EXPECT_TRUE(refuses(
      [&] {
        return ModeChoice{mode_of(Adjacency::replace_one), gaussian(NoiseMultiplier{1}, Adjacency::replace_one)};
      },
      ErrorCode::unsupported, {"no choice of a mode"}));
}

}  // namespace
}  // namespace surety::statistics::mode_part_test
