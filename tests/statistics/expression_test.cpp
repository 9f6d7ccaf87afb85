// Expressions of columns: what is read of a text, values against a second evaluation of the same tree in long double, and bounds against values at random cells.
#include <surety/statistics/expression.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>

#include <support/foreign_floating_point.h>
#include <support/refusal.h>

namespace surety::expression_test {
namespace {

using statistics::Expression;

const std::vector<std::string> names{"a", "b", "c d", "e\"f"};
const std::vector<std::string> written_names{"a", "b", "\"c d\"", "\"e\"\"f\""};

std::string canonical(std::string_view text) { return Expression::parse(text).text(); }
std::optional<double> value(std::string_view text, const std::vector<double>& cells) { return Expression::parse(text).value(cells); }

/// A random tree, as a fully parenthesized text and as its value in long double.
struct Tree {
  std::string text;
  long double value = 0;
  bool is_number = true;  ///< each of its steps is finite in doubles, with room to spare
  long double scale = 0;  ///< what an error of one rounding may grow to, relative to 2^-53
};
class Trees {
 public:
  Trees(std::mt19937_64& random, std::vector<double> cells) : random_{random}, cells_{std::move(cells)} {}

  Tree grow(int depth) {
    const auto kind = depth == 0 ? random_() % 2 : random_() % 13;
    if (kind == 0 || kind == 12) {
      const auto column = random_() % cells_.size();
      return {written_names[column], cells_[column]};
    }
    if (kind == 1) {
      const double constant = std::ldexp(static_cast<double>(random_() % 1000), -static_cast<int>(random_() % 8));
      return {fmt::format("{}", constant), constant};
    }
    const auto a = grow(depth - 1);
    if (kind == 2) return made("(-" + a.text + ")", -a.value, a, a, a.scale);
    const long double size = std::abs(a.value);
    if (kind == 3) return made("log(" + a.text + ")", std::log(a.value), a, a, a.scale / size);
    if (kind == 4) return made("exp(" + a.text + ")", std::exp(a.value), a, a, a.scale * std::exp(a.value));
    if (kind == 5) return made("sqrt(" + a.text + ")", std::sqrt(a.value), a, a, a.scale / std::sqrt(a.value));
    if (kind == 6) return made("abs(" + a.text + ")", size, a, a, a.scale);
    const auto b = grow(depth - 1);
    const auto binary = [&](char sign) { return fmt::format("({} {} {})", a.text, sign, b.text); };
    if (kind == 7) return made(binary('+'), a.value + b.value, a, b, a.scale + b.scale);
    if (kind == 8) return made(binary('-'), a.value - b.value, a, b, a.scale + b.scale);
    if (kind == 9) return made(binary('*'), a.value * b.value, a, b, a.scale * std::abs(b.value) + b.scale * size);
    if (kind == 10) {
      const long double divisor = std::abs(b.value);
      return made(binary('/'), a.value / b.value, a, b, a.scale / divisor + b.scale * size / (divisor * divisor));
    }
    const bool is_minimum = random_() % 2 == 0;
    return made(fmt::format("{}({}, {})", is_minimum ? "min" : "max", a.text, b.text),
                is_minimum ? std::min(a.value, b.value) : std::max(a.value, b.value), a, b, std::max(a.scale, b.scale));
  }

 private:
  static Tree made(std::string text, long double value, const Tree& a, const Tree& b, long double scale) {
    const bool is_number = a.is_number && b.is_number && std::isfinite(value) && std::abs(value) < 1e300L;
    return {std::move(text), value, is_number, scale + std::abs(value) + 1e-290L};
  }

  std::mt19937_64& random_;
  std::vector<double> cells_;
};

TEST(Expression, IsReadAsItIsWritten) {
  EXPECT_EQ(canonical(" weight  *income "), "weight * income");
  EXPECT_EQ(canonical("((a))+ (b)"), "a + b");
  EXPECT_EQ(canonical("a - (b - 1)"), "a - (b - 1)");
  EXPECT_EQ(canonical("(a - b) - 1"), "a - b - 1");
  EXPECT_EQ(canonical("a + (b + 1)"), "a + (b + 1)");
  EXPECT_EQ(canonical("a / (b * 2)"), "a / (b * 2)");
  EXPECT_EQ(canonical("(a + b) * 2"), "(a + b) * 2");
  EXPECT_EQ(canonical("-(-a)"), "-(-a)");
  EXPECT_EQ(canonical("- -a"), "-(-a)");
  EXPECT_EQ(canonical("a - -b"), "a - -b");
  EXPECT_EQ(canonical("-a * b"), "-a * b");
  EXPECT_EQ(canonical("min( a,max (b , 1e-3) )"), "min(a, max(b, 0.001))");
  EXPECT_EQ(canonical("\"hours-per-week\" / \"a\" + \"5\"\" pipe\""), "\"hours-per-week\" / a + \"5\"\" pipe\"");
  EXPECT_EQ(canonical("log + min / größe.2"), "log + min / größe.2");
  EXPECT_EQ(canonical(".5 * a + 1e+3 + 2E2 + 3."), "0.5 * a + 1000 + 200 + 3");
  EXPECT_EQ(Expression::parse("a * b + a").columns(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Expression::parse("a + b"), Expression::parse("(a)+ b"));
  EXPECT_FALSE(Expression::parse("a + b") == Expression::parse("b + a"));
}

TEST(Expression, HasTheValueOfItsFormula) {
  EXPECT_EQ(value("a * b", {0.1, 3}), 0.1 * 3);
  EXPECT_EQ(value("a - b - 1", {5, 3}), 1);
  EXPECT_EQ(value("a - (b - 1)", {5, 3}), 3);
  EXPECT_EQ(value("8 / a / b", {2, 2}), 2);
  EXPECT_EQ(value("-a * b", {2, 3}), -6);
  EXPECT_EQ(value("1 + a * 2", {4}), 9);
  EXPECT_EQ(value("log(exp(a))", {0}), 0);
  EXPECT_EQ(value("sqrt(a) + abs(b)", {9, -4}), 7);
  EXPECT_EQ(value("min(a, b) - max(a, b)", {9, -4}), -13);
  for (const auto& [day, year] : std::vector<std::pair<double, double>>{{0, 1970},
                                                                        {-1, 1969},
                                                                        {364.99, 1970},
                                                                        {365, 1971},
                                                                        {-0.5, 1969},
                                                                        {17531.99, 2017},
                                                                        {17532, 2018},
                                                                        {2932896.5, 9999},
                                                                        {-4371587, -9999}}) {
    EXPECT_EQ(value("year(a)", {day}), year) << day;
  }
  EXPECT_EQ(value("year(a)", {2932897}), std::nullopt);
  EXPECT_EQ(value("year(a)", {-4371587.5}), std::nullopt);
  EXPECT_EQ(value("year(a)", {1e300}), std::nullopt);
}

// No step may be infinite or no number, not even where the end is a number: such a row has a missing cell.
TEST(Expression, HasNoValueWhereAStepIsNoNumber) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(value("1 / a", {0}), std::nullopt);
  EXPECT_EQ(value("1 / (1 / a)", {0}), std::nullopt);
  EXPECT_EQ(value("min(1 / a, 5)", {0}), std::nullopt);
  EXPECT_EQ(value("max(sqrt(a), 5)", {-1}), std::nullopt);
  EXPECT_EQ(value("max(5, sqrt(a))", {-1}), std::nullopt);
  EXPECT_EQ(value("log(a)", {0}), std::nullopt);
  EXPECT_EQ(value("log(a)", {-1}), std::nullopt);
  EXPECT_EQ(value("exp(a) * 0", {1000}), std::nullopt);
  EXPECT_EQ(value("a * a / a", {1e200}), std::nullopt);
  EXPECT_EQ(value("min(a, 1)", {infinite}), std::nullopt);
  EXPECT_EQ(value("min(a, 1)", {std::nan("")}), std::nullopt);
}

TEST(Expression, OfRandomTreesHasTheValueAndTheTextOfTheTree) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> uniform{-4, 4};
  std::size_t compared = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<double> cells{uniform(random), uniform(random), std::abs(uniform(random)), 1 + std::abs(uniform(random))};
    const auto tree = Trees{random, cells}.grow(1 + round % 5);
    std::optional<Expression> expression;
    try {
      expression = Expression::parse(tree.text);
    } catch (const Error& error) {
      ASSERT_NE(std::string{error.what()}.find("reads no column"), std::string::npos) << tree.text << error.what();
      continue;
    }
    EXPECT_EQ(canonical(expression->text()), expression->text()) << tree.text;
    std::vector<double> of_columns;
    for (const auto& column : expression->columns()) {
      of_columns.push_back(cells[static_cast<std::size_t>(std::find(names.begin(), names.end(), column) - names.begin())]);
    }
    const auto found = expression->value(of_columns);
    const auto again = Expression::parse(expression->text());
    EXPECT_EQ(again.columns(), expression->columns()) << tree.text;
    EXPECT_EQ(again.value(of_columns), found) << tree.text;
    if (!tree.is_number || !std::isfinite(tree.scale) || tree.scale > 1e10L) continue;
    // Near a pole or a jump of its domain the two may part.
    if (!found) continue;
    ++compared;
    EXPECT_LE(std::abs(*found - tree.value), 64 * 0x1p-53L * tree.scale) << tree.text;
  }
  EXPECT_GT(compared, 10000U);
}

// Whatever rounding, traps and treatment of subnormal numbers the process has set.
TEST(Expression, HasOneValueInEveryFloatingPointEnvironment) {
  const auto expression = Expression::parse("a / b + exp(a) * 1e-320");
  const std::vector<double> cells{1, 3};
  const auto expected = expression.value(cells);
  ASSERT_TRUE(expected.has_value());
  const auto infinite = Expression::parse("1 / a");
  for (const auto& environment : reference::foreign_environments()) {
    EXPECT_EQ(reference::in(environment, [&] { return expression.value(cells); }), expected) << environment.name;
    EXPECT_EQ(reference::in(environment, [&] { return infinite.value(std::vector<double>{0}); }), std::nullopt) << environment.name;
  }
}

TEST(Expression, OfColumnsWithinBoundsIsWithinItsBounds) {
  std::mt19937_64 random{2};
  std::uniform_real_distribution<double> uniform{-4, 4};
  std::size_t bounded = 0;
  std::size_t values = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<double> any{1, 2, 3, 4};
    const auto tree = Trees{random, any}.grow(1 + round % 4);
    std::vector<data::Bounds> bounds;
    std::optional<Expression> expression;
    std::optional<data::Bounds> found;
    try {
      expression = Expression::parse(tree.text);
      for (std::size_t k = 0; k < expression->columns().size(); ++k) {
        const double one = uniform(random);
        const double other = random() % 8 == 0 ? one : uniform(random);
        bounds.push_back({std::min(one, other), std::max(one, other)});
      }
      found = expression->bounds(bounds);
    } catch (const Error&) {
      continue;  // it reads no column, or has no bounds
    }
    ++bounded;
    ASSERT_TRUE(std::isfinite(found->lower) && std::isfinite(found->upper) && found->lower <= found->upper) << tree.text;
    for (int visit = 0; visit < 40; ++visit) {
      std::vector<double> cells;
      for (const auto& [lower, upper] : bounds) {
        const auto place = random() % 4;
        cells.push_back(place == 0   ? lower
                        : place == 1 ? upper
                                     : std::uniform_real_distribution<double>{lower, std::nextafter(upper, 9.0)}(random));
        cells.back() = std::clamp(cells.back(), lower, upper);
      }
      const auto number = expression->value(cells);
      if (!number) continue;
      ++values;
      // Logarithms and exponentials of doubles may miss the rounded value by a last digit, in each of some steps.
      const double slack = 1e-13 * std::max({1e-30, std::abs(*number), std::abs(found->lower), std::abs(found->upper)});
      const bool is_rounded = tree.text.find("log") == std::string::npos && tree.text.find("exp") == std::string::npos;
      EXPECT_GE(*number, found->lower - (is_rounded ? 0 : slack)) << tree.text;
      EXPECT_LE(*number, found->upper + (is_rounded ? 0 : slack)) << tree.text;
    }
  }
  EXPECT_GT(bounded, 5000U);
  EXPECT_GT(values, 150000U);
}

TEST(Expression, HasTightBoundsWhereEachColumnOccursOnce) {
  const auto bounds = [](std::string_view text, const std::vector<data::Bounds>& of) { return Expression::parse(text).bounds(of); };
  EXPECT_EQ(bounds("a * b", {{0, 2}, {0, 1000}}), (data::Bounds{0, 2000}));
  EXPECT_EQ(bounds("a * b", {{-2, 3}, {-5, 1}}), (data::Bounds{-15, 10}));
  EXPECT_EQ(bounds("a - b", {{1, 2}, {-3, 5}}), (data::Bounds{-4, 5}));
  EXPECT_EQ(bounds("a / b", {{1, 2}, {-4, -1}}), (data::Bounds{-2, -0.25}));
  EXPECT_EQ(bounds("-a", {{1, 2}}), (data::Bounds{-2, -1}));
  EXPECT_EQ(bounds("abs(a)", {{-3, 2}}), (data::Bounds{0, 3}));
  EXPECT_EQ(bounds("abs(a)", {{-3, -2}}), (data::Bounds{2, 3}));
  EXPECT_EQ(bounds("sqrt(a)", {{-3, 4}}), (data::Bounds{0, 2}));
  EXPECT_EQ(bounds("min(a, b)", {{0, 5}, {1, 2}}), (data::Bounds{0, 2}));
  EXPECT_EQ(bounds("max(a, b)", {{0, 5}, {1, 2}}), (data::Bounds{1, 5}));
  EXPECT_EQ(bounds("log(a)", {{1, 1}}), (data::Bounds{0, 0}));
  EXPECT_EQ(bounds("year(a)", {{-1, 17532}}), (data::Bounds{1969, 2018}));
  // 0.1 + 0.2 is between two doubles.
  const auto tenth = bounds("a + b", {{0.1, 0.1}, {0.2, 0.2}});
  EXPECT_LT(tenth.lower, tenth.upper);
}

TEST(Expression, WithoutBoundsSaysWhy) {
  const auto why = [](std::string_view text, const data::Bounds& each) {
    const auto expression = Expression::parse(text);
    return refusal([&] { return expression.bounds(std::vector<data::Bounds>(expression.columns().size(), each)); });
  };
  for (const std::string text : {"1 / a", "1 / (a - a)", "b / abs(a)"}) {
    EXPECT_NE(why(text, {-1, 1}).find("contains 0; state bounds of the statistic"), std::string::npos) << text;
  }
  EXPECT_NE(why("1 / a", {0, 1}).find("a divisor is in [0, 1]"), std::string::npos);
  EXPECT_NE(why("1 / a", {-1, 0}).find("a divisor is in [-1, 0]"), std::string::npos);
  EXPECT_NE(why("log(a)", {0, 1}).find("a logarithm is of [0, 1], must be of numbers above 0"), std::string::npos);
  EXPECT_NE(why("log(a)", {-2, -1}).find("a logarithm is of [-2, -1]"), std::string::npos);
  EXPECT_NE(why("sqrt(a)", {-2, -1}).find("a square root is of [-2, -1], all below 0"), std::string::npos);
  EXPECT_NE(why("year(a)", {0, 1e7}).find("a year is of the days [0, 10000000], must be from -9999 to 9999"), std::string::npos);
  for (const std::string text : {"exp(1000 * a)", "exp(exp(exp(exp(a + 9))))", "a * 1e308 * 1e308", "exp(a * 1e300)", "-exp(a * 1e18)"}) {
    EXPECT_NE(why(text, {0, 1}).find("a number in it may be beyond 1.8e308"), std::string::npos) << text;
  }
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t k = 0; k < times; ++k) all += text;
  return all;
}

TEST(Expression, IsRefusedWhereItIsNone) {
  const auto why = [](std::string_view text) { return refusal([&] { return Expression::parse(text); }); };
  std::vector<std::pair<std::string, std::string>> all{
      {"", "an expression is empty"},
      {" \t", "an expression is empty"},
      {"1", "reads no column"},
      {"1 + 2", "reads no column"},
      {"(a", "has a '(' that is not closed"},
      {"log(a", "has a '(' that is not closed"},
      {"a)", "has a ')' that closes nothing"},
      {"()", "has ')' where a column or a number must stand"},
      {"log()", "has ')' where a column or a number must stand"},
      {"a +", "ends where a column or a number must stand"},
      {"* a", "has '* a' where a column or a number must stand"},
      {"a + + b", "has '+ b' where a column or a number must stand"},
      {"a * / b", "has '/ b' where a column or a number must stand"},
      {"a b", "has 'b' where an operator must stand"},
      {"(a b)", "has 'b)' where an operator or ')' must stand"},
      {"a, b", "has ', b' where an operator must stand"},
      {"2x * a", "has '2x * a', which is no number"},
      {"1.2.3 * a", "which is no number"},
      {"1e999 * a", "has '1e999', which is outside the range of double"},
      {"a ^ 2", "has '^ 2' where an operator must stand"},
      {"a ** 2", "has '* 2' where a column or a number must stand"},
      {"a % b", "has '% b' where an operator must stand"},
      {"a == b", "has '== b' where an operator must stand"},
      {"'a' * 2", "where a column or a number must stand"},
      {"\"a * 2", "has a quote that is not closed"},
      {"\"\" * 2", "has an empty name"},
      {"lgo(a)",
       "has the function 'lgo', must be one of log(x), exp(x), sqrt(x), abs(x), min(x, y), max(x, y), year(x); did you mean 'log'?"},
      {"LOG(a)", "has the function 'LOG'"},
      {"sin(a)", "has the function 'sin'"},
      {"2(a)", "has '(a)' where an operator must stand"},
      {"(a)(b)", "has '(b)' where an operator must stand"},
      {"log(a, b)", "must have log(x), with 1 argument"},
      {"min(a)", "must have min(x, y), with 2 arguments"},
      {"min(a, b, c)", "must have min(x, y), with 2 arguments"},
      {"km/h", "has 'm/h' between two names or numbers"},
      {"a + hours-per-week", "has 's-p' between two names or numbers"},
      {"2*a", "has '2*a' between two names or numbers"},
      {"a\xe2\x88\x92"
       "b c",
       "where an operator must stand"},
      {std::string("a * \0b", 6), "where a column or a number must stand"},
      {"a\n+ b", "where an operator must stand"},
      {repeated("(", 25) + "a" + repeated(")", 25), "is too deep, must have at most 24 levels"},
      {repeated("-", 25) + "a", "is too deep"},
      {repeated("abs(", 25) + "a" + repeated(")", 25), "is too deep"},
      {repeated("(", 100000), "is too deep"},
      {repeated("a + ", 101) + "a", "has more than 200 operations, columns and numbers"},
      {repeated("a * ", 1000000) + "a", "has more than 200 operations"},
  };
  for (const auto& [text, reason] : all) {
    const auto found = why(text);
    EXPECT_NE(found.find(reason), std::string::npos) << text.substr(0, 60) << ": " << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << text.substr(0, 60);
    EXPECT_LT(found.size(), 500U) << text.substr(0, 60);
  }
  EXPECT_EQ(canonical(repeated("(", 24) + "a" + repeated(")", 24)), "a");
  EXPECT_EQ(canonical(repeated("a + ", 99) + "a").size(), 99 * 4 + 1U);
  // Operands that wait at each level.
  const auto deep = repeated("1 + 2 * (", 24) + "a" + repeated(")", 24);
  EXPECT_TRUE(value(deep, {1}).has_value());
  EXPECT_EQ(value(repeated("1 + 2 * -(", 12) + "a" + repeated(")", 12), {1}).has_value(), true);
}

// Texts of the signs of expressions in any order are read or refused, in one line.
TEST(Expression, OfAnyTextIsReadOrRefused) {
  const std::vector<std::string> pieces{"a",    "b",    "(",  ")",       "+", "-",  "*", "/",    " ",     ",",
                                        "log(", "min(", "\"", "\"x y\"", "1", ".5", "e", "\xff", "where", "%"};
  std::mt19937_64 random{3};
  std::size_t read = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text;
    for (auto n = 1 + random() % 9; n > 0; --n) text += pieces[random() % pieces.size()];
    static_cast<void>(statistics::has_signs_of_expression(text));
    try {
      const auto expression = Expression::parse(text);
      EXPECT_EQ(canonical(expression.text()), expression.text()) << text;
      static_cast<void>(expression.value(std::vector<double>(expression.columns().size(), 2)));
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
      ++refused;
    }
  }
  EXPECT_GT(read, 2000U);
  EXPECT_GT(refused, 2000U);
}

TEST(Expression, HasSignsThatNamesMostlyLack) {
  for (const std::string text : {"a * b", "a*b", "km/h", "C++", "a + b", "a - b", "a -b", "-a", "- a", "log(x)", "log (x)", "rate(%)",
                                 "(a)", "\"a\" - b", "\"a b\"* 2", "f(x)-1", "a-(b)"}) {
    EXPECT_TRUE(statistics::has_signs_of_expression(text)) << text;
  }
  for (const std::string text : {"", "a", "a b", "hours-per-week", "2024-01-01", "wage (USD)", "wage (USD), gross", "a, 0.5", "5\" pipe",
                                 "\"a * b\"", "\"a\"", "%", "a.b", "größe", "log", "where", "\"a * b"}) {
    EXPECT_FALSE(statistics::has_signs_of_expression(text)) << text;
  }
}

}  // namespace
}  // namespace surety::expression_test
