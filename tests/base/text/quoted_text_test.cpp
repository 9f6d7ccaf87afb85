#include <surety/base/text/quoted_text.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace surety::quoted_text_test {
namespace {

TEST(DoubleQuoted, DoublesQuotes) {
  EXPECT_EQ(double_quoted(""), R"("")");
  EXPECT_EQ(double_quoted("New York, NY"), R"("New York, NY")");
  EXPECT_EQ(double_quoted(R"(5" pipe)"), R"("5"" pipe")");
  EXPECT_EQ(double_quoted(R"(")"), R"("""")");
}

// Of every text, zeros and quotes at its ends included, and of whatever follows but a quote.
RC_GTEST_PROP(TakeQuoted, IsTheInverseOfDoubleQuoted, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('"', 'a', ',', ' ', '\0', '\\', '\n', '\xff'));
  const auto rest = *rc::gen::element<std::string>("", ",b", " ", "\\\"", "a\"");
  const std::string whole = double_quoted(text) + rest;
  std::string_view front = whole;
  RC_ASSERT(take_quoted(front) == text);
  RC_ASSERT(front == rest);
}

TEST(TakeQuoted, LeavesTheNextText) {
  std::string_view front = R"("a""b","c")";
  EXPECT_EQ(take_quoted(front), R"(a"b)");
  EXPECT_EQ(front, R"(,"c")");
  front.remove_prefix(1);
  EXPECT_EQ(take_quoted(front), "c");
  EXPECT_EQ(front, "");
}

TEST(TakeQuoted, RemovesNothingWhereQuotesAreNotClosed) {
  for (const std::string_view text : {R"(")", R"("a)", R"("a"")", R"(""")", R"("a""b)"}) {
    std::string_view front = text;
    EXPECT_EQ(take_quoted(front), std::nullopt) << text;
    EXPECT_EQ(front, text);
  }
}

}  // namespace
}  // namespace surety::quoted_text_test
