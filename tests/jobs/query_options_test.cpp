// The options of a query are declared once: the options of the command, their help and the help of a file of queries are made of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/jobs/plans/fields.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/query.h>
#include <surety/jobs/release/query_text.h>
#include <surety/jobs/release/release_fields.h>

namespace surety::jobs {
namespace {

std::vector<QueryOption> declared_options() {
  std::vector<QueryOption> options;
  for_each_option([&](const QueryOption& option) { options.push_back(option); });
  return options;
}

std::vector<std::string> named_by(const QueryOption& option) {
  std::vector<std::string> names;
  for (const auto field : option.named) {
    if (!field.name.empty()) names.emplace_back(field.name);
  }
  return names;
}

TEST(QueryOptions, NameAsManyFieldsAsTheirHelpHasPlaces) {
  for (const auto& option : declared_options()) {
    std::size_t places = 0;
    for (auto at = option.help.find("{}"); at != std::string_view::npos; at = option.help.find("{}", at + 1)) ++places;
    EXPECT_EQ(places, named_by(option).size()) << option.field.name;
    const auto help = help_of(option).plain();
    EXPECT_EQ(help.find_first_of("{}"), std::string::npos) << help;
  }
}

TEST(QueryOptions, NameFieldsThatAReleaseHas) {
  ReleaseFields release;
  for (const auto& option : declared_options()) {
    for (const auto& name : named_by(option)) {
      const auto& groups = release.table().groups();
      EXPECT_TRUE(std::any_of(groups.begin(), groups.end(),
                              [&](const FieldTable::Group& group) {
                                return std::any_of(group.fields.begin(), group.fields.end(),
                                                   [&](const Field& field) { return field.name() == name; });
                              }))
          << option.field.name << " names " << name;
    }
  }
}

TEST(QueryOptions, AreTheOptionsOfTheCommandInTheSameOrder) {
  QueryFields fields;
  FieldTable table;
  fields.add(table);
  ASSERT_EQ(table.groups().size(), 1U);
  const auto& made = table.groups().front().fields;
  const auto declared = declared_options();
  ASSERT_EQ(made.size(), declared.size() + 2);
  EXPECT_EQ(made[0].name(), "query");
  EXPECT_EQ(made[1].name(), "queries");
  for (std::size_t k = 0; k < declared.size(); ++k) {
    const auto& field = made[k + 2];
    EXPECT_EQ(field.name(), declared[k].field.name);
    EXPECT_EQ(field.help(), help_of(declared[k])) << field.name();
    const auto* const range = std::get_if<WholeNumber>(&field.constraint());
    ASSERT_EQ(range != nullptr, declared[k].count.has_value()) << field.name();
    if (range == nullptr) continue;
    EXPECT_EQ(range->least, declared[k].count->least) << field.name();
    EXPECT_EQ(range->most, declared[k].count->most) << field.name();
  }
}

TEST(QueryOptions, AndFunctionsAreAllInTheHelpOfQueries) {
  QueryFields fields;
  FieldTable table;
  fields.add(table);
  const auto of_texts = table.find("query")->help().plain();
  const auto of_objects = table.find("queries")->help().plain();
  for (const auto& form : function_forms) {
    EXPECT_NE(of_texts.find(form.text), std::string::npos) << form.text;
    EXPECT_NE(of_objects.find(form.name), std::string::npos) << form.name;
  }
  for (const auto& option : declared_options()) {
    const auto member = '"' + member_name(std::string{option.field.name}) + '"';
    EXPECT_NE(of_objects.find(member), std::string::npos) << member;
  }
  EXPECT_NE(of_objects.find("\"clip_unit_sum\": [lower, upper]"), std::string::npos) << of_objects;
  EXPECT_EQ(listed_functions(&FunctionForm::name),
            "count, count_units, count_distinct, sum, mean, variance, median, quantile, histogram, mode, keys or distinct");
}

}  // namespace
}  // namespace surety::jobs
