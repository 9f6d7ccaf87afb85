#include <surety/accounting/events/unit.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>

namespace surety::unit_test {
namespace {

TEST(UnitOfPrivacy, IsOneRowUnlessSaidOtherwise) {
  EXPECT_EQ(describe(UnitOfPrivacy{}), "one row");
  EXPECT_EQ(UnitOfPrivacy{}, (UnitOfPrivacy{"row", Count{1}}));
  EXPECT_EQ(describe(UnitOfPrivacy{"patient", Count{5}}), "one patient of at most 5 rows (names byte by byte, rows without one: one unit)");
  EXPECT_EQ(describe(UnitOfPrivacy{"patient", Count{1}}), "one patient of at most 1 row (names byte by byte, rows without one: one unit)");
  EXPECT_FALSE((UnitOfPrivacy{"patient", Count{5}}) == (UnitOfPrivacy{"patient", Count{4}}));
}

TEST(UnitOfPrivacy, RoundTripsThroughJson) {
  EXPECT_EQ(to_json(UnitOfPrivacy{}).dump(), R"({"most":1,"name":"row"})");
  for (const auto& unit : {UnitOfPrivacy{}, UnitOfPrivacy{"pers\xc3\xb6n \"x\"", Count{std::uint64_t{1} << 53}}}) {
    EXPECT_EQ(unit_from_json(nlohmann::json::parse(to_json(unit).dump())), unit);
  }
  for (const char* bad :
       {R"({"name":"row"})", R"({"name":"row","most":1,"more":1})", R"({"name":"row","most":2})", R"({"name":"","most":1})",
        R"({"name":"a","most":0})", R"({"name":"a","most":-1})", R"({"name":"a","most":1.5})", R"([])"}) {
    EXPECT_THROW(static_cast<void>(unit_from_json(nlohmann::json::parse(bad))), Error) << bad;
  }
}

/// One unit for each part of the rule that is another one.
std::vector<std::pair<UnitOfPrivacy, std::string>> units_with_rules() {
  const auto with = [](const OwnerRule& rule) { return UnitOfPrivacy{"patient", Count{5}, rule}; };
  return {{with({.empty = EmptyUnit::each}), "rows without a name"},
          {with({.delimiter = ';'}), "the delimiter"},
          {with({.delimiter = '\t'}), "the delimiter"},
          {with({.place = OwnerRule::Place{1, 2}}), "the place of the column"},
          {with({.place = OwnerRule::Place{2, 2}}), "the place of the column"},
          {with({.place = OwnerRule::Place{1, 3}}), "the place of the column"},
          {with({.record_bytes = std::nullopt}), "the longest record"},
          {with({.record_bytes = 100}), "the longest record"},
          {with({.quoted_lines = 7}), "the line ends of a cell"}};
}

TEST(UnitOfPrivacy, IsAnotherOneWhereAnyPartOfItsRuleIs) {
  const UnitOfPrivacy plain{"patient", Count{5}};
  const auto units = units_with_rules();
  std::set<std::string> texts{describe(plain)};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& [unit, part] = units[i];
    EXPECT_FALSE(unit == plain) << part;
    EXPECT_EQ(difference(unit, plain), part);
    EXPECT_EQ(difference(plain, unit), part);
    EXPECT_EQ(unit_from_json(nlohmann::json::parse(to_json(unit).dump())), unit) << part;
    EXPECT_TRUE(texts.insert(describe(unit)).second) << describe(unit);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(unit == units[j].first) << i << ' ' << j;
  }
  EXPECT_EQ(difference(plain, plain), "");
  EXPECT_EQ(difference(UnitOfPrivacy{"a", Count{2}, {.empty = EmptyUnit::each}}, UnitOfPrivacy{"b", Count{3}, {.delimiter = ' '}}),
            "whose rows they are, how many rows are used, rows without a name, the delimiter");
  EXPECT_EQ(
      describe(UnitOfPrivacy{
          "p",
          Count{2},
          {.empty = EmptyUnit::each, .delimiter = '\t', .place = OwnerRule::Place{3, 4}, .record_bytes = std::nullopt, .quoted_lines = 3}}),
      "one p of at most 2 rows (names byte by byte, rows without one: each a unit, delimiter a tab, column 3 of 4 without a header, records of any length, cells of at most 3 line ends)");
}

TEST(UnitOfPrivacy, OfBeforeIsTakenForTheDefaultAndSaysSo) {
  const auto unit = unit_from_json(nlohmann::json::parse(R"({"name":"patient","most":5})"));
  EXPECT_FALSE(unit.says_rule());
  EXPECT_EQ(unit, (UnitOfPrivacy{"patient", Count{5}}));
  EXPECT_EQ(difference(unit, UnitOfPrivacy{"patient", Count{5}}), "");
  EXPECT_EQ(difference(unit, UnitOfPrivacy{"patient", Count{5}, {.empty = EmptyUnit::each}}), "rows without a name");
  EXPECT_EQ(to_json(unit).dump(), R"({"most":5,"name":"patient"})") << "nothing is added to what was written";
  EXPECT_NE(describe(unit).find("it does not say its rule"), std::string::npos);
  EXPECT_EQ(reported_json(unit)["rule_is_said"], false);
  EXPECT_EQ(reported_json(unit)["empty"], "one");
  EXPECT_TRUE(UnitOfPrivacy{}.says_rule());
  EXPECT_TRUE(unit_from_json(to_json(UnitOfPrivacy{})).says_rule()) << "a row has none";
}

TEST(UnitOfPrivacy, RefusesRulesThatAreNone) {
  for (const OwnerRule& bad :
       {OwnerRule{.delimiter = '"'}, OwnerRule{.delimiter = '\n'}, OwnerRule{.delimiter = '\r'}, OwnerRule{.delimiter = '\0'},
        OwnerRule{.delimiter = '\xe9'}, OwnerRule{.place = OwnerRule::Place{0, 2}}, OwnerRule{.place = OwnerRule::Place{3, 2}}}) {
    EXPECT_THROW((UnitOfPrivacy{"patient", Count{2}, bad}), Error);
  }
  EXPECT_THROW((UnitOfPrivacy{"row", Count{1}, {.empty = EmptyUnit::each}}), Error);
  const auto good = to_json(UnitOfPrivacy{"a", Count{2}, {.place = OwnerRule::Place{1, 2}}});
  ASSERT_EQ(unit_from_json(good).rule().place, (OwnerRule::Place{1, 2}));
  for (const auto& [field, value] : std::vector<std::pair<const char*, nlohmann::json>>{{"name", "row"},
                                                                                        {"names", "folded"},
                                                                                        {"names", nullptr},
                                                                                        {"empty", "two"},
                                                                                        {"empty", 1},
                                                                                        {"delimiter", ""},
                                                                                        {"delimiter", ";;"},
                                                                                        {"delimiter", "\""},
                                                                                        {"delimiter", 1},
                                                                                        {"place", 1},
                                                                                        {"place", {{"column", 1}}},
                                                                                        {"place", {{"column", 1}, {"columns", -2}}},
                                                                                        {"record_bytes", -1},
                                                                                        {"record_bytes", "all"},
                                                                                        {"quoted_lines", nullptr},
                                                                                        {"more", 1}}) {
    auto bad = good;
    bad[field] = value;
    EXPECT_ANY_THROW(static_cast<void>(unit_from_json(bad))) << bad.dump();
  }
  for (const auto& item : good.items()) {
    auto bad = good;
    bad.erase(item.key());
    EXPECT_ANY_THROW(static_cast<void>(unit_from_json(bad))) << bad.dump();
  }
}

TEST(UnitOfPrivacy, HasANameThatCanBePrinted) {
  for (const std::string& bad :
       {std::string{}, std::string(65, 'x'), std::string{"a\nb"}, std::string{"caf\xe9"}, std::string{'a', '\0'}}) {
    EXPECT_THROW((UnitOfPrivacy{bad, Count{2}}), Error) << bad;
  }
}

TEST(UnitOfPrivacy, MayBeACombinationOfColumns) {
  const OwnerRule rule{.empty = EmptyUnit::each, .place = OwnerRule::Place{3, 4, {1}}};
  const auto unit = unit_of_columns({"user", "day"}, Count{5}, rule);
  EXPECT_EQ(unit.name(), "column user,day");
  EXPECT_EQ(columns_of(unit), (std::vector<std::string>{"user", "day"}));
  EXPECT_EQ(
      describe(unit),
      "one combination of user,day of at most 5 rows (names byte by byte, rows without one: each a unit, column 3 and 1 of 4 without a header)");
  EXPECT_EQ(unit_from_json(nlohmann::json::parse(to_json(unit).dump())), unit);
  EXPECT_EQ(difference(unit, unit_of_columns({"day", "user"}, Count{5}, rule)), "whose rows they are");
  EXPECT_EQ(difference(unit, unit_of_columns({"user", "day"}, Count{5}, {.empty = EmptyUnit::each, .place = OwnerRule::Place{3, 4, {2}}})),
            "the place of the column");
  // As many places as columns, each within the file.
  for (const auto& place :
       {OwnerRule::Place{3, 4}, OwnerRule::Place{3, 4, {1, 2}}, OwnerRule::Place{3, 4, {5}}, OwnerRule::Place{3, 4, {0}}}) {
    EXPECT_THROW(static_cast<void>(unit_of_columns({"user", "day"}, Count{5}, {.place = place})), Error);
  }
  EXPECT_THROW((UnitOfPrivacy{"user", Count{5}, {.place = OwnerRule::Place{1, 4, {2}}}}), Error);
  const auto json = to_json(unit);
  for (const auto* const further : {"[]", "[1,2,3]", "1", "[\"1\"]", "[1.5]"}) {
    auto bad = json;
    bad["place"]["further"] = nlohmann::json::parse(further);
    EXPECT_THROW(static_cast<void>(unit_from_json(bad)), Error) << further;
  }
}

// A ledger holds the name alone: other columns have another name, whatever they are called.
TEST(UnitOfPrivacy, TellsColumnsApartByName) {
  const std::vector<std::string> names{"a",     "row", "a,b", "column a",         "column row",     "column a,b",
                                       "\"a\"", "a|b", " a",  "column \"a,b\",c", "column column a"};
  std::set<std::string> known{std::string{UnitOfPrivacy::row}};
  const auto require = [&](const std::vector<std::string>& columns) {
    const auto unit = unit_of_columns(columns, Count{1});
    EXPECT_EQ(columns_of(unit), columns) << unit.name();
    EXPECT_TRUE(known.insert(unit.name()).second) << unit.name();
  };
  for (const auto& first : names) {
    require({first});
    for (const auto& second : names) {
      if (second == first) continue;
      require({first, second});
      for (const auto& third : names) {
        if (third != first && third != second) require({first, second, third});
      }
    }
  }
  EXPECT_TRUE(columns_of({}).empty());
  const std::string longest(UnitOfPrivacy::longest_name, 'x');
  require({longest, "day", "page"});
  for (const auto& bad : std::vector<std::vector<std::string>>{
           {}, {"a", "a"}, {"a", ""}, {"a", longest + "x"}, {"a", "b", "c", "d"}, {"a", "b\n"}, std::vector<std::string>(10, "a")}) {
    EXPECT_THROW(static_cast<void>(unit_of_columns(bad, Count{1})), Error);
  }
}

}  // namespace
}  // namespace surety::unit_test
