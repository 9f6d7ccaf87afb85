#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include <surety/base/text/error.h>

#include <support/plain_law.h>

namespace surety::accounting::parallel_test {
namespace {

using testing::epsilon_of;
using testing::zero;

TEST(Parallel, OfEqualPartsIsOnePart) {
  for (const std::string part :
       {"gaussian(2)", "compose(laplace(8), gaussian(5))", "repeat(3, pure(0.3))", "repeat(30, poisson(0.1, gaussian(1)))"}) {
    for (const std::string times : {"1", "7"}) {
      const auto several = epsilon_of("repeat(" + times + ", parallel(" + part + ", " + part + ", " + part + "))", 1e-4, 1e-3, zero);
      const auto one = epsilon_of("repeat(" + times + ", " + part + ")", 1e-4, 1e-3, zero);
      EXPECT_EQ(several.lower, one.lower) << part;
      EXPECT_EQ(several.upper, one.upper) << part;
    }
  }
}

TEST(Parallel, DropsWhatCostsNoMore) {
  const auto left = [](const std::string& text) {
    const auto event = parse_event(text, zero);
    std::vector<std::string> found;
    for (const auto& part : undominated(std::get<Event::Parallel>(event.node()))) found.push_back(describe(part));
    return found;
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(left("parallel(gaussian(2), gaussian(1), gaussian(3))"), Parts{"gaussian(1)"});
  EXPECT_EQ(left("parallel(gaussian(1), repeat(4, gaussian(2)), compose(gaussian(1.3), gaussian(1.3)))"),
            Parts{"compose(gaussian(1.3), gaussian(1.3))"});
  EXPECT_EQ(left("parallel(poisson(0.1, gaussian(2)), poisson(0.2, gaussian(1.5)), parallel(pure(1), pure(2)))"),
            (Parts{"poisson(0.2, gaussian(1.5))", "pure(2)"}));
  EXPECT_EQ(left("parallel(exponential(1), approx(1, 1e-6), pure(0.5), laplace(2), shuffled(10, 2, laplace(3)))"),
            (Parts{"approx(1, 1e-06)", "laplace(2)"}));
  EXPECT_EQ(left("parallel(repeat(2, laplace(1)), compose(laplace(1), repeat(2, laplace(1))))"),
            Parts{"compose(laplace(1), repeat(2, laplace(1)))"});
  EXPECT_EQ(left("parallel(poisson(0.2, gaussian(2)), poisson(0.1, gaussian(1)))").size(), 2U);
  EXPECT_EQ(left("parallel(repeat(3, laplace(2)), repeat(2, laplace(1)))").size(), 2U);
}

TEST(Parallel, AloneCostsItsWorstPart) {
  const auto found =
      epsilon_of("parallel(repeat(10, gaussian(4)), repeat(100, poisson(0.02, gaussian(1))), approx(0.3, 1e-7))", 1e-5, 1e-4, zero);
  const auto worst = epsilon_of("repeat(10, gaussian(4))", 1e-5, 1e-4, zero);
  EXPECT_EQ(found.lower, worst.lower);
  EXPECT_EQ(found.upper, worst.upper);
  EXPECT_EQ(epsilon_of("parallel(pure(1), laplace(2), pure(0.2))", 0).upper, epsilon_of("pure(1)", 0).upper);
}

TEST(Parallel, CountsThePartsThatAreLeft) {
  std::string noisier = "parallel(laplace(1)";
  std::string louder = "parallel(laplace(1000)";
  std::string apart = "parallel(approx(1, 0.001)";
  for (int i = 1; i <= 300; ++i) {
    noisier += ", laplace(" + std::to_string(1 + i) + ")";
    louder += ", laplace(" + std::to_string(1000 - i) + ")";
    apart += ", approx(" + std::to_string(1 + i) + ", " + std::to_string((400 - i) * 1e-5) + ")";
  }
  EXPECT_EQ(epsilon_of(noisier + ")", 1e-5).upper, epsilon_of("laplace(1)", 1e-5).upper);
  EXPECT_EQ(epsilon_of(louder + ")", 1e-5).upper, epsilon_of("laplace(700)", 1e-5).upper);
  try {
    (void)epsilon_of(apart + ")", 1e-5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("must have at most 256"), std::string::npos) << error.what();
  }
}

TEST(Parallel, InABatchOfAllRecordsCostsNoMoreThanOutside) {
  const std::string parts = "parallel(compose(laplace(2), gaussian(3)), compose(gaussian(2), laplace(6)), repeat(3, pure(0.3)))";
  const auto plain = epsilon_of(parts, 1e-4, 1e-3, zero);
  for (const std::string before : {"poisson(1, ", "shuffled(7, 7, ", "deterministic(7, 7, ", "deterministic(10, 3, "}) {
    const auto batch = epsilon_of(before + parts + ")", 1e-4, 1e-3, zero);
    EXPECT_EQ(batch.upper, plain.upper) << before;
    EXPECT_EQ(batch.lower, plain.lower) << before;
  }
  EXPECT_EQ(epsilon_of("without_replacement(7, 7, " + parts + ")", 1e-4, 1e-3, Adjacency::replace_one).upper,
            epsilon_of(parts, 1e-4, 1e-3, Adjacency::replace_one).upper);
}

// A fresh batch meets each of the parts; under fixed-size batches the number that falls into one part tells of the other.
TEST(Parallel, SharesAPoissonBatchAndNoOther) {
  const auto inside = epsilon_of("repeat(50, poisson(0.1, parallel(gaussian(2), laplace(3))))", 1e-5, 1e-3, zero);
  const auto outside = epsilon_of("repeat(50, parallel(poisson(0.1, gaussian(2)), poisson(0.1, laplace(3))))", 1e-5, 1e-3, zero);
  EXPECT_EQ(inside.upper, outside.upper);
  EXPECT_LT(inside.width(), 0.1 * inside.upper);
  try {
    (void)epsilon_of("without_replacement(10, 2, parallel(gaussian(2), gaussian(3)))", 1e-5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string{error.what()}.find("one batch of fixed size among parallel parts"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace surety::accounting::parallel_test
