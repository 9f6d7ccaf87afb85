// event_fuzz [SECONDS [SEED [INPUTS]]]: random events, and random and damaged texts and JSON of events, for SECONDS seconds (default 60),
// half of them for each, and no more than INPUTS texts and a twentieth of that of events: what a fast machine is asked is then no more than
// what a slow one has been asked.
//
// Every text is parsed; what is an event must round-trip through both spellings and be priced without a NaN or a negative number. Every
// event is put to all accountants: enclosures of one answer must overlap, epsilon must not rise with delta, and what they say about epsilon
// must agree with what they say about delta. Logs of runs are read, too. The only exception that may come out is surety::Error, and never one that reports a defect of
// its own. A question that takes more than 5 seconds of processor time, or any other violation, is printed and ends the program with a
// failure.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <support/random_events.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/logs/readings.h>

namespace {

using namespace surety;
using fuzz::Source;
using fuzz::WildEvents;
using Clock = std::chrono::steady_clock;

constexpr double most_seconds = 5;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double slower = 20;  // a sanitizer without optimisation
#else
constexpr double slower = 1;
#endif

/// What is being done, for the watchdog and for the message of a failure.
class Present {
 public:
  void begin(std::string input) {
    const std::lock_guard lock{mutex_};
    next("parse");
    input_ = std::move(input);
  }
  void stage(std::string_view stage) {
    const std::lock_guard lock{mutex_};
    next(stage);
  }
  [[noreturn]] void fail(std::string_view what) {
    const std::lock_guard lock{mutex_};
    fmt::print(stderr, "event_fuzz: {} at {} of\n{}\n", what, stage_, input_);
    std::fflush(stderr);
    std::_Exit(1);
  }
  /// Of processor time.
  [[nodiscard]] double seconds() {
    const std::lock_guard lock{mutex_};
    return static_cast<double>(std::clock() - since_) / CLOCKS_PER_SEC;
  }
  /// The longest time that a question took, and which it was.
  [[nodiscard]] const std::string& slowest() const noexcept { return slowest_; }

 private:
  void next(std::string_view stage) {
    const double took = static_cast<double>(std::clock() - since_) / CLOCKS_PER_SEC;
    if (took > most_) {
      most_ = took;
      slowest_ = fmt::format("{:.2f} s: {} of {}", took, stage_, input_);
    }
    stage_ = stage;
    since_ = std::clock();
  }

  std::mutex mutex_;
  std::string input_;
  std::string stage_;
  std::clock_t since_ = std::clock();
  double most_ = 0;
  std::string slowest_;
};

Present& present() {
  static Present one;
  return one;
}

/// Calls what may refuse; anything but a refusal is a failure. True where it answered.
template <class Call>
bool answered(Call call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) present().fail(fmt::format("'{}'", error.what()));
    if (std::string_view{error.what()}.empty()) present().fail("an empty message");
  } catch (const std::exception& error) {
    present().fail(fmt::format("another exception: {}", error.what()));
  }
  return false;
}

struct Counts {
  std::uint64_t inputs = 0;
  std::uint64_t events = 0;
  std::uint64_t answers = 0;
};

void check(const Enclosure& found, double most) {
  if (!(found.lower >= 0) || !(found.upper >= found.lower) || !(found.upper <= most)) {
    present().fail(fmt::format("[{}, {}]", found.lower, found.upper));
  }
}

/// How many leaves an event spells out: a product of long compositions is not small, however short its text.
std::size_t size_of(const std::string& text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '(')); }

template <class A>
void price(const A& accountant, const Event& event, Delta delta_at, Epsilon epsilon_at, Counts& counts) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  present().stage(fmt::format("{}: epsilon at delta {}", A::name, delta_at.value()));
  counts.answers += answered([&] { check(accounting::epsilon(accountant, event, delta_at), infinity); });
  present().stage(fmt::format("{}: delta at epsilon {}", A::name, epsilon_at.value()));
  counts.answers += answered([&] { check(accounting::delta(accountant, event, epsilon_at), 1); });
}

void examine(const Event& event, Source& source, Counts& counts) {
  present().stage("describe");
  const std::string text = describe(event);
  if (!(parse_event(text, event.adjacency()) == event)) present().fail("does not round-trip as text");
  present().stage("to_json");
  if (!(event_from_json(to_json(event).dump()) == event)) present().fail("does not round-trip as JSON");
  const Delta delta_at{source.one_in(4) ? source.pick<double>({0, 0.5, 1e-300, 5e-324, 0.999}) : std::exp(-60 * source.unit())};
  const Epsilon epsilon_at{source.one_in(4) ? source.pick<double>({0, 500, 1e300, 1e-300}) : std::exp(-8 + 14 * source.unit())};
  price(accounting::ClosedForm{}, event, delta_at, epsilon_at, counts);
  price(accounting::Zcdp{}, event, delta_at, epsilon_at, counts);
  price(accounting::Renyi{}, event, delta_at, epsilon_at, counts);
  price(accounting::Tuning{}, event, delta_at, epsilon_at, counts);
  if (size_of(text) > 3 || !source.one_in(4)) return;
  price(accounting::Contour{}, event, delta_at, epsilon_at, counts);
  price(accounting::Participation{}, event, delta_at, epsilon_at, counts);
  price(accounting::Pld{.width = 1e-2, .memory = std::size_t{16} << 20}, event, delta_at, epsilon_at, counts);
}

// ---- events of any structure ----

struct Answer {
  std::string_view accountant;
  Enclosure value;
};

/// What all accountants say to one question; any two answers must overlap.
class Answers {
 public:
  void take(std::string_view accountant, const Enclosure& value) {
    for (const auto& other : all_) {
      if (value.lower > other.value.upper || other.value.lower > value.upper) {
        present().fail(fmt::format("[{}, {}] by {} beside [{}, {}] by {}", value.lower, value.upper, accountant, other.value.lower,
                                   other.value.upper, other.accountant));
      }
    }
    all_.push_back({accountant, value});
  }
  [[nodiscard]] Enclosure together() const {
    Enclosure all{0, std::numeric_limits<double>::infinity()};
    for (const auto& answer : all_) all = {std::max(all.lower, answer.value.lower), std::min(all.upper, answer.value.upper)};
    return all;
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  std::vector<Answer> all_;
};

template <class Ask>
void ask_all(bool grid, Counts& counts, Answers& answers, std::string_view question, double most, Ask ask) {
  const auto one = [&](const auto& accountant) {
    present().stage(fmt::format("{}: {}", accountant.name, question));
    counts.answers += answered([&] {
      const Enclosure found = ask(accountant);
      check(found, most);
      answers.take(accountant.name, found);
    });
  };
  one(accounting::ClosedForm{});
  one(accounting::Zcdp{});
  one(accounting::Renyi{});
  one(accounting::Tuning{});
  one(accounting::Contour{});
  one(accounting::Participation{});
  one(accounting::Composition::Optimal{.points = 1 << 10});
  one(accounting::Composition::Advanced{});
  one(accounting::Composition::Basic{});
  if (grid) one(accounting::Pld{.width = 1e-2, .memory = std::size_t{16} << 20});
}

void examine_costs(const Event& event, Source& source, Counts& counts) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool grid = source.one_in(2);
  const Delta delta_at{source.one_in(5) ? source.pick<double>({0, 0.5, 1e-300, 5e-324, 0.999, 1 - 0x1p-53})
                                        : std::exp(-40 * source.unit())};
  const auto epsilons_at = [&](Delta at, Answers& answers) {
    ask_all(grid, counts, answers, fmt::format("epsilon at delta {}", at.value()), infinity,
            [&](const auto& accountant) { return accounting::epsilon(accountant, event, at); });
    return answers.together();
  };
  const auto deltas_at = [&](Epsilon at, Answers& answers) {
    ask_all(grid, counts, answers, fmt::format("delta at epsilon {}", at.value()), 1,
            [&](const auto& accountant) { return accounting::delta(accountant, event, at); });
    return answers.together();
  };
  Answers by_delta;
  const Enclosure epsilon_there = epsilons_at(delta_at, by_delta);
  if (by_delta.empty()) return;
  // Delta at the upper end is at most what was asked for, at the lower end at least that.
  const double end = source.one_in(2) ? epsilon_there.upper : epsilon_there.lower;
  if (end < infinity) {
    Answers back;
    const Enclosure found = deltas_at(Epsilon{end}, back);
    const bool above = end == epsilon_there.upper && found.lower > delta_at.value();
    const bool below = end == epsilon_there.lower && end > 0 && end < epsilon_there.upper && found.upper < delta_at.value();
    if (above || below)
      present().fail(fmt::format("delta in [{}, {}], where epsilon is in [{}, {}] at delta {},", found.lower, found.upper,
                                 epsilon_there.lower, epsilon_there.upper, delta_at.value()));
  }
  // A larger delta costs no more.
  if (const double more = std::min(0.5 + 0.5 * delta_at.value(), delta_at.value() * 8); more > delta_at.value()) {
    Answers other;
    const Enclosure found = epsilons_at(Delta{more}, other);
    if (found.lower > epsilon_there.upper)
      present().fail(fmt::format("epsilon at least {} where a smaller delta, {}, costs at most {},", found.lower, delta_at.value(),
                                 epsilon_there.upper));
  }
  const Epsilon epsilon_at{source.one_in(5) ? source.pick<double>({0, 500, 1e300, 1e-300, 1e9}) : std::exp(-6 + 12 * source.unit())};
  Answers by_epsilon;
  deltas_at(epsilon_at, by_epsilon);
  if (!grid || !source.one_in(4)) return;
  present().stage(fmt::format("best: epsilon at delta {}", delta_at.value()));
  counts.answers += answered([&] { check(accounting::best_epsilon(event, delta_at, {.width = 1e-2}).value, infinity); });
}

void once_wild(Source& source, Counts& counts) {
  static const std::vector<Adjacency> adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  const auto adjacency = source.pick(adjacencies);
  const std::string text = WildEvents{source, adjacency}.event();
  ++counts.inputs;
  present().begin(fmt::format("{} ({})", text, name(adjacency)));
  answered([&] {
    const Event event = parse_event(text, adjacency);
    ++counts.events;
    examine_costs(event, source, counts);
  });
}

// ---- texts and JSON ----

void once(Source& source, Counts& counts) {
  static const std::vector<Adjacency> adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  static const std::vector<std::string> corpus{
      "repeat(10000, poisson(0.01, gaussian(1)))",
      "compose(gaussian(2), laplace(3), repeat(5, pure(0.1)))",
      "parallel(gaussian(2), compose(laplace(1), approx(0.5, 1e-6)))",
      "deterministic(100, 7, shuffled(10, 2, gaussian(1)))",
      "without_replacement(60000, 256, compose(gaussian(3), gaussian(4)))",
      "with_replacement(600, 25, compose(gaussian(3), laplace(4)))",
      "repeat(9007199254740992, repeat(9007199254740992, gaussian(1)))",
      std::string(2000, '('),
      "poisson(1, poisson(1, gaussian(1)))",
      "",
  };
  ++counts.inputs;
  std::string input = source.one_in(10) ? source.pick(corpus) : source.text(static_cast<int>(source.below(5)));
  if (source.one_in(200)) {
    std::string deep;
    for (std::uint64_t n = source.below(100); n > 0; --n) deep += source.one_in(3) ? "compose(" : "repeat(1, ";
    const auto opened = static_cast<std::size_t>(std::count(deep.begin(), deep.end(), '('));
    input = deep + input + std::string(opened, ')');
  }
  if (source.one_in(4)) input = source.damaged(std::move(input));
  const auto adjacency = source.pick(adjacencies);
  const auto take = [&](const auto& parse) {
    answered([&] {
      const Event event = parse();
      ++counts.events;
      examine(event, source, counts);
    });
  };
  present().begin(input);
  std::string json;
  take([&] {
    auto event = parse_event(input, adjacency, {{"z", 1.5}, {"n", 3}});
    json = to_json(event).dump();
    return event;
  });
  if (!source.one_in(3)) return;
  if (json.empty()) {
    json =
        R"({"version": 1, "adjacency": "replace-one", "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}})";
  }
  if (source.one_in(2)) {
    auto value = nlohmann::json::parse(json);
    source.damage(value);
    json = value.dump();
  } else {
    json = source.damaged(std::move(json));
  }
  if (source.one_in(100)) json = std::string(static_cast<std::size_t>(source.below(100000)), source.one_in(2) ? '[' : '{') + json;
  present().begin(json.substr(0, 2000));
  take([&] { return event_from_json(json); });
}

// ---- logs of runs ----

/// Logs from fields that may be absent, odd or damaged: whatever is one has readings, whose events are what their texts say.
void once_log(Source& source, Counts& counts) {
  static const std::vector<std::string> counted{"1", "7", "600", "60000", "9007199254740992", "9007199254740993", "0", "-1", "1.0", "1e3"};
  static const std::vector<std::string> real{"1", "0.01", "1e-5", "1e308", "5e-324", "0", "-2", "1e400", "\"1\"", "null"};
  static const std::vector<std::string> words{"\"shuffled\"", "\"truncated_poisson\"", "\"allocated\"", "\"clip\"", "\"twice_clip\"",
                                              "\"zero-out\"", "\"replace-one\"",       "\"\"",          "true",     "{}"};
  const auto fields = accounting::run_log_fields();
  std::string text = R"({"version": 1)";
  if (!source.one_in(10)) text += R"(, "records": 60000, "batch_size": 600)";
  if (!source.one_in(10)) text += R"(, "epochs": 3)";
  for (std::uint64_t n = source.below(4); n > 0; --n) {
    const auto& values = *source.pick<const std::vector<std::string>*>({&words, &counted, &real});
    text += fmt::format(", \"{}\": {}", fields[static_cast<std::size_t>(source.below(fields.size()))], source.pick(values));
  }
  text += "}";
  if (source.one_in(4)) text = source.damaged(std::move(text));
  ++counts.inputs;
  present().begin(text.substr(0, 2000));
  answered([&] {
    const auto log = accounting::run_log_from_json(text);
    ++counts.events;
    present().stage("readings");
    const NoiseMultiplier multiplier = log.noise_multiplier.value_or(NoiseMultiplier{1});
    const auto adjacency = source.pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out});
    for (const auto& reading : accounting::readings(log, log.adjacency.value_or(adjacency))) {
      if (!reading.refusal.empty()) continue;
      const Event event = reading.event(multiplier);
      static_cast<void>(reading.least(multiplier));
      if (!(parse_event(describe(event), event.adjacency()) == event)) present().fail("a reading does not round-trip");
      ++counts.answers;
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::uint64_t inputs = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::numeric_limits<std::uint64_t>::max();
  std::atomic<bool> done{false};
  std::thread watchdog{[&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      if (present().seconds() > most_seconds * slower) present().fail("takes too long");
    }
  }};
  const auto seconds_since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  Source texts{seed};
  Source events{seed + 0x9e3779b97f4a7c15};
  Source logs{seed + 0x3c6ef372fe94f82a};
  Counts of_texts;
  Counts of_events;
  Counts of_logs;
  double on_texts = 0;
  // On a busy machine longer, until each kind has been answered.
  const auto is_answered = [&] { return of_texts.answers > 0 && of_events.answers > 0 && of_logs.answers > 0; };
  const auto begin = Clock::now();
  for (double now = 0; now < seconds || !is_answered(); now = seconds_since(begin)) {
    const bool has_texts = of_texts.inputs < inputs;
    const bool has_events = of_events.inputs < inputs / 20;
    if (!has_texts && !has_events) break;
    if (has_events && (2 * on_texts > now || !has_texts)) {
      once_wild(events, of_events);
    } else {
      once(texts, of_texts);
      if (logs.one_in(4)) once_log(logs, of_logs);
      on_texts += seconds_since(begin) - now;
    }
  }
  done = true;
  watchdog.join();
  fmt::print(
      "event_fuzz: {} texts, {} of them events, {} answers; {} random events, {} allowed, {} answers; {} s, seed {}; {} logs, {} read\n",
      of_texts.inputs, of_texts.events, of_texts.answers, of_events.inputs, of_events.events, of_events.answers, seconds, seed,
      of_logs.inputs, of_logs.events);
  fmt::print("slowest: {}\n", present().slowest());
  return is_answered() ? 0 : 1;
}
