#include <surety/jobs/run/promise_notes.h>

#include <gtest/gtest.h>

#include <algorithm>

#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/release/queries.h>

#include <support/refusal.h>

namespace surety_test::promise_notes_test {
namespace {

using namespace surety;
using reference::refusal_of;

std::size_t notes(double epsilon, double delta, std::optional<std::uint64_t> records) {
  return jobs::notes_of(Target{Epsilon{epsilon}, Delta{delta}, Adjacency::replace_one}, records).size();
}

TEST(PromiseNotes, AreOfPromisesThatProtectLittle) {
  EXPECT_EQ(notes(1, 1e-6, 20'190), 0U);
  EXPECT_EQ(notes(20, 0, 3), 0U) << "the largest epsilon without a note";
  EXPECT_EQ(notes(20.01, 0, 3), 1U);
  EXPECT_EQ(notes(1, 0.25, 4), 1U) << "one over the number of records";
  EXPECT_EQ(notes(1, 0.2499, 4), 0U);
  EXPECT_EQ(notes(1, 0.01, std::nullopt), 1U);
  EXPECT_EQ(notes(1, 0.0099, std::nullopt), 0U);
  EXPECT_EQ(notes(50, 0.1, 20'190), 2U);
}

/// A count of the records that meet a condition.
std::vector<statistics::WeightedStatistic> asked(const std::string& where, const std::map<std::string, std::string>& missing = {}) {
  jobs::QueryFields fields;
  fields.queries = {"count()"};
  fields.where = where;
  jobs::QueryContext context{.target = {Epsilon{1}, Delta{0}, Adjacency::replace_one}, .unit = {}};
  context.format.missing = missing;
  return jobs::parse_queries(fields, context);
}

bool is_refused(const std::string& where, const std::map<std::string, std::string>& missing = {}) {
  try {
    static_cast<void>(asked(where, missing));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("no cell meets both"), std::string::npos) << error.what();
    return true;
  }
  return false;
}

TEST(Contradictions, OfAConditionAreRefused) {
  for (const char* const where : {"not (age!=forty) and age>5",
                                  "age==forty and not (age>5)",
                                  "age==1 and age=='forty'",
                                  "age>5 and age==forty",
                                  "age!=3 and age==forty",
                                  "age>5 and age<3",
                                  "age>5 and age<=5",
                                  "age>=5 and age<5",
                                  "age==5 and age>5",
                                  "age<4 and age==5",
                                  "age==1 and age==2",
                                  "town==Rome and town==Ulm",
                                  "town==Rome and town!=Rome",
                                  "day>=2017-06-02 and day<2017-06-01",
                                  "day==2017-06-02 and day==2017-06-01",
                                  "(x>1 or y>1) and age>5 and age<3",
                                  "age>5 and age<3 or town==a and town==b",
                                  "not (not (age>5 and age<3))",
                                  "age>5 and not (age>5)",
                                  "age>5 and not (age>3)",
                                  "not (age>5) and not (age<=5)",
                                  "age!=5 and not (age!=5)",
                                  "town==Rome and not (town==Rome)",
                                  "not (town!=Rome) and not (town!=Ulm)",
                                  "day>=2017-06-02 and not (day>2017-06-01)",
                                  "missing(age) and present(age)",
                                  "not missing(age) and not present(age)",
                                  "missing(age) and not missing(age)",
                                  "missing(age) and age>5",
                                  "missing(age) and not (age>5)",
                                  "not present(age) and age!=5",
                                  "missing(town) and town!=Rome",
                                  "missing(day) and day>=2017-06-01",
                                  "(missing(age) or x>1 and x<1) and age>5"}) {
    EXPECT_TRUE(is_refused(where)) << where;
  }
  for (const char* const where : {"age>5 or age<3",
                                  "age>=5 and age<=5",
                                  "age>3 and age<5",
                                  "age>5 and not (age<3)",
                                  "not (age>5 and age<3)",
                                  "age==1 or age==forty",
                                  "age==1 and age=='1'",
                                  "age>1 and age=='1e3'",
                                  "town==Rome and age==2",
                                  "town!=Rome and town!=Ulm",
                                  "age!=3 and age!=4",
                                  "age>5 or missing(age)",
                                  "missing(age) and missing(town)",
                                  "missing(age) and town==Rome",
                                  "missing(age) and not (town==Rome)",
                                  "not (age>5) and not (age<3)",
                                  "not (age>5 and missing(age))",
                                  "present(age) and not (age>5)",
                                  "missing(age) and (age>5 or x>1)",
                                  "missing(age) or present(age)",
                                  "age>5 and not (age>7)",
                                  "not (age>5) and not (age==3)",
                                  "town!=Rome and not (town==Ulm)",
                                  "missing(age) and age=='forty' and age!=3 or x>1",
                                  "flag>0 and flag=='true'",
                                  "flag<1 and flag==false",
                                  "day>=2017-06-01 and day<2017-06-02",
                                  "age>5 and age>3"}) {
    EXPECT_FALSE(is_refused(where)) << where;
  }
  EXPECT_FALSE(is_refused("age==1 and age=='forty'", {{"age", "1"}})) << "a cell that is no number counts as 1 there";
  EXPECT_FALSE(is_refused("missing(age) and age==1", {{"age", "1"}})) << "a missing cell counts as 1 there";
  EXPECT_TRUE(is_refused("missing(age) and present(age)", {{"age", "1"}}));
  EXPECT_TRUE(is_refused("age==1 and age==2", {{"age", "1"}}));
  EXPECT_TRUE(refusal_of([] {
                return asked("town==Rome and age>5 and not (age>3)");
              }).says(ErrorCode::invalid_argument, "which no record can meet: no cell meets both 'age>5' and 'not age>3'"));
}

/// Every value that a cell may have, and whether the condition holds for one of them: what is refused, none meets.
TEST(Contradictions, AreMetByNoCell) {
  const std::vector<std::string> comparisons{"a>1", "a>=1", "a<1", "a<=1", "a==1", "a!=1", "a>2", "a<=2", "a==2", "a==x", "a!=x", "a==y"};
  std::vector<std::string> parts{"missing(a)", "present(a)", "not missing(a)", "not present(a)"};
  for (const auto& comparison : comparisons) {
    parts.push_back(comparison);
    parts.push_back("not " + comparison);
  }
  for (const auto& first : parts) {
    for (const auto& second : parts) {
      const std::string where = first + " and " + second;
      bool is_met = false;
      for (const char* const cell : {"", "0", "1", "1.5", "2", "3", "x", "y", "z"}) {
        const auto condition = data::parse_condition(where);
        std::vector<data::Truth> truths;
        for (const auto& one : condition.comparisons()) {
          const auto number = data::parse_number(cell);
          if (data::is_about_presence(one.relation)) {
            const bool is_missing = one.kind() == data::CellKind::text ? *cell == 0 : number.fault != data::NumberFault::none;
            truths.push_back(is_missing == (one.relation == data::Relation::missing) ? data::Truth::met : data::Truth::missed);
            continue;
          }
          truths.push_back(one.kind() == data::CellKind::text
                               ? data::compare(one, std::string_view{cell})
                               : data::compare(one, number.fault == data::NumberFault::none ? std::optional{number.value} : std::nullopt));
        }
        is_met = is_met || condition.is_met(truths);
      }
      EXPECT_EQ(is_refused(where), !is_met) << where;
    }
  }
}

}  // namespace
}  // namespace surety_test::promise_notes_test
