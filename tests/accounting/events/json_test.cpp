#include <surety/accounting/events/json.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <surety/accounting/events/event.h>
#include <surety/base/text/error.h>

namespace surety::accounting::json_test {
namespace {

using nlohmann::json;
using reference::Refusal;
using reference::refusal_of;

Refusal refusal_of_text(const std::string& text, int max_depth = 10) {
  return refusal_of([&] { return parse_strict_json(text, max_depth, "plan"); });
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(StrictJson, ReadsWhatIsWellFormed) {
  EXPECT_EQ(parse_strict_json(R"( {"a": [1, 2.5, "x"], "b": {"a": null}} )", 5, "plan"),
            (json{{"a", {1, 2.5, "x"}}, {"b", {{"a", nullptr}}}}));
}

TEST(StrictJson, RefusesDuplicateKeysInOneObject) {
  const auto refusal = refusal_of_text(R"({"a": 1, "b": 2, "a": 1})");
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "plan: field 'a' appears twice")) << refusal;
  EXPECT_TRUE(refusal_of_text(R"([{"x": {"b": 1, "b": 2}}])").says(ErrorCode::invalid_argument, "field 'b' appears twice"));
}

TEST(StrictJson, RefusesAKeyThatIsADuplicateOnceUnescaped) {
  EXPECT_TRUE(refusal_of_text(R"({"a": 1, "\u0061": 2})").says(ErrorCode::invalid_argument, "field 'a' appears twice"));
}

TEST(StrictJson, AllowsOneKeyInSeveralObjects) { EXPECT_FALSE(refusal_of_text(R"([{"a": {"a": 1}}, {"a": 2}])").refused); }

TEST(StrictJson, RefusesNestingBeyondTheDepth) {
  EXPECT_FALSE(refusal_of_text(nested(7), 7).refused);
  const auto refusal = refusal_of_text(nested(9), 7);
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "plan: nested deeper than 7 levels")) << refusal;
}

TEST(StrictJson, RefusesAMillionBrackets) {
  EXPECT_TRUE(refusal_of_text(std::string(1'000'000, '[')).says(ErrorCode::invalid_argument, "nested deeper"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += R"({"a":)";
  EXPECT_TRUE(refusal_of_text(objects).says(ErrorCode::invalid_argument, "nested deeper"));
}

TEST(StrictJson, NamesThePathOfWhatIsWrong) {
  const auto said = [](const std::string& text) { return refusal_of([&] { return parse_strict_json_by_path(text, 7, "plan"); }).message; };
  EXPECT_EQ(said(R"({"a": 1, "a": 2})"), "plan: field 'a' appears twice");
  EXPECT_EQ(said(R"({"z": {"y": 1}, "a": [{"c": 1}, {"b": {"c": 1, "d": 2, "c": 3}}]})"), "plan: a.b: field 'c' appears twice");
  EXPECT_EQ(said(R"({"b": 1, "a": )" + nested(9) + "}"), "plan: a: nested deeper than 7 levels");
  EXPECT_EQ(said(R"({"a":{"b":{"c":{"d":{"e":)" + nested(9) + "}}}}}"), "plan: a.b.c.d...: nested deeper than 7 levels");
  EXPECT_EQ(said(R"({"a": {"b": NaN}})"), "plan: a.b: not JSON (at byte 13)");
  EXPECT_EQ(said(R"({"a": {"b": 1e400}})"), "plan: a.b: not JSON (a number is beyond the range of double)");
  EXPECT_EQ(said("NaN"), "plan: not JSON (at byte 1)");
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  for (const std::string text : {"", " ", "{", "[1,", "{\"a\" 1}", "nul", "[1] 2", "{'a': 1}", "[1,]", "NaN", "Infinity", "01", "\"\xff\"",
                                 "\"\n\"", "// note\n1", "\xef\xbb\xbf", "1e400"}) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "plan: not JSON")) << text << ": " << refusal;
  }
}

TEST(StrictJson, RefusalIsOneLineWhateverTheText) {
  for (const std::string text : {R"({"a\nb": 1, "a\nb": 2})", "{\n\n\"a\": \x01}", "\"a\nb\""}) {
    const auto refusal = refusal_of_text(text);
    EXPECT_TRUE(refusal.refused);
    EXPECT_EQ(refusal.message.find('\n'), std::string::npos) << refusal;
  }
}

TEST(RequireFields, AcceptsExactlyTheNamedFields) {
  EXPECT_FALSE(refusal_of([] {
                 require_fields(json{{"count", 1}, {"event", 2}}, {"event", "count"}, "repeat");
                 return 0;
               }).refused);
}

Refusal refusal_of_fields(const json& object) {
  return refusal_of([&] {
    require_fields(object, {"count", "event"}, "repeat");
    return 0;
  });
}

TEST(RequireFields, RefusesAMissingField) {
  const auto refusal = refusal_of_fields({{"count", 1}});
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "repeat: field 'event' is missing")) << refusal;
}

TEST(RequireFields, RefusesAnUnknownField) {
  const auto refusal = refusal_of_fields({{"count", 1}, {"event", 2}, {"times", 3}});
  EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "repeat: unknown field 'times'")) << refusal;
}

TEST(RequireFields, RefusesWhatIsNotAnObject) {
  for (const json& value : std::vector<json>{json::array({1, 2}), json(3), json("count"), json(nullptr)}) {
    const auto refusal = refusal_of_fields(value);
    EXPECT_TRUE(refusal.says(ErrorCode::invalid_argument, "repeat: an object is expected")) << refusal;
  }
}

TEST(RequireFields, RefusalIsOneLineWhateverTheFieldIsCalled) {
  EXPECT_EQ(refusal_of_fields({{"a\nb", 1}}).message.find('\n'), std::string::npos);
}

TEST(JsonNumber, SpellsInfinityAsAWord) { EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), json("infinity")); }

TEST(JsonNumber, KeepsFiniteNumbersExactly) {
  for (const double value : {0.1, 5e-324, 1.7976931348623157e308, -2.5})
    EXPECT_EQ(json::parse(json_number(value).dump()).get<double>(), value);
}

// A hostile event does not break the message into lines.
TEST(StrictJson, ARefusalOfHostileTextIsOneLine) {
  const auto refusal =
      refusal_of([] { return event_from_json("{\"version\": \"a\\nb\", \"adjacency\": \"replace-one\", \"event\": {}}"); });
  ASSERT_TRUE(refusal.says(ErrorCode::invalid_argument, "version")) << refusal;
  EXPECT_EQ(refusal.message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace surety::accounting::json_test
