#include <surety/accounting/events/event_kinds.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/normal_form.h>

#include <support/every_kind.h>
#include <support/refusal.h>

namespace surety::event_test {
namespace {

using nlohmann::json;
using reference::every_kind;
using reference::everywhere;
using reference::Refusal;
using reference::refusal_of;

constexpr auto replace_one = Adjacency::replace_one;
constexpr auto invalid = ErrorCode::invalid_argument;

Event noise(double multiplier, Adjacency adjacency = replace_one) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Refusal refusal_of_text(const std::string& text) {
  return refusal_of([&] { return parse_event(text, replace_one); });
}
Refusal refusal_of_json(const std::string& text) {
  return refusal_of([&] { return event_from_json(text); });
}
std::string in_json(const std::string& event) { return R"({"version": 1, "adjacency": "replace-one", "event": )" + event + "}"; }

/// Any positive double, by its bits.
double draw_multiplier() {
  while (true) {
    const auto exponent = *rc::gen::inRange(-1073, 1023);
    const auto mantissa = *rc::gen::resize(100, rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 52));
    const double value = std::ldexp(1 + static_cast<double>(mantissa) * 0x1p-52, exponent);
    if (value > 0 && std::isfinite(value)) return value;
  }
}

/// Any count, spread over all of them.
Count draw_count() {
  const int bits = *rc::gen::inRange(0, 54);
  return Count{*rc::gen::resize(100, rc::gen::inRange<std::uint64_t>(std::uint64_t{1} << bits >> 1, std::uint64_t{1} << bits)) + 1};
}

double draw_fraction() {
  return static_cast<double>(*rc::gen::resize(100, rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 53))) * 0x1p-53;
}

Batches draw_batches() {
  const Count first = draw_count();
  const Count second = draw_count();
  return {std::max(first, second), std::min(first, second)};
}

/// A positive double of which half is one too.
double draw_halvable() { return std::max(draw_multiplier(), 0x1p-1000); }

/// One of the sixteen releases.
Event draw_release(Adjacency adjacency) {
  switch (*rc::gen::inRange(0, adjacency == Adjacency::add_or_remove_one ? 15 : 16)) {
    case 0: return noise(draw_multiplier(), adjacency);
    case 1: return laplace(NoiseScale{draw_multiplier()}, adjacency);
    case 2: return discrete_gaussian(NoiseScale{draw_multiplier()}, draw_count(), adjacency);
    case 3: return discrete_laplace(NoiseScale{draw_multiplier()}, draw_count(), adjacency);
    case 4: return exponential(Epsilon{draw_multiplier()}, adjacency);
    case 5: return pure(Epsilon{draw_multiplier()}, adjacency);
    case 6: return approx(Epsilon{draw_multiplier()}, Delta{draw_fraction()}, adjacency);
    case 7: return zcdp(Rho{draw_multiplier()}, adjacency);
    case 8: {
      const NormExponent r{2 + 100 * draw_fraction()};
      return generalized_gaussian(r, draw_count(), NoiseMultiplier{draw_multiplier()}, adjacency);
    }
    case 9: {
      const auto norm = *rc::gen::element(NormName::l1, NormName::l2, NormName::linf);
      return k_norm(norm, draw_count(), NoiseScale{draw_multiplier()}, adjacency);
    }
    case 10: return record_sum(NoiseMultiplier{draw_halvable()}, adjacency);
    case 11: return zcdp(Epsilon{draw_multiplier()}, Rho{draw_multiplier()}, adjacency);
    case 12: {
      const double delta = draw_fraction();
      return curve({{0.5, delta}, {1.5 + draw_fraction(), delta}}, adjacency);
    }
    case 13: {
      const double loss = 3 * draw_fraction();
      return law({{-loss, 0.5 * std::exp(-loss)}, {loss, 1 - 0.5 * std::exp(-loss)}}, adjacency);
    }
    case 14: return surety::renyi({{1.25 + draw_fraction(), draw_multiplier()}, {3 + draw_fraction(), draw_multiplier()}}, adjacency);
    default: {
      const Count categories = std::max(draw_count(), Count{2});
      return randomized_response(Probability{draw_fraction()}, categories, adjacency);
    }
  }
}

/// Any event of at most that many levels; every kind that the adjacency allows is drawn, batches only where none is around.
Event draw_event(Adjacency adjacency, int levels, bool in_batch) {
  const auto kind = levels == 1 ? 0 : *rc::gen::inRange(0, 6);
  const auto inner = [&](bool batch) { return draw_event(adjacency, levels - 1, in_batch || batch); };
  const auto in_batches = [&](Event (*batched)(Count records, Count batch_size, Event)) {
    const auto batches = draw_batches();
    return batched(batches.records(), batches.size(), inner(true));
  };
  if (kind == 0) return draw_release(adjacency);
  if (kind == 1) return repeat(draw_count(), inner(false));
  if (kind <= 3 || in_batch) {
    std::vector<Event> parts;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) parts.push_back(inner(false));
    return kind == 2 ? compose(std::move(parts)) : parallel(std::move(parts));
  }
  if (adjacency == Adjacency::add_or_remove_one || (adjacency == Adjacency::zero_out && kind == 4)) {
    return poisson(SamplingRate{draw_fraction()}, inner(true));
  }
  if (adjacency == replace_one && kind == 4 && *rc::gen::inRange(0, 2) == 0) {
    const Event sum = record_sum(NoiseMultiplier{draw_halvable()}, adjacency);
    return poisson(SamplingRate{draw_fraction()}, compose({sum, repeat(draw_count(), parallel({sum, sum}))}));
  }
  if (adjacency == replace_one && kind == 4 && *rc::gen::inRange(0, 2) == 0) return in_batches(with_replacement);
  if (adjacency == replace_one && kind == 4) return in_batches(without_replacement);
  return *rc::gen::inRange(0, 2) == 0 ? in_batches(shuffled) : in_batches(deterministic);
}

/// Now and then what is said of users, or of batches that few events fit.
Event draw_other(Adjacency adjacency) {
  const Event sum = record_sum(NoiseMultiplier{draw_halvable()}, adjacency);
  switch (*rc::gen::inRange(0, 6)) {
    case 4: {
      const double mean = 1 / draw_fraction() + 0.5;
      const auto law = *rc::gen::element(RunsLaw::poisson, RunsLaw::geometric, RunsLaw::logarithmic, RunsLaw::negative_binomial,
                                         RunsLaw::capped_geometric);
      if (!(mean < Runs::most)) return sum;
      const std::uint64_t beyond = *rc::gen::inRange<std::uint64_t>(static_cast<std::uint64_t>(mean) + 1, 1'000'001);
      return best_of(law == RunsLaw::negative_binomial  ? Runs::negative_binomial(mean, draw_fraction())
                     : law == RunsLaw::capped_geometric ? Runs::capped_geometric(mean, Count{beyond})
                                                        : Runs{law, mean},
                     sum);
    }
    case 5:
      if (*rc::gen::inRange(0, 2) == 0) return allocated(Count{9}, Count{*rc::gen::inRange<std::uint64_t>(1, 10)}, sum);
      return allocated(draw_count(), repeat(draw_count(), sum));
    case 0: return cyclic(draw_count(), draw_count(), SamplingRate{draw_fraction()}, repeat(draw_count(), sum));
    case 1: return users(draw_count(), repeat(draw_count(), poisson(SamplingRate{draw_fraction()}, sum)));
    case 2:
      if (adjacency != replace_one) return users(draw_count(), compose({sum, allocated(draw_count(), sum)}));
      return users(draw_count(), compose({sum, cyclic(draw_count(), draw_count(), SamplingRate{draw_fraction()}, sum)}));
    default: return truncated_poisson(SamplingRate{draw_fraction()}, Count{7}, Count{9}, compose({sum, sum}));
  }
}

Event draw_event() {
  if (*rc::gen::inRange(0, 6) == 0) return draw_other(*rc::gen::element(Adjacency::add_or_remove_one, replace_one, Adjacency::zero_out));
  return draw_event(*rc::gen::element(Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out), 4, false);
}

// ---- the three spellings ----

TEST(Event, HasThreeSpellings) {
  const auto event = repeat(Count{100}, noise(40));
  EXPECT_EQ(describe(event), "repeat(100, gaussian(40))");
  EXPECT_EQ(to_json(event), json::parse(in_json(R"({"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}})")));
  EXPECT_EQ(describe(compose({noise(0.5), repeat(Count{3}, noise(1e-7))})), "compose(gaussian(0.5), repeat(3, gaussian(1e-07)))");
}

RC_GTEST_PROP(Event, TextRoundTrips, ()) {
  const auto event = draw_event();
  RC_ASSERT(parse_event(describe(event), event.adjacency()) == event);
}

RC_GTEST_PROP(Event, JsonRoundTrips, ()) {
  const auto event = draw_event();
  RC_ASSERT(event_from_json(to_json(event).dump()) == event);
}

TEST(Event, SpaceMeansNothingInText) {
  EXPECT_TRUE(parse_event(" compose (\n gaussian( 2.5 )\t,repeat(3,gaussian(7)) ) ", replace_one) ==
              compose({noise(2.5), repeat(Count{3}, noise(7))}));
}

TEST(Event, EqualityIsOfStructureAndAdjacency) {
  EXPECT_TRUE(compose({noise(2), noise(3)}) == compose({noise(2), noise(3)}));
  EXPECT_FALSE(compose({noise(2), noise(3)}) == compose({noise(3), noise(2)}));
  EXPECT_FALSE(repeat(Count{2}, noise(3)) == compose({noise(3), noise(3)}));
  EXPECT_FALSE(repeat(Count{2}, noise(3)) == repeat(Count{4}, noise(3)));
  EXPECT_FALSE(noise(3) == noise(3, Adjacency::zero_out));
  EXPECT_FALSE(noise(3) == compose({noise(3)}));
}

// ---- adjacency ----

TEST(EventAdjacency, IsKeptByRepetitionAndComposition) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const auto event = compose({repeat(Count{3}, noise(2, adjacency)), noise(5, adjacency)});
    EXPECT_EQ(event.adjacency(), adjacency);
    EXPECT_EQ(event_from_json(to_json(event).dump()).adjacency(), adjacency);
    EXPECT_EQ(parse_event(describe(event), adjacency).adjacency(), adjacency);
  }
}

TEST(EventAdjacency, OfARecordSumNeedsAHalf) {
  const auto refusal = refusal_of_text("record_sum(5e-324)");
  EXPECT_TRUE(refusal.says(invalid, "noise multiplier is 5e-324, must be such that its half is a double")) << refusal;
  EXPECT_EQ(describe(parse_event("record_sum(1e-323)", replace_one)), "record_sum(1e-323)");
}

TEST(EventAdjacency, MixingIsRefused) {
  const auto refusal = refusal_of([] { return compose({noise(2), noise(2), noise(2, Adjacency::add_or_remove_one)}); });
  EXPECT_TRUE(refusal.says(invalid, "a composition mixes adjacency replace-one and add-or-remove-one, must have one")) << refusal;
}

// ---- composition and depth ----

TEST(EventComposition, OfNothingIsRefused) {
  EXPECT_TRUE(refusal_of([] { return compose({}); }).says(invalid, "a composition of no events is empty"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"compose": []})")).says(invalid, "a composition of no events is empty"));
  EXPECT_TRUE(refusal_of_text("compose()").says(invalid, "last_iterate_of_batches) at position 9"));
}

Event nested(int depth) {
  Event event = noise(2);
  for (int level = 2; level <= depth; ++level) event = level % 2 == 0 ? repeat(Count{1}, event) : compose({event});
  return event;
}

std::string nested_text(int depth) {
  std::string text;
  for (int level = depth; level >= 2; --level) text += level % 2 == 0 ? "repeat(1, " : "compose(";
  return text + "gaussian(2)" + std::string(static_cast<std::size_t>(depth - 1), ')');
}

std::string nested_json(int depth) {
  std::string open;
  std::string close;
  for (int level = depth; level >= 2; --level) {
    open += level % 2 == 0 ? R"({"repeat": {"count": 1, "event": )" : R"({"compose": [)";
  }
  for (int level = 2; level <= depth; ++level) close += level % 2 == 0 ? "}}" : "]}";
  return in_json(open + R"({"gaussian": {"noise_multiplier": 2}})" + close);
}

TEST(EventDepth, Of64IsAcceptedInEverySpelling) {
  const auto event = nested(64);
  EXPECT_EQ(event.depth(), 64);
  EXPECT_TRUE(parse_event(nested_text(64), replace_one) == event);
  EXPECT_TRUE(event_from_json(nested_json(64)) == event);
}

TEST(EventDepth, Of65IsRefusedInEverySpelling) {
  EXPECT_TRUE(refusal_of([] { return nested(65); }).says(invalid, "event is nested 65 deep, must be at most 64"));
  EXPECT_TRUE(refusal_of_text(nested_text(65)).says(invalid, "nested at most 64 deep"));
  EXPECT_TRUE(refusal_of_json(nested_json(65)).says(invalid, "nested more than 64 deep"));
}

TEST(EventDepth, OfAMillionIsRefused) {
  EXPECT_TRUE(refusal_of_text(nested_text(1'000'000)).says(invalid, "nested at most 64 deep"));
  EXPECT_TRUE(refusal_of_json(nested_json(1'000'000)).says(invalid, "nested deeper"));
  EXPECT_TRUE(refusal_of_text(std::string(1'000'000, '(')).refused);
  EXPECT_TRUE(refusal_of_json(std::string(1'000'000, '[')).says(invalid, "nested deeper"));
}

TEST(EventDepth, OfACompositionIsThatOfItsDeepestPart) {
  EXPECT_EQ(compose({noise(1.5), repeat(Count{2}, noise(3)), noise(4)}).depth(), 3);
}

// ---- numbers out of range, named with their constraint ----

TEST(EventCount, OutOfRangeIsRefusedInText) {
  for (const std::string count : {"0", "1.5", "-1", "9007199254740993", "1e17", "99999999999999999999999", "nan", "inf"}) {
    const auto refusal = refusal_of_text("repeat(" + count + ", gaussian(2))");
    EXPECT_TRUE(refusal.says(invalid, "must be an integer from 1 to 2^53")) << count << ": " << refusal;
  }
}

TEST(EventCount, OutOfRangeIsRefusedInJson) {
  for (const std::string count :
       {"0", "1.5", "-1", "9007199254740993", "1e17", "99999999999999999999999", "2.0", "\"2\"", "null", "true", "[2]"}) {
    const auto refusal =
        refusal_of_json(in_json(R"({"repeat": {"count": )" + count + R"(, "event": {"gaussian": {"noise_multiplier": 2}}}})"));
    EXPECT_TRUE(refusal.says(invalid, "must be an integer from 1 to 2^53")) << count << ": " << refusal;
  }
}

TEST(EventCount, RefusalNamesTheValue) {
  EXPECT_TRUE(refusal_of_text("repeat(9007199254740993, gaussian(2))").says(invalid, "count is 9007199254740993,"));
  EXPECT_TRUE(refusal_of_text("repeat(1.5, gaussian(2))").says(invalid, "count is 1.5,"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"repeat": {"count": -7, "event": {"gaussian": {"noise_multiplier": 2}}}})"))
                  .says(invalid, "count is -7,"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"repeat": {"count": 1.5, "event": {"gaussian": {"noise_multiplier": 2}}}})"))
                  .says(invalid, "count is 1.5,"));
}

TEST(EventCount, UpToTwoToThe53IsExact) {
  for (const std::uint64_t count : {(std::uint64_t{1} << 53) - 1, std::uint64_t{1} << 53}) {
    const auto event = repeat(Count{count}, noise(2));
    EXPECT_TRUE(parse_event(describe(event), replace_one) == event) << count;
    EXPECT_TRUE(event_from_json(to_json(event).dump()) == event) << count;
  }
}

TEST(EventMultiplier, OutOfRangeIsRefusedInText) {
  for (const std::string multiplier : {"0", "-1", "nan", "inf", "infinity", "-inf", "-nan", "1e-400"}) {
    EXPECT_TRUE(refusal_of_text("gaussian(" + multiplier + ")").refused) << multiplier;
  }
  EXPECT_TRUE(refusal_of_text("gaussian(1e400)").says(invalid, "a number within the range of double is expected at position 10"));
}

TEST(EventMultiplier, RefusalNamesValueConstraintAndEvent) {
  const auto refusal = refusal_of_text("repeat(100, gaussian(-1))");
  EXPECT_TRUE(refusal.says(invalid, "noise multiplier is -1, must be finite and greater than 0 (in event 'repeat(100, gaussian(-1))')"))
      << refusal;
}

TEST(EventMultiplier, OutOfRangeIsRefusedInJson) {
  for (const std::string multiplier : {"0", "-1", "1e400", "1e-400", "null", "\"nan\"", "NaN", "[1]", "true"}) {
    EXPECT_TRUE(refusal_of_json(in_json(R"({"gaussian": {"noise_multiplier": )" + multiplier + "}}")).refused) << multiplier;
  }
  EXPECT_TRUE(refusal_of_json(in_json(R"({"gaussian": {"noise_multiplier": -2.5}})")).says(invalid, "noise multiplier is -2.5, must be"));
}

// ---- named values ----

TEST(EventNames, StandForTheirNumbers) {
  const auto event = parse_event("compose(gaussian(z), repeat(n_1, gaussian(z)), gaussian(3))", replace_one, {{"z", 40.5}, {"n_1", 7}});
  EXPECT_TRUE(event == compose({noise(40.5), repeat(Count{7}, noise(40.5)), noise(3)}));
}

TEST(EventNames, WithoutAValueAreRefusedByName) {
  const auto refusal = refusal_of([] { return parse_event("repeat(100, gaussian(z))", replace_one, {{"zz", 40}}); });
  EXPECT_TRUE(refusal.says(invalid, "the name 'z' has no value here, a number is expected at position 22")) << refusal;
}

TEST(EventNames, ObeyTheConstraintOfTheirPlace) {
  EXPECT_TRUE(refusal_of([] { return parse_event("gaussian(z)", replace_one, {{"z", -3}}); }).says(invalid, "noise multiplier is -3"));
  EXPECT_TRUE(refusal_of([] { return parse_event("repeat(n, gaussian(2))", replace_one, {{"n", 2.5}}); }).says(invalid, "count is 2.5"));
}

// ---- every kind: its spellings, adjacencies and ranges ----

TEST(EventKind, HasOneTextAndOneJson) {
  const auto kinds = every_kind();
  EXPECT_EQ(kinds.size(), std::variant_size_v<Event::Node> + 2);  // two of them have two spellings
  for (const auto& kind : kinds) {
    for (const auto adjacency : kind.allowed) {
      const auto event = parse_event(kind.text, adjacency);
      EXPECT_EQ(describe(event), kind.text);
      EXPECT_TRUE(kind.in_words(adjacency) == event) << kind.text;
      EXPECT_EQ(to_json(event)["event"], json::parse(kind.in_json));
      EXPECT_TRUE(event_from_json(to_json(event).dump()) == event) << kind.text;
      EXPECT_EQ(event.adjacency(), adjacency);
    }
  }
}

TEST(EventKind, IsOnlyEqualToItself) {
  const auto kinds = every_kind();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[i].allowed.front() != kinds[k].allowed.front()) continue;
      const auto adjacency = kinds[i].allowed.front();
      EXPECT_EQ(parse_event(kinds[i].text, adjacency) == parse_event(kinds[k].text, adjacency), i == k)
          << kinds[i].text << ' ' << kinds[k].text;
    }
  }
}

/// The texts of events that have another value in one place: the last digit of each number less one, and one name for another.
std::vector<std::string> with_another_value(const std::string& text) {
  std::vector<std::string> others;
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(i) || is_digit(i + 1) || (i + 1 < text.size() && text[i + 1] == '.')) continue;
    others.push_back(text);
    --others.back()[i];
  }
  for (const auto& [name, other] : {std::pair<std::string, std::string>{"linf", "l2"}, {"poisson_runs", "geometric_runs"}}) {
    const auto place = text.find(name);
    if (place != std::string::npos) others.push_back(std::string{text}.replace(place, name.size(), other));
  }
  return others;
}

TEST(EventKind, DiffersByEachOfItsArguments) {
  for (const auto& kind : every_kind()) {
    // Masses sum to 1, so that no one of them differs alone.
    if (kind.text.starts_with("law") || kind.text.starts_with("mixture")) continue;
    const auto others = with_another_value(kind.text);
    EXPECT_EQ(others.size(), static_cast<std::size_t>(std::count(kind.text.begin(), kind.text.end(), ',')) + 1) << kind.text;
    for (const auto& other : others) {
      EXPECT_FALSE(parse_event(other, kind.allowed.front()) == parse_event(kind.text, kind.allowed.front())) << kind.text << ' ' << other;
    }
  }
}

// What C++ called a word before it took the arguments of its text.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(EventWords, OfBeforeMeanTheSame) {
  EXPECT_TRUE(release(Event::Laplace{NoiseScale{2.5}}, replace_one) == laplace(NoiseScale{2.5}, replace_one));
  EXPECT_TRUE(refusal_of([] {
                return release(Event::RandomizedResponse{Probability{0.5}, Count{1}}, replace_one);
              }).says(invalid, "categories is 1, must be at least 2"));
  const Batches batches{Count{9}, Count{7}};
  EXPECT_TRUE(without_replacement(batches, noise(2)) == without_replacement(Count{9}, Count{7}, noise(2)));
  EXPECT_TRUE(shuffled(batches, noise(2)) == shuffled(Count{9}, Count{7}, noise(2)));
  EXPECT_TRUE(deterministic(batches, noise(2)) == deterministic(Count{9}, Count{7}, noise(2)));
  const Event sum = record_sum(NoiseMultiplier{2}, replace_one);
  EXPECT_TRUE(truncated_poisson(SamplingRate{0.5}, batches, sum) == truncated_poisson(SamplingRate{0.5}, Count{7}, Count{9}, sum));
}
#pragma GCC diagnostic pop

TEST(EventWords, OfSearchesTakeAShapeOrACapWhereTheirLawHasOne) {
  EXPECT_EQ(describe(best_of(RunsLaw::negative_binomial, 7.5, -0.25, noise(2))),
            "best_of(negative_binomial_runs, 7.5, -0.25, gaussian(2))");
  EXPECT_EQ(describe(best_of(RunsLaw::capped_geometric, 7.5, Count{33}, noise(2))), "best_of(capped_geometric_runs, 7.5, 33, gaussian(2))");
  EXPECT_TRUE(refusal_of([] { return best_of(RunsLaw::geometric, 7.5, 0.5, noise(2)); }).says(invalid, "geometric_runs have no shape"));
  EXPECT_TRUE(refusal_of([] { return best_of(RunsLaw::geometric, 7.5, Count{33}, noise(2)); }).says(invalid, "geometric_runs have no cap"));
  EXPECT_TRUE(refusal_of([] { return best_of(RunsLaw::capped_geometric, 7.5, noise(2)); }).refused);
}

TEST(EventNode, OfAnotherAdjacencyThanWhatItHoldsIsRefused) {
  const Event inside = noise(2, Adjacency::zero_out);
  EXPECT_TRUE(refusal_of([&] {
                return Event{Event::Repeated{Count{2}, inside}, replace_one};
              }).says(invalid, "repeat mixes adjacency replace-one and zero-out, must have one"));
  EXPECT_TRUE((Event{Event::Repeated{Count{2}, inside}, Adjacency::zero_out} == repeat(Count{2}, inside)));
}

TEST(EventKind, HasAShapeWhereItsLawHasOne) {
  const std::string text = "best_of(negative_binomial_runs, 7.5, -0.25, gaussian(3.5))";
  const auto event = parse_event(text, replace_one);
  EXPECT_EQ(describe(event), text);
  EXPECT_TRUE(event_from_json(to_json(event).dump()) == event);
  EXPECT_EQ(to_json(event)["event"]["best_of"]["shape"], -0.25);
  EXPECT_FALSE(event == parse_event("best_of(negative_binomial_runs, 7.5, 0.25, gaussian(3.5))", replace_one));
  const std::string inner = R"("event": {"gaussian": {"noise_multiplier": 2}}}})";
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "negative_binomial_runs", "mean": 2, )" + inner)).refused);
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "geometric_runs", "mean": 2, "shape": 1, )" + inner))
                  .says(invalid, "best_of: geometric_runs have no shape"));
  EXPECT_TRUE(refusal_of_text("best_of(negative_binomial_runs, 2, gaussian(1))").refused);
}

TEST(EventKind, HasACapWhereItsLawHasOne) {
  const std::string text = "best_of(capped_geometric_runs, 7.5, 33, gaussian(3.5))";
  const auto event = parse_event(text, replace_one);
  EXPECT_EQ(describe(event), text);
  EXPECT_TRUE(event_from_json(to_json(event).dump()) == event);
  EXPECT_EQ(to_json(event)["event"], json::parse(R"({"best_of": {"runs": "capped_geometric_runs", "mean": 7.5, "cap": 33, "event":
                                                  {"gaussian": {"noise_multiplier": 3.5}}}})"));
  EXPECT_FALSE(event == parse_event("best_of(capped_geometric_runs, 7.5, 34, gaussian(3.5))", replace_one));
  EXPECT_FALSE(event == parse_event("best_of(geometric_runs, 7.5, gaussian(3.5))", replace_one));
  const std::string inner = R"("event": {"gaussian": {"noise_multiplier": 2}}}})";
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "capped_geometric_runs", "mean": 2, )" + inner))
                  .says(invalid, "event: field 'cap' is missing"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "capped_geometric_runs", "mean": 2, "cap": 2.5, )" + inner))
                  .says(invalid, "cap is 2.5, must be an integer from 1 to 2^53"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "geometric_runs", "mean": 2, "cap": 9, )" + inner))
                  .says(invalid, "best_of: geometric_runs have no cap"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"best_of": {"runs": "capped_geometric_runs", "mean": 2, "cap": 9, "shape": 1, )" + inner))
                  .says(invalid, "best_of: capped_geometric_runs have no shape"));
  EXPECT_TRUE(refusal_of_text("best_of(capped_geometric_runs, 2, gaussian(1))").refused);
  // A name may stand for it.
  EXPECT_EQ(describe(parse_event("best_of(capped_geometric_runs, m, n, gaussian(2))", replace_one, {{"m", 1.5}, {"n", 3}})),
            "best_of(capped_geometric_runs, 1.5, 3, gaussian(2))");
  const auto uses = EventOfNumber("best_of(capped_geometric_runs, 2, n, gaussian(2))", replace_one, "n").uses();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses.front().field, "cap");
  EXPECT_TRUE(uses.front().whole);
}

TEST(EventAdjacency, WithoutATheoremIsRefusedByName) {
  for (const auto& kind : every_kind()) {
    for (const auto adjacency : everywhere) {
      const bool allowed = std::find(kind.allowed.begin(), kind.allowed.end(), adjacency) != kind.allowed.end();
      const auto by_text = refusal_of([&] { return parse_event(kind.text, adjacency); });
      const auto by_json = refusal_of([&] {
        return event_from_json(R"({"version": 1, "adjacency": ")" + std::string{name(adjacency)} + R"(", "event": )" + kind.in_json + "}");
      });
      EXPECT_EQ(by_text.refused, !allowed) << kind.text << ' ' << name(adjacency);
      EXPECT_EQ(by_json.refused, !allowed) << kind.text << ' ' << name(adjacency);
      if (allowed) continue;
      const std::string word = kind.text.substr(0, kind.text.find('('));
      for (const auto& refusal : {by_text, by_json}) {
        EXPECT_TRUE(
            refusal.says(invalid, "adjacency is " + std::string{name(adjacency)} + ", must be " + std::string{name(kind.allowed[0])}))
            << refusal;
        EXPECT_TRUE(refusal.says(invalid, " for " + word)) << refusal;
      }
    }
  }
}

TEST(EventAdjacency, MixingIsRefusedInParallelToo) {
  const auto refusal = refusal_of([] { return parallel({noise(2), noise(2, Adjacency::zero_out)}); });
  EXPECT_TRUE(refusal.says(invalid, "a parallel composition mixes adjacency replace-one and zero-out, must have one")) << refusal;
  EXPECT_TRUE(refusal_of([] { return parallel({}); }).says(invalid, "a parallel composition of no events is empty"));
}

TEST(EventShuffledReports, AreRefusedWhereTheirNumberShowsRecordsAndInBatches) {
  for (const std::string text : {"shuffled_reports(9, 1)", "shuffled_responses(9, 0.75, 3)"}) {
    const std::string word = text.substr(0, text.find('('));
    for (const Adjacency adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
      const auto refusal = refusal_of([&] { return parse_event(text, adjacency); });
      EXPECT_TRUE(refusal.says(
          invalid, fmt::format("adjacency is {}, must be replace-one for {}: each record sends one report", name(adjacency), word)))
          << refusal;
    }
    for (const std::string batch : {"poisson(0.5, ", "without_replacement(9, 7, ", "with_replacement(7, 9, ", "shuffled(9, 7, ",
                                    "deterministic(9, 7, ", "cyclic(9, 7, 0.5, "}) {
      for (const std::string around : {"", "repeat(3, ", "compose(pure(2), ", "parallel(pure(2), "}) {
        const std::string whole = batch + around + text + (around.empty() ? ")" : "))");
        const auto refusal = refusal_of([&] { return parse_event(whole, replace_one); });
        EXPECT_TRUE(refusal.says(invalid, batch.substr(0, batch.find('(')) + " holds " + text + ", must hold single releases")) << refusal;
      }
    }
    for (const std::string batch : {"users(2, ", "allocated(3, ", "truncated_poisson(0.5, 2, 9, ", "mixture(1, 1, "}) {
      const auto refusal = refusal_of([&] { return parse_event(batch + text + ")", replace_one); });
      EXPECT_TRUE(refusal.says(invalid, batch.substr(0, batch.find('(')) + " holds " + text)) << refusal;
    }
    for (const std::string around : {"repeat(3, ", "compose(gaussian(2), ", "parallel(gaussian(2), ", "best_of(poisson_runs, 2, "}) {
      EXPECT_EQ(describe(parse_event(around + text + ")", replace_one)), around + text + ")");
    }
  }
}

TEST(EventShuffledReports, OfOneReportAreThatReport) {
  const auto plain = [](const std::string& text) { return describe(accounting::plainest(parse_event(text, replace_one))); };
  EXPECT_EQ(plain("shuffled_reports(1, 2.5)"), "pure(2.5)");
  EXPECT_EQ(plain("shuffled_reports(9, 0)"), "pure(0)");
  EXPECT_EQ(plain("shuffled_responses(1, 0.75, 3)"), "randomized_response(0.75, 3)");
  EXPECT_EQ(plain("shuffled_responses(9, 0.25, 4)"), "pure(0)");
  EXPECT_EQ(plain("shuffled_responses(9, 0.2, 5)"), "shuffled_responses(9, 0.2, 5)");
  EXPECT_EQ(plain("shuffled_reports(2, 2.5)"), "shuffled_reports(2, 2.5)");
}

TEST(EventLastIterate, HoldsOneGaussianReleaseAndIsInNoBatch) {
  for (const std::string begin : {"last_iterate(7, 0.5, ", "last_iterate_within(2, 7, 0.5, ", "last_iterate_of_passes(3, 4, 0.5, ",
                                  "last_iterate_of_batches(3, 4, 5, 6, "}) {
    const std::string word = begin.substr(0, begin.find('('));
    for (const std::string inside : {"laplace(2)", "repeat(2, gaussian(1))", "compose(gaussian(1), gaussian(2))", "pure(1)",
                                     "discrete_gaussian(3, 1)", "last_iterate(7, 0.5, gaussian(1))"}) {
      const auto refusal = refusal_of([&] { return parse_event(begin + inside + ")", replace_one); });
      EXPECT_TRUE(refusal.says(invalid, word + " holds " + inside + ", must hold one gaussian or record_sum: the noise of a step"))
          << refusal;
    }
    const std::string text = begin + "gaussian(2))";
    for (const std::string batch : {"poisson(0.5, ", "without_replacement(9, 7, ", "with_replacement(7, 9, ", "shuffled(9, 7, ",
                                    "deterministic(9, 7, ", "cyclic(9, 7, 0.5, ", "allocated(3, ", "mixture(1, 1, "}) {
      const auto refusal = refusal_of([&] { return parse_event(batch + text + ")", replace_one); });
      EXPECT_TRUE(refusal.refused) << batch + text;
      EXPECT_NE(refusal.message.find(text), std::string::npos) << refusal;
    }
    for (const std::string around : {"repeat(3, ", "compose(gaussian(2), ", "parallel(gaussian(2), ", "best_of(poisson_runs, 2, "}) {
      EXPECT_EQ(describe(parse_event(around + text + ")", replace_one)), around + text + ")");
    }
    const bool may_be_of_users = word == "last_iterate" || word == "last_iterate_of_passes";
    EXPECT_EQ(refusal_of([&] { return parse_event("users(2, " + text + ")", replace_one); }).refused, !may_be_of_users) << word;
    EXPECT_TRUE(refusal_of([&] {
                  return parse_event(begin + "gaussian(1e-290))", replace_one);
                }).says(invalid, "noise multiplier is 1e-290, must be from 2^-900 to 2^900 in " + word));
  }
  EXPECT_TRUE(refusal_of([] {
                return parse_event("last_iterate_of_passes(9007199254740992, 2, 1, gaussian(1))", replace_one);
              }).says(invalid, "9007199254740992 passes over 2 batches are more than 2^53 steps"));
  // The sum of these rounds to 2^53.
  EXPECT_TRUE(refusal_of([] {
                return parse_event("last_iterate_of_batches(9007199254740992, 2, 1, 1, gaussian(1))", replace_one);
              }).says(invalid, "the steps sum to more than 2^53"));
}

TEST(EventBatch, WithinABatchIsRefused) {
  const std::vector<std::pair<std::string, Adjacency>> batches = {
      {"poisson(0.5, ", Adjacency::zero_out},        {"shuffled(9, 7, ", Adjacency::zero_out},
      {"deterministic(9, 7, ", Adjacency::zero_out}, {"cyclic(9, 7, 0.5, ", Adjacency::zero_out},
      {"without_replacement(9, 7, ", replace_one},   {"shuffled(9, 7, ", replace_one},
      {"deterministic(9, 7, ", replace_one},         {"with_replacement(7, 9, ", replace_one}};
  for (const auto& [outer, adjacency] : batches) {
    for (const auto& [inner, other] : batches) {
      if (adjacency != other) continue;
      const std::string word = outer.substr(0, outer.find('('));
      for (const std::string around : {"", "repeat(3, ", "compose(gaussian(2), ", "parallel(gaussian(2), "}) {
        const std::string text = outer + around + inner + "gaussian(2))" + (around.empty() ? "" : ")") + ")";
        const auto refusal = refusal_of([&] { return parse_event(text, adjacency); });
        EXPECT_TRUE(refusal.says(invalid, word + " holds " + inner + "gaussian(2)), must hold single releases")) << text << ": " << refusal;
        // Side by side, and around, they may stand.
        const auto beside = parse_event("compose(" + outer + "gaussian(2)), repeat(3, " + inner + "gaussian(2))))", adjacency);
        EXPECT_TRUE(beside.has_sampling());
      }
    }
  }
  EXPECT_FALSE(parse_event("compose(gaussian(2), parallel(laplace(1), pure(1)))", replace_one).has_sampling());
  EXPECT_TRUE(refusal_of_text("shuffled(9, 7, repeat(3, best_of(geometric_runs, 2, gaussian(1))))")
                  .says(invalid,
                        "shuffled holds best_of(geometric_runs, 2, gaussian(1)), must hold single releases such as gaussian(1), and "
                        "repeat, compose and parallel of them"));
}

TEST(EventRange, OfEveryParameterIsNamed) {
  const std::string finite = "must be finite and greater than 0";
  const std::string not_negative = "must be finite and at least 0";
  const std::string whole = "must be an integer from 1 to 2^53";
  struct Parameter {
    std::string before;
    std::string after;
    std::string constraint;
    std::vector<std::string> refused;
  };
  const std::vector<std::string> not_positive = {"0", "-1", "nan", "inf"};
  const std::vector<std::string> negative = {"-1", "-1e-300", "nan", "inf"};
  const std::vector<std::string> not_whole = {"0", "-1", "1.5", "nan", "inf", "9007199254740993"};
  const std::vector<Parameter> parameters = {
      {"laplace(", ")", "scale is {}, " + finite, not_positive},
      {"discrete_gaussian(", ", 1)", "scale is {}, " + finite, not_positive},
      {"last_iterate(", ", 1, gaussian(1))", "steps is {}, " + whole, not_whole},
      {"last_iterate(2, ",
       ", gaussian(1))",
       "Lipschitz constant is {}, must be at least 0 and at most 1",
       {"-0.1", "1.0000001", "nan", "inf"}},
      {"last_iterate_within(", ", 2, 1, gaussian(1))", "diameter is {}, " + finite, not_positive},
      {"last_iterate_of_passes(", ", 2, 1, gaussian(1))", "passes is {}, " + whole, not_whole},
      {"last_iterate_of_passes(2, ", ", 1, gaussian(1))", "batches is {}, " + whole, not_whole},
      {"last_iterate_of_batches(", ", 2, gaussian(1))", "batches: steps is {}, " + whole, {"0", "-1", "1.5", "nan", "inf"}},
      {"last_iterate_of_batches(2, ", ", gaussian(1))", "batches: size is {}, " + whole, {"0", "-1", "1.5", "nan", "inf"}},
      {"discrete_gaussian(1, ", ")", "sensitivity is {}, " + whole, not_whole},
      {"discrete_laplace(", ", 1)", "scale is {}, " + finite, not_positive},
      {"discrete_laplace(1, ", ")", "sensitivity is {}, " + whole, not_whole},
      {"randomized_response(",
       ", 2)",
       "probability is {}, must be greater than 0 and less than 1",
       {"0", "1", "-0.5", "1.5", "nan", "inf"}},
      {"randomized_response(0.5, ", ")", "categories is {}, " + whole, not_whole},
      {"randomized_response(0.5, ", ")", "categories is {}, must be at least 2", {"1"}},
      {"exponential(", ")", "epsilon is {}, " + not_negative, negative},
      {"pure(", ")", "epsilon is {}, " + not_negative, negative},
      {"approx(", ", 0.1)", "epsilon is {}, " + not_negative, negative},
      {"approx(1, ", ")", "delta is {}, must be at least 0 and less than 1", {"1", "-0.1", "nan", "inf"}},
      {"zcdp(", ")", "rho is {}, " + not_negative, negative},
      {"zcdp(", ", 1)", "epsilon is {}, " + not_negative, negative},
      {"curve(", ", 0.5)", "curve: epsilon is {}, " + not_negative, negative},
      {"curve(1, ", ")", "curve: delta is {} at epsilon 1, must be from 0 to 1", {"-0.1", "1.5", "nan", "inf"}},
      {"curve(1, ", ")", "curve: the last delta is {}, must be less than 1", {"1"}},
      {"curve(0, 0.5, 1, ", ")", "curve: delta is {} at epsilon 1 after 0.5, must not rise", {"0.6", "1"}},
      {"curve(1, 0.5, ", ", 0.25)", "curve: epsilon is {} after 1, must rise", {"1", "0.5"}},
      {"curve(0, 0.5, 0.5, ", ", 1, 0.1)", "curve: delta is {} at epsilon 0.5, must be at most 0.348", {"0.4", "0.5"}},
      {"law(", ", 1)", "law: loss is {}, must be finite or infinity", {"nan", "-inf"}},
      {"law(0, ", ")", "law: mass is {}, must be from 0 to 1", {"nan", "-0.5", "1.5", "inf"}},
      {"renyi(", ", 1)", "renyi: order is {}, must be finite and greater than 1", {"1", "0.5", "-2", "nan", "inf"}},
      {"renyi(3, 1, ", ", 1)", "renyi: order is {} after 3, must rise", {"3", "2"}},
      {"renyi(3, ", ")", "renyi: bound is {} at order 3, must be finite and at least 0", {"-1", "nan", "inf"}},
      {"mixture(1, ", ", gaussian(1))", "mixture: shift is {}, must be finite and at least 0", {"-1", "nan", "inf"}},
      {"mixture(", ", 1, gaussian(1))", "mixture: weight is {}, must be from 0 to 1", {"-1", "nan", "inf", "2"}},
      {"generalized_gaussian(", ", 3, 1)", "norm exponent is {}, must be finite and at least 2", {"1.999", "0", "-3", "nan", "inf"}},
      {"generalized_gaussian(3, ", ", 1)", "dimension is {}, " + whole, not_whole},
      {"generalized_gaussian(3, 3, ", ")", "noise multiplier is {}, " + finite, not_positive},
      {"k_norm(", ", 3, 1)", "norm is '{}', must be l1, l2 or linf", {"l3", "L2", "2"}},
      {"k_norm(l2, ", ", 1)", "dimension is {}, " + whole, not_whole},
      {"k_norm(l2, 3, ", ")", "scale is {}, " + finite, not_positive},
      {"shuffled(", ", 1, gaussian(1))", "records is {}, " + whole, not_whole},
      {"shuffled(9, ", ", gaussian(1))", "batch size is {}, " + whole, not_whole},
      {"shuffled(9, ", ", gaussian(1))", "batch size is {}, must be at most the 9 records", {"10", "9007199254740992"}},
      {"deterministic(9, ", ", gaussian(1))", "batch size is {}, must be at most the 9 records", {"10"}},
      {"without_replacement(9, ", ", gaussian(1))", "batch size is {}, must be at most the 9 records", {"10"}},
      {"with_replacement(", ", 1, gaussian(1))", "records is {}, " + whole, not_whole},
      {"with_replacement(9, ", ", gaussian(1))", "batch size is {}, " + whole, not_whole},
      {"users(", ", gaussian(1))", "records is {}, " + whole, not_whole},
      {"shuffled_reports(", ", 1)", "reports is {}, " + whole, not_whole},
      {"shuffled_reports(9, ", ")", "epsilon is {}, " + not_negative, negative},
      {"shuffled_responses(", ", 0.5, 2)", "reports is {}, " + whole, not_whole},
      {"shuffled_responses(9, ", ", 2)", "probability is {}, must be greater than 0 and less than 1", {"0", "1", "-0.5", "nan", "inf"}},
      {"shuffled_responses(9, 0.5, ", ")", "categories is {}, " + whole, not_whole},
      {"shuffled_responses(9, 0.5, ", ")", "categories is {}, must be at least 2", {"1"}},
      {"best_of(poisson_runs, ",
       ", gaussian(1))",
       "mean is {}, must be greater than 0 and at most 1000000 for poisson_runs",
       {"0", "-1", "nan", "inf", "1000001"}},
      {"best_of(logarithmic_runs, ",
       ", gaussian(1))",
       "mean is {}, must be greater than 1 and at most 1000000 for logarithmic_runs",
       {"1", "0.5"}},
      {"best_of(negative_binomial_runs, 2, ",
       ", gaussian(1))",
       "shape is {}, must be at least -0.5 and at most 1000",
       {"-0.51", "1001", "nan", "inf"}},
      {"best_of(capped_geometric_runs, ",
       ", 20, gaussian(1))",
       "mean is {}, must be greater than 1 and at most 1000000 for capped_geometric_runs",
       {"1", "0.5", "nan", "inf"}},
      {"best_of(capped_geometric_runs, ",
       ", 20, gaussian(1))",
       "mean is {}, must be less than the cap of 20 runs",
       {"20", "21", "1000000"}},
      {"best_of(capped_geometric_runs, 2, ", ", gaussian(1))", "cap is {}, " + whole, not_whole},
      {"best_of(capped_geometric_runs, 2, ", ", gaussian(1))", "cap is {}, must be at most 1000000", {"1000001", "9007199254740992"}},
      {"best_of(",
       ", 2, gaussian(1))",
       "law of the number of runs is '{}', must be poisson_runs, geometric_runs, logarithmic_runs, negative_binomial_runs or capped_geometric_runs",
       {"poisson", "uniform"}},
      {"allocated(", ", gaussian(1))", "rounds is {}, " + whole, not_whole},
      {"allocated(5, ", ", gaussian(1))", "participations is {}, " + whole, not_whole},
      {"allocated(5, ", ", gaussian(1))", "participations is {}, must be at most the 5 rounds", {"6", "9007199254740992"}},
  };
  for (const auto& [before, after, constraint, refused] : parameters) {
    for (const auto& value : refused) {
      auto expected = constraint;
      expected.replace(expected.find("{}"), 2, value);
      const auto refusal = refusal_of_text(before + value + after);
      EXPECT_TRUE(refusal.says(invalid, expected)) << before + value + after << ": " << refusal;
    }
  }
  for (const std::string rate : {"0", "1.5", "-0.1", "nan", "inf"}) {
    const auto refusal = refusal_of([&] { return parse_event("poisson(" + rate + ", gaussian(1))", Adjacency::zero_out); });
    EXPECT_TRUE(refusal.says(invalid, "sampling rate is " + rate + ", must be greater than 0 and at most 1")) << refusal;
  }
}

TEST(EventRange, OfMassesIsTheirSum) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"law(1, 0.5, 2, 0.500000001)", "law: masses sum to 1.000000001, must sum to 1 within 1e-12"},
           {"law(0, 0.5, 1, 0.4)", "law: masses sum to 0.9, must sum to 1 within 1e-12"},
           {"law(-1, 1)", "law: masses e^-loss of the other side sum to 2.71828182845905, must sum to at most 1 within 1e-12"},
           {"law(inf, 1)", "law: masses e^-loss of the other side sum to 0, must sum to at least 1e-12"},
           {"law(800, 1)", "must sum to at least 1e-12"},
           {"mixture(0.5, 0, 0.4, 1, gaussian(1))", "mixture: weights sum to 0.9, must sum to 1 within 1e-12"},
           {"mixture(1, 1, laplace(1))", "mixture holds laplace(1), must hold gaussian and record_sum releases"},
           {"mixture(1, 1, poisson(0.5, gaussian(1)))", "mixture holds poisson(0.5, gaussian(1)), must hold gaussian and record_sum"},
           {"users(2, mixture(1, 1, record_sum(1)))", "users holds mixture"},
           {"law(0)", "',' is expected"},
           {"curve()", "a number is expected"}}) {
    const auto refusal = refusal_of([&] { return parse_event(text, Adjacency::zero_out); });
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
  }
  EXPECT_EQ(describe(parse_event("law(0, 0.3, 0, 0.3, 0.1, 0.4)", replace_one)), "law(0, 0.3, 0, 0.3, 0.1, 0.4)");
  EXPECT_TRUE(parse_event("zcdp(0, 2)", replace_one) == parse_event("zcdp(2)", replace_one));
  EXPECT_EQ(EventOfNumber("mixture(0.5, 0, 0.5, s, record_sum(z))", replace_one, "z").uses().size(), 0U);
  EXPECT_EQ(EventOfNumber("mixture(0.5, 0, 0.5, 1, record_sum(z))", replace_one, "z").uses().front().field, "noise_multiplier");
}

TEST(EventRange, OfAMillionShiftsIsRefused) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "1e-6, 1, ";
  const auto refusal = refusal_of([&] { return parse_event("mixture(" + text + "gaussian(1))", Adjacency::zero_out); });
  EXPECT_TRUE(refusal.says(invalid, "mixture has 1000000 pairs, must have at most 256")) << refusal;
}

TEST(EventRange, HasItsEnds) {
  for (const std::string text :
       {"pure(0)", "exponential(0)", "zcdp(0)", "approx(0, 0)", "generalized_gaussian(2, 1, 1)", "shuffled(9, 9, pure(1))",
        "randomized_response(0.5, 9007199254740992)", "without_replacement(1, 1, pure(1))"}) {
    EXPECT_EQ(describe(parse_event(text, replace_one)), text);
  }
  EXPECT_EQ(describe(parse_event("poisson(1, pure(1))", Adjacency::zero_out)), "poisson(1, pure(1))");
}

// ---- what is not an event ----

TEST(EventText, RefusalNamesThePositionAndWhatIsExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "an event is expected (gaussian, record_sum, laplace, discrete_gaussian, "},
      {"", "last_iterate_of_batches) at position 1"},
      {"exponentiel(2)", "unknown event type 'exponentiel' at position 1"},
      {"gaussian(2) laplace(2)", "the end of the event is expected at position 13"},
      {"laplace(2, 3)", "')' is expected at position 10"},
      {"discrete_laplace(2)", "',' is expected at position 19"},
      {"poisson(gaussian(2), 0.1)", "the name 'gaussian' has no value here"},
      {"parallel()", "last_iterate_of_batches) at position 10"},
      {"Gaussian(2)", "unknown event type 'Gaussian' at position 1"},
      {"repeat(3, 4)", "last_iterate_of_batches) at position 11"},
      {"gaussian", "'(' is expected at position 9"},
      {"gaussian()", "a number is expected at position 10"},
      {"gaussian(2", "')' is expected at position 11"},
      {"gaussian(2, 3)", "')' is expected at position 11"},
      {"gaussian(+2)", "a number is expected at position 10"},
      {"gaussian(2x10)", "')' is expected at position 11"},
      {"gaussian(2) gaussian(3)", "the end of the event is expected at position 13"},
      {"gaussian(2))", "the end of the event is expected at position 12"},
      {"repeat(3 gaussian(2))", "',' is expected at position 10"},
      {"repeat(gaussian(2), 3)", "the name 'gaussian' has no value here"},
      {"compose(gaussian(2),)", "last_iterate_of_batches) at position 21"},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
    EXPECT_TRUE(refusal.says(invalid, "(in event '" + text + "')")) << refusal;
  }
}

TEST(EventText, AsksWhatAWordWasMeantToBe) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"posson(0.1, gaussian(2))", "unknown event type 'posson' at position 1; did you mean 'poisson'? (in event"},
      {"repeat(3, compose(gausian(2)))", "unknown event type 'gausian' at position 19; did you mean 'gaussian'? (in event"},
      {"Laplace(2)", "; did you mean 'laplace'? (in event"},
      {"without(10, 2, gaussian(1))", "; did you mean 'without_replacement'? (in event"},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
  }
  EXPECT_TRUE(refusal_of_json(in_json(R"({"laplase": {"scale": 2}})")).says(invalid, "unknown kind 'laplase'; did you mean 'laplace'?"));
  for (const std::string far : {"frobnicate(2)", "g(2)", "", "4"}) {
    EXPECT_EQ(refusal_of_text(far).message.find("did you mean"), std::string::npos) << far;
  }
}

TEST(EventText, RefusalIsOneShortLine) {
  const auto refusal = refusal_of_text("gaussian(\n\t2" + std::string(100'000, 'x'));
  EXPECT_EQ(refusal.message.find('\n'), std::string::npos);
  EXPECT_LT(refusal.message.size(), 400U);
}

TEST(EventJson, RefusesUnknownAndMissingAndDuplicateFields) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"version": 1, "event": {"gaussian": {"noise_multiplier": 2}}})", "field 'adjacency' is missing"},
      {R"({"adjacency": "replace-one", "event": {"gaussian": {"noise_multiplier": 2}}})", "field 'version' is missing"},
      {R"({"version": 1, "adjacency": "replace-one"})", "field 'event' is missing"},
      {R"({"version": 1, "adjacency": "replace-one", "event": {"gaussian": {"noise_multiplier": 2}}, "note": 0})", "unknown field 'note'"},
      {R"({"version": 1, "version": 1, "adjacency": "replace-one", "event": {"gaussian": {"noise_multiplier": 2}}})",
       "field 'version' appears twice"},
      {in_json(R"({"gaussian": {}})"), "gaussian: field 'noise_multiplier' is missing"},
      {in_json(R"({"laplace": {"noise_multiplier": 2}})"), "laplace: unknown field 'noise_multiplier'"},
      {in_json(R"({"discrete_laplace": {"scale": 2}})"), "discrete_laplace: field 'sensitivity' is missing"},
      {in_json(R"({"shuffled": {"records": 2, "batch_size": 1}})"), "shuffled: field 'event' is missing"},
      {in_json(R"({"gaussian": {"noise_multiplier": 2, "sigma": 3}})"), "gaussian: unknown field 'sigma'"},
      {in_json(R"({"gaussian": {"noise_multiplier": 2, "noise_multiplier": 3}})"), "field 'noise_multiplier' appears twice"},
      {in_json(R"({"gaussian": {"noise_multiplier": 2}, "gaussian": {"noise_multiplier": 3}})"), "field 'gaussian' appears twice"},
      {in_json(R"({"repeat": {"event": {"gaussian": {"noise_multiplier": 2}}}})"), "repeat: field 'count' is missing"},
      {in_json(R"({"repeat": {"count": 2, "event": {"gaussian": {"noise_multiplier": 2}}, "times": 3}})"), "repeat: unknown field 'times'"},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = refusal_of_json(text);
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
  }
}

TEST(EventText, ReadsAWholeNumberInEachDecimalForm) {
  const std::vector<std::pair<std::string, std::string>> counts = {{"1e2", "100"},
                                                                   {"100.0", "100"},
                                                                   {"1.5e1", "15"},
                                                                   {"1.50E+1", "15"},
                                                                   {"0100", "100"},
                                                                   {"1000e-1", "100"},
                                                                   {"0.00015e5", "15"},
                                                                   {"1e0", "1"},
                                                                   {"1e6", "1000000"},
                                                                   {"9007199254740992.0", "9007199254740992"},
                                                                   {"9.007199254740992e15", "9007199254740992"}};
  for (const auto& [count, whole] : counts) {
    EXPECT_EQ(describe(parse_event("repeat(" + count + ", gaussian(2))", Adjacency::replace_one)), "repeat(" + whole + ", gaussian(2))");
  }
  EXPECT_EQ(describe(parse_event("repeat(n, gaussian(2))", Adjacency::replace_one, {{"n", 100.0}})), "repeat(100, gaussian(2))");
}

/// Of each event type that has one, every whole number may have an exponent.
TEST(EventText, ReadsAnExponentInEachWholeNumber) {
  const std::vector<std::pair<std::string, Adjacency>> events = {
      {"repeat(20, gaussian(2))", Adjacency::replace_one},
      {"discrete_gaussian(2, 20)", Adjacency::replace_one},
      {"discrete_laplace(2, 20)", Adjacency::replace_one},
      {"randomized_response(0.5, 20)", Adjacency::replace_one},
      {"generalized_gaussian(2, 20, 1)", Adjacency::replace_one},
      {"k_norm(l1, 20, 1)", Adjacency::replace_one},
      {"without_replacement(300, 20, gaussian(2))", Adjacency::replace_one},
      {"with_replacement(300, 20, gaussian(2))", Adjacency::replace_one},
      {"shuffled(300, 20, gaussian(2))", Adjacency::replace_one},
      {"shuffled_reports(300, 1)", Adjacency::replace_one},
      {"shuffled_responses(300, 0.5, 20)", Adjacency::replace_one},
      {"deterministic(300, 20, gaussian(2))", Adjacency::replace_one},
      {"cyclic(20, 300, 0.5, gaussian(2))", Adjacency::zero_out},
      {"allocated(300, gaussian(2))", Adjacency::zero_out},
      {"allocated(300, 20, gaussian(2))", Adjacency::zero_out},
      {"truncated_poisson(0.5, 20, 300, gaussian(2))", Adjacency::zero_out},
      {"users(20, gaussian(2))", Adjacency::zero_out},
      {"best_of(capped_geometric_runs, 2, 20, gaussian(2))", Adjacency::zero_out}};
  for (const auto& [text, adjacency] : events) {
    std::string with_exponents = text;
    for (const auto& [digits, exponent] : {std::pair{"300", "3e2"}, {"20", "2.0e1"}}) {
      if (const auto at = with_exponents.find(digits); at != std::string::npos) {
        with_exponents.replace(at, std::string{digits}.size(), exponent);
      }
    }
    ASSERT_NE(with_exponents, text);
    EXPECT_TRUE(parse_event(with_exponents, adjacency) == parse_event(text, adjacency)) << with_exponents;
  }
}

TEST(EventText, RefusesWhatIsNoWholeNumber) {
  for (const std::string count : {"1e17", "2.5", "-3", "1.5", "1e-1", "9007199254740993.0", "9007199254740992.5", "9.007199254740993e15",
                                  "90071992547409930e-1", "-1e2", "1e300", "15e-1"}) {
    const auto refusal = refusal_of_text("repeat(" + count + ", gaussian(2))");
    EXPECT_TRUE(refusal.says(invalid, "must be an integer from 1 to 2^53")) << count << ": " << refusal;
    EXPECT_EQ(refusal.message.find("count is "), 0U) << refusal;
  }
  const auto refusal = refusal_of_text("repeat(30/2, gaussian(2))");
  EXPECT_TRUE(refusal.says(invalid, "count is a quotient, '30/...', must be one whole number from 1 to 2^53")) << refusal;
}

TEST(EventText, ReadsAQuotientAsItsNearestDouble) {
  constexpr auto removed = Adjacency::add_or_remove_one;
  const auto expected = poisson(SamplingRate{2.0 / 3000.0}, gaussian(NoiseMultiplier{1}, removed));
  for (const std::string text : {"poisson(2/3000, gaussian(1))", "poisson( 2 / 3000 , gaussian(1))", "poisson(2e0/3e3, gaussian(3/3))",
                                 "poisson(2/\t3000,gaussian(1))"}) {
    EXPECT_TRUE(parse_event(text, removed) == expected) << text;
  }
  EXPECT_EQ(describe(expected), "poisson(0.0006666666666666666, gaussian(1))");
  EXPECT_TRUE(parse_event(describe(expected), removed) == expected);
  EXPECT_TRUE(event_from_json(to_json_text(expected)) == expected);
  // Where a number may be left out, and in pairs.
  EXPECT_EQ(describe(parse_event("compose(zcdp(1/4), zcdp(0/3, 1/8), renyi(2, 1/4, 8/2, 1/2), gaussian(z))", removed, {{"z", 2.0}})),
            "compose(zcdp(0.25), zcdp(0.125), renyi(2, 0.25, 4, 0.5), gaussian(2))");
  EXPECT_EQ(describe(parse_event("mixture(1/2, 1/1, 1/2, 1/4, gaussian(1))", removed)), "mixture(0.5, 1, 0.5, 0.25, gaussian(1))");
}

TEST(EventText, RefusesAQuotientThatIsNoNumber) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"poisson(1/0, gaussian(1))", "sampling rate is 1/0, must be a quotient of two finite numbers, of which the second is not 0"},
      {"poisson(0/0, gaussian(1))", "sampling rate is 0/0, must be a quotient of two finite"},
      {"poisson(1/-0, gaussian(1))", "sampling rate is 1/-0, must be a quotient of two finite"},
      {"gaussian(1/-inf)", "noise multiplier is 1/-inf, must be a quotient of two finite"},
      {"gaussian(-inf/-inf)", "noise multiplier is -inf/-inf, must be a quotient of two finite"},
      {"gaussian(1e300/1e-300)", "noise multiplier is 1e300/1e-300, must be a quotient within the range of double"},
      {"pure(1e-300/1e300)", "epsilon is 1e-300/1e300, must be a quotient within the range of double"},
      {"poisson(3000/2, gaussian(1))", "sampling rate is 1500, must be greater than 0 and at most 1"},
      {"poisson(-2/3000, gaussian(1))", "must be greater than 0 and at most 1"},
      {"gaussian(inf/2)", "noise multiplier is a quotient with 'inf', must be one of two numbers in digits"},
      {"gaussian(1/2/3)", "')' is expected at position 13"},
      {"gaussian(1//2)", "a number is expected at position 12"},
      {"gaussian(1/inf)", "noise multiplier is 1/inf, must be a quotient of two finite numbers"},
      {"gaussian(1/nan)", "must be a quotient of two finite numbers"},
      {"gaussian(/2)", "a number is expected at position 10"},
      {"gaussian(1/)", "a number is expected at position 12"},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
  }
  for (const std::string text : {"gaussian(z/2)", "gaussian(2/z)"}) {
    EXPECT_THROW(static_cast<void>(parse_event(text, Adjacency::replace_one, {{"z", 2.0}})), Error) << text;
  }
}

TEST(Event, RefusesAMillionPartsAlsoWhereTheyAreShared) {
  Event event = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);
  int doublings = 0;
  try {
    for (; doublings < 60; ++doublings) event = compose({event, event});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "event has 1048575 parts, must have at most 1000000");
  }
  EXPECT_EQ(doublings, 18);  // 2^19 - 1 parts are an event
  EXPECT_THROW(static_cast<void>(repeat(Count{2}, compose({event, compose({event})}))), Error);
}

TEST(EventJson, RefusesAnUnknownVersion) {
  for (const std::string version : {"0", "2", "\"1\"", "null", "1.5", "1.0", "[1]"}) {
    const auto refusal =
        refusal_of_json(R"({"version": )" + version + R"(, "adjacency": "replace-one", "event": {"gaussian": {"noise_multiplier": 2}}})");
    EXPECT_TRUE(refusal.says(invalid, "version is " + version + ", must be 1")) << refusal;
  }
}

TEST(EventJson, RefusesAnUnknownAdjacency) {
  for (const std::string adjacency : {"\"replace_one\"", "\"\"", "1", "null"}) {
    const auto refusal =
        refusal_of_json(R"({"version": 1, "adjacency": )" + adjacency + R"(, "event": {"gaussian": {"noise_multiplier": 2}}})");
    EXPECT_TRUE(refusal.says(invalid, "adjacency")) << refusal;
  }
}

TEST(EventJson, RefusesWhatIsNotOneKindOfEvent) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"laplacian": {"scale": 2}})", "unknown kind 'laplacian'"},
      {R"({"parallel": {"gaussian": {"noise_multiplier": 2}}})", "parallel: an array of events is expected"},
      {R"({})", "must be an object with one field, the event type, as"},
      {R"({"gaussian": {"noise_multiplier": 2}, "repeat": {}})", "must be an object with one field, the event type, as"},
      {"\"gaussian(2)\"", "must be an object with one field, the event type, as"},
      {R"([])", "must be an object with one field, the event type, as"},
      {R"({"gaussian": 2})", "gaussian: an object is expected"},
      {R"({"compose": {"gaussian": {"noise_multiplier": 2}}})", "compose: an array of events is expected"},
      {R"({"compose": [2]})", "must be an object with one field, the event type, as"},
  };
  for (const auto& [event, expected] : cases) {
    const auto refusal = refusal_of_json(in_json(event));
    EXPECT_TRUE(refusal.says(invalid, expected)) << event << ": " << refusal;
  }
}

TEST(EventJson, RefusesTextAfterTheEnd) {
  EXPECT_TRUE(refusal_of_json(in_json(R"({"gaussian": {"noise_multiplier": 2}})") + " {}").says(invalid, "event: not JSON"));
}

TEST(EventJson, RefusalIsOneShortLine) {
  const std::string strange = "a\\nb" + std::string(100'000, 'x');
  for (const auto& text : {in_json("{\"" + strange + "\": {}}"), in_json("{\"gaussian\": {\"" + strange + "\": {}}}"),
                           R"({"version": 1, "adjacency": ")" + strange + R"(", "event": {"gaussian": {"noise_multiplier": 2}}})",
                           "{\"" + strange + "\": 1, \"" + strange + "\": 1}"}) {
    const auto refusal = refusal_of_json(text);
    EXPECT_TRUE(refusal.refused);
    EXPECT_EQ(refusal.message.find('\n'), std::string::npos) << refusal.message.substr(0, 500);
    EXPECT_LT(refusal.message.size(), 400U);
  }
}

// ---- 10,000 damaged texts of each spelling: every one is an event or is refused ----

std::string damaged(std::string text, std::mt19937_64& words, const std::vector<std::string>& tokens) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(words() % n); };
  for (auto edits = 1 + below(3); edits > 0; --edits) {
    const auto at = below(text.size() + 1);
    switch (below(5)) {
      case 0: text.insert(at, tokens[below(tokens.size())]); break;
      case 1: text.erase(at, 1 + below(6)); break;
      case 2: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), 1 + below(20))); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(8)));
    }
  }
  return text;
}

struct Outcome {
  int events = 0;
  int refusals = 0;
};

/// Reads 10,000 damaged copies; an event that is read must round-trip, and a refusal must be one line.
template <class Read>
Outcome read_damaged(const std::vector<std::string>& originals, const std::vector<std::string>& tokens, std::uint64_t seed, Read read) {
  std::mt19937_64 words{seed};
  Outcome outcome;
  for (int i = 0; i < 10'000; ++i) {
    const auto text = damaged(originals[static_cast<std::size_t>(i) % originals.size()], words, tokens);
    try {
      const Event event = read(text);
      EXPECT_TRUE(parse_event(describe(event), event.adjacency()) == event) << text;
      ++outcome.events;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), invalid) << text;
      EXPECT_EQ(std::string{error.what()}.find('\n'), std::string::npos) << text;
      ++outcome.refusals;
    }
  }
  return outcome;
}

TEST(DamagedEvent, InTextIsAnEventOrRefused) {
  const auto outcome =
      read_damaged({"repeat(100, gaussian(40))", "compose(gaussian(2.5), repeat(3, gaussian(7e-1)))", nested_text(6),
                    "parallel(k_norm(l2, 3, 1), without_replacement(9, 3, discrete_laplace(2, 1)))", "shuffled(9, 3, approx(1, 1e-6))"},
                   {"(", ")", ",", "repeat(", "compose(", "gaussian(", "1e999", "-", "9007199254740993", "nan", "z", " ", "\n", "."}, 71,
                   [](const std::string& text) { return parse_event(text, replace_one); });
  EXPECT_GT(outcome.events, 100);
  EXPECT_GT(outcome.refusals, 5000);
}

TEST(DamagedEvent, InJsonIsAnEventOrRefused) {
  const auto outcome =
      read_damaged({to_json(repeat(Count{100}, noise(40))).dump(), to_json(compose({noise(2.5), noise(7)})).dump(1), nested_json(6)},
                   {"{", "}", "[", "]", ",", ":", "\"", "\"count\":", "{\"compose\":[", "1e999", "-", "null", "\\u0000", "\xff", " ", "\n"},
                   72, [](const std::string& text) { return event_from_json(text); });
  EXPECT_GT(outcome.events, 100);
  EXPECT_GT(outcome.refusals, 5000);
}

}  // namespace
}  // namespace surety::event_test
