// Keys without counts: the rule of one key against its bounds, its draw, and what all sets of keys tell of a unit.
#include <surety/statistics/key_selection.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/statistics/parts.h>

#include <support/refusal.h>
#include <support/small_files.h>

namespace surety::statistics::key_selection_test {
namespace {

using reference::refusal_of;

Interval exactly(double value) { return {value, 512}; }

/// Both bounds hold for `p` beyond `last`, proved at 512 bits.
bool is_allowed(double p, double last, double epsilon, double delta) {
  const Interval shown = exp(exactly(epsilon)) * exactly(last) + exactly(delta) - exactly(p);
  const Interval hidden = exp(exactly(epsilon)) * (exactly(1) - exactly(p)) + exactly(delta) - (exactly(1) - exactly(last));
  return mpfr_sgn(shown.lower()) >= 0 && mpfr_sgn(hidden.lower()) >= 0;
}

TEST(KeySelection, ShowsAKeyAsOftenAsIsAllowedAndNoMore) {
  for (const double epsilon : {0.02, 0.1, 1.0, 3.0, 40.0, 800.0}) {
    for (const double delta : {1e-14, 1e-6, 0.01, 0.3, 0.9}) {
      KeySelection rule{Epsilon{epsilon}, Delta{delta}};
      EXPECT_EQ(rule.probability(0), 0);
      EXPECT_EQ(rule.probability(1), delta);
      double last = 0;
      std::uint64_t first_half = 0;
      for (std::uint64_t n = 1; n < 100'000 && last < 1; ++n) {
        const double p = rule.probability(n);
        ASSERT_TRUE(is_allowed(p, last, epsilon, delta)) << epsilon << " " << delta << " " << n;
        // The largest, but for some roundings.
        if (p < 1) {
          const double more = p < 0.5 ? p * (1 + 0x1p-48) : p + (1 - p) * 0x1p-20 + 0x1p-50;
          ASSERT_FALSE(is_allowed(more, last, epsilon, delta)) << epsilon << " " << delta << " " << n;
        }
        if (first_half == 0 && p >= 0.5) first_half = n;
        if (p == last) break;
        last = p;
      }
      EXPECT_NEAR(rule.half(), static_cast<double>(first_half), 1) << epsilon << " " << delta;
      EXPECT_EQ(rule.probability(std::uint64_t{1} << 60), rule.probability((std::uint64_t{1} << 60) + 7));
    }
  }
  // As published for epsilon 1 and delta 1e-6 of one, two and six keys.
  EXPECT_EQ((KeySelection{Epsilon{1}, Delta{1e-6}}.half()), 14);
  EXPECT_EQ((KeySelection{Epsilon{0.5}, Delta{5e-7}}.half()), 27);
  EXPECT_TRUE(refusal_of([] { return KeySelection{Epsilon{1}, Delta{0}}; }).says(ErrorCode::unsupported, "delta > 0"));
  EXPECT_TRUE(refusal_of([] { return KeySelection{Epsilon{0}, Delta{0.1}}; }).says(ErrorCode::invalid_argument, "greater than 0"));
}

/// Words that were written down.
struct Written {
  std::vector<std::uint64_t> words;
  std::size_t next = 0;
  void fill(std::span<std::byte> bytes) {
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(words.at(next) >> (8 * k));
    ++next;
  }
};

}  // namespace
}  // namespace surety::statistics::key_selection_test

template <>
inline constexpr bool surety::is_cryptographic<surety::statistics::key_selection_test::Written> = true;

namespace surety::statistics::key_selection_test {
namespace {

bool drawn(double probability, std::vector<std::uint64_t> words) {
  Written bits{std::move(words)};
  const bool found = draw_exactly(probability, bits);
  EXPECT_EQ(bits.next, bits.words.size());
  return found;
}

TEST(KeySelection, DrawsExactly) {
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  EXPECT_TRUE(drawn(1, {}));
  EXPECT_FALSE(drawn(0, {}));
  EXPECT_TRUE(drawn(0.5, {half - 1}));
  EXPECT_FALSE(drawn(0.5, {half}));
  EXPECT_FALSE(drawn(0x1p-64, {1}));
  EXPECT_TRUE(drawn(0x1p-64, {0}));
  EXPECT_FALSE(drawn(0x1p-65, {0, half}));
  EXPECT_TRUE(drawn(0x1p-65, {0, half - 1}));
  EXPECT_TRUE(drawn(std::nextafter(0.5, 1), {half}));
  EXPECT_TRUE(drawn(0.5 + 0x1p-53, {half + 2047}));
  EXPECT_FALSE(drawn(0.5 + 0x1p-53, {half + 2048}));
  // 53 digits from the 60th on, of which the last 49 are in the second word.
  const double low = 0x1p-60 + 0x1p-112;
  EXPECT_TRUE(drawn(low, {15}));
  EXPECT_TRUE(drawn(low, {16, (std::uint64_t{1} << 16) - 1}));
  EXPECT_FALSE(drawn(low, {16, std::uint64_t{1} << 16}));
}

using Counts = std::map<std::string, std::uint64_t>;

/// How likely each set of these keys is.
std::vector<double> law_of(const Counts& counts, const std::vector<std::string>& keys, KeySelection& rule) {
  std::vector<double> law{1};
  for (const auto& key : keys) {
    const auto found = counts.find(key);
    const double p = rule.probability(found == counts.end() ? 0 : found->second);
    std::vector<double> longer;
    for (const double each : law) {
      longer.push_back(each * (1 - p));
      longer.push_back(each * p);
    }
    law = std::move(longer);
  }
  return law;
}

/// Read and counted as a release does.
Counts counts_of(const Statistic& statistic, const std::vector<std::string>& rows) {
  static TemporaryFolder folder;
  std::string text = "u,x,t\n";
  for (const auto& row : rows) text += row + "\n";
  const auto path = folder.write("data.csv", text);
  const auto parts = adding_parts_of({{statistic}}, NoiseFamily::laplace, 1);
  static_cast<void>(read_parts(data::CsvReader{path, {}}, parts, false));
  const auto total = parts.front()->total();
  Counts counts;
  for (const auto& [key, count] : std::get<KeyTotal>(total).counts) counts[key] = count;
  return counts;
}

// The largest delta over all neighbours is what the event says, which half of the epsilon of a key breaks, and under replace-one half of its keys.
TEST(KeySelection, TellsOfAUnitWhatIsCharged) {
  const std::vector<std::string> cells{"1,p", "1,q", "1,r", "1,s", ","};
  const std::vector<std::string> keys{"p", "q", "r", "s"};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const std::uint64_t most : {1U, 2U}) {
      const double delta = 0.01;
      const auto statistic = statistic_of(KeysOf{.column = "t",
                                                 .most_keys = Count{most},
                                                 .chance = Delta{delta / 2},
                                                 .owner = RowOwner{"u", false},
                                                 .hides_counts = true,
                                                 .chance_of_selection = Delta{delta}},
                                          adjacency, most);
      const Event event = event_of(WeightedStatistic{statistic}, NoiseFamily::laplace, 1);
      const auto* const repeated = std::get_if<Event::Repeated>(&event.node());
      const auto one = std::get<Event::Approximate>((repeated != nullptr ? repeated->event : event).node());
      const std::uint64_t moved = most * (adjacency == Adjacency::replace_one ? 2 : 1);
      EXPECT_EQ(repeated != nullptr ? repeated->count.value() : 1, moved);
      EXPECT_NEAR(one.epsilon.value() * static_cast<double>(moved), 1, 1e-15);
      EXPECT_LE(one.delta.value() * static_cast<double>(moved), delta);
      // As many others hold each key as have probabilities between, where they change fastest.
      std::vector<std::string> others;
      for (const auto& key : keys) {
        for (std::uint64_t k = 0; k < 2 * moved; ++k) others.push_back(key + std::to_string(k) + ",1," + key);
      }
      for (const double twice : {1.0, 2.0}) {
        KeySelection rule{Epsilon{twice * one.epsilon.value()}, one.delta};
        std::vector<std::vector<double>> laws;
        for (const auto& rows : units_of(cells, static_cast<std::size_t>(most))) {
          auto file = others;
          file.insert(file.begin() + 2, rows.begin(), rows.end());
          laws.push_back(law_of(counts_of(statistic, file), keys, rule));
        }
        std::vector<std::vector<double>> against = laws;
        if (adjacency != Adjacency::replace_one) against = {law_of(counts_of(statistic, others), keys, rule)};
        double worst = 0;
        for (const double epsilon : {0.0, 0.4, 0.7, 0.95}) {
          double found = 0;
          const auto meet = [&](const std::vector<double>& left, const std::vector<double>& right) {
            double sum = 0;
            for (std::size_t k = 0; k < left.size(); ++k) sum += std::max(left[k] - std::exp(epsilon) * right[k], 0.0);
            found = std::max(found, sum);
          };
          for (const auto& left : laws) {
            for (const auto& right : against) {
              meet(left, right);
              meet(right, left);
            }
          }
          const double allowed = accounting::best_delta(event, Epsilon{epsilon}).value.upper;
          worst = std::max(worst, found / allowed);
        }
        const auto text = std::string{name(adjacency)} + " " + std::to_string(most);
        if (twice == 1) {
          EXPECT_LE(worst, 1 + 1e-9) << text;
        } else {
          EXPECT_GT(worst, 1) << text;  // planted
        }
      }
    }
  }
}

}  // namespace
}  // namespace surety::statistics::key_selection_test
