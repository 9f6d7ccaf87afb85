#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/contour/terms.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>

#include <support/random.h>

namespace surety::accounting::contour_test {
namespace {

using reference::log_uniform;

static_assert(Accountant<Contour>);

constexpr auto adjacency = Adjacency::add_or_remove_one;
constexpr Direction both[] = {Direction::remove, Direction::add};

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }
Event batch(double rate, double multiplier) { return poisson(SamplingRate{rate}, noise(multiplier)); }
Event batches(std::uint64_t count, double rate, double multiplier) { return repeat(Count{count}, batch(rate, multiplier)); }

Enclosure epsilon_at(const Event& event, double delta, double width = 1e-8) { return epsilon(Contour{width}, event, Delta{delta}); }
Enclosure delta_at(const Event& event, double epsilon) { return delta(Contour{}, event, Epsilon{epsilon}); }

bool within(const Enclosure& inner, const Enclosure& outer) { return outer.lower <= inner.lower && inner.upper <= outer.upper; }

/// Truth to all the digits that are printed.
bool agrees(const Enclosure& enclosure, double printed, double half_digit) {
  return enclosure.lower <= printed + half_digit && printed - half_digit <= enclosure.upper;
}

// ---- Truth by other means: one sampled batch and Gaussian noise, by a plain integral over the batch's outcome ----

using Long = long double;

Long normal_tail(Long x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }
Long gaussian_curve(Long mu, Long at) { return normal_tail(at / mu - mu / 2) - std::exp(at) * normal_tail(at / mu + mu / 2); }

/// delta(epsilon) of compose(gaussian(noise), poisson(rate, gaussian(multiplier))): the mean, over the loss of the batch, of the
/// Gaussian's delta at what is left of epsilon.
Long mixed_delta(double rate, double multiplier, double noise, double epsilon, Direction direction) {
  const Long mu = 1 / static_cast<Long>(multiplier);
  const Long rest = 1 / static_cast<Long>(noise);
  constexpr Long step = 0.02L;
  Long sum = 0;
  for (int j = -1'200; j <= 1'200; ++j) {
    const Long u = j * step;
    const Long ratio = 1 - static_cast<Long>(rate) + static_cast<Long>(rate) * std::exp(mu * u - mu * mu / 2);
    const Long density = std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi_v<Long>);
    sum += direction == Direction::remove ? density * ratio * gaussian_curve(rest, epsilon - std::log(ratio))
                                          : density * gaussian_curve(rest, epsilon + std::log(ratio));
  }
  return sum * step;
}

struct Mixed {
  double rate;
  double multiplier;
  double noise;
  double epsilon;

  [[nodiscard]] Event event() const { return compose({contour_test::noise(noise), batch(rate, multiplier)}); }
  [[nodiscard]] Long truth(Direction direction) const { return mixed_delta(rate, multiplier, noise, epsilon, direction); }
};

std::vector<Mixed> random_mixtures(int count) {
  std::mt19937_64 words{31337};
  std::vector<Mixed> cases;
  while (static_cast<int>(cases.size()) < count) {
    Mixed next{log_uniform(words, 1e-3, 0.999), log_uniform(words, 0.5, 5), log_uniform(words, 0.3, 6), log_uniform(words, 1e-3, 5)};
    // The reference is good to some 1e-17.
    if (next.truth(Direction::add) > 1e-4L) cases.push_back(next);
  }
  return cases;
}

constexpr Long reference_error = 1e-16L;

enum class Mutant { none, no_aliasing, no_truncation, no_quadrature, no_rounding };

bool contains(const ContourTerms& terms, Long truth, Long slack, Mutant mutant = Mutant::none) {
  const Long others = Long{mutant == Mutant::no_truncation ? 0 : terms.truncation} +
                      Long{mutant == Mutant::no_quadrature ? 0 : terms.quadrature} +
                      Long{mutant == Mutant::no_rounding ? 0 : terms.rounding};
  const Long aliasing = mutant == Mutant::no_aliasing ? 0 : terms.aliasing;
  return terms.sum - aliasing - others - slack <= truth && truth <= terms.sum + others + slack;
}

TEST(Contour, ContainsWhatAPlainIntegralFinds) {
  for (const auto& mixed : random_mixtures(100)) {
    for (const auto direction : both) {
      const auto answer = delta(Contour{}, mixed.event(), Epsilon{mixed.epsilon}, direction);
      const auto truth = mixed.truth(direction);
      EXPECT_LE(answer.lower, truth + reference_error) << describe(mixed.event()) << " at " << mixed.epsilon;
      EXPECT_GE(answer.upper, truth - reference_error) << describe(mixed.event()) << " at " << mixed.epsilon;
      EXPECT_LE(answer.width(), 1e-6 * answer.upper);
    }
  }
}

/// Every error is made visible in turn, and dropping its term is caught.
TEST(Contour, EveryTermIsNeeded) {
  struct Case {
    Mutant mutant;
    ContourShares shares;
  };
  const Case cases[] = {{Mutant::no_aliasing, {.aliasing = 0.1}},
                        {Mutant::no_truncation, {.truncation = 0.3}},
                        {Mutant::no_quadrature, {.quadrature = 1e4}},
                        {Mutant::no_quadrature, {.quadrature = 1e6}}};
  for (const auto& [mutant, shares] : cases) {
    int caught = 0;
    int asked = 0;
    for (const auto& mixed : random_mixtures(40)) {
      for (const auto direction : both) {
        const auto terms = contour_terms(mixed.event(), Epsilon{mixed.epsilon}, direction, shares);
        const auto truth = mixed.truth(direction);
        EXPECT_TRUE(contains(terms, truth, reference_error)) << describe(mixed.event()) << " at " << mixed.epsilon;
        caught += !contains(terms, truth, reference_error, mutant);
        ++asked;
      }
    }
    EXPECT_GE(caught, asked * 9 / 10) << static_cast<int>(mutant);
  }
}

/// At tiny multipliers the exponents are large and rounding is the largest error.
TEST(Contour, RoundingIsNeeded) {
  int caught = 0;
  for (int i = 0; i < 50; ++i) {
    const auto event = noise(0.001 + 0.0001 * i);
    const double at = epsilon(ClosedForm{}, event, Delta{1e-5}).upper;
    const auto terms = contour_terms(event, Epsilon{at}, Direction::remove, {1e-17, 1e-17, 1e-17});
    const auto truth = delta(ClosedForm{}, event, Epsilon{at});
    EXPECT_TRUE(contains(terms, truth.lower, 1e-20L) && contains(terms, truth.upper, 1e-20L)) << describe(event);
    caught += !contains(terms, truth.lower, 1e-20L, Mutant::no_rounding);
  }
  EXPECT_GE(caught, 40);
}

TEST(Contour, DirectionsSwappedIsCaught) {
  int caught = 0;
  for (const auto& mixed : random_mixtures(20)) {
    const auto answer = delta(Contour{}, mixed.event(), Epsilon{mixed.epsilon}, Direction::remove);
    caught += mixed.truth(Direction::add) < answer.lower - reference_error;
  }
  EXPECT_GE(caught, 18);
}

// ---- Truth in closed form ----

TEST(Contour, AgreesWithTheClosedFormOfGaussians) {
  std::mt19937_64 words{4711};
  for (int i = 0; i < 400; ++i) {
    const auto event = repeat(Count{static_cast<std::uint64_t>(log_uniform(words, 1, 1e5))}, noise(log_uniform(words, 0.02, 1e3)));
    const double at = i % 4 == 0 ? log_uniform(words, 1e-300, 0.9) : log_uniform(words, 1e-20, 0.9);
    const auto exact = epsilon(ClosedForm{}, event, Delta{at});
    const auto answer = epsilon_at(event, at);
    ASSERT_TRUE(overlap(answer, exact)) << describe(event) << " at " << at;
    // Where the closed form is much narrower, it must lie inside.
    ASSERT_TRUE(within(exact, answer) || answer.width() < 10 * exact.width()) << describe(event) << " at " << at;
    ASSERT_LE(answer.width(), 1e-8 * (1 + exact.upper)) << describe(event) << " at " << at;
    if (exact.upper == 0) continue;
    const double near = exact.upper * (1 + 0.3 * std::sin(i));
    const auto exact_delta = delta(ClosedForm{}, event, Epsilon{near});
    const auto answer_delta = delta_at(event, near);
    ASSERT_TRUE(within(exact_delta, answer_delta)) << describe(event) << " at epsilon " << near;
  }
}

TEST(Contour, SamplingEveryRecordIsNoSampling) {
  const auto sampled = repeat(Count{30}, batch(1, 7));
  EXPECT_EQ(epsilon_at(sampled, 1e-9), epsilon_at(repeat(Count{30}, noise(7)), 1e-9));
}

TEST(Contour, OneBatchIsSharedByAllItsReleases) {
  const auto two = poisson(SamplingRate{0.1}, repeat(Count{4}, noise(3)));
  EXPECT_TRUE(overlap(epsilon_at(repeat(Count{50}, two), 1e-6), epsilon_at(batches(50, 0.1, 1.5), 1e-6)));
}

// ---- The jobs ----

TEST(Contour, SampledGaussianTenThousandTimes) {
  const auto job = batches(10'000, 0.01, 1);
  const auto answer = epsilon_at(job, 1e-5);
  EXPECT_TRUE(agrees(answer, 6.187712390, 5e-10));
  EXPECT_LE(answer.width(), 1e-8);
  const auto add = epsilon(Contour{}, job, Delta{1e-5}, Direction::add);
  EXPECT_TRUE(agrees(add, 5.611508618, 5e-10));
  EXPECT_LE(add.width(), 1e-8);
  const auto back = delta_at(job, answer.upper);
  EXPECT_LE(back.lower, 1e-5);
  EXPECT_NEAR(back.upper, 1e-5, 1e-12);
}

TEST(Contour, TinyDeltas) {
  const auto job = batches(10'000, 0.01, 1);
  const std::pair<double, double> truths[] = {
      {1e-10, 9.3161385}, {1e-15, 11.7599785}, {1e-20, 13.8797727}, {1e-30, 17.6350611}, {1e-100, 40.4548447}};
  for (const auto& [at, truth] : truths) {
    for (const double width : {1e-6, 1e-8}) {
      const auto answer = epsilon_at(job, at, width);
      EXPECT_TRUE(agrees(answer, truth, 5e-8)) << at;
      EXPECT_LE(answer.width(), width) << at;
    }
  }
  EXPECT_LE(epsilon_at(job, 1e-300).width(), 1e-7);
}

TEST(Contour, SmallestNoiseOfAHundredThousandBatches) {
  const auto answer = epsilon_at(batches(100'000, 0.001, 1.50583356), 1e-6);
  EXPECT_TRUE(agrees(answer, 1, 1e-8));
  EXPECT_LE(answer.width(), 1e-8);
}

TEST(Contour, AThousandDifferentPairs) {
  std::vector<Event> parts;
  for (int i = 0; i < 1'000; ++i) parts.push_back(batches(10, 0.005 + 0.01 * i / 1'000, 1 + i / 1'000.0));
  const auto answer = epsilon_at(compose(parts), 1e-5, 1e-6);
  EXPECT_TRUE(agrees(answer, 3.1631240, 5e-8));
  EXPECT_LE(answer.width(), 1e-6);
}

// ---- Properties ----

RC_GTEST_PROP(Contour, MonotoneInDeltaAndCount, ()) {
  const auto unit = [](const char* name) { return *rc::gen::inRange(0, 1'000).as(name) / 1'000.0; };
  const double rate = 0.01 + 0.5 * unit("rate");
  const double multiplier = 0.8 + 3 * unit("multiplier");
  const auto count = static_cast<std::uint64_t>(200 + 2'000 * unit("count"));
  const double at = std::exp(-1 - 40 * unit("delta"));
  const auto here = epsilon_at(batches(count, rate, multiplier), at);
  RC_ASSERT(epsilon_at(batches(count, rate, multiplier), at / 2).upper >= here.lower);
  RC_ASSERT(epsilon_at(batches(count + 50, rate, multiplier), at).upper >= here.lower);
  RC_ASSERT(epsilon_at(batches(count, rate, multiplier * 1.1), at).lower <= here.upper);
  RC_ASSERT(epsilon_at(batches(count, rate * 0.9, multiplier), at).lower <= here.upper);
}

TEST(Contour, CompositionCommutesAndMerges) {
  const auto a = batches(300, 0.02, 1.1);
  const auto b = repeat(Count{20}, noise(30));
  const auto c = batches(500, 0.05, 3);
  const auto one = epsilon_at(compose({a, b, c}), 1e-7);
  EXPECT_TRUE(overlap(one, epsilon_at(compose({c, compose({a, b})}), 1e-7)));
  EXPECT_EQ(epsilon_at(compose({a, a}), 1e-7), epsilon_at(repeat(Count{2}, a), 1e-7));
}

TEST(Contour, TheWidthIsWhatIsAskedFor) {
  const auto job = batches(2'000, 0.03, 1.3);
  const auto fine = epsilon_at(job, 1e-6, 1e-10);
  for (const double width : {1e-2, 1e-4, 1e-6, 1e-8}) {
    const auto answer = epsilon_at(job, 1e-6, width);
    EXPECT_LE(answer.width(), width);
    EXPECT_TRUE(overlap(answer, fine));
  }
}

TEST(Contour, Ends) {
  const auto job = batches(1'000, 0.01, 2);
  EXPECT_EQ(epsilon_at(job, 0.9), (Enclosure{0, 0}));
  EXPECT_EQ(epsilon_at(job, 0).lower, std::numeric_limits<double>::infinity());
  const auto beyond = delta_at(job, 500);
  EXPECT_EQ(beyond.lower, 0);
  EXPECT_LE(beyond.upper, 1e-300);
  // The add direction's loss is at most 1,000 log(1 / 0.99) = 10.05.
  EXPECT_EQ(delta(Contour{}, job, Epsilon{11}, Direction::add), (Enclosure{0, 0}));
  EXPECT_TRUE(agrees(epsilon(Contour{}, job, Delta{0}, Direction::add), -1'000 * std::log1p(-0.01), 1e-9));
}

// ---- Refusals ----

void expect_refused(const Event& event, const std::string& named) {
  try {
    (void)epsilon_at(event, 1e-5);
    FAIL() << describe(event) << " was answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string{error.what()}.find(named), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("privacy-loss"), std::string::npos) << error.what();
  }
}

TEST(Contour, RefusesWhatItHasNoTheoremFor) {
  expect_refused(laplace(NoiseScale{2}, adjacency), "laplace(2)");
  expect_refused(compose({noise(1), pure(Epsilon{1}, adjacency)}), "pure(1)");
  expect_refused(poisson(SamplingRate{0.1}, laplace(NoiseScale{2}, adjacency)), "laplace(2)");
  const auto record = gaussian(NoiseMultiplier{1}, Adjacency::replace_one);
  expect_refused(without_replacement(Count{100}, Count{10}, record), "without_replacement");
  expect_refused(shuffled(Count{100}, Count{10}, record), "shuffled");
}

TEST(Contour, RefusesAWidthThatIsNone) {
  for (const double width : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW((void)epsilon_at(batches(100, 0.1, 2), 1e-5, width), Error) << width;
  }
}

TEST(Contour, RefusesWhatItCannotProve) {
  expect_refused(batch(0.001, 0.5), "poisson(0.001, gaussian(0.5))");   // one release: the characteristic function falls slowly
  expect_refused(batches(5, 1e-4, 1), "poisson(0.0001, gaussian(1))");  // nearly no loss at all
  expect_refused(batches(100, 0.01, 1e-3), "gaussian(0.001)");          // nearly an atom at infinity
}

// One line serves many epsilons: asked in any order, the answers are those of lines made for each alone, and no wider.
TEST(ContourCurve, SaysWhatSingleAnswersSay) {
  const auto batch = [](double rate, double multiplier) {
    return poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, Adjacency::add_or_remove_one));
  };
  for (const Event& event :
       {repeat(Count{10'000}, batch(0.01, 1)), compose({repeat(Count{500}, batch(0.02, 1.5)), repeat(Count{300}, batch(0.01, 2))}),
        repeat(Count{20}, gaussian(NoiseMultiplier{8}, Adjacency::add_or_remove_one))}) {
    const ContourCurve curve{event};
    const ContourCurve rough{event, {}, 1e-6};
    for (int i = 0; i < 120; ++i) {
      const Epsilon at{(i * 37) % 120 * 0.05};
      const auto found = curve(at);
      const auto alone = delta(Contour{}, event, at);
      EXPECT_TRUE(overlap(found, alone)) << describe(event) << ' ' << at.value();
      EXPECT_LE(found.width(), 1.5 * alone.width() + 1e-15 * alone.upper) << describe(event) << ' ' << at.value();
      // Where so much is enough it is no wider than that.
      const auto roughly = rough(at);
      EXPECT_TRUE(overlap(roughly, alone)) << describe(event) << ' ' << at.value();
      EXPECT_LE(roughly.width(), 1.5 * alone.width() + 1.001e-6 * alone.upper) << describe(event) << ' ' << at.value();
    }
  }
  EXPECT_THROW(ContourCurve{laplace(NoiseScale{1}, Adjacency::add_or_remove_one)}, Error);
}

}  // namespace
}  // namespace surety::accounting::contour_test
