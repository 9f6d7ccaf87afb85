// Refusals of events as values.
#include <gtest/gtest.h>

#include <string>

#include <surety/accounting/events/refusal.h>

#include <support/refusal.h>

namespace surety::accounting::refusal_test {
namespace {

const Event& event() {
  static const Event event = laplace(NoiseScale{2}, Adjacency::replace_one);
  return event;
}

TEST(EventRefusal, NamesThePartInItsSentence) {
  const Refusal refusal{event(), "no theorem for {}; {} stays"};
  EXPECT_EQ(refusal.sentence(), "no theorem for laplace(2); {} stays");
  EXPECT_EQ(refusal.part(), event());
  EXPECT_EQ((Refusal{event(), "plain"}).sentence(), "plain");
}

TEST(OrRefusal, HoldsAValueOrARefusal) {
  OrRefusal<int> value{7};
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 7);
  EXPECT_FALSE(value.why_not());
  EXPECT_EQ(std::move(value).value(), 7);

  OrRefusal<int> none{Refusal{event(), "no number of {}"}};
  ASSERT_FALSE(none);
  EXPECT_EQ(none.why_not()->sentence(), "no number of laplace(2)");
  EXPECT_TRUE(reference::refusal_of([&] { return std::move(none).value(); }).says(ErrorCode::unsupported, "no number of laplace(2)"));
}

TEST(RefusalThrownBy, IsTheRefusalThatWasThrownOrAnySentenceThatIsUnsupported) {
  EXPECT_FALSE(refusal_thrown_by(event(), [] {}));
  const Event part = gaussian(NoiseMultiplier{1}, Adjacency::replace_one);
  const auto thrown = refusal_thrown_by(event(), [&] { unsupported(part, "no theorem for {}"); });
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->part(), part);
  EXPECT_EQ(thrown->sentence(), "no theorem for gaussian(1)");
  EXPECT_EQ(refusal_thrown_by(event(), [] { throw Error{ErrorCode::unsupported, "too much"}; })->part(), event());
  EXPECT_TRUE(reference::refusal_of([&] {
                return refusal_thrown_by(event(), [] { invalid("width is 0"); });
              }).says(ErrorCode::invalid_argument, "width is 0"));
}

}  // namespace
}  // namespace surety::accounting::refusal_test
