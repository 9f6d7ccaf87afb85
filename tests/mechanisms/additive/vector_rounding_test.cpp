// What a vector is made of, and what integers leave to intervals. That they agree: lp_noise_test.
#include <surety/mechanisms/additive/vector_rounding.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace surety::mechanisms::vector_rounding_test {
namespace {

using Shape = VectorLaw::Shape;
using Radial = VectorLaw::Radial;

VectorLaw law(Shape shape, double r, Radial radial, std::uint64_t count, std::size_t dimension) {
  return {.shape = shape, .r = r, .radial = radial, .radial_count = count, .scale = {0x1p20, 1, 1}, .dimension = dimension};
}

TEST(VectorLaw, CountsWhatItsRadiusIsMadeOf) {
  const auto counts = [](const VectorLaw& of) {
    return std::array<std::uint64_t, 3>{of.exponentials(), of.has_normal() ? 1U : 0U, of.is_normalized() ? 1U : 0U};
  };
  using Counts = std::array<std::uint64_t, 3>;
  EXPECT_EQ(counts(law(Shape::exponential, 2, Radial::none, 0, 5)), (Counts{0, 0, 0}));
  EXPECT_EQ(counts(law(Shape::uniform, 2, Radial::gamma, 6, 5)), (Counts{6, 0, 0}));
  EXPECT_EQ(counts(law(Shape::normal, 2, Radial::root_of_chi_square, 6, 5)), (Counts{3, 0, 0}));
  EXPECT_EQ(counts(law(Shape::normal, 2, Radial::root_of_chi_square, 7, 6)), (Counts{3, 1, 0}));
  EXPECT_EQ(counts(law(Shape::power, 3, Radial::root_of_chi_square, 7, 7)), (Counts{3, 1, 1}));
  EXPECT_EQ(counts(law(Shape::normal, 2, Radial::sphere, 0, 5)), (Counts{0, 0, 1}));
  EXPECT_EQ(counts(law(Shape::normal, 2, Radial::ball, 0, 5)), (Counts{1, 0, 1}));
}

IdealReal real(double x) { return {static_cast<std::uint64_t>(std::ldexp(x, 31)), {std::uint64_t{1} << 63, 0}}; }

TEST(VectorRounding, DividesByTheNorm) {
  // 3, 4 and 12 of 13.
  const std::vector<std::uint64_t> signs{2};
  const std::vector<IdealReal> reals{real(3), real(4), real(12)};
  std::vector<std::int64_t> integers(3);
  const auto sphere = law(Shape::normal, 2, Radial::sphere, 0, 3);
  EXPECT_EQ(VectorRounding{sphere}.round({.signs = signs, .magnitudes = reals, .tails = {}, .logs = {}, .exponentials = {}, .normal = {}},
                                         integers),
            0);
  EXPECT_EQ(integers,
            (std::vector<std::int64_t>{std::lround(0x1p20 * 3 / 13), -std::lround(0x1p20 * 4 / 13), std::lround(0x1p20 * 12 / 13)}));
  // The radius of the ball is exp(-3 / 3).
  const std::vector<IdealReal> exponential{real(3)};
  const auto ball = law(Shape::normal, 2, Radial::ball, 0, 3);
  EXPECT_EQ(VectorRounding{ball}.round(
                {.signs = signs, .magnitudes = reals, .tails = {}, .logs = {}, .exponentials = exponential, .normal = {}}, integers),
            0);
  EXPECT_EQ(integers[2], std::lround(std::exp(-1) * 0x1p20 * 12 / 13));
}

// Directions of which few digits are known, and factors beyond the range of integers.
TEST(VectorRounding, LeavesSmallVectorsToIntervals) {
  const std::vector<std::uint64_t> signs{0};
  const auto power = law(Shape::power, 3, Radial::root_of_chi_square, 2, 2);
  const VectorRounding rounding{power};
  const std::vector<IdealReal> exponential{real(1)};
  const auto in_doubt = [&](std::uint64_t k) {
    const std::vector<IdealReal> reals(2, IdealReal{k, {std::uint64_t{1} << 62, 0}});
    const std::vector<std::uint64_t> tails(2, 0);
    std::vector<UnsignedWide> logs;
    for (const auto& g : reals) logs.push_back(rounding.power().decide(g, g, {~std::uint64_t{0}, 0}, {0, 0}).log);
    std::vector<std::int64_t> integers(2);
    const auto result = rounding.round(
        {.signs = signs, .magnitudes = reals, .tails = tails, .logs = logs, .exponentials = exponential, .normal = {}}, integers);
    // Two equal coordinates of a vector of norm sqrt(2 E).
    if (result == 0) {
      EXPECT_EQ(integers[0], std::lround(0x1p20 * std::sqrt(2 + 0x1p-30) * std::pow(0.5, 1.0 / 3))) << k;
    }
    return result != 0;
  };
  EXPECT_FALSE(in_doubt(std::uint64_t{1} << 30));
  EXPECT_FALSE(in_doubt(2));
  EXPECT_TRUE(in_doubt(0));
  const auto sphere = law(Shape::normal, 2, Radial::sphere, 0, 2);
  const std::vector<IdealReal> nothing(2);
  std::vector<std::int64_t> integers(2);
  EXPECT_NE(VectorRounding{sphere}.round({.signs = signs, .magnitudes = nothing, .tails = {}, .logs = {}, .exponentials = {}, .normal = {}},
                                         integers),
            0);
}

}  // namespace
}  // namespace surety::mechanisms::vector_rounding_test
