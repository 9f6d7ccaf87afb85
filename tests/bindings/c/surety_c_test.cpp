// The C functions against the library they speak for, which is linked into this program once more: two copies side by side.
#include <surety.h>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_text.h>
#include <surety/mechanisms/additive/binomial.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/skellam.h>
#include <surety/mechanisms/additive/truncated_geometric.h>

#include <support/foreign_floating_point.h>
#include <support/temporary_folder.h>

namespace surety::surety_c_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A failure with its message, freed.
class Failure {
 public:
  ~Failure() { surety_failure_free(failure_); }
  Failure() = default;
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  operator surety_failure**() {  // NOLINT(google-explicit-constructor): the last argument of every call
    surety_failure_free(failure_);
    failure_ = nullptr;
    return &failure_;
  }
  [[nodiscard]] std::string message() const { return surety_failure_message(failure_); }

 private:
  surety_failure* failure_ = nullptr;
};

surety_event* event_of(const std::string& text, surety_adjacency adjacency = SURETY_ADD_OR_REMOVE_ONE) {
  surety_event* event = nullptr;
  Failure failure;
  EXPECT_EQ(surety_event_parse(text.data(), text.size(), adjacency, &event, failure), SURETY_OK) << failure.message();
  return event;
}

surety_noise_options options_of(double scale, double sensitivity, std::size_t dimension = 1) {
  surety_noise_options options{};
  options.size = sizeof options;
  options.scale = scale;
  options.sensitivity = sensitivity;
  options.dimension = dimension;
  options.adjacency = SURETY_ZERO_OUT;
  return options;
}

void expect_same(const surety_enclosure& found, const Enclosure& expected) {
  EXPECT_EQ(found.lower, expected.lower);
  EXPECT_EQ(found.upper, expected.upper);
}

TEST(SuretyC, SaysWhatTheLibrarySaysToTheLastBit) {
  for (const auto* text : {"gaussian(1)", "repeat(10000, poisson(0.01, gaussian(1)))", "laplace(2)"}) {
    auto* const event = event_of(text);
    const Event own = parse_event(text, Adjacency::add_or_remove_one);
    Failure failure;
    surety_enclosure found{};
    const char* accountant = nullptr;
    ASSERT_EQ(surety_epsilon(event, 1e-5, 0, &found, &accountant, failure), SURETY_OK) << failure.message();
    const auto best = accounting::best_epsilon(own, Delta{1e-5});
    expect_same(found, best.value);
    EXPECT_EQ(accountant, best.accountant);
    ASSERT_EQ(surety_delta(event, 1.5, 1e-3, &found, nullptr, failure), SURETY_OK) << failure.message();
    expect_same(found, accounting::best_delta(own, Epsilon{1.5}, {.width = 1e-3}).value);
    const std::array at{0.5, 1.0, 2.0};
    std::array<surety_enclosure, 3> curve{};
    ASSERT_EQ(surety_curve(event, at.data(), at.size(), 1e-3, curve.data(), failure), SURETY_OK) << failure.message();
    const accounting::QuickCurve quick{own, {.width = 1e-3}};
    for (std::size_t i = 0; i < at.size(); ++i) expect_same(curve[i], quick(Epsilon{at[i]}));
    const double rate = 0.05;
    ASSERT_EQ(surety_tradeoff(event, &rate, 1, 1e-3, &found, failure), SURETY_OK) << failure.message();
    expect_same(found, accounting::tradeoff(accounting::QuickCurve{own, {.width = 1e-3}}, Probability{rate}));
    surety_event_free(event);
  }
}

TEST(SuretyC, SaysWhatAnAnswerRestsOn) {
  const std::string text = "repeat(10, poisson(0.01, gaussian(1)))";
  auto* const event = event_of(text);
  const Event own = parse_event(text, Adjacency::add_or_remove_one);
  Failure failure;
  char* json = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(surety_event_explain(event, SURETY_EPSILON_AT_DELTA, 1e-5, 0, &json, &length, failure), SURETY_OK) << failure.message();
  const auto answer = nlohmann::json::parse(std::string{json, length});
  surety_free(json);
  const auto best = accounting::best_epsilon(own, Delta{1e-5});
  EXPECT_EQ(answer.at("epsilon").at("upper").get<double>(), best.value.upper);
  EXPECT_EQ(answer.at("explanation").get<std::vector<std::string>>(), accounting::explanation(own, best));
  EXPECT_EQ(answer.at("accountants").size(), best.opinions.size());
  EXPECT_EQ(answer.at("independent").at("accountant"), second_opinion(best)->accountant);
  EXPECT_EQ(answer.at("version"), 1);
  ASSERT_EQ(surety_event_explain(event, SURETY_DELTA_AT_EPSILON, 1.5, 1e-3, &json, nullptr, failure), SURETY_OK) << failure.message();
  EXPECT_EQ(nlohmann::json::parse(json).at("delta").at("upper").get<double>(),
            accounting::best_delta(own, Epsilon{1.5}, {.width = 1e-3}).value.upper);
  surety_free(json);
  json = nullptr;
  EXPECT_EQ(surety_event_explain(event, 2, 1e-5, 0, &json, &length, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message(), "question is 2, must be one of surety_questions");
  EXPECT_EQ(json, nullptr);
  surety_event_free(event);
}

TEST(SuretyC, SaysWhatAnAttackerGets) {
  auto* const event = event_of("gaussian(2)");
  surety_risk risk{};
  risk.size = sizeof risk;
  risk.prior = 0.25;
  risk.false_positive_rate = 0.1;
  Failure failure;
  ASSERT_EQ(surety_event_risk(event, 0, &risk, failure), SURETY_OK) << failure.message();
  accounting::RiskQuestions questions;
  questions.prior = Probability{0.25};
  questions.false_positive_rates = {Probability{0.1}};
  const auto own = accounting::risk(parse_event("gaussian(2)", Adjacency::add_or_remove_one), questions);
  expect_same(risk.advantage, own.advantage);
  expect_same(risk.true_positive_rate, own.rates.front().true_positive_rate);
  expect_same(risk.accuracy, own.accuracy);
  expect_same(risk.mu, own.mu);
  surety_event_free(event);
}

TEST(SuretyC, FindsTheLeastNoise) {
  const std::string text = "repeat(100, gaussian(z))";
  surety_solution solution{};
  solution.size = sizeof solution;
  surety_event* solved = nullptr;
  Failure failure;
  ASSERT_EQ(surety_solve(text.data(), text.size(), "z", 1, SURETY_REPLACE_ONE, 1, 1e-6, 0, &solution, &solved, failure), SURETY_OK)
      << failure.message();
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = Adjacency::replace_one};
  const auto own = solve(
      [&](double value) {
        return parse_event(text, target.adjacency, {{"z", value}});
      },
      target, parameter_of(text, target.adjacency, "z"));
  EXPECT_EQ(solution.value, own.value);
  EXPECT_EQ(solution.failing, own.failing.value());
  EXPECT_EQ(solution.gap, own.gap);
  EXPECT_LE(solution.epsilon.upper, 1);
  char* described = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(surety_event_text(solved, &described, &length, failure), SURETY_OK);
  EXPECT_EQ(std::string(described, length), describe(own.event));
  EXPECT_EQ(std::strlen(described), length);
  surety_free(described);
  EXPECT_EQ(surety_event_adjacency(solved), SURETY_REPLACE_ONE);
  surety_event_free(solved);
  EXPECT_EQ(surety_solve(text.data(), text.size(), "z", 1, SURETY_REPLACE_ONE, 1, 0, 0, &solution, nullptr, failure), SURETY_UNREACHABLE);
}

TEST(SuretyC, EventsComeBackFromTheirJson) {
  auto* const event = event_of("repeat(3, poisson(0.1, gaussian(2)))", SURETY_ZERO_OUT);
  Failure failure;
  char* json = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(surety_event_json(event, &json, &length, failure), SURETY_OK);
  surety_event* again = nullptr;
  ASSERT_EQ(surety_event_parse_json(json, length, &again, failure), SURETY_OK) << failure.message();
  char* text = nullptr;
  ASSERT_EQ(surety_event_text(again, &text, nullptr, failure), SURETY_OK);
  EXPECT_STREQ(text, "repeat(3, poisson(0.1, gaussian(2)))");
  EXPECT_EQ(surety_event_adjacency(again), SURETY_ZERO_OUT);
  surety_free(text);
  surety_free(json);
  surety_event_free(again);
  surety_event_free(event);
}

// One line and the right code for what is wrong, and nothing written.
TEST(SuretyC, RefusesWithAMessage) {
  Failure failure;
  auto* const event = event_of("gaussian(1)");
  surety_enclosure found{-1, -1};
  EXPECT_EQ(surety_epsilon(nullptr, 1e-5, 0, &found, nullptr, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message(), "event is NULL, must be given");
  EXPECT_EQ(surety_epsilon(event, 1e-5, 0, nullptr, nullptr, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message(), "epsilon is NULL, must be given");
  for (const double wrong : {nan, infinity, -1.0, 1.0}) {
    EXPECT_EQ(surety_epsilon(event, wrong, 0, &found, nullptr, failure), SURETY_INVALID_ARGUMENT) << wrong;
  }
  for (const double wrong : {nan, infinity, -1.0}) {
    EXPECT_EQ(surety_epsilon(event, 1e-5, wrong, &found, nullptr, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_delta(event, wrong, 0, &found, nullptr, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_curve(event, &wrong, 1, 0, &found, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_tradeoff(event, &wrong, 1, 0, &found, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(found.lower, -1);
    surety_noise* noise = nullptr;
    auto options = options_of(wrong, 1);
    EXPECT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_laplace_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_discrete_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_discrete_laplace_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    options = options_of(0, 1);
    EXPECT_EQ(surety_skellam_create(&options, wrong, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    options = options_of(1, wrong);
    EXPECT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(surety_discrete_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    options = options_of(1, 1);
    options.step = wrong;
    EXPECT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(noise, nullptr);
  }
  surety_event* made = nullptr;
  EXPECT_EQ(surety_event_parse("gauss(1)", 8, SURETY_ZERO_OUT, &made, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message().find('\n'), std::string::npos);
  EXPECT_EQ(surety_event_parse(nullptr, 0, SURETY_ZERO_OUT, &made, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(surety_event_parse(nullptr, 3, SURETY_ZERO_OUT, &made, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(surety_event_parse("gaussian(1)", 11, 7, &made, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(surety_event_parse_json("{}", 2, &made, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  surety_risk risk{};
  EXPECT_EQ(surety_event_risk(event, 0, &risk, failure), SURETY_INVALID_ARGUMENT) << "a size of 0";
  EXPECT_EQ(surety_epsilon(event, 2, 0, &found, nullptr, nullptr), SURETY_INVALID_ARGUMENT) << "nobody wants the message";
  auto* const unknown = event_of("shuffled(10, 2, k_norm(l2, 3, 1))", SURETY_ZERO_OUT);
  surety_event_free(unknown);
  surety_event_free(event);
  surety_event_free(nullptr);
  surety_noise_free(nullptr);
  surety_ledger_free(nullptr);
  surety_reservation_free(nullptr);
  surety_failure_free(nullptr);
  surety_free(nullptr);
  EXPECT_STREQ(surety_failure_message(nullptr), "");
  EXPECT_EQ(surety_abi_version(), 0);
}

/// Bits that a test knows.
int replay(void* context, unsigned char* bytes, std::size_t count) {
  static_cast<mechanisms::ReplayBits*>(context)->fill(std::as_writable_bytes(std::span{bytes, count}));
  return 0;
}
surety_bits replayed(mechanisms::ReplayBits& source) { return {sizeof(surety_bits), replay, &source, SURETY_I_VOUCH_FOR_THESE_BITS}; }

TEST(SuretyC, DrawsTheNoiseOfTheLibraryFromTheSameBits) {
  Failure failure;
  mechanisms::ReplayBits theirs{7};
  mechanisms::ReplayBits ours{7};
  const auto bits = replayed(theirs);
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * 10;
  auto expected = values;
  auto options = options_of(1.5, 2, values.size());
  options.bits = &bits;
  surety_noise* noise = nullptr;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_OK) << failure.message();
  ASSERT_EQ(surety_release_double(noise, values.data(), values.size(), failure), SURETY_OK) << failure.message();
  const mechanisms::GaussianOnReals gaussian{{.multiplier = NoiseMultiplier{1.5},
                                              .sensitivity = L2Sensitivity{2},
                                              .grid = mechanisms::grid_for(L2Sensitivity{2}, NoiseMultiplier{1.5}),
                                              .dimension = values.size(),
                                              .adjacency = Adjacency::zero_out}};
  gaussian.release_in_place(expected, ours);
  EXPECT_EQ(values, expected);
  surety_event* event = nullptr;
  ASSERT_EQ(surety_noise_event(noise, &event, failure), SURETY_OK);
  char* text = nullptr;
  ASSERT_EQ(surety_event_text(event, &text, nullptr, failure), SURETY_OK);
  EXPECT_EQ(text, describe(gaussian.event()));
  surety_free(text);
  surety_event_free(event);
  EXPECT_EQ(surety_release_double(noise, values.data(), values.size() - 1, failure), SURETY_INVALID_ARGUMENT) << "another dimension";
  std::int64_t whole = 0;
  EXPECT_EQ(surety_release_int64(noise, &whole, 1, failure), SURETY_INVALID_ARGUMENT);
  surety_noise_free(noise);
}

TEST(SuretyC, BitsMustBeVouchedForAndMayFail) {
  Failure failure;
  mechanisms::ReplayBits source{1};
  auto bits = replayed(source);
  auto options = options_of(2, 1);
  options.bits = &bits;
  surety_noise* noise = nullptr;
  bits.vouched_for = 1;
  EXPECT_EQ(surety_discrete_laplace_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_NE(failure.message().find("SURETY_I_VOUCH_FOR_THESE_BITS"), std::string::npos);
  bits = replayed(source);
  bits.fill = [](void*, unsigned char*, std::size_t) { return 1; };
  ASSERT_EQ(surety_discrete_laplace_create(&options, &noise, failure), SURETY_OK) << failure.message();
  std::int64_t value = 3;
  EXPECT_EQ(surety_release_int64(noise, &value, 1, failure), SURETY_ENVIRONMENT);
  surety_noise_free(noise);
}

TEST(SuretyC, NoiseOnIntegersHasItsSpread) {
  Failure failure;
  const auto options = options_of(20, 1);
  for (auto* const create : {surety_discrete_gaussian_create, surety_discrete_laplace_create}) {
    surety_noise* noise = nullptr;
    ASSERT_EQ(create(&options, &noise, failure), SURETY_OK) << failure.message();
    EXPECT_EQ(surety_noise_step(noise), 1);
    std::vector<std::int64_t> values(20000, 1000);
    ASSERT_EQ(surety_release_int64(noise, values.data(), values.size(), failure), SURETY_OK) << failure.message();
    double square = 0;
    for (const auto value : values) square += std::pow(static_cast<double>(value - 1000), 2) / static_cast<double>(values.size());
    const double expected = create == surety_discrete_gaussian_create ? 400 : 800;
    EXPECT_NEAR(square, expected, 0.15 * expected);
    double real = 0;
    EXPECT_EQ(surety_release_double(noise, &real, 1, failure), SURETY_INVALID_ARGUMENT);
    surety_noise_free(noise);
  }
}

// Every law there is, from the same bits as in the library.
TEST(SuretyC, DrawsEveryLawFromTheSameBits) {
  Failure failure;
  auto options = options_of(2, 3, 5);
  options.step = 0x1p-8;
  const auto released = [&](surety_noise* noise, auto values) {
    constexpr bool is_real = std::is_same_v<typename decltype(values)::value_type, double>;
    if constexpr (is_real) {
      EXPECT_EQ(surety_release_double(noise, values.data(), values.size(), failure), SURETY_OK) << failure.message();
      EXPECT_EQ(surety_noise_step(noise), 0x1p-8);
    } else {
      EXPECT_EQ(surety_release_int64(noise, values.data(), values.size(), failure), SURETY_OK) << failure.message();
    }
    surety_noise_free(noise);
    return values;
  };
  const std::vector<double> query{1, -2, 3.3, 1e300, nan};
  const auto own = [&](const auto& law) {
    mechanisms::ReplayBits bits{9};
    auto values = query;
    law.release_in_place(values, bits);
    return values;
  };
  surety_noise* noise = nullptr;
  const auto with_bits = [&](const auto& create) {
    static mechanisms::ReplayBits source{9};
    static surety_bits bits;
    source = mechanisms::ReplayBits{9};
    bits = replayed(source);
    options.bits = &bits;
    EXPECT_EQ(create(), SURETY_OK) << failure.message();
    return noise;
  };
  const std::array<decltype(mechanisms::KNorm::Options::sensitivity), 3> sensitivities{L1Sensitivity{3}, L2Sensitivity{3},
                                                                                       LinfSensitivity{3}};
  for (const surety_norm norm : {SURETY_L1, SURETY_L2, SURETY_LINF}) {
    auto* const made = with_bits([&] { return surety_k_norm_create(&options, norm, &noise, failure); });
    EXPECT_EQ(released(made, query), own(mechanisms::KNormOnReals{{.scale = NoiseScale{2},
                                                                   .sensitivity = sensitivities[static_cast<std::size_t>(norm)],
                                                                   .grid = Grid{-8},
                                                                   .dimension = Count{5},
                                                                   .adjacency = Adjacency::zero_out}}));
  }
  auto* made = with_bits([&] { return surety_generalized_gaussian_create(&options, 3, &noise, failure); });
  surety_event* event = nullptr;
  ASSERT_EQ(surety_noise_event(made, &event, failure), SURETY_OK);
  char* text = nullptr;
  ASSERT_EQ(surety_event_text(event, &text, nullptr, failure), SURETY_OK);
  EXPECT_STREQ(text, "generalized_gaussian(3, 5, 2)");
  surety_free(text);
  surety_event_free(event);
  EXPECT_EQ(released(made, query), own(mechanisms::GeneralizedGaussianOnReals{{.r = NormExponent{3},
                                                                               .multiplier = NoiseMultiplier{2},
                                                                               .sensitivity = LrSensitivity{3},
                                                                               .grid = Grid{-8},
                                                                               .dimension = Count{5},
                                                                               .adjacency = Adjacency::zero_out}}));
  made = with_bits([&] { return surety_laplace_create(&options, &noise, failure); });
  EXPECT_EQ(
      released(made, query),
      own(mechanisms::LaplaceOnReals{
          {.scale = NoiseScale{2}, .sensitivity = L1Sensitivity{3}, .grid = Grid{-8}, .dimension = 5, .adjacency = Adjacency::zero_out}}));
  made = with_bits([&] { return surety_truncated_geometric_create(&options, 0, 4, &noise, failure); });
  const std::vector<std::int64_t> counts(100, 2);
  auto expected = counts;
  mechanisms::ReplayBits bits{9};
  const auto own_of = [](const auto& law, auto values) {
    mechanisms::ReplayBits same{9};
    law.release_in_place(values, same);
    return values;
  };
  mechanisms::TruncatedGeometric{
      {.scale = NoiseScale{2}, .sensitivity = L1Sensitivity{3}, .range = mechanisms::IntegerRange{0, 4}, .adjacency = Adjacency::zero_out}}
      .release_in_place(expected, bits);
  EXPECT_EQ(released(made, counts), expected);
  options.scale = 0;
  const mechanisms::CoordinateSensitivity three{Count{3}};
  made = with_bits([&] { return surety_binomial_create(&options, 100, &noise, failure); });
  EXPECT_EQ(released(made, counts),
            own_of(mechanisms::Binomial{{.flips = Count{100}, .sensitivity = three, .adjacency = Adjacency::zero_out}}, counts));
  made = with_bits([&] { return surety_skellam_create(&options, 2.5, &noise, failure); });
  EXPECT_EQ(released(made, counts),
            own_of(mechanisms::Skellam{{.mean = PoissonMean{2.5}, .sensitivity = three, .adjacency = Adjacency::zero_out}}, counts));
}

TEST(SuretyC, FlipsAndMeansAreWhatTheirNoiseHas) {
  Failure failure;
  surety_noise* noise = nullptr;
  auto options = options_of(0, 1);
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{7}, (std::uint64_t{1} << 52) + 2, ~std::uint64_t{0}}) {
    EXPECT_EQ(surety_binomial_create(&options, wrong, &noise, failure), SURETY_INVALID_ARGUMENT) << wrong;
  }
  EXPECT_EQ(surety_skellam_create(&options, 0x1.1p50, &noise, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_NE(failure.message().find("at most 2^50"), std::string::npos) << failure.message();
  options.scale = 3;
  EXPECT_EQ(surety_binomial_create(&options, 100, &noise, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message(), "scale is 3, must be 0 where the number of flips is an argument");
  EXPECT_EQ(noise, nullptr);
}

// A thread that rounds otherwise, or flushes subnormal numbers, gets the same numbers and the same noise, and keeps its ways.
/// A sampler of the caller's that draws from another noise of surety.
struct OwnSampler {
  surety_noise* noise;
  std::uint64_t calls;
};
double draw_own(void* context) {
  auto& own = *static_cast<OwnSampler*>(context);
  ++own.calls;
  std::int64_t value = 0;
  return surety_release_int64(own.noise, &value, 1, nullptr) == SURETY_OK ? static_cast<double>(value) : nan;
}

void expect_counts(const surety_timing& timing, std::uint64_t draws) {
  EXPECT_EQ(timing.draws, draws);
  for (const auto* contrast : {&timing.magnitude, &timing.zero}) {
    EXPECT_EQ(contrast->first_draws + contrast->second_draws, draws);
    EXPECT_EQ(contrast->first_trimmed + contrast->second_trimmed, timing.trimmed);
  }
  EXPECT_EQ(timing.sign.first_draws + timing.sign.second_draws, timing.zero.second_draws);
  EXPECT_GT(timing.mean, 0);
  EXPECT_TRUE(std::isfinite(timing.magnitude.t));
  EXPECT_TRUE(std::isnan(timing.zero.t)) << "zeros are too few";
  EXPECT_LE(std::abs(timing.correlation), 1);
}

TEST(SuretyC, TimesSamplersOfItsOwnAndOfTheCaller) {
  surety_noise_options options = options_of(1e6, 1);
  OwnSampler own{nullptr, 0};
  Failure failure;
  ASSERT_EQ(surety_discrete_laplace_create(&options, &own.noise, failure), SURETY_OK) << failure.message();
  surety_timing timing{};
  timing.size = sizeof timing;
  timing.seconds = 1000;
  timing.most_draws = 20'000;
  ASSERT_EQ(surety_check_timing(draw_own, &own, &timing, failure), SURETY_OK) << failure.message();
  expect_counts(timing, 20'000);
  EXPECT_EQ(own.calls, 120'000U) << "a first batch of 100,000";
  ASSERT_EQ(surety_noise_check_timing(own.noise, &timing, failure), SURETY_OK) << failure.message();
  expect_counts(timing, 20'000);
  surety_noise_free(own.noise);
  options = options_of(1e6, 1, 3);
  options.step = 1;
  ASSERT_EQ(surety_gaussian_create(&options, &own.noise, failure), SURETY_OK) << failure.message();
  ASSERT_EQ(surety_noise_check_timing(own.noise, &timing, failure), SURETY_OK) << failure.message();
  expect_counts(timing, 20'000);
  surety_noise_free(own.noise);

  const surety_draw constant = [](void* /*context*/) { return -2.0; };
  ASSERT_EQ(surety_check_timing(constant, nullptr, &timing, failure), SURETY_OK) << failure.message();
  EXPECT_EQ(timing.verdict, SURETY_TIME_TOO_FEW);
  EXPECT_TRUE(std::isnan(timing.tail.t) && std::isnan(timing.correlation));
  EXPECT_EQ(timing.sign.first_draws, 20'000U);
  const surety_draw nothing = [](void* /*context*/) { return infinity; };
  EXPECT_EQ(surety_check_timing(nothing, nullptr, &timing, failure), SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message(), "draw returned inf, must be a finite number");
}

TEST(SuretyC, SaysTheSameHoweverTheThreadRounds) {
  const auto ask = [] {
    std::vector<double> found;
    surety_event* event = nullptr;
    surety_enclosure enclosure{};
    const std::string text = "repeat(100, poisson(0.01, gaussian(1.1)))";
    surety_event_parse(text.data(), text.size(), SURETY_ZERO_OUT, &event, nullptr);
    surety_epsilon(event, 1e-5, 0, &enclosure, nullptr, nullptr);
    found.insert(found.end(), {enclosure.lower, enclosure.upper});
    surety_event_free(event);
    mechanisms::ReplayBits source{3};
    const auto bits = replayed(source);
    auto options = options_of(1, 0x1p-140, 4);
    options.step = 0x1p-149;
    options.bits = &bits;
    surety_noise* noise = nullptr;
    surety_gaussian_create(&options, &noise, nullptr);
    std::array<float, 4> values{0x1p-145F, -0x1p-149F, 0, 0x1p-126F};
    surety_release_float(noise, values.data(), values.size(), nullptr);
    surety_noise_free(noise);
    // As bits: what flushes subnormal numbers cannot look at them.
    for (const float value : values) found.push_back(static_cast<double>(std::bit_cast<std::uint32_t>(value)));
    return found;
  };
  const auto expected = ask();
  EXPECT_GT(expected[1], expected[0]);
  for (const auto& environment : reference::foreign_environments()) {
    const auto found = reference::in(environment, [&] {
      const auto before = reference::control_words();
      auto values = ask();
      values.push_back(before == reference::control_words() ? 1 : 0);
      return values;
    });
    auto with_mark = expected;
    with_mark.push_back(1);
    EXPECT_EQ(found, with_mark) << environment.name;
  }
}

// What a copy of the process may do with what it inherited: see the header.
TEST(SuretyC, HandlesKnowThatTheProcessWasCopied) {
  auto* const event = event_of("gaussian(20)", SURETY_ZERO_OUT);
  mechanisms::ReplayBits source{1};
  const auto bits = replayed(source);
  auto options = options_of(1000, 1);
  surety_noise* system = nullptr;
  surety_noise* own = nullptr;
  ASSERT_EQ(surety_discrete_laplace_create(&options, &system, nullptr), SURETY_OK);
  options.bits = &bits;
  ASSERT_EQ(surety_discrete_laplace_create(&options, &own, nullptr), SURETY_OK);
  std::array<std::int64_t, 32> inherited{};
  ASSERT_EQ(surety_release_int64(system, inherited.data(), 1, nullptr), SURETY_OK) << "bits are drawn ahead from here on";
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::array<std::int64_t, 32> theirs{};
    std::int64_t value = 0;
    surety_enclosure found{};
    surety_failure* failure = nullptr;
    bool as_stated = surety_release_int64(system, theirs.data(), theirs.size(), nullptr) == SURETY_OK;
    as_stated = as_stated && surety_release_int64(own, &value, 1, &failure) == SURETY_INVALID_ARGUMENT && value == 0;
    as_stated = as_stated && std::string{surety_failure_message(failure)}.find("another process") != std::string::npos;
    as_stated = as_stated && surety_epsilon(event, 1e-6, 1e-3, &found, nullptr, nullptr) == SURETY_OK;
    surety_noise_free(own);
    surety_noise_free(system);
    const bool is_written = write(ends[1], theirs.data(), sizeof theirs) == static_cast<ssize_t>(sizeof theirs);
    _exit(as_stated && is_written ? 0 : 1);
  }
  std::array<std::int64_t, 32> ours{};
  std::array<std::int64_t, 32> theirs{};
  EXPECT_EQ(surety_release_int64(system, ours.data(), ours.size(), nullptr), SURETY_OK);
  EXPECT_EQ(surety_release_int64(own, ours.data(), 0, nullptr), SURETY_OK);
  EXPECT_EQ(read(ends[0], theirs.data(), sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(ours, theirs) << "the same noise twice";
  for (const int end : ends) close(end);
  surety_noise_free(own);
  surety_noise_free(system);
  surety_event_free(event);
}

TEST(SuretyC, FloatsAreExactOnTheirGridOrRefused) {
  Failure failure;
  auto options = options_of(1, 1, 4);
  surety_noise* noise = nullptr;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_OK);
  std::array<float, 4> values{1, 2, 3, 4};
  EXPECT_EQ(surety_release_float(noise, values.data(), values.size(), failure), SURETY_INVALID_ARGUMENT) << "a grid for doubles";
  EXPECT_EQ(values, (std::array<float, 4>{1, 2, 3, 4})) << "before a value was looked at";
  surety_noise_free(noise);
  options.step = 0x1p-12;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_OK) << failure.message();
  values = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30F, 1e-40F};
  ASSERT_EQ(surety_release_float(noise, values.data(), values.size(), failure), SURETY_OK) << failure.message();
  EXPECT_LT(std::abs(values[0]), 100) << "NaN counts as 0";
  EXPECT_EQ(values[1], 4096) << "2^24 steps";
  EXPECT_EQ(values[2], -4096);
  EXPECT_LT(std::abs(values[3]), 100);
  for (const float value : values) EXPECT_EQ(value, std::round(value * 4096) / 4096);
  surety_noise_free(noise);
  options.step = 3;
  EXPECT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_INVALID_ARGUMENT) << "no power of two";
}

TEST(SuretyC, LedgersChargeBeforeTheyRelease) {
  const TemporaryFolder folder;
  const auto path = (folder / "ledger.db").string();
  Failure failure;
  surety_budget budget{};
  budget.size = sizeof budget;
  budget.epsilon = 1;
  budget.delta = 1e-6;
  surety_ledger* ledger = nullptr;
  ASSERT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, &budget, nullptr, &ledger, failure), SURETY_OK) << failure.message();
  auto* const once = event_of("gaussian(20)", SURETY_ZERO_OUT);
  auto* const twice = event_of("repeat(2, gaussian(20))", SURETY_ZERO_OUT);
  surety_reservation* reservation = nullptr;
  ASSERT_EQ(surety_ledger_reserve(ledger, twice, nullptr, "note", 4, &reservation, failure), SURETY_OK) << failure.message();
  EXPECT_EQ(surety_reservation_run(reservation), 1);
  EXPECT_EQ(surety_reservation_spend(reservation, once, failure), SURETY_OK);
  EXPECT_EQ(surety_reservation_spend(reservation, twice, failure), SURETY_BUDGET_EXCEEDED) << "more than is left";
  EXPECT_EQ(surety_reservation_settle(reservation, 0, failure), SURETY_OK);
  EXPECT_EQ(surety_reservation_settle(reservation, 0, failure), SURETY_INVALID_ARGUMENT);
  surety_reservation_free(reservation);
  auto* const dear = event_of("gaussian(1)", SURETY_ZERO_OUT);
  EXPECT_EQ(surety_ledger_reserve(ledger, dear, nullptr, nullptr, 0, &reservation, failure), SURETY_BUDGET_EXCEEDED);
  EXPECT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &ledger, failure), SURETY_INVALID_ARGUMENT)
      << "it is there";
  char* json = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(surety_ledger_audit(ledger, 1e-6, &json, &length, failure), SURETY_OK) << failure.message();
  const std::string audit{json, length};
  EXPECT_NE(audit.find("\"kept\":true"), std::string::npos) << audit;
  EXPECT_NE(audit.find("\"charged\":\"gaussian(20)\""), std::string::npos) << audit;
  surety_free(json);
  surety_ledger* again = nullptr;
  ASSERT_EQ(surety_ledger_open(path.c_str(), &again, failure), SURETY_OK) << failure.message();
  // A copy of the process may not use what it inherited.
  const pid_t child = fork();
  if (child == 0) {
    surety_reservation* theirs = nullptr;
    _exit(surety_ledger_reserve(again, once, nullptr, nullptr, 0, &theirs, nullptr) == SURETY_INVALID_ARGUMENT ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  surety_ledger_free(again);
  surety_ledger_free(ledger);
  EXPECT_EQ(surety_ledger_open("/nowhere/at/all", &again, failure), SURETY_ENVIRONMENT);
  for (auto* const event : {once, twice, dear}) surety_event_free(event);
}

TEST(SuretyC, ALedgerBesideWhichAPipeWasPlacedIsNotOpened) {
  const TemporaryFolder folder;
  const auto path = (folder / "run.db").string();
  surety_ledger* ledger = nullptr;
  Failure failure;
  ASSERT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &ledger, failure), SURETY_OK) << failure.message();
  surety_ledger_free(ledger);
  for (const std::string ending : {"-journal", "-wal", "-shm"}) {
    ASSERT_EQ(::mkfifo((path + ending).c_str(), 0666), 0);
    ASSERT_EQ(surety_ledger_open(path.c_str(), &ledger, failure), SURETY_ENVIRONMENT);
    EXPECT_NE(failure.message().find("run.db" + ending), std::string::npos) << failure.message();
    ASSERT_EQ(::unlink((path + ending).c_str()), 0);
  }
  ASSERT_EQ(surety_ledger_open(path.c_str(), &ledger, nullptr), SURETY_OK);
  surety_ledger_free(ledger);
}

/// A reservation of `times` releases of this noise, and what is left of it.
class ReservedRun {
 public:
  ReservedRun(const TemporaryFolder& folder, const surety_noise* noise, int times) {
    const auto path = (folder / "run.db").string();
    EXPECT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &ledger_, nullptr), SURETY_OK);
    EXPECT_EQ(surety_noise_event(noise, &once_, nullptr), SURETY_OK);
    char* text = nullptr;
    EXPECT_EQ(surety_event_text(once_, &text, nullptr, nullptr), SURETY_OK);
    auto* const all = event_of("repeat(" + std::to_string(times) + ", " + text + ")", SURETY_ZERO_OUT);
    surety_free(text);
    EXPECT_EQ(surety_ledger_reserve(ledger_, all, nullptr, nullptr, 0, &reservation, nullptr), SURETY_OK);
    surety_event_free(all);
  }
  ~ReservedRun() {
    surety_event_free(once_);
    surety_reservation_free(reservation);
    surety_ledger_free(ledger_);
  }
  ReservedRun(const ReservedRun&) = delete;
  ReservedRun& operator=(const ReservedRun&) = delete;

  /// How many releases are left; uses them up.
  int left() {
    int spent = 0;
    while (surety_reservation_spend(reservation, once_, nullptr) == SURETY_OK) ++spent;
    return spent;
  }
  surety_reservation* reservation = nullptr;

 private:
  surety_ledger* ledger_ = nullptr;
  surety_event* once_ = nullptr;
};

int no_bits(void* /*context*/, unsigned char* /*bytes*/, std::size_t /*count*/) { return 1; }

TEST(SuretyC, WhatIsRefusedIsNotSpent) {
  const TemporaryFolder folder;
  Failure failure;
  surety_noise_options options{};
  options.size = sizeof options;
  options.scale = 2;
  options.sensitivity = 1;
  options.dimension = 3;
  options.adjacency = SURETY_ZERO_OUT;
  surety_noise* noise = nullptr;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_OK) << failure.message();
  ReservedRun run{folder, noise, 4};
  std::array<double, 5> doubles{};
  std::array<float, 5> floats{};
  std::array<std::int64_t, 5> integers{};
  auto* const reservation = run.reservation;
  const auto most = std::numeric_limits<std::size_t>::max();
  const std::vector<surety_code> refused{
      surety_reservation_release_double(reservation, noise, doubles.data(), 5, failure),
      surety_reservation_release_double(reservation, noise, nullptr, 3, failure),
      surety_reservation_release_double(reservation, noise, doubles.data(), most / 2, failure),
      surety_reservation_release_double(reservation, nullptr, doubles.data(), 3, failure),
      surety_reservation_release_float(reservation, noise, floats.data(), 3, failure),  // no step for floats
      surety_reservation_release_int64(reservation, noise, integers.data(), 3, failure),
      surety_reservation_release_sum_double(reservation, noise, doubles.data(), 1, 5, 1, doubles.data(), failure),
      surety_reservation_release_sum_double(reservation, noise, doubles.data(), 1, 3, 1.5, doubles.data(), failure),
      surety_reservation_release_sum_double(reservation, noise, doubles.data(), 1, 3, nan, doubles.data(), failure),
      surety_reservation_release_sum_double(reservation, noise, doubles.data(), 1, 3, 1, nullptr, failure),
      surety_reservation_release_sum_double(reservation, noise, nullptr, 1, 3, 1, doubles.data(), failure),
      surety_reservation_release_sum_double(reservation, noise, doubles.data(), most / 3, 3, 1, doubles.data(), failure),
      surety_reservation_release_sum_int64(reservation, noise, integers.data(), 1, 3, 1, integers.data(), failure),
  };
  for (std::size_t i = 0; i < refused.size(); ++i) EXPECT_EQ(refused[i], SURETY_INVALID_ARGUMENT) << i;
  EXPECT_EQ(surety_reservation_release_double(reservation, noise, doubles.data(), 3, failure), SURETY_OK) << failure.message();
  std::array<double, 3> sum{};
  EXPECT_EQ(surety_reservation_release_sum_float(reservation, noise, floats.data(), 1, 3, 1, sum.data(), failure), SURETY_OK)
      << failure.message();
  EXPECT_NE(sum[0], 0);
  // Where the bits fail, something may have been released: that is charged.
  surety_bits bits{sizeof bits, no_bits, nullptr, SURETY_I_VOUCH_FOR_THESE_BITS};
  options.bits = &bits;
  surety_noise* failing = nullptr;
  ASSERT_EQ(surety_gaussian_create(&options, &failing, failure), SURETY_OK) << failure.message();
  EXPECT_EQ(surety_reservation_release_double(reservation, failing, doubles.data(), 3, failure), SURETY_ENVIRONMENT);
  EXPECT_EQ(run.left(), 1) << "of four, two were released and one may have been";
  doubles.fill(7);
  EXPECT_EQ(surety_reservation_release_double(reservation, noise, doubles.data(), 3, failure), SURETY_BUDGET_EXCEEDED);
  EXPECT_NE(failure.message().find("beyond what is left"), std::string::npos) << failure.message();
  EXPECT_EQ(doubles[0], 7) << "what is not charged is not noised";
  surety_noise_free(failing);
  surety_noise_free(noise);
}

TEST(SuretyC, SumsRowsSoThatNoneErasesTheOthers) {
  Failure failure;
  surety_noise_options options{};
  options.size = sizeof options;
  options.scale = 0x1p-9;
  options.sensitivity = 1;
  options.dimension = 2;
  options.adjacency = SURETY_ZERO_OUT;
  surety_noise* noise = nullptr;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, failure), SURETY_OK) << failure.message();
  for (const double bad : {0.0, 1e30, infinity, -infinity, nan}) {
    std::vector<double> rows;
    std::vector<float> floats;
    for (int i = 0; i < 100; ++i) rows.insert(rows.end(), {0.0, 1.0});
    rows.insert(rows.end(), {bad, 0.0});
    for (const double value : rows) floats.push_back(static_cast<float>(value));
    std::array<double, 2> sum{};
    ASSERT_EQ(surety_release_sum_double(noise, rows.data(), 101, 2, 1, sum.data(), failure), SURETY_OK) << failure.message();
    EXPECT_NEAR(sum[1], 100, 0.5) << bad;
    EXPECT_NEAR(sum[0], bad == 1e30 ? 1 : 0, 0.5) << bad;
    ASSERT_EQ(surety_release_sum_float(noise, floats.data(), 101, 2, 1, sum.data(), failure), SURETY_OK) << failure.message();
    EXPECT_NEAR(sum[1], 100, 0.5) << bad;
  }
  surety_noise_free(noise);
  options.scale = 0.1;
  options.sensitivity = 10;
  ASSERT_EQ(surety_discrete_laplace_create(&options, &noise, failure), SURETY_OK) << failure.message();
  const std::array<std::int64_t, 4> rows{3, 4, std::numeric_limits<std::int64_t>::min(), 0};
  std::array<std::int64_t, 2> sum{};
  ASSERT_EQ(surety_release_sum_int64(noise, rows.data(), 2, 2, 10, sum.data(), failure), SURETY_OK) << failure.message();
  EXPECT_NEAR(static_cast<double>(sum[0]), -7, 3);
  EXPECT_NEAR(static_cast<double>(sum[1]), 4, 3);
  surety_noise_free(noise);
}

/// A context of the limits below: calls off from the third question on whether to.
int third_time(void* context) {
  auto& asked = *static_cast<int*>(context);
  return ++asked >= 3 ? 1 : 0;
}

TEST(SuretyC, QuestionsEndInTheirTime) {
  Failure failure;
  // Of minutes, if nobody stops it.
  std::string text = "compose(";
  for (int i = 0; i < 60; ++i) text += (i > 0 ? ", " : "") + std::string{"allocated("} + std::to_string(1000 + i) + ", gaussian(1))";
  auto* const event = event_of(text + ")");
  auto* const easy = event_of("gaussian(1)");
  surety_enclosure found{-1, -1};
  const auto is_stopped = [&](const char* why) {
    EXPECT_EQ(surety_epsilon(event, 1e-6, 0, &found, nullptr, failure), SURETY_STOPPED);
    EXPECT_NE(failure.message().find(why), std::string::npos) << failure.message();
    EXPECT_EQ(found.lower, -1);
    char* json = nullptr;
    EXPECT_EQ(surety_event_explain(event, SURETY_EPSILON_AT_DELTA, 1e-6, 0, &json, nullptr, failure), SURETY_STOPPED);
    const double at = 1;
    EXPECT_EQ(surety_curve(event, &at, 1, 0, &found, failure), SURETY_STOPPED);
  };
  ASSERT_EQ(surety_limit_questions(0.05, nullptr, nullptr, failure), SURETY_OK);
  is_stopped("longer than its limit of 0.05 seconds");
  // A limit is that of one thread.
  std::thread{[&] {
    surety_enclosure other{};
    EXPECT_EQ(surety_limit_questions(1000, nullptr, nullptr, nullptr), SURETY_OK);
    EXPECT_EQ(surety_epsilon(easy, 1e-6, 0, &other, nullptr, nullptr), SURETY_OK);
  }}.join();
  int asked = 0;
  ASSERT_EQ(surety_limit_questions(0, third_time, &asked, failure), SURETY_OK);
  is_stopped("called off");
  EXPECT_GE(asked, 3);
  ASSERT_EQ(surety_limit_questions(0, nullptr, nullptr, failure), SURETY_OK);
  EXPECT_EQ(surety_epsilon(easy, 1e-6, 0, &found, nullptr, failure), SURETY_OK);
  surety_event_free(easy);
  surety_event_free(event);
}

TEST(SuretyC, ACallbackThatCallsTheLibraryIsRefusedAndNothingElseChanges) {
  struct Inner {
    surety_event* event;
    int calls = 0;
    surety_code code = SURETY_OK;
    std::string message = {};
  };
  std::string text = "compose(";
  for (int i = 0; i < 60; ++i) text += (i > 0 ? ", " : "") + std::string{"allocated("} + std::to_string(1000 + i) + ", gaussian(1))";
  auto* const event = event_of(text + ")");
  auto* const easy = event_of("gaussian(1)");
  Inner inner{event};
  const surety_called_off calls_again = [](void* context) {
    auto& mine = *static_cast<Inner*>(context);
    surety_enclosure found{};
    surety_failure* failure = nullptr;
    mine.code = surety_epsilon(mine.event, 1e-6, 0, &found, nullptr, &failure);
    mine.message = surety_failure_message(failure);
    surety_failure_free(failure);
    return ++mine.calls >= 3 ? 1 : 0;
  };
  Failure failure;
  ASSERT_EQ(surety_limit_questions(0, calls_again, &inner, failure), SURETY_OK);
  surety_enclosure found{-1, -1};
  EXPECT_EQ(surety_epsilon(event, 1e-6, 0, &found, nullptr, failure), SURETY_STOPPED) << failure.message();
  EXPECT_EQ(inner.calls, 3);
  EXPECT_EQ(inner.code, SURETY_INVALID_ARGUMENT);
  EXPECT_EQ(inner.message, "a callback must not call this function of surety; return from the callback first");
  ASSERT_EQ(surety_limit_questions(0, nullptr, nullptr, failure), SURETY_OK) << "the thread may call again: " << failure.message();
  EXPECT_EQ(surety_epsilon(easy, 1e-6, 0, &found, nullptr, failure), SURETY_OK);
  surety_event_free(easy);
  surety_event_free(event);
}

TEST(SuretyC, NoMemoryHasSoManyValues) {
  auto* const event = event_of("gaussian(1)");
  Failure failure;
  const double at = 0.5;
  surety_enclosure found{-1, -1};
  // As bytes, this is 0 or 8.
  for (const std::size_t count : {std::size_t{1} << 61, (std::size_t{1} << 61) + 1, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(surety_curve(event, &at, count, 0, &found, failure), SURETY_INVALID_ARGUMENT);
    EXPECT_EQ(surety_tradeoff(event, &at, count, 0, &found, failure), SURETY_INVALID_ARGUMENT);
    surety_event* parsed = nullptr;
    EXPECT_EQ(surety_event_parse("gaussian(1)", count | std::size_t{1} << 63, SURETY_ZERO_OUT, &parsed, failure), SURETY_INVALID_ARGUMENT);
  }
  EXPECT_EQ(found.lower, -1);
  surety_event_free(event);
  // What cannot be held is the machine's refusal, not a defect.
  surety_noise_options options{};
  options.size = sizeof options;
  options.scale = 1;
  options.sensitivity = 1;
  surety_noise* noise = nullptr;
  ASSERT_EQ(surety_discrete_laplace_create(&options, &noise, failure), SURETY_OK) << failure.message();
  std::int64_t sum = 0;
  for (const std::size_t columns : {std::size_t{1} << 57, std::size_t{1} << 59, (std::size_t{1} << 60) - 1}) {
    EXPECT_EQ(surety_release_sum_int64(noise, nullptr, 0, columns, 1, &sum, failure), SURETY_ENVIRONMENT) << columns;
  }
  surety_noise_free(noise);
}

TEST(SuretyC, IsAskedByManyThreadsAtOnce) {
  auto* const event = event_of("repeat(100, poisson(0.01, gaussian(1)))");
  std::array<surety_enclosure, 8> found{};
  std::vector<std::thread> threads;
  for (auto& answer : found) {
    threads.emplace_back([event, &answer] { EXPECT_EQ(surety_epsilon(event, 1e-5, 0, &answer, nullptr, nullptr), SURETY_OK); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& answer : found) EXPECT_EQ(answer.upper, found.front().upper);
  surety_event_free(event);
}

TEST(SuretyC, ThreadsShareALedger) {
  const TemporaryFolder folder;
  surety_ledger* ledger = nullptr;
  ASSERT_EQ(surety_ledger_create((folder / "ledger.db").c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &ledger, nullptr), SURETY_OK);
  auto* const event = event_of("gaussian(20)", SURETY_ZERO_OUT);
  std::array<std::uint64_t, 4> runs{};
  std::vector<std::thread> threads;
  for (auto& run : runs) {
    threads.emplace_back([ledger, event, &run] {
      surety_reservation* reservation = nullptr;
      ASSERT_EQ(surety_ledger_reserve(ledger, event, nullptr, nullptr, 0, &reservation, nullptr), SURETY_OK);
      EXPECT_EQ(surety_reservation_settle(reservation, 0, nullptr), SURETY_OK);
      run = surety_reservation_run(reservation);
      surety_reservation_free(reservation);
    });
  }
  for (auto& thread : threads) thread.join();
  std::sort(runs.begin(), runs.end());
  EXPECT_EQ(runs, (std::array<std::uint64_t, 4>{1, 2, 3, 4}));
  surety_event_free(event);
  surety_ledger_free(ledger);
}

// What MPFR keeps for a thread, a kilobyte of constants, is given back when the thread ends.
TEST(SuretyC, ThreadsLeaveNoMemoryBehind) {
  // Takes a logarithm, and microseconds.
  mechanisms::ReplayBits source{1};
  const auto bits = replayed(source);
  auto options = options_of(1, 1, 10);
  options.bits = &bits;
  const auto ask = [&options] {
    surety_noise* noise = nullptr;
    EXPECT_EQ(surety_generalized_gaussian_create(&options, 3, &noise, nullptr), SURETY_OK);
    surety_noise_free(noise);
  };
  const auto ask_in_threads = [&](int count) {
    for (int i = 0; i < count; i += 2) {
      std::thread first{ask};
      std::thread second{ask};
      first.join();
      second.join();
    }
  };
  ask_in_threads(100);
  const auto before = mallinfo2().uordblks;
  ask_in_threads(10000);
  EXPECT_LT(static_cast<double>(mallinfo2().uordblks), static_cast<double>(before) + 1e6) << "10,000 threads leave ten megabytes otherwise";
}

}  // namespace
}  // namespace surety::surety_c_test
