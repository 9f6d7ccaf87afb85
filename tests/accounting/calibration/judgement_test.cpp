#include <surety/accounting/calibration/judgement.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/format.h>

namespace surety::accounting::judgement_test {
namespace {

constexpr auto adjacency = Adjacency::add_or_remove_one;

Target target(double epsilon, double delta) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}; }

Solution calibrated(const std::string& text, const Target& wanted) {
  return solve(
      [&](double z) {
        return parse_event(text, wanted.adjacency, {{"z", z}});
      },
      wanted, parameter_of(text, wanted.adjacency, "z"));
}

bool decided_at_first(const Event& event, const Target& claim) {
  return best_delta(event, claim.epsilon).value.upper <= claim.delta.value() ||
         best_epsilon(event, claim.delta).value.upper <= claim.epsilon.value();
}

/// What may be calibrated, and all accountants at their default width leave open.
TEST(Judgement, LooksCloserThanAnAnswerDoes) {
  const auto claim = target(1, 1e-6);
  const Event event = parse_event("allocated(24, gaussian(1.283073))", adjacency);
  EXPECT_FALSE(decided_at_first(event, claim));
  const auto found = judge(event, claim);
  EXPECT_TRUE(found.kept);
  EXPECT_FALSE(found.refuted);
  EXPECT_LE(found.epsilon.upper, 1);
  EXPECT_LE(found.delta.upper, 1e-6);
  EXPECT_GT(found.epsilon.lower, 0.9998);
  EXPECT_FALSE(found.accountant.empty());
}

TEST(Judgement, SaysWhatIsTooLow) {
  const auto claim = target(1, 1e-6);
  const auto found = judge(parse_event("allocated(22, gaussian(1.311))", adjacency), claim);
  EXPECT_TRUE(found.refuted);
  EXPECT_FALSE(found.kept);
  EXPECT_GE(found.epsilon.lower, 1);
  EXPECT_GE(found.delta.lower, 1e-6);
}

/// Bounds that lie apart for want of a theorem stay so, and nobody looks for ever.
TEST(Judgement, LeavesOpenWhatIsOpen) {
  const auto found = judge(parse_event("repeat(10, zcdp(0.009))", adjacency), target(2, 1e-6));
  EXPECT_FALSE(found.kept);
  EXPECT_FALSE(found.refuted);
  EXPECT_LT(found.epsilon.lower, 2);
  EXPECT_GT(found.epsilon.upper, 2);
}

TEST(Judgement, OfAClaimAtDelta0) {
  const Event event = parse_event("repeat(3, laplace(2))", adjacency);
  EXPECT_TRUE(judge(event, target(1.5, 0)).kept);
  EXPECT_TRUE(judge(event, target(1.4999, 0)).refuted);
}

/// Templates of each kind, by random numbers; those that take seconds last.
constexpr std::size_t quick_kinds = 20;
constexpr std::size_t kinds = 32;
struct Template {
  std::string text;
  Adjacency adjacency = Adjacency::add_or_remove_one;
};
Template random_template(std::mt19937_64& random, std::size_t kind) {
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>{least, most}(random); };
  constexpr auto replace = Adjacency::replace_one;
  constexpr auto zero = Adjacency::zero_out;
  switch (kind % kinds) {
    case 0: return {fmt::format("allocated({}, gaussian(z))", whole(5, 100))};
    case 1: return {fmt::format("repeat({}, allocated({}, gaussian(z)))", whole(2, 10), whole(10, 100))};
    case 2: return {fmt::format("repeat({}, users({}, poisson(0.01, gaussian(z))))", whole(10, 200), whole(2, 5))};
    case 3:
      return {fmt::format("compose(repeat({}, poisson(0.0{}, gaussian(z))), laplace({}))", whole(10, 500), whole(1, 9), whole(40, 300))};
    case 4: return {fmt::format("repeat({}, laplace(z))", whole(5, 200))};
    case 5: return {fmt::format("parallel(repeat({}, gaussian(z)), repeat({}, laplace(z)))", whole(2, 20), whole(2, 20))};
    case 6: return {fmt::format("repeat({}, poisson(0.{}, laplace(z)))", whole(5, 100), whole(1, 9))};
    case 7: return {fmt::format("compose(gaussian(z), repeat({}, gaussian({})))", whole(2, 5), whole(200, 600))};
    case 8: return {fmt::format("repeat({}, poisson(0.00{}, gaussian(z)))", whole(100, 5000), whole(1, 9))};
    case 9: return {fmt::format("compose(laplace(z), repeat({}, poisson(0.01, gaussian({}))))", whole(5, 50), whole(20, 60))};
    case 10: return {fmt::format("repeat({}, poisson(0.0{}, record_sum(z)))", whole(10, 500), whole(1, 9)), replace};
    case 11: return {fmt::format("repeat({}, without_replacement(5000, {}, gaussian(z)))", whole(10, 500), whole(20, 300)), replace};
    case 12: return {fmt::format("repeat({}, poisson(0.0{}, gaussian(z)))", whole(10, 500), whole(1, 9)), zero};
    case 13: return {fmt::format("cyclic({}, {}, 0.{}, gaussian(z))", whole(2, 10), whole(40, 400), whole(1, 9))};
    case 14: return {fmt::format("repeat({}, discrete_laplace(z, {}))", whole(2, 20), whole(1, 3))};
    case 15: return {fmt::format("repeat({}, k_norm(l2, {}, z))", whole(2, 20), whole(1, 10))};
    case 16: return {fmt::format("repeat({}, exponential(z))", whole(2, 40))};
    case 17: return {fmt::format("shuffled({}, {}, gaussian(z))", 50 * whole(20, 60), 50), replace};
    case 18: return {fmt::format("repeat({}, discrete_gaussian(z, {}))", whole(2, 20), whole(1, 3))};
    case 19: return {fmt::format("compose(gaussian(z), zcdp(0.000{}))", whole(1, 9)), zero};
    case 20: return {fmt::format("allocated({}, record_sum(z))", whole(5, 40)), replace};
    case 21: return {fmt::format("allocated({}, {}, gaussian(z))", whole(40, 100), whole(2, 4))};
    case 22: return {fmt::format("best_of(geometric_runs, {}, repeat({}, poisson(0.01, gaussian(z))))", whole(2, 20), whole(10, 100))};
    case 23: return {fmt::format("users({}, allocated({}, gaussian(z)))", whole(2, 3), whole(20, 60))};
    case 24: return {fmt::format("repeat({}, truncated_poisson(0.01, {}, 60000, gaussian(z)))", whole(10, 500), whole(690, 800)), zero};
    case 25: return {fmt::format("compose(exponential(0.0{}), repeat({}, gaussian(z)))", whole(1, 4), whole(2, 20))};
    case 26: return {fmt::format("repeat({}, mixture(0.2{}, 0.{}, 0.75, 1, gaussian(z)))", whole(2, 20), 5, whole(1, 9))};
    case 27: return {fmt::format("repeat({}, generalized_gaussian({}, {}, z))", whole(1, 10), whole(2, 5), whole(1, 10))};
    case 28:
      return {fmt::format("best_of(poisson_runs, {}, compose(gaussian(z), repeat({}, laplace({}))))", whole(1, 8), whole(1, 5),
                          whole(100, 500))};
    case 29: return {fmt::format("repeat({}, users({}, gaussian(z)))", whole(1, 50), whole(2, 9))};
    case 30: return {fmt::format("compose(repeat({}, poisson(0.05, laplace(z))), approx(0.0{}, 1e-12))", whole(2, 50), whole(1, 5)), zero};
    default: {
      // Two of the quick kinds beside each other, with the same noise.
      const auto first = random_template(random, std::size_t{random() % 10});
      return {fmt::format("compose({}, {})", first.text, random_template(random, std::size_t{random() % 10}).text)};
    }
  }
}

double seconds_since(std::clock_t before) { return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC; }

/// What calibration finds; nothing where it says that no noise is enough, and with hardly any cost of that noise the event costs more than the target indeed.
std::optional<Solution> calibrated_if_any(const std::string& text, const Target& wanted) {
  try {
    return calibrated(text, wanted);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unreachable) throw;
  }
  const auto of_hardly_anything = best_epsilon(parse_event(text, wanted.adjacency, {{"z", 1e12}}), wanted.delta).value;
  EXPECT_GT(of_hardly_anything.lower, wanted.epsilon.value());
  return std::nullopt;
}

/// The rows of docs/results/judgements.csv, where SURETY_JUDGEMENT_ROWS names a file; nowhere else.
class Rows {
 public:
  Rows() {
    if (const char* const path = std::getenv("SURETY_JUDGEMENT_ROWS")) out_.open(path);
    if (out_) out_ << "event,adjacency,epsilon,delta,noise,lower,upper,judgement,at first,calibrated s,judged s\n";
  }
  void add(const std::string& text, const Target& wanted, double noise, const Judgement& found, bool at_first, double calibrated_s,
           double judged_s) {
    if (!out_) return;
    out_ << fmt::format("\"{}\",{},{},{:.3g},{:.7g},{:.7g},{:.7g},{},{},{:.2f},{:.2f}\n", text, name(wanted.adjacency),
                        wanted.epsilon.value(), wanted.delta.value(), noise, found.epsilon.lower, found.epsilon.upper,
                        found.kept      ? "kept"
                        : found.refuted ? "refuted"
                                        : "not proved",
                        at_first ? "proved" : "open", calibrated_s, judged_s)
         << std::flush;
  }
  void add_out_of_reach(const std::string& text, const Target& wanted) {
    if (!out_) return;
    out_ << fmt::format("\"{}\",{},{},{:.3g},,,,out of reach,,,\n", text, name(wanted.adjacency), wanted.epsilon.value(),
                        wanted.delta.value())
         << std::flush;
  }

 private:
  std::ofstream out_;
};

/// None of what calibration returns is "not proved". SURETY_JUDGEMENT_CASES says how many are tried, after the first SURETY_JUDGEMENT_FIRST: one of each
/// quick kind here, 1,000 of all kinds in scripts/judgements, which also says how long the slowest took.
TEST(Judgement, KeepsWhatCalibrationReturns) {
  const char* const asked = std::getenv("SURETY_JUDGEMENT_CASES");
  const std::size_t cases = asked != nullptr ? std::strtoull(asked, nullptr, 10) : quick_kinds;
  const char* const before_first = std::getenv("SURETY_JUDGEMENT_FIRST");
  const std::size_t first = before_first != nullptr ? std::strtoull(before_first, nullptr, 10) : 0;
  std::size_t out_of_reach = 0;
  std::mt19937_64 random{20240229};
  constexpr double epsilons[] = {0.1, 0.3, 0.5, 1};
  std::size_t open_at_first = 0;
  double slowest = 0;
  std::string slowest_event;
  Rows rows;
  for (std::size_t i = 0; i < cases; ++i) {
    const auto [text, adjacent] = random_template(random, i);
    Target wanted = target(epsilons[random() % 4], std::pow(10.0, -5.0 - static_cast<double>(random() % 4)));
    wanted.adjacency = adjacent;
    if (i < first) continue;
    SCOPED_TRACE(fmt::format("{} at epsilon {} and delta {}", text, wanted.epsilon, wanted.delta));
    const std::clock_t start = std::clock();
    const auto found = calibrated_if_any(text, wanted);
    if (!found) {
      ++out_of_reach;
      rows.add_out_of_reach(text, wanted);
      continue;
    }
    const double calibrated_s = seconds_since(start);
    const std::clock_t before = std::clock();
    const auto judgement = judge(found->event, wanted);
    const double seconds = seconds_since(before);
    if (seconds > slowest) {
      slowest = seconds;
      slowest_event = describe(found->event);
    }
    EXPECT_TRUE(judgement.kept) << describe(found->event);
    EXPECT_FALSE(judgement.refuted);
    EXPECT_LE(judgement.epsilon.upper, wanted.epsilon.value());
    EXPECT_LE(epsilon_beside(found->event, wanted).upper, wanted.epsilon.value()) << describe(found->event);
    const bool at_first = decided_at_first(found->event, wanted);
    open_at_first += at_first ? 0U : 1U;
    rows.add(text, wanted, found->value, judgement, at_first, calibrated_s, seconds);
  }
  EXPECT_LE(10 * out_of_reach, cases - first) << "most targets say something";
  RecordProperty("open_at_first", static_cast<int>(open_at_first));
  fmt::print("{} of {} are open at the default width, {} out of reach; the slowest judgement, of {}, took {:.2g} s\n", open_at_first, cases,
             out_of_reach, slowest_event, slowest);
}

/// What is told beside a promise is asked as hard as the calibration asked, and a promise that is far says nothing.
TEST(Judgement, TellsACostBesideItsPromise) {
  const auto promise = target(1, 1e-6);
  const Event event = parse_event("allocated(24, gaussian(1.283073))", adjacency);
  EXPECT_GT(quick_epsilon(event, promise.delta).upper, 1);
  const auto beside = epsilon_beside(event, promise);
  EXPECT_LT(beside.upper, 1) << "the number, not the promise in its place";
  EXPECT_GT(beside.lower, 0.9998);
  const Enclosure known{0.2, 3};
  EXPECT_EQ(epsilon_beside(event, target(4, 1e-6), known), known);
  EXPECT_EQ(epsilon_beside(event, target(0.1, 1e-6), known), known);
}

}  // namespace
}  // namespace surety::accounting::judgement_test
