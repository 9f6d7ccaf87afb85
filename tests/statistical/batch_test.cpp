// Batch samplers against the laws that accountants take them for: how often each record and each pair of records joins, how large batches
// are and how many of their records are in the first half of the data, how many records two consecutive batches share, and for few records
// the law of whole batches and of pairs of them. Mutants are samplers that pass for these in other programs. What no number of batches can
// show, rates and integers that are wrong in their last digits, is found in mechanisms/choices/batch_sampler_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/choices/allocation.h>
#include <surety/mechanisms/choices/batch_sampler.h>

#include <support/suite.h>

namespace surety::statistical::batch_test {
namespace {

using mechanisms::Allocation;
using mechanisms::draw_word;
using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;
using mechanisms::ReplayBits;
using mechanisms::TruncatedBatches;

using Batch = std::vector<std::size_t>;
using Draw = std::function<Batch()>;

// ---- Laws -------------------------------------------------------------------------------------------------------------------------------

/// P(k) for k = 0, ..., trials.
std::vector<double> binomial(std::size_t trials, double p) {
  const boost::math::binomial_distribution<double> law{static_cast<double>(trials), p};
  std::vector<double> mass;
  for (std::size_t k = 0; k <= trials; ++k) mass.push_back(boost::math::pdf(law, static_cast<double>(k)));
  return mass;
}

/// Of `size` records of `records`, how many are among `marked` ones.
std::vector<double> hypergeometric(std::size_t records, std::size_t size, std::size_t marked) {
  const boost::math::hypergeometric_distribution<double> law{static_cast<unsigned>(marked), static_cast<unsigned>(size),
                                                             static_cast<unsigned>(records)};
  std::vector<double> mass(std::min(size, marked) + 1);
  const std::size_t least = size + marked > records ? size + marked - records : 0;
  for (std::size_t k = least; k < mass.size(); ++k) mass[k] = boost::math::pdf(law, static_cast<unsigned>(k));
  return mass;
}

struct BatchLaw {
  std::size_t records;
  double one;                      ///< P(a record joins)
  double two;                      ///< P(two records join)
  std::vector<double> size;        ///< of a batch
  std::vector<double> first_half;  ///< records of a batch among the first records / 2
  std::vector<double> shared;      ///< records that two batches share
};

BatchLaw poisson_law(std::size_t records, double q) {
  return {records, q, q * q, binomial(records, q), binomial(records / 2, q), binomial(records, q * q)};
}

BatchLaw fixed_law(std::size_t records, std::size_t size) {
  std::vector<double> constant(size + 1);
  constant.back() = 1;
  const auto n = static_cast<double>(records);
  const auto m = static_cast<double>(size);
  return {
      records, m / n, m / n * (m - 1) / (n - 1), constant, hypergeometric(records, size, records / 2), hypergeometric(records, size, size)};
}

/// Given the size, every set of records is equally likely: so every number here is a mean over sizes, and over both sizes of two batches.
BatchLaw truncated_law(std::size_t records, double q, std::size_t largest) {
  auto size = binomial(records, q);
  for (std::size_t k = largest + 1; k < size.size(); ++k) size[largest] += size[k];
  size.resize(largest + 1);
  BatchLaw law{records, 0, 0, size, std::vector<double>(largest + 1), std::vector<double>(largest + 1)};
  const auto n = static_cast<double>(records);
  for (std::size_t k = 0; k <= largest; ++k) {
    const auto m = static_cast<double>(k);
    law.one += size[k] * m / n;
    law.two += size[k] * m * (m - 1) / (n * (n - 1));
    const auto half = hypergeometric(records, k, records / 2);
    for (std::size_t i = 0; i < half.size(); ++i) law.first_half[i] += size[k] * half[i];
    for (std::size_t other = 0; other <= largest; ++other) {
      if (size[k] * size[other] == 0) continue;
      const auto both = hypergeometric(records, k, other);
      for (std::size_t i = 0; i < both.size(); ++i) law.shared[i] += size[k] * size[other] * both[i];
    }
  }
  return law;
}

// ---- Statistics -------------------------------------------------------------------------------------------------------------------------

Cells cells_of(std::vector<double> law, std::vector<std::int64_t> count) {
  // What lies beyond the law has probability 0.
  law.resize(std::max(law.size(), count.size()));
  count.resize(law.size());
  Cells cells{std::move(law), {}, std::move(count)};
  for (std::size_t i = 0; i < cells.size(); ++i) cells.score.push_back(static_cast<double>(i));
  return cells;
}

/// The count that is least likely, of many of one probability.
void judge_each(Report& report, const std::string& statistic, const std::vector<std::int64_t>& counts, std::int64_t n, double p) {
  double least = 1;
  std::int64_t count = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double probability = binomial_p(counts[i], n, p);
    if (probability <= least) {
      least = probability;
      count = counts[i];
      at = i;
    }
  }
  report.add(statistic, least * static_cast<double>(counts.size()),
             fmt::format("{} at {}, {:.1f} are expected", count, at, static_cast<double>(n) * p));
}

void judge_law(Report& report, const std::string& statistic, const std::vector<double>& law, std::vector<std::int64_t> count) {
  if (std::count_if(law.begin(), law.end(), [](double p) { return p > 0; }) == 1) {
    const auto n = std::accumulate(count.begin(), count.end(), std::int64_t{0});
    const auto at = static_cast<std::size_t>(std::max_element(law.begin(), law.end()) - law.begin());
    const auto right = at < count.size() ? count[at] : 0;
    report.add(statistic, right == n ? 1 : 0, fmt::format("{} of {} are {}", right, n, at));
    return;
  }
  judge_cells(report, statistic + " ", cells_of(law, std::move(count)));
}

void count(std::vector<std::int64_t>& counts, std::size_t value) {
  if (counts.size() <= value) counts.resize(value + 1);
  ++counts[value];
}

/// Judges `n` consecutive batches; pairs of records among the first `window` and the last one.
Report judge(const BatchLaw& law, const Draw& draw, std::int64_t n) {
  const std::size_t window = std::min<std::size_t>(law.records, 200);
  std::int64_t disordered = 0;
  std::vector<std::int64_t> one(law.records);
  std::vector<std::int64_t> two(window * window);
  std::vector<std::int64_t> size(1);
  std::vector<std::int64_t> first_half(1);
  std::vector<std::int64_t> shared(1);
  Batch last;
  for (std::int64_t t = 0; t < n; ++t) {
    Batch batch = draw();
    if (std::adjacent_find(batch.begin(), batch.end(), std::greater_equal<>{}) != batch.end() ||
        (!batch.empty() && batch.back() >= law.records)) {
      ++disordered;
      continue;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++one[batch[i]];
      if (batch[i] >= window) continue;
      for (std::size_t j = 0; j < i; ++j) ++two[batch[i] * window + batch[j]];
    }
    count(size, batch.size());
    count(first_half, static_cast<std::size_t>(std::lower_bound(batch.begin(), batch.end(), law.records / 2) - batch.begin()));
    if (t % 2 != 0) {
      Batch both;
      std::set_intersection(batch.begin(), batch.end(), last.begin(), last.end(), std::back_inserter(both));
      count(shared, both.size());
    }
    last = std::move(batch);
  }
  std::vector<std::int64_t> pairs;
  for (std::size_t i = 0; i < window; ++i) pairs.insert(pairs.end(), two.begin() + i * window, two.begin() + i * window + i);
  Report report;
  report.add("order", disordered == 0 ? 1 : 0, fmt::format("{} batches do not name different records in order", disordered));
  if (disordered == n) return report;
  judge_each(report, "records", one, n, law.one);
  judge_each(report, "pairs of records", pairs, n, law.two);
  judge_law(report, "size", law.size, size);
  judge_law(report, "first half", law.first_half, first_half);
  judge_law(report, "shared by two batches", law.shared, shared);
  return report;
}

/// Whole batches of few records, and pairs of consecutive ones. `law` is of sets as bit strings.
Report judge_sets(const std::vector<double>& law, const Draw& draw, std::int64_t n) {
  // Only sets that can be.
  std::vector<std::size_t> index(law.size(), law.size());
  std::vector<double> probability;
  for (std::size_t set = 0; set < law.size(); ++set) {
    if (law[set] == 0) continue;
    index[set] = probability.size();
    probability.push_back(law[set]);
  }
  std::vector<std::int64_t> counts(probability.size());
  std::vector<std::int64_t> pairs(probability.size() * probability.size());
  std::int64_t impossible = 0;
  std::size_t last = 0;
  for (std::int64_t t = 0; t < n; ++t) {
    std::size_t set = 0;
    for (const auto place : draw()) set |= std::size_t{1} << place;
    const std::size_t at = set < law.size() ? index[set] : law.size();
    if (at == law.size()) {
      ++impossible;
      continue;
    }
    ++counts[at];
    if (t % 2 != 0) ++pairs[last * probability.size() + at];
    last = at;
  }
  Report report;
  report.add("possible", impossible == 0 ? 1 : 0, fmt::format("{} batches are impossible", impossible));
  const Cells cells = cells_of(probability, counts);
  judge_chi_square(report, "chi-square", cells);
  judge_largest(report, "largest deviation", cells);
  judge_pairs(report, "pairs,", probability, probability, pairs);
  return report;
}

std::vector<double> poisson_sets(std::size_t records, double q) {
  std::vector<double> law;
  for (std::size_t set = 0; set < std::size_t{1} << records; ++set) {
    const int joined = std::popcount(set);
    law.push_back(std::pow(q, joined) * std::pow(1 - q, static_cast<int>(records) - joined));
  }
  return law;
}

std::vector<double> fixed_sets(std::size_t records, int size) {
  std::vector<double> law;
  for (std::size_t set = 0; set < std::size_t{1} << records; ++set) law.push_back(std::popcount(set) == size ? 1 : 0);
  const double sets = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& p : law) p /= sets;
  return law;
}

std::vector<double> truncated_sets(std::size_t records, double q, int largest) {
  auto law = poisson_sets(records, q);
  const auto size = truncated_law(records, q, static_cast<std::size_t>(largest)).size;
  const auto full = fixed_sets(records, largest);
  for (std::size_t set = 0; set < law.size(); ++set) {
    if (std::popcount(set) >= largest) law[set] = size.back() * full[set];
  }
  return law;
}

/// Whole deals of few records: record i in round r is bit i rounds + r.
std::vector<double> deals(std::size_t records, std::size_t rounds) {
  std::vector<double> law(std::size_t{1} << (records * rounds));
  const double each = std::pow(static_cast<double>(rounds), -static_cast<double>(records));
  const std::size_t one = (std::size_t{1} << rounds) - 1;
  for (std::size_t set = 0; set < law.size(); ++set) {
    bool is_deal = true;
    for (std::size_t i = 0; i < records; ++i) is_deal = is_deal && std::popcount(set >> (i * rounds) & one) == 1;
    law[set] = is_deal ? each : 0;
  }
  return law;
}

// ---- Samplers ---------------------------------------------------------------------------------------------------------------------------

std::shared_ptr<ReplayBits> stream(const std::string& name) { return std::make_shared<ReplayBits>(ReplayBits{seed}.substream(name)); }

Draw poisson(std::size_t records, double q, const std::string& name) {
  return [records, sampler = PoissonBatches{SamplingRate{q}}, bits = stream(name)] { return sampler.draw(records, *bits); };
}

Draw fixed(std::size_t records, std::size_t size, const std::string& name) {
  return [records, sampler = FixedSizeBatches{Batches{Count{records}, Count{size}}}, bits = stream(name)] {
    return sampler.draw(records, *bits);
  };
}

Draw truncated(std::size_t records, double q, std::size_t largest, const std::string& name) {
  return [records, sampler = TruncatedBatches{SamplingRate{q}, Batches{Count{records}, Count{largest}}, Adjacency::zero_out},
          bits = stream(name)] { return sampler.draw(records, *bits); };
}

/// The round of each record of an epoch.
using Deal = std::function<std::vector<std::uint64_t>()>;

Deal allocation(std::size_t records, std::uint64_t rounds, const std::string& name) {
  return [=, sampler = Allocation{Count{rounds}}, bits = stream(name)] {
    const auto epoch = sampler.deal(records, *bits);
    std::vector<std::uint64_t> round_of(records);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (const auto place : epoch.batch(round)) round_of[place] = round;
    }
    return round_of;
  };
}

/// Of each epoch the batch of one round, of the next epoch that of the round after it: independent Poisson batches of rate 1 / t.
Draw one_round(const Deal& deal, std::uint64_t rounds, std::uint64_t first = 0, std::uint64_t step = 1) {
  auto round = std::make_shared<std::uint64_t>(first);
  return [=] {
    Batch batch;
    const auto round_of = deal();
    for (std::size_t i = 0; i < round_of.size(); ++i) {
      if (round_of[i] == *round) batch.push_back(i);
    }
    *round = (*round + step) % rounds;
    return batch;
  };
}

/// Whole deals, as `deals` writes them.
Draw whole(const Deal& deal, std::uint64_t rounds) {
  return [=] {
    Batch batch;
    const auto round_of = deal();
    for (std::size_t i = 0; i < round_of.size(); ++i) batch.push_back(i * rounds + round_of[i]);
    return batch;
  };
}

/// Fewer of large batches: what is counted are pairs.
std::int64_t batches(const BatchLaw& law) {
  const double members = law.one * static_cast<double>(law.records);
  return static_cast<std::int64_t>(static_cast<double>(sample_size()) * 10 / (400 + members * members / 2));
}

void expect_fit(const std::string& name, const BatchLaw& law, const Draw& draw, int share = 1) {
  ASSERT_NEAR(std::accumulate(law.shared.begin(), law.shared.end(), 0.0), 1, 1e-12) << name;
  const auto n = batches(law) / share;
  const auto report = judge(law, draw, n);
  report_fit(name, n, report);
  EXPECT_TRUE(fits(report)) << name;
}

TEST(PoissonBatches, FitTheirLaw) {
  for (const auto& [records, q] : {std::pair{130U, 0.1}, {130U, 0.5}, {64U, 1.0 / 3}, {200U, 0.015}, {1000U, 0.002}, {1000U, 0.016}}) {
    const auto name = fmt::format("Poisson batches of {} records, q = {:.4g}", records, q);
    expect_fit(name, poisson_law(records, q), poisson(records, q, name));
  }
}

TEST(FixedSizeBatches, FitTheirLaw) {
  for (const auto& [records, size] : {std::pair{130U, 13U}, {130U, 100U}, {3100U, 2U}, {64U, 32U}}) {
    const auto name = fmt::format("batches of {} of {} records", size, records);
    expect_fit(name, fixed_law(records, size), fixed(records, size, name));
  }
}

TEST(TruncatedBatches, FitTheirLaw) {
  for (const auto& [records, q, largest] : {std::tuple{130U, 0.1, 13U}, {130U, 0.1, 20U}, {1000U, 0.002, 3U}}) {
    const auto name = fmt::format("Poisson batches of at most {} of {} records, q = {:.4g}", largest, records, q);
    expect_fit(name, truncated_law(records, q, largest), truncated(records, q, largest, name));
  }
}

// Rounds of different epochs are what Poisson batches are. Each takes an epoch to deal, so fewer are judged; whole epochs are below.
TEST(Allocation, OfEachEpochOneRoundFitsTheLawOfPoissonBatches) {
  for (const auto& [records, rounds] : {std::pair{130U, 10U}, {64U, 3U}}) {
    const auto name = fmt::format("one round of {} of {} records", rounds, records);
    expect_fit(name, poisson_law(records, 1.0 / rounds), one_round(allocation(records, rounds, name), rounds), 8);
    const auto last = fmt::format("the last round of {} of {} records", rounds, records);
    expect_fit(last, poisson_law(records, 1.0 / rounds), one_round(allocation(records, rounds, last), rounds, rounds - 1, 0), 8);
  }
}

TEST(Batches, OfFewRecordsFitTheLawOfWholeBatches) {
  const auto expect_sets = [](const std::string& name, const std::vector<double>& law, const Draw& draw) {
    const auto n = sample_size() / 20;
    const auto report = judge_sets(law, draw, n);
    report_fit(name, n, report);
    EXPECT_TRUE(fits(report)) << name;
  };
  expect_sets("Poisson batches of 5 records, q = 0.4", poisson_sets(5, 0.4), poisson(5, 0.4, "sets, digits"));
  expect_sets("Poisson batches of 5 records, q = 0.0155", poisson_sets(5, 0.0155), poisson(5, 0.0155, "sets, gaps"));
  expect_sets("batches of 3 of 6 records", fixed_sets(6, 3), fixed(6, 3, "sets, half"));
  expect_sets("batches of 4 of 6 records", fixed_sets(6, 4), fixed(6, 4, "sets, left out"));
  expect_sets("Poisson batches of at most 2 of 5 records, q = 0.4", truncated_sets(5, 0.4, 2), truncated(5, 0.4, 2, "sets, cut"));
  expect_sets("deals of 3 records to 3 rounds", deals(3, 3), whole(allocation(3, 3, "deals of 3"), 3));
  expect_sets("deals of 2 records to 6 rounds", deals(2, 6), whole(allocation(2, 6, "deals of 2"), 6));
}

// ---- Mutants ----------------------------------------------------------------------------------------------------------------------------

/// `found_from`: batches from which the deviation is found with probability 0.999 (computed: docs/proofs/sampling.md#power).
void expect_found(const std::string& name, double found_from, const BatchLaw& law, const Draw& draw) {
  const auto n = std::min(batches(law), static_cast<std::int64_t>(8 * found_from));
  const auto report = judge(law, draw, n);
  report_line(fmt::format("| {} | {} | {} | {:.0g} |", name, n, report.alarms() ? report.alarming() : "not found", report.worst().p));
  if (static_cast<double>(n) >= found_from) {
    EXPECT_TRUE(report.alarms()) << name << ": " << report.worst().statistic << ", " << report.worst().detail;
  }
}

std::size_t below(std::size_t n, ReplayBits& bits) {
  return mechanisms::UniformBelow{n}([&bits] { return draw_word(bits); });
}

/// Batches of `sizes()` records each of a shuffled pass, which starts anew when it has too few left.
Draw shuffled(std::size_t records, const std::function<std::size_t()>& size, const std::string& name) {
  auto order = std::make_shared<Batch>();
  return [=, bits = stream(name)] {
    const std::size_t wanted = size();
    if (order->size() < wanted) {
      order->resize(records);
      std::iota(order->begin(), order->end(), std::size_t{0});
      for (std::size_t i = records; i > 1; --i) std::swap((*order)[i - 1], (*order)[below(i, *bits)]);
    }
    Batch batch{order->end() - static_cast<std::ptrdiff_t>(wanted), order->end()};
    order->resize(order->size() - wanted);
    std::sort(batch.begin(), batch.end());
    return batch;
  };
}

/// Draws places by `place` until there are `size`, without a look at which they are.
Draw with_replacement(std::size_t size, const std::function<std::size_t()>& place, bool is_set) {
  return [=] {
    Batch batch;
    for (std::size_t i = 0; i < size; ++i) batch.push_back(place());
    std::sort(batch.begin(), batch.end());
    if (is_set) batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
    return batch;
  };
}

/// The same, until there are `size` different ones.
Draw without_replacement(std::size_t size, const std::function<std::size_t()>& place) {
  return [=] {
    Batch batch;
    while (batch.size() < size) {
      const std::size_t drawn = place();
      if (std::find(batch.begin(), batch.end(), drawn) == batch.end()) batch.push_back(drawn);
    }
    std::sort(batch.begin(), batch.end());
    return batch;
  };
}

/// Once in 64 calls the last batch again.
Draw repeating(const Draw& draw) {
  auto last = std::make_shared<Batch>();
  auto turn = std::make_shared<std::uint64_t>(0);
  return [=] { return *last = ++*turn % 64 == 0 ? *last : draw(); };
}

TEST(BatchMutants, OfPoissonBatchesAreFound) {
  const BatchLaw law = poisson_law(130, 0.1);
  const auto right = poisson(130, 0.1, "right");
  expect_found("a shuffled pass in batches of qn for Poisson", 1e3, law,
               shuffled(
                   130, [] { return 13U; }, "pass"));
  expect_found("a shuffled pass in batches of binomial size for Poisson", 1e3, law,
               shuffled(
                   130, [other = poisson(130, 0.1, "sizes")] { return other().size(); }, "binomial pass"));
  expect_found("qn records without replacement for Poisson", 1e3, law, fixed(130, 13, "fixed for Poisson"));
  expect_found("q rounded to 2^-8, Poisson", 4e4, law, poisson(130, std::round(0.1 * 256) / 256, "2^-8"));
  // A relative 4e-9 / 0.1: for mechanisms/choices/batch_sampler_test.
  expect_found("q rounded to 2^-32, Poisson", 1e16, law, poisson(130, std::round(0.1 * 0x1p32) * 0x1p-32, "2^-32"));
  expect_found("the last record never joins, Poisson", 2e3, law, poisson(129, 0.1, "last"));
  expect_found("the first record never joins, Poisson", 2e3, law, [draw = poisson(129, 0.1, "first")] {
    Batch batch = draw();
    for (auto& place : batch) ++place;
    return batch;
  });
  expect_found("the same batch once more, once in 64, Poisson", 5e3, law, repeating(right));
  expect_found("at most 2qn records, Poisson", 3e5, law, [=] {
    Batch batch = right();
    if (batch.size() > 26) batch.resize(26);
    return batch;
  });
  expect_found("an empty batch drawn again, Poisson", 5e3, poisson_law(200, 0.015), [draw = poisson(200, 0.015, "not empty")] {
    Batch batch = draw();
    while (batch.empty()) batch = draw();
    return batch;
  });
  expect_found("one coin for records i and i + 64, Poisson", 1e3, law, [draw = poisson(64, 0.1, "shared coins")] {
    Batch batch = draw();
    const std::size_t size = batch.size();
    for (std::size_t i = 0; i < size; ++i) batch.push_back(batch[i] + 64);
    if (batch.empty() || batch.front() > 1) return batch;
    for (std::size_t i = 0; i < size && batch[i] <= 1; ++i) batch.push_back(batch[i] + 128);
    return batch;
  });
  expect_found("gaps one too long, Poisson", 2e5, poisson_law(200, 0.015), [draw = poisson(200, 0.015, "long gaps")] {
    Batch batch = draw();
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i] += i;
    while (!batch.empty() && batch.back() >= 200) batch.pop_back();
    return batch;
  });
}

TEST(BatchMutants, OfFixedSizeAreFound) {
  const BatchLaw law = fixed_law(130, 13);
  const auto uniform = [](std::size_t records, const std::string& name) {
    return [records, bits = stream(name)] { return below(records, *bits); };
  };
  expect_found("with replacement, fixed size", 1e3, law, with_replacement(13, uniform(130, "repeated"), false));
  expect_found("with replacement, each record once, fixed size", 1e3, law, with_replacement(13, uniform(130, "set"), true));
  expect_found("Poisson for fixed size", 1e3, law, poisson(130, 0.1, "Poisson for fixed"));
  expect_found("a shuffled pass for fixed size", 1e3, law,
               shuffled(
                   130, [] { return 13U; }, "pass for fixed"));
  expect_found("the last record never joins, fixed size", 2e3, law, fixed(129, 13, "last, fixed"));
  expect_found("the same batch once more, once in 64, fixed size", 5e3, law, repeating(fixed(130, 13, "repeated")));
  expect_found("16-bit words modulo n, fixed size", 1.2e5, fixed_law(1000, 30),
               without_replacement(30, [bits = stream("modulo 16")] { return (draw_word(*bits) >> 48) % 1000; }));
  // A relative 1000 / 2^64: for mechanisms/choices/batch_sampler_test.
  expect_found("64-bit words modulo n, fixed size", 1e18, law,
               without_replacement(13, [bits = stream("modulo 64")] { return draw_word(*bits) % 130; }));
  expect_found("neighbours of a random start, fixed size", 1e3, law, [bits = stream("neighbours")] {
    const std::size_t start = below(130, *bits);
    Batch batch;
    for (std::size_t i = 0; i < 13; ++i) batch.push_back((start + i) % 130);
    std::sort(batch.begin(), batch.end());
    return batch;
  });
  // The well-known wrong shuffle.
  expect_found("places swapped with any other, fixed size", 1e4, law, [bits = stream("wrong shuffle")] {
    Batch order(130);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < 130; ++i) std::swap(order[i], order[below(130, *bits)]);
    order.resize(13);
    std::sort(order.begin(), order.end());
    return order;
  });
}

TEST(BatchMutants, OfALargestSizeAreFound) {
  const BatchLaw law = truncated_law(130, 0.1, 13);
  const auto cut = [](const std::string& name, const std::function<void(Batch&)>& to_size) {
    return [=, draw = poisson(130, 0.1, name)] {
      Batch batch = draw();
      if (batch.size() > 13) to_size(batch);
      return batch;
    };
  };
  expect_found("not cut, largest size", 1e3, law, poisson(130, 0.1, "not cut"));
  expect_found("the first ones stay, largest size", 1e4, law, cut("first", [](Batch& batch) { batch.resize(13); }));
  expect_found("the last ones stay, largest size", 1e4, law,
               cut("last", [](Batch& batch) { batch.erase(batch.begin(), batch.end() - 13); }));
  expect_found("a window at a random place stays, largest size", 1e5, law,
               [=, inner = cut("window", [bits = stream("window start")](Batch& batch) {
                     const auto surplus = batch.size() - 13;
                     const auto start = static_cast<std::ptrdiff_t>(below(surplus + 1, *bits));
                     batch = Batch{batch.begin() + start, batch.begin() + start + 13};
                   })] { return inner(); });
  expect_found("drawn again until it fits, largest size", 1e3, law, [draw = poisson(130, 0.1, "again")] {
    Batch batch = draw();
    while (batch.size() > 13) batch = draw();
    return batch;
  });
  expect_found("at most one more, largest size", 1e3, law, truncated(130, 0.1, 14, "one more"));
}

TEST(BatchMutants, OfDealsAreFound) {
  const BatchLaw law = poisson_law(130, 0.1);
  const auto rotating = [](const Deal& deal) { return one_round(deal, 10); };
  // A permutation, cut into equal batches.
  const Deal positions = [bits = stream("positions")] {
    std::vector<std::uint64_t> round_of(130);
    Batch order(130);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 130; i > 1; --i) std::swap(order[i - 1], order[below(i, *bits)]);
    for (std::size_t i = 0; i < 130; ++i) round_of[order[i]] = i / 13;
    return round_of;
  };
  expect_found("a shuffled pass cut into equal batches, deal", 1e3, law, rotating(positions));
  // One of each ten successive records to each round.
  const Deal balanced = [bits = stream("balanced")] {
    std::vector<std::uint64_t> round_of(130);
    std::iota(round_of.begin(), round_of.end(), std::uint64_t{0});
    for (std::size_t block = 0; block < 130; block += 10) {
      for (std::size_t i = 10; i > 1; --i) std::swap(round_of[block + i - 1], round_of[block + below(i, *bits)]);
    }
    for (auto& round : round_of) round %= 10;
    return round_of;
  };
  expect_found("a balanced deal", 1e3, law, rotating(balanced));
  const auto kept = [](const Deal& deal) {
    auto last = std::make_shared<std::vector<std::uint64_t>>();
    auto is_second = std::make_shared<bool>(false);
    return [=] {
      if (!*is_second) *last = deal();
      *is_second = !*is_second;
      return *last;
    };
  };
  expect_found("the same deal for two epochs", 1e3, law, rotating(kept(allocation(130, 10, "kept"))));
  expect_found("by place from a random start, deal", 1e3, law, rotating([bits = stream("start")] {
                 std::vector<std::uint64_t> round_of(130);
                 const std::size_t start = below(10, *bits);
                 for (std::size_t i = 0; i < 130; ++i) round_of[i] = (start + i) % 10;
                 return round_of;
               }));
  expect_found("the last round gets nobody, deal", 1e3, law, one_round(allocation(130, 9, "no last"), 10, 9, 0));
  // 8 bits give rounds 0 .. 55 of 100 three of 256 words each, and the others two.
  expect_found("8-bit words modulo t, deal", 5e3, poisson_law(130, 0.01),
               one_round(
                   [bits = stream("modulo 8")] {
                     std::vector<std::uint64_t> round_of(130);
                     for (auto& round : round_of) round = (draw_word(*bits) >> 56) % 100;
                     return round_of;
                   },
                   100, 99, 0));
}

}  // namespace
}  // namespace surety::statistical::batch_test
