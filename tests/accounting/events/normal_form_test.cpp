#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>

#include <gtest/gtest.h>

#include <string>

namespace surety::accounting::normal_form_test {
namespace {

constexpr auto adjacency = Adjacency::zero_out;

Event event_of(const std::string& text) { return parse_event(text, adjacency); }

TEST(Plainest, WritesEveryLeafUnderTheNameWhoseCurveIsKnown) {
  for (const auto& [written, plain] :
       {std::pair{"generalized_gaussian(2, 5, 3)", "gaussian(3)"},
        {"k_norm(l1, 7, 2)", "laplace(2)"},
        {"k_norm(linf, 1, 2)", "laplace(2)"},
        {"repeat(3, k_norm(l1, 7, 2))", "repeat(3, laplace(2))"},
        {"compose(pure(1), generalized_gaussian(2, 5, 3))", "compose(pure(1), gaussian(3))"},
        {"parallel(generalized_gaussian(2, 5, 3), laplace(1))", "parallel(gaussian(3), laplace(1))"},
        {"poisson(0.1, compose(gaussian(2), generalized_gaussian(2, 5, 3)))", "poisson(0.1, compose(gaussian(2), gaussian(3)))"},
        {"shuffled(100, 10, k_norm(l1, 7, 2))", "shuffled(100, 10, laplace(2))"},
        {"last_iterate(1, 0.5, record_sum(2))", "record_sum(2)"},
        {"last_iterate(7, 0, gaussian(2))", "gaussian(2)"},
        {"last_iterate_within(3, 7, 0, gaussian(2))", "gaussian(2)"},
        {"last_iterate_within(3, 1, 1, gaussian(2))", "gaussian(2)"},
        {"last_iterate_of_passes(1, 7, 1, gaussian(2))", "gaussian(2)"},
        {"last_iterate_of_passes(7, 2, 0, gaussian(2))", "gaussian(2)"},
        {"last_iterate_of_passes(7, 1, 0.5, gaussian(2))", "last_iterate(7, 0.5, gaussian(2))"},
        {"repeat(2, last_iterate_of_passes(7, 1, 0.5, gaussian(2)))", "repeat(2, last_iterate(7, 0.5, gaussian(2)))"},
        {"deterministic(100, 10, k_norm(l1, 7, 2))", "deterministic(100, 10, laplace(2))"}}) {
    EXPECT_EQ(describe(plainest(event_of(written))), plain);
    EXPECT_EQ(plainest(event_of(written)).adjacency(), adjacency);
  }
  const auto batch = parse_event("without_replacement(100, 10, generalized_gaussian(2, 5, 3))", Adjacency::replace_one);
  EXPECT_EQ(describe(plainest(batch)), "without_replacement(100, 10, gaussian(3))");
}

TEST(Plainest, OfWhatHasNoOtherNameIsTheSameEventNotACopy) {
  for (const auto* text :
       {"gaussian(3)", "record_sum(3)", "generalized_gaussian(2.0000001, 5, 3)", "k_norm(l2, 7, 2)", "k_norm(linf, 2, 2)",
        "repeat(3, compose(laplace(2), parallel(gaussian(1), pure(2))))", "poisson(0.1, repeat(2, gaussian(2)))"}) {
    const auto event = event_of(text);
    EXPECT_EQ(&plainest(event).node(), &event.node()) << text;
  }
}

TEST(GaussianMuSquared, AddsUpOverReleasesAndIsTheLargestOfParts) {
  for (const auto& [text, squared] : {std::pair{"gaussian(2)", 0.25},
                                      {"generalized_gaussian(2, 9, 2)", 0.25},
                                      {"repeat(8, gaussian(2))", 2.0},
                                      {"compose(gaussian(2), repeat(3, gaussian(1)))", 3.25},
                                      {"parallel(gaussian(2), gaussian(1), repeat(2, gaussian(2)))", 1.0},
                                      {"repeat(3, parallel(gaussian(2), gaussian(4)))", 0.75},
                                      {"last_iterate(8, 1, gaussian(2))", 2.0},
                                      {"users(3, last_iterate(4, 1, gaussian(4)))", 2.25},
                                      {"last_iterate_of_passes(5, 4, 1, gaussian(2))", 0.5},
                                      {"compose(last_iterate_of_batches(3, 1, 4, 2, gaussian(2)), gaussian(2))", 0.3125},
                                      {"deterministic(100, 10, compose(gaussian(2), gaussian(2)))", 0.5},
                                      {"compose(gaussian(2), deterministic(100, 10, parallel(gaussian(1), gaussian(2))))", 1.25}}) {
    for (const mpfr_prec_t precision : {64, 200}) {
      const auto found = gaussian_mu_squared(event_of(text), precision);
      ASSERT_TRUE(found) << text;
      EXPECT_EQ(found->enclosure(), (Enclosure{squared, squared})) << text;
    }
    EXPECT_FALSE(first_not_gaussian(event_of(text))) << text;
  }
  // Under replace-one a record moves by twice its bound.
  EXPECT_EQ(gaussian_mu_squared(parse_event("record_sum(2)", Adjacency::replace_one), 64)->enclosure(), (Enclosure{1, 1}));
}

TEST(GaussianMuSquared, IsNothingWhereAPartIsNoGaussianReleaseAndThatPartIsNamed) {
  for (const auto& [text, part] : {std::pair{"laplace(1)", "laplace(1)"},
                                   {"compose(gaussian(1), repeat(2, pure(1)))", "pure(1)"},
                                   {"parallel(gaussian(1), zcdp(1))", "zcdp(1)"},
                                   {"deterministic(100, 10, laplace(1))", "laplace(1)"},
                                   {"repeat(3, poisson(0.1, gaussian(1)))", "poisson(0.1, gaussian(1))"},
                                   {"compose(gaussian(1), shuffled(100, 10, gaussian(1)))", "shuffled(100, 10, gaussian(1))"}}) {
    EXPECT_FALSE(gaussian_mu_squared(event_of(text), 128)) << text;
    EXPECT_FALSE(gaussian_multiplier(event_of(text))) << text;
    ASSERT_TRUE(first_not_gaussian(event_of(text))) << text;
    EXPECT_EQ(describe(*first_not_gaussian(event_of(text))), part);
  }
}

}  // namespace
}  // namespace surety::accounting::normal_form_test
