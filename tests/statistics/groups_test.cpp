// Tuples of cells as groups and of texts as keys.
#include <surety/statistics/groups.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <support/refusal.h>

namespace surety::statistics::groups_test {
namespace {

using reference::refusal_of;
using Texts = std::vector<std::string>;

/// All tuples of these lengths of some bytes, those that stand between texts among them.
std::vector<Texts> tuples(std::size_t columns) {
  Texts texts;
  for (const char a : {'\0', '\1', '\2', 'a', '\xff'}) {
    texts.emplace_back(1, a);
    for (const char b : {'\0', '\1', '\2', 'a'}) texts.push_back({a, b});
  }
  std::vector<Texts> all{{}};
  for (std::size_t k = 0; k < columns; ++k) {
    std::vector<Texts> longer;
    for (const auto& tuple : all) {
      for (const auto& text : texts) {
        longer.push_back(tuple);
        longer.back().push_back(text);
      }
    }
    all = std::move(longer);
  }
  return all;
}

TEST(Groups, TellTuplesOfTextsApartInTheirOrder) {
  for (const std::size_t columns : {1U, 2U, 3U}) {
    auto all = tuples(columns);
    std::sort(all.begin(), all.end());
    std::string last;
    for (const auto& tuple : all) {
      const auto key = tuple_key(tuple);
      EXPECT_LT(last, key);
      EXPECT_EQ(texts_of_key(key, columns), tuple);
      last = key;
    }
  }
  EXPECT_EQ(tuple_key(Texts{"Rome"}), "Rome");
  EXPECT_EQ(tuple_key(Texts{"Rome", ""}), "");
  EXPECT_EQ(tuple_key(Texts{"Rome", "f"}).size(), 4U + 2U + 1U);
}

TEST(Groups, HaveNamesThatSayWhereATextEnds) {
  EXPECT_EQ(tuple_text(Texts{"a, b"}), "a, b");
  EXPECT_EQ(tuple_text(Texts{"a", "b c"}), "a, b c");
  EXPECT_EQ(tuple_text(Texts{"a, b", "c"}), "\"a, b\", c");
  EXPECT_EQ(tuple_text(Texts{" a", "\"", ""}), "\" a\", \"\"\"\", \"\"");
  std::set<std::string> names;
  const Texts texts{"a", ",", " ", "\"", "a, a", "a,\"a\"", ""};
  for (const auto& one : texts) {
    for (const auto& other : texts) names.insert(tuple_text(Texts{one, other}));
  }
  EXPECT_EQ(names.size(), texts.size() * texts.size());
}

TEST(Groups, AreTheProductOfTheirCells) {
  const Groups groups{"a", data::Categories{{"x", "y"}}, {{"b", Bins{{0, 4}, 2}}, {"c", data::Categories{{"p", "q", "r"}}}}};
  EXPECT_EQ(number_of(groups), 12U);
  EXPECT_EQ(columns_of(groups), (Texts{"a", "b", "c"}));
  const auto names = names_of(groups);
  EXPECT_EQ(names.size(), 12U);
  EXPECT_EQ(names[4].texts, (Texts{"x", "[2, 4]", "q"}));
  EXPECT_EQ(names[4].text, "x, \"[2, 4]\", q");
  EXPECT_EQ(names_of(Groups{"a", data::Categories{{"x, y"}}}).front().text, "x, y");
  EXPECT_TRUE(names_of(Groups{"a", data::Categories{{"x"}}}).front().texts.empty());
}

TEST(Groups, RefuseWhatIsNoList) {
  const data::Categories one{{"x"}};
  EXPECT_TRUE(refusal_of([&] {
                validate(Groups{"a", one, {{"b", one}, {"a", one}}});
              }).says(ErrorCode::invalid_argument, "groups are by 'a' twice, must name each column once"));
  EXPECT_TRUE(refusal_of([&] {
                validate(Groups{"a", one, {{"b", one}, {"c", one}, {"d", one}}});
              }).says(ErrorCode::invalid_argument, "groups are by 4 columns, must be by at most 3"));
  EXPECT_TRUE(refusal_of([&] {
                validate(Groups{"a", one, {{"b", data::Categories{{"x", "x"}}}}});
              }).says(ErrorCode::invalid_argument, "names 'x' twice"));
  EXPECT_TRUE(refusal_of([&] {
                validate(Groups{"a", one, {{"", one}}});
              }).says(ErrorCode::invalid_argument, "a column of groups has no name"));
}

}  // namespace
}  // namespace surety::statistics::groups_test
