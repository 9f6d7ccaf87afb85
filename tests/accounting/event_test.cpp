#include <surety/accounting/event.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <reference/refusal.h>

namespace surety {
namespace {

using nlohmann::json;
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

Event draw_event(Adjacency adjacency, int levels) {
  const auto kind = levels == 1 ? 0 : *rc::gen::inRange(0, 3);
  if (kind == 0) return noise(draw_multiplier(), adjacency);
  if (kind == 1) {
    const auto count = *rc::gen::resize(100, rc::gen::inRange<std::uint64_t>(1, (std::uint64_t{1} << 53) + 1));
    return repeated(Count{count}, draw_event(adjacency, levels - 1));
  }
  std::vector<Event> parts;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) parts.push_back(draw_event(adjacency, levels - 1));
  return composed(std::move(parts));
}

Event draw_event() { return draw_event(*rc::gen::element(Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out), 5); }

// ---- the three spellings ----

TEST(Event, HasThreeSpellings) {
  const auto event = repeated(Count{100}, noise(40));
  EXPECT_EQ(describe(event), "repeat(100, gaussian(40))");
  EXPECT_EQ(to_json(event), json::parse(in_json(R"({"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}})")));
  EXPECT_EQ(describe(composed({noise(0.5), repeated(Count{3}, noise(1e-7))})), "compose(gaussian(0.5), repeat(3, gaussian(1e-07)))");
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
              composed({noise(2.5), repeated(Count{3}, noise(7))}));
}

TEST(Event, EqualityIsOfStructureAndAdjacency) {
  EXPECT_TRUE(composed({noise(2), noise(3)}) == composed({noise(2), noise(3)}));
  EXPECT_FALSE(composed({noise(2), noise(3)}) == composed({noise(3), noise(2)}));
  EXPECT_FALSE(repeated(Count{2}, noise(3)) == composed({noise(3), noise(3)}));
  EXPECT_FALSE(repeated(Count{2}, noise(3)) == repeated(Count{4}, noise(3)));
  EXPECT_FALSE(noise(3) == noise(3, Adjacency::zero_out));
  EXPECT_FALSE(noise(3) == composed({noise(3)}));
}

// ---- adjacency ----

TEST(EventAdjacency, IsKeptByRepetitionAndComposition) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const auto event = composed({repeated(Count{3}, noise(2, adjacency)), noise(5, adjacency)});
    EXPECT_EQ(event.adjacency(), adjacency);
    EXPECT_EQ(event_from_json(to_json(event).dump()).adjacency(), adjacency);
    EXPECT_EQ(parse_event(describe(event), adjacency).adjacency(), adjacency);
  }
}

TEST(EventAdjacency, MixingIsRefused) {
  const auto refusal = refusal_of([] { return composed({noise(2), noise(2), noise(2, Adjacency::add_or_remove_one)}); });
  EXPECT_TRUE(refusal.says(invalid, "a composition mixes adjacency replace-one and add-or-remove-one, must have one")) << refusal;
}

// ---- composition and depth ----

TEST(EventComposition, OfNothingIsRefused) {
  EXPECT_TRUE(refusal_of([] { return composed({}); }).says(invalid, "a composition of no events is empty"));
  EXPECT_TRUE(refusal_of_json(in_json(R"({"compose": []})")).says(invalid, "a composition of no events is empty"));
  EXPECT_TRUE(refusal_of_text("compose()").says(invalid, "is expected at position 9"));
}

Event nested(int depth) {
  Event event = noise(2);
  for (int level = 2; level <= depth; ++level) event = level % 2 == 0 ? repeated(Count{1}, event) : composed({event});
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
  EXPECT_EQ(composed({noise(1.5), repeated(Count{2}, noise(3)), noise(4)}).depth(), 3);
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
    const auto event = repeated(Count{count}, noise(2));
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
  EXPECT_TRUE(event == composed({noise(40.5), repeated(Count{7}, noise(40.5)), noise(3)}));
}

TEST(EventNames, WithoutAValueAreRefusedByName) {
  const auto refusal = refusal_of([] { return parse_event("repeat(100, gaussian(z))", replace_one, {{"zz", 40}}); });
  EXPECT_TRUE(refusal.says(invalid, "the name 'z' has no value here, a number is expected at position 22")) << refusal;
}

TEST(EventNames, ObeyTheConstraintOfTheirPlace) {
  EXPECT_TRUE(refusal_of([] { return parse_event("gaussian(z)", replace_one, {{"z", -3}}); }).says(invalid, "noise multiplier is -3"));
  EXPECT_TRUE(refusal_of([] { return parse_event("repeat(n, gaussian(2))", replace_one, {{"n", 2.5}}); }).says(invalid, "count is 2.5"));
}

// ---- what is not an event ----

TEST(EventText, RefusalNamesThePositionAndWhatIsExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "gaussian, repeat or compose is expected at position 1"},
      {"laplace(2)", "gaussian, repeat or compose is expected at position 1"},
      {"Gaussian(2)", "gaussian, repeat or compose is expected at position 1"},
      {"repeat(3, 4)", "gaussian, repeat or compose is expected at position 11"},
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
      {"compose(gaussian(2),)", "gaussian, repeat or compose is expected at position 21"},
  };
  for (const auto& [text, expected] : cases) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.says(invalid, expected)) << text << ": " << refusal;
    EXPECT_TRUE(refusal.says(invalid, "(in event '" + text + "')")) << refusal;
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

TEST(EventJson, RefusesAnUnknownVersion) {
  for (const std::string version : {"0", "2", "\"1\"", "null", "1.5", "[1]"}) {
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
      {R"({"laplace": {"noise_multiplier": 2}})", "unknown kind 'laplace'"},
      {R"({})", "an object with one field"},
      {R"({"gaussian": {"noise_multiplier": 2}, "repeat": {}})", "an object with one field"},
      {"\"gaussian(2)\"", "an object with one field"},
      {R"([])", "an object with one field"},
      {R"({"gaussian": 2})", "gaussian: an object is expected"},
      {R"({"compose": {"gaussian": {"noise_multiplier": 2}}})", "compose: an array of events is expected"},
      {R"({"compose": [2]})", "an object with one field"},
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
      read_damaged({"repeat(100, gaussian(40))", "compose(gaussian(2.5), repeat(3, gaussian(7e-1)))", nested_text(6)},
                   {"(", ")", ",", "repeat(", "compose(", "gaussian(", "1e999", "-", "9007199254740993", "nan", "z", " ", "\n", "."}, 71,
                   [](const std::string& text) { return parse_event(text, replace_one); });
  EXPECT_GT(outcome.events, 100);
  EXPECT_GT(outcome.refusals, 5000);
}

TEST(DamagedEvent, InJsonIsAnEventOrRefused) {
  const auto outcome =
      read_damaged({to_json(repeated(Count{100}, noise(40))).dump(), to_json(composed({noise(2.5), noise(7)})).dump(1), nested_json(6)},
                   {"{", "}", "[", "]", ",", ":", "\"", "\"count\":", "{\"compose\":[", "1e999", "-", "null", "\\u0000", "\xff", " ", "\n"},
                   72, [](const std::string& text) { return event_from_json(text); });
  EXPECT_GT(outcome.events, 100);
  EXPECT_GT(outcome.refusals, 5000);
}

}  // namespace
}  // namespace surety
