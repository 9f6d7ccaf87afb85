#include <surety/accounting/answers/tabulated_curve.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/text/error.h>

#include <support/refusal.h>

namespace surety::accounting::tabulated_curve_test {
namespace {

const Event event = gaussian(NoiseMultiplier{1.5}, Adjacency::add_or_remove_one);
const CurveRange nine{.from = 0.25, .to = 0.75, .points = 9};

/// Each point holds what another way answers there, and the points are where they were asked for.
TEST(TabulatedCurve, HoldsTheAnswerAtEveryPoint) {
  const ClosedForm by;
  for (const auto kind : {CurveKind::delta, CurveKind::epsilon, CurveKind::tradeoff}) {
    const auto curve = tabulated(event, kind, nine);
    ASSERT_EQ(curve.points.size(), 9U) << name(kind);
    for (std::size_t k = 0; k < 9; ++k) {
      const auto& [x, y] = curve.points[k];
      const double share = static_cast<double>(k) / 8;
      EXPECT_NEAR(x, kind == CurveKind::epsilon ? 0.25 * std::pow(3, share) : 0.25 + 0.5 * share, 1e-12) << name(kind);
      const auto other = kind == CurveKind::delta     ? delta(by, event, Epsilon{x})
                         : kind == CurveKind::epsilon ? epsilon(by, event, Delta{x})
                                                      : gaussian_tradeoff(Mu{1 / 1.5}, Probability{x});
      EXPECT_LE(y.lower, other.upper) << name(kind) << " at " << x;
      EXPECT_GE(y.upper, other.lower) << name(kind) << " at " << x;
      EXPECT_LE(y.upper - y.lower, 1e-2) << name(kind) << " at " << x;
    }
    EXPECT_EQ(curve.points.back().x, 0.75) << "the end itself, not what rounding makes of it";
  }
}

TEST(TabulatedCurve, IsWrittenAsCsv) {
  const TabulatedCurve curve{.event = event,
                             .kind = CurveKind::epsilon,
                             .points = {{1e-5, Enclosure{1, 1.5}}, {0.1, Enclosure{0, std::numeric_limits<double>::infinity()}}}};
  EXPECT_EQ(csv(curve), "delta,epsilon_lower,epsilon_upper\n1e-05,1,1.5\n0.1,0,infinity\n");
}

std::string refusal_of(CurveKind kind, const CurveRange& range, std::string_view mark = "") {
  return refusal([&] {
    range.validate(kind, mark);
    return 0;
  });
}

TEST(TabulatedCurve, RefusesRangesThatAreNone) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal_of(CurveKind::delta, {3, 1}, "--"), "--to is 1, must be greater than --from, 3");
  EXPECT_EQ(refusal_of(CurveKind::delta, {1, std::nan("")}), "to is nan, must be greater than from, 1");
  EXPECT_EQ(refusal_of(CurveKind::delta, {0, infinity}), "from and to must be finite");
  EXPECT_EQ(refusal_of(CurveKind::epsilon, {0, 0.1}), "from is 0, must be greater than 0");
  EXPECT_EQ(refusal_of(CurveKind::delta, {0, 0.1}), "no error");
  EXPECT_EQ(refusal_of(CurveKind::delta, {0, 1, 1}), "points is 1, must be from 2 to 10000");
  EXPECT_EQ(refusal_of(CurveKind::delta, {0, 1, 10'001}, "--"), "--points is 10001, must be from 2 to 10000");
  EXPECT_THROW(static_cast<void>(tabulated(event, CurveKind::delta, {3, 1})), Error);
  EXPECT_THROW(static_cast<void>(tabulated(event, CurveKind::delta, {-1, 1})), Error) << "no epsilon";
  EXPECT_THROW(static_cast<void>(parse_curve_kind("rate")), Error);
  EXPECT_EQ(parse_curve_kind("tradeoff"), CurveKind::tradeoff);
}

}  // namespace
}  // namespace surety::accounting::tabulated_curve_test
