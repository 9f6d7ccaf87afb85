// Fields of plans as rows, what their texts must be, and refusals that name them in two spellings.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::plans_test {
namespace {

using namespace jobs::field_names;

jobs::PlanError refused(auto&& action) {
  try {
    static_cast<void>(action());
  } catch (const jobs::PlanError& error) {
    return error;
  }
  ADD_FAILURE() << "not refused";
  return jobs::PlanError{{.code = ErrorCode::internal, .text = {}}};
}

std::string in_options(const jobs::PlanError& error) {
  return error.refusal().text.printed([](const std::string& name) { return "--" + name; });
}

TEST(FieldText, KeepsNamesApartFromText) {
  auto text = jobs::field_text("{{{}}} of {:.2f}", "batch-size"_field, 1.0);
  text += jobs::field_text(": {}, {}", jobs::FieldText{"keys"_field}, std::string{"batch-size"});
  EXPECT_EQ(text.plain(), "{batch-size} of 1.00: keys, batch-size");
  EXPECT_EQ(text.printed([](const std::string& name) { return "<" + name + ">"; }), "{<batch-size>} of 1.00: <keys>, batch-size");
  text += text;
  EXPECT_EQ(text.plain(), "{batch-size} of 1.00: keys, batch-size{batch-size} of 1.00: keys, batch-size");
  EXPECT_TRUE(jobs::FieldText{}.empty());
  EXPECT_TRUE(jobs::FieldText{""}.empty());
}

// They would be printed in another order, or not at all.
TEST(FieldText, RefusesArgumentsOutOfOrder) {
  EXPECT_THROW(static_cast<void>(jobs::field_text("{1} of {0}", 1, 2)), Error);
  EXPECT_THROW(static_cast<void>(jobs::field_text("{:{}}", 1, 2)), Error);
}

TEST(PlanError, NamesFieldsAsEachFrontEndPrintsThem) {
  const auto error = refused([]() -> int {
    jobs::refuse(ErrorCode::unsupported, "{} is {}, must be a multiple of {}", "batch-size"_field, 7, "microbatch"_field);
  });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.what(), std::string{"batch-size is 7, must be a multiple of microbatch"});
  EXPECT_EQ(in_options(error), "--batch-size is 7, must be a multiple of --microbatch");
}

// Values are never searched for names: they may hold any text.
TEST(PlanError, LeavesValuesAsTheyAre) {
  // Names of fields with their dashes, and the characters that mark them, are a user's text, too.
  for (const std::string said : {"me@home --{}", "a--label > 1, --most-keys", "\1\2--most-keys\1"}) {
    const auto error = refused([&]() -> int { jobs::refuse_plan("{} is '{}', must be {}", "label-bound"_field, said, "l1"_field); });
    EXPECT_EQ(error.what(), "label-bound is '" + said + "', must be l1");
    EXPECT_EQ(in_options(error), "--label-bound is '" + said + "', must be --l1");
  }
}

struct EveryKind {
  bool flag = false;
  std::string text = "a";
  double number = 1.5;
  std::uint64_t count = 3;
  std::optional<std::string> said = {};
  std::optional<double> rate = {};
  std::optional<std::uint64_t> steps = {};
  std::vector<std::string> list = {};
};

jobs::FieldTable rows_of(EveryKind& its) {
  jobs::FieldTable rows;
  rows.group("first");
  rows.add("flag", its.flag, "");
  rows.add("text", its.text, "", jobs::OneOfWords{{"a", "b"}});
  rows.add("number", its.number, "", jobs::AnyNumber{});
  rows.group("second");
  rows.add("count", its.count, "", jobs::WholeNumber{1, 10});
  rows.add("said", its.said, "");
  rows.group("first");
  rows.add("rate", its.rate, "", jobs::AnyNumber{}).standard(jobs::field_text("from {}", "number"_field));
  rows.add("steps", its.steps, "", jobs::WholeNumber{});
  rows.add("list", its.list, "");
  return rows;
}

TEST(Fields, AreSetByTheirTexts) {
  EveryKind its;
  auto rows = rows_of(its);
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{{"flag", ""},
                                                                                   {"text", "b"},
                                                                                   {"number", "-2e-3"},
                                                                                   {"count", "10"},
                                                                                   {"said", "--x"},
                                                                                   {"rate", "0.25"},
                                                                                   {"steps", "18446744073709551615"},
                                                                                   {"list", "one"},
                                                                                   {"list", "two"}}) {
    ASSERT_NE(rows.find(name), nullptr) << name;
    rows.find(name)->set(text);
  }
  EXPECT_TRUE(its.flag);
  EXPECT_EQ(its.text, "b");
  EXPECT_EQ(its.number, -2e-3);
  EXPECT_EQ(its.count, 10U);
  EXPECT_EQ(its.said, "--x");
  EXPECT_EQ(its.rate, 0.25);
  EXPECT_EQ(its.steps, 18446744073709551615U);
  EXPECT_EQ(its.list, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(rows.find("other"), nullptr);
}

TEST(Fields, StandUnderTheirHeadingsInOrder) {
  EveryKind its;
  const auto rows = rows_of(its);
  std::string text;
  for (const auto& group : rows.groups()) {
    text += group.heading + ":";
    for (const auto& field : group.fields) text += " " + field.name();
    text += "; ";
  }
  EXPECT_EQ(text, "first: flag text number rate steps list; second: count said; ");
}

TEST(Fields, RefuseTextsThatAreNone) {
  EveryKind its;
  auto rows = rows_of(its);
  const auto said = [&](const char* name, const char* text) {
    return std::string{refused([&] {
                         rows.find(name)->set(text);
                         return 0;
                       }).what()};
  };
  EXPECT_EQ(said("text", "c"), "text is 'c', must be a or b");
  EXPECT_EQ(said("number", ""), "number is '', must be a number");
  EXPECT_EQ(said("number", "1e999"), "number is '1e999', must be a number within the range of double");
  EXPECT_EQ(said("rate", "1 "), "rate is '1 ', must be a number");
  EXPECT_EQ(said("count", "0"), "count is '0', must be a whole number from 1 to 10");
  EXPECT_EQ(said("count", "-1"), "count is '-1', must be a whole number from 1 to 10");
  EXPECT_EQ(said("steps", "18446744073709551616"),
            "steps is '18446744073709551616', must be a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(its.text, "a");
  EXPECT_EQ(its.count, 3U);
}

TEST(TextLists, AreSplitOutsideQuotes) {
  EXPECT_EQ(jobs::parse_values("Rome, \"New York, NY\" ,\"a \"\"b\"\"\",", "keys"),
            (std::vector<std::string>{"Rome", "New York, NY", "a \"b\"", ""}));
  EXPECT_EQ(jobs::split_at_column("\"a=b\"=1", "missing", "column=value", true), (std::pair<std::string, std::string>{"a=b", "1"}));
  EXPECT_EQ(in_options(refused([] { return jobs::parse_values("\"open", "keys"); })), "--keys is '\"open', must close each quote");
  EXPECT_EQ(refused([] { return jobs::parse_ends("1,2,3", "bounds"); }).what(), std::string{"bounds is '1,2,3', must be lower,upper"});
  EXPECT_EQ(refused([] { return jobs::parse_double("1x", "bounds"); }).what(), std::string{"bounds has '1x', must be a number there"});
}

}  // namespace
}  // namespace surety::plans_test
