#include <surety/accounting/accountants/closed_form/repetition.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <surety/accounting/events/format.h>

namespace surety::accounting::repetition_test {
namespace {

std::optional<Repetition> found(const std::string& text) { return repetition(parse_event(text, Adjacency::add_or_remove_one)); }

TEST(Repetition, IsOneKindAndHowOften) {
  EXPECT_EQ(found("laplace(2)")->count, 1);
  const auto many = found("compose(repeat(3, laplace(2)), repeat(2, repeat(5, laplace(2))))");
  EXPECT_EQ(many->count, 13);
  EXPECT_EQ(describe(many->leaf), "laplace(2)");
  EXPECT_FALSE(found("compose(laplace(2), laplace(3))"));
  EXPECT_FALSE(found("repeat(4, compose(laplace(2), pure(0.5)))"));
}

TEST(Repetition, RefusesWhatIsTooManyOrTooLarge) {
  const auto three = *found("repeat(3, laplace(2))");
  EXPECT_FALSE(why_too_large(three, 3, 0.5));
  EXPECT_EQ(why_too_large(three, 2, 0.5)->sentence(), "3 releases of laplace(2) are too many for a closed form, must be at most 2");
  EXPECT_EQ(why_too_large(three, 3, 4e7)->sentence(),
            "the largest loss of 3 of laplace(2) is 120000000, must be at most 100000000 for a closed form");
}

}  // namespace
}  // namespace surety::accounting::repetition_test
