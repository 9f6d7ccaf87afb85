// The accounting jobs, each by every accountant that can do it: account/<job>/<accountant>. A case checks that its enclosure
// contains the value that is known from independent high-precision methods; one that does not fails the run.
//
//   a  Poisson-sampled Gaussian, rate 0.01, multiplier 1, 10,000 times, delta = 1e-5, add-or-remove-one
//   b  the same, 100 times as narrow
//   c  smallest multiplier for epsilon = 1, delta = 1e-6, rate 0.001, 100,000 times
//   d  1,000 different Poisson-sampled Gaussians (multiplier 1 + i/1000, rate 0.005 + 0.01 i/1000), 10 times each, delta = 1e-5
//   e  Laplace of scale 10, 1,000 times, delta = 1e-6
//   f  job a at delta = 1e-10, 1e-15, 1e-20, 1e-30, 1e-100
//   best_of  the best of a random number of runs of mean 10: gaussian(1), and 1,000 rounds of training, delta = 1e-6
//   g  batches of 600 of 60,000 records without replacement, multiplier 1, 10,000 times, delta = 1e-5, replace-one
//   exponential  choices of bounded range alone, 10 and 1,000 of them, of two ranges, and beside releases of other kinds
//   allocated/epoch, epochs, rounds  a record in one of t rounds, multiplier z, delta = 1e-5: (z, t) = (1, 100) once and 100 times, (2, 1000)
//   allocated/replaced               the first under replace-one; allocated/far: at delta = 1e-30; allocated/noise: (0.5, 100)
//   allocated/several                in two of 100 rounds
//   users/batches, users/epoch       users of 4 records: job a with rate 0.01, multiplier 2, 1,000 times; an epoch of 100 rounds, multiplier 2
//   schedule/2, 16, 64, 100, 1000, 10000  so many different batches, rate 0.01, multiplier 1 + i/k, delta = 1e-6, asked as the command asks
//   gaussians/3000  so many different Gaussian releases, multiplier 20 + i/1000, delta = 1e-5, asked as the command asks
//   truncated/700, truncated/650     job a of 60,000 records with batches of at most so many, under zero-out; /any: add-or-remove-one
//
// reference/exp is a fixed workload: times are compared between machines as ratios to it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting {
namespace {

Event sampled(double rate, double multiplier, std::uint64_t times) {
  const Event batch = poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, Adjacency::add_or_remove_one));
  return repeat(Count{times}, batch);
}

Event job_a() { return sampled(0.01, 1, 10'000); }

Event job_d() {
  std::vector<Event> events;
  for (int i = 0; i < 1000; ++i) events.push_back(sampled(0.005 + 0.01 * i / 1000, 1 + i / 1000.0, 10));
  return compose(std::move(events));
}

Event schedule(int steps) {
  std::vector<Event> events;
  for (int i = 0; i < steps; ++i) events.push_back(sampled(0.01, 1 + static_cast<double>(i) / steps, 1));
  return compose(std::move(events));
}

Event gaussians(int releases) {
  std::vector<Event> events;
  for (int i = 0; i < releases; ++i) events.push_back(gaussian(NoiseMultiplier{20 + i / 1000.0}, Adjacency::add_or_remove_one));
  return compose(std::move(events));
}

Event job_e() { return repeat(Count{1000}, laplace(NoiseScale{10}, Adjacency::add_or_remove_one)); }

Event job_g() {
  const Event batch = gaussian(NoiseMultiplier{1}, Adjacency::replace_one);
  return repeat(Count{10'000}, without_replacement(Count{60'000}, Count{600}, batch));
}

/// The smallest multiplier of job c: at its upper end the certified delta meets the target, at its lower end no delta can. The
/// settings go from coarse to fine; each narrows the search for the next.
template <class Accountant>
Enclosure job_c(const std::vector<Accountant>& settings) {
  constexpr double target = 1e-6;
  double fails = 0;
  double meets = std::numeric_limits<double>::infinity();
  double center = std::log(1.0);
  double reach = std::log(2.0);
  for (const Accountant& accountant : settings) {
    const auto excess = [&](double log_multiplier) {
      const double multiplier = std::exp(log_multiplier);
      const Enclosure cost = delta(accountant, sampled(0.001, multiplier, 100'000), Epsilon{1});
      if (cost.lower > target) fails = std::max(fails, multiplier);
      if (cost.upper <= target) meets = std::min(meets, multiplier);
      return std::log(cost.upper / target);
    };
    double low = center - reach;
    double high = center;
    double at_low = excess(low);
    double at_high = excess(high);
    for (; at_high > 0; at_high = excess(high)) {
      low = high;
      at_low = at_high;
      high += reach;
    }
    for (; at_low <= 0; at_low = excess(low)) {
      high = low;
      at_high = at_low;
      low -= reach;
    }
    std::uintmax_t steps = 60;
    const double tolerance = accountant.width / 10;
    const auto close = [&](double a, double b) { return b - a < tolerance; };
    center = boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, close, steps).second;
    reach = accountant.width;
  }
  return {fails, meets};
}

/// What is asked of an answer; 0 where nothing is.
struct Target {
  double milliseconds = 0;
  double width = 0;
  double lower = 0;  ///< at least
  double upper = 0;  ///< at most
};

struct Case {
  std::string name;
  std::function<Enclosure()> answer;
  Enclosure truth;  ///< the digits to which it is known
  Target target;
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void run(benchmark::State& state, const Case& job) {
  try {
    Enclosure answer{0, 0};
    for (auto _ : state) benchmark::DoNotOptimize(answer = job.answer());
    state.counters["upper"] = answer.upper;
    state.counters["width"] = answer.width();
    const auto note = [&](const char* name, double value) {  // a 0 would make the file's coefficients of variation NaN
      if (value > 0) state.counters[name] = value;
    };
    note("lower", answer.lower);
    note("target_ms", job.target.milliseconds);
    note("target_width", job.target.width);
    note("target_lower", job.target.lower);
    note("target_upper", job.target.upper);
    state.counters["peak_mb"] = peak_megabytes();
    if (!overlap(answer, job.truth)) {
      state.SkipWithError(fmt::format("[{}, {}] does not contain {}", answer.lower, answer.upper, job.truth.lower).c_str());
    }
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

Enclosure known(double value, double digit) { return {value - digit / 2, value + digit / 2}; }

template <class Accountant>
std::function<Enclosure()> ask(const Accountant& accountant, Event event, double at_delta) {
  return [=] { return epsilon(accountant, event, Delta{at_delta}); };
}

/// A whole curve of job a, of which the point at its epsilon is told.
Enclosure curve_of_job_a() {
  const QuickCurve curve{job_a()};
  constexpr int points = 1000;
  for (int i = 0; i < points; ++i) benchmark::DoNotOptimize(curve(Epsilon{10.0 * i / (points - 1)}).upper);
  return curve(Epsilon{6.187712390});
}

std::vector<Case> cases_of_epochs() {
  const auto removed = [](const char* text) { return parse_event(text, Adjacency::add_or_remove_one); };
  const auto zeroed = [](const char* text) { return parse_event(text, Adjacency::zero_out); };
  const Pld usual{.width = 1e-4};
  // Where bounds do not meet, the truth is known to lie between them.
  return {
      {"allocated/epoch", ask(usual, removed("allocated(100, gaussian(1))"), 1e-5), known(0.6209396716, 1e-9), {.width = 1e-4}},
      {"allocated/epochs",
       ask(usual, removed("repeat(100, allocated(100, gaussian(1)))"), 1e-5),
       known(6.0435303, 2e-7),
       {.milliseconds = 20, .width = 1e-4}},
      {"allocated/rounds",
       ask(Pld{.width = 1e-6}, removed("allocated(1000, gaussian(2))"), 1e-5),
       known(0.048669726, 1e-9),
       {.width = 1e-6}},
      {"allocated/replaced",
       ask(Pld{.width = 1e-6}, parse_event("allocated(100, record_sum(1))", Adjacency::replace_one), 1e-5),
       known(0.825365, 1e-6),
       {.width = 1e-6}},
      {"allocated/far", ask(usual, removed("allocated(100, gaussian(1))"), 1e-30), {7.139489, 7.139513}, {.width = 1e-4}},
      {"allocated/noise", ask(usual, removed("allocated(100, gaussian(0.5))"), 1e-5), {5.396592, 5.396673}, {.width = 1e-4}},
      {"allocated/several", ask(usual, removed("allocated(100, 2, gaussian(1))"), 1e-5), {1.2029, 1.2298}, {}},
      {"users/batches",
       ask(usual, removed("users(4, repeat(1000, poisson(0.01, gaussian(2))))"), 1e-5),
       known(2.893384341, 1e-9),
       {.width = 1e-4}},
      {"users/epoch", ask(usual, removed("users(4, allocated(100, gaussian(2)))"), 1e-5), {0.7255, 0.9368}, {}},
      {"truncated/700",
       ask(usual, zeroed("repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))"), 1e-5),
       {6.187768, 6.188676},
       {.upper = 6.1888}},
      {"truncated/700/any",
       ask(usual, removed("repeat(10000, truncated_poisson(0.01, 700, 60000, gaussian(1)))"), 1e-5),
       {6.187768, 6.212491},
       {.upper = 6.2126}},
      {"truncated/650",
       ask(usual, zeroed("repeat(10000, truncated_poisson(0.01, 650, 60000, gaussian(1)))"), 1e-5),
       {6.232598, 7.177411},
       {.upper = 7.1776}},
  };
}

std::vector<Case> cases() {
  const Enclosure a = known(6.187712390, 1e-9);
  const Enclosure c = known(1.50583356, 1e-8);
  const Enclosure d = known(3.1631240, 1e-7);
  // In the order of what they may hold in memory: 64 MB up to e, 256 MB from then on.
  std::vector<Case> all{
      {"a/grid", ask(Pld{.width = 1e-4}, job_a(), 1e-5), a, {.milliseconds = 25, .width = 1e-4}},
      {"a/contour", ask(Contour{.width = 1e-8}, job_a(), 1e-5), a, {.milliseconds = 5, .width = 1e-8}},
      {"a/curve", curve_of_job_a, {1e-5 - 2e-14, 1e-5 + 2e-14}, {.milliseconds = 50}},
      {"a/renyi", ask(Renyi{}, job_a(), 1e-5), a, {.milliseconds = 1, .upper = 6.7128}},
      {"c/grid",
       [] {
         return job_c(std::vector<Pld>{{.width = 1e-2}, {.width = 1e-3}, {.width = 4e-5}});
       },
       c,
       {.milliseconds = 300, .upper = 1.505860}},
      {"c/contour", [] { return job_c(std::vector<Contour>{{.width = 1e-6}}); }, c, {.milliseconds = 60, .upper = 1.505860}},
      {"e/grid", ask(Pld{.width = 1e-4}, job_e(), 1e-6), known(18.950287368, 1e-9), {.milliseconds = 25, .width = 1e-4}},
      {"b/grid", ask(Pld{.width = 1e-6}, job_a(), 1e-5), a, {.milliseconds = 600, .width = 1e-6}},
      {"d/grid", ask(Pld{.width = 1e-3}, job_d(), 1e-5), d, {.milliseconds = 10'000, .width = 1e-3}},
      {"d/contour", ask(Contour{.width = 1e-6}, job_d(), 1e-5), d, {.milliseconds = 3'000, .width = 1e-6}},
      {"d/renyi", ask(Renyi{}, job_d(), 1e-5), d, {.milliseconds = 100, .upper = 3.4363}},
  };
  struct Tail {
    const char* name;
    double delta, epsilon;
  };
  for (const Tail& tail : {Tail{"1e-10", 1e-10, 9.3161385}, Tail{"1e-15", 1e-15, 11.7599785}, Tail{"1e-20", 1e-20, 13.8797727},
                           Tail{"1e-30", 1e-30, 17.6350611}, Tail{"1e-100", 1e-100, 40.4548447}}) {
    const Enclosure truth = known(tail.epsilon, 1e-7);
    const std::string job = fmt::format("f/{}", tail.name);
    all.push_back({job + "/grid", ask(Pld{.width = 1e-3}, job_a(), tail.delta), truth, {.milliseconds = 60, .width = 1e-3}});
    all.push_back({job + "/contour", ask(Contour{.width = 1e-6}, job_a(), tail.delta), truth, {.milliseconds = 10, .width = 1e-6}});
  }
  // Between an order of outcomes and the bound of all orders, both by quadrature.
  for (const auto& [law, lower, upper] :
       {std::tuple{"poisson_runs", 8.666066, 8.6661281}, std::tuple{"geometric_runs", 6.900704, 6.9007251},
        std::tuple{"logarithmic_runs", 6.553079, 6.5531313}}) {
    const auto event = parse_event(fmt::format("best_of({}, 10, gaussian(1))", law), Adjacency::add_or_remove_one);
    all.push_back({fmt::format("best_of/{}", law), ask(Tuning{}, event, 1e-6), {lower, upper}, {.width = 1e-4}});
  }
  const auto search = parse_event("best_of(geometric_runs, 10, repeat(1000, poisson(0.01, gaussian(1))))", Adjacency::add_or_remove_one);
  all.push_back({"best_of/training", ask(Tuning{}, search, 1e-6), {2.1245, 3.0117}, {.upper = 3.0117}});
  for (auto& job : cases_of_epochs()) all.push_back(std::move(job));
  for (const auto& [steps, truth] : {std::pair{2, 0.3644019}, std::pair{16, 0.4051208}, std::pair{64, 0.5165458}, std::pair{100, 0.5710200},
                                     std::pair{1'000, 1.2582046}, std::pair{10'000, 4.0611379}}) {
    const Event event = schedule(steps);
    all.push_back({fmt::format("schedule/{}", steps),
                   [event] { return best_epsilon(event, Delta{1e-6}, {.width = 1e-6}).value; },
                   known(truth, 2e-7),
                   {.milliseconds = steps > 1'000 ? 3'000.0 : 500.0, .width = 1e-6}});
  }
  // Made each time: an event keeps what was computed from it.
  all.push_back({"gaussians/3000",
                 [] { return best_epsilon(gaussians(3000), Delta{1e-5}).value; },
                 known(13.567755970, 1e-8),
                 {.milliseconds = 200, .width = 1e-8}});
  // Known only to lie between concrete data sets and the dominating profile.
  all.push_back(
      {"g/grid", ask(Pld{.width = 1e-4}, job_g(), 1e-5), {6.1877, 8.0840}, {.milliseconds = 80, .lower = 6.1877, .upper = 8.0840}});
  // The first and the fourth from strategies on fine grids, in plain doubles; the others by other widths of the same accountants.
  const auto choices = [](const char* text) { return parse_event(text, Adjacency::add_or_remove_one); };
  all.push_back({"exponential/10/choices",
                 ask(Choices{}, choices("repeat(10, exponential(1))"), 1e-6),
                 {7.716392, 7.716397},
                 {.milliseconds = 20, .width = 1e-5}});
  all.push_back({"exponential/1000/choices",
                 ask(Choices{}, choices("repeat(1000, exponential(0.1))"), 1e-6),
                 {8.3037, 8.3039},
                 {.milliseconds = 1'000, .width = 1e-5}});
  all.push_back({"exponential/two-ranges/choices",
                 ask(Choices{}, choices("compose(repeat(10, exponential(1)), repeat(20, exponential(0.5)))"), 1e-6),
                 {10.2432, 10.2433},
                 {.milliseconds = 1'000, .width = 1e-5}});
  all.push_back({"exponential/10-and-gaussian/grid",
                 ask(Pld{}, choices("compose(repeat(10, exponential(1)), gaussian(1))"), 1e-6),
                 {9.84404, 9.84405},
                 {.milliseconds = 150, .width = 1.5e-5}});
  all.push_back({"exponential/10-and-batches/grid",
                 ask(Pld{}, choices("compose(repeat(10, exponential(1)), repeat(1000, poisson(0.01, gaussian(1))))"), 1e-6),
                 {8.15287, 8.15288},
                 {.milliseconds = 400, .width = 1.5e-5}});
  all.push_back({"exponential/1000-and-laplace/grid",
                 ask(Pld{}, choices("compose(repeat(1000, exponential(0.1)), laplace(1.7))"), 1e-6),
                 {8.7087, 8.7089},
                 {.milliseconds = 2'500, .width = 1.5e-4}});
  return all;
}

void reference(benchmark::State& state) {
  for (auto _ : state) {
    double sum = 0;
    for (int i = 0; i < 10'000'000; ++i) sum += std::exp(-1e-6 * i);
    benchmark::DoNotOptimize(sum);
  }
}

const bool registered = [] {
  benchmark::RegisterBenchmark("reference/exp", reference)->Unit(benchmark::kMillisecond);
  for (const Case& job : cases()) {
    benchmark::RegisterBenchmark(("account/" + job.name).c_str(), [job](benchmark::State& state) {
      run(state, job);
    })->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace surety::accounting
