#include <surety/accounting/accountants/pld/integer_noise_curve.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <surety/accounting/accountants/pld/pld.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::integer_noise_curve_test {
namespace {

Event event(const std::string& text) { return parse_event(text, Adjacency::replace_one); }

// Epsilons by sums of 60 digits in another program (mpmath).
TEST(IntegerNoiseCurve, HasTheEpsilonsOfItsSums) {
  struct Row {
    const char* text;
    double delta;
    double epsilon;
  };
  for (const auto& [text, delta, truth] :
       {Row{"binomial(1000, 1)", 1e-6, 0.244142500820298}, Row{"binomial(1000, 10)", 1e-9, 3.78123478991248},
        Row{"binomial(101, 3)", 1e-5, 2.55201392406747}, Row{"binomial(20, 2)", 1e-3, 3.19439354086812},
        Row{"skellam(0.5, 1)", 1e-6, 2.53354120027944}, Row{"skellam(100, 7)", 1e-9, 2.81800452984017},
        Row{"skellam(0.001, 1)", 1e-5, 7.59100381333339}, Row{"skellam(1000, 3)", 1e-20, 0.58469383214579}}) {
    SCOPED_TRACE(text);
    const auto found = IntegerNoiseCurve::of(event(text))->epsilon(delta);
    EXPECT_NEAR(found.lower, truth, 1e-12);
    EXPECT_NEAR(found.upper, truth, 1e-12);
    EXPECT_LE(found.lower, found.upper);
    const auto there = IntegerNoiseCurve::of(event(text))->delta(truth);
    EXPECT_NEAR(there.lower / delta, 1, 1e-9);
    EXPECT_NEAR(there.upper / delta, 1, 1e-9);
  }
}

// The widths that docs/proofs/pld.md#one-integer-noise states.
TEST(IntegerNoiseCurve, IsAsNarrowAsStated) {
  const auto width = [](const std::string& text) {
    const auto found = IntegerNoiseCurve::of(event(text))->epsilon(1e-9);
    return found.width();
  };
  EXPECT_LE(width("binomial(11560000, 100)"), 1e-12);  // a standard deviation of 1,700
  EXPECT_LE(width("skellam(1445000, 100)"), 1e-12);
  EXPECT_LE(width("binomial(17179869184, 1000)"), 2e-9);
  EXPECT_LE(width("skellam(2147483648, 1000)"), 2e-9);
}

TEST(IntegerNoiseCurve, HasItsEnds) {
  const auto flips = IntegerNoiseCurve::of(event("binomial(2, 1)"));
  // One of four results is impossible without the record.
  EXPECT_EQ(flips->epsilon(0.2).lower, INFINITY);
  EXPECT_EQ(flips->epsilon(0).upper, INFINITY);
  EXPECT_NEAR(flips->delta(1e300).upper, 0.25, 1e-15);
  EXPECT_EQ(IntegerNoiseCurve::of(event("skellam(9, 1)"))->epsilon(0).lower, INFINITY);
  EXPECT_EQ(IntegerNoiseCurve::of(event("skellam(9, 1)"))->epsilon(0.9).upper, 0);
  EXPECT_EQ(IntegerNoiseCurve::of(event("binomial(4, 5)")), nullptr);
}

TEST(IntegerNoiseCurve, IsWhatTheAccountantAnswersForOneRelease) {
  for (const char* text :
       {"binomial(300, 4)", "repeat(1, skellam(40, 2))", "users(2, skellam(40, 1))", "parallel(skellam(40, 2), skellam(40, 2))"}) {
    const auto answered = epsilon(Pld{}, event(text), Delta{1e-7});
    EXPECT_LE(answered.width(), 1e-12) << text;
  }
  EXPECT_THROW((void)epsilon(Pld{}, event("binomial(4, 5)"), Delta{1e-7}), Error);
  EXPECT_THROW((void)epsilon(Pld{}, event("binomial(17179869185, 5)"), Delta{1e-7}), Error);
}

}  // namespace
}  // namespace surety::accounting::integer_noise_curve_test
