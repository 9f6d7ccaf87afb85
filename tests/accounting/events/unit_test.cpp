#include <surety/accounting/events/unit.h>

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>

namespace surety::unit_test {
namespace {

TEST(UnitOfPrivacy, IsOneRowUnlessSaidOtherwise) {
  EXPECT_EQ(describe(UnitOfPrivacy{}), "one row");
  EXPECT_EQ(UnitOfPrivacy{}, (UnitOfPrivacy{"row", Count{1}}));
  EXPECT_EQ(describe(UnitOfPrivacy{"patient", Count{5}}), "one patient of at most 5 rows");
  EXPECT_EQ(describe(UnitOfPrivacy{"patient", Count{1}}), "one patient of at most 1 row");
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

TEST(UnitOfPrivacy, HasANameThatCanBePrinted) {
  for (const std::string& bad :
       {std::string{}, std::string(65, 'x'), std::string{"a\nb"}, std::string{"caf\xe9"}, std::string{'a', '\0'}}) {
    EXPECT_THROW((UnitOfPrivacy{bad, Count{2}}), Error) << bad;
  }
}

}  // namespace
}  // namespace surety::unit_test
