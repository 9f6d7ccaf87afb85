// event_fuzz [SECONDS [SEED]]: random and damaged event texts and JSON, for SECONDS seconds (default 60).
//
// Every input is parsed; what is an event must round-trip through both spellings and be priced without a NaN or a negative
// number. The only exception that may come out is surety::Error, and never one that reports a defect of its own. An input that
// takes more than 5 seconds, or any other violation, is printed and ends the program with a failure.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/closed_form.h>
#include <surety/accounting/contour.h>
#include <surety/accounting/event.h>
#include <surety/accounting/participation.h>
#include <surety/accounting/privacy_loss.h>
#include <surety/accounting/renyi.h>
#include <surety/accounting/zcdp.h>

namespace {

using namespace surety;
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
    input_ = std::move(input);
    stage_ = "parse";
    since_ = Clock::now();
  }
  void stage(std::string_view stage) {
    const std::lock_guard lock{mutex_};
    stage_ = stage;
  }
  [[noreturn]] void fail(std::string_view what) {
    const std::lock_guard lock{mutex_};
    fmt::print(stderr, "event_fuzz: {} at {} of\n{}\n", what, stage_, input_);
    std::fflush(stderr);
    std::_Exit(1);
  }
  [[nodiscard]] double seconds() {
    const std::lock_guard lock{mutex_};
    return std::chrono::duration<double>(Clock::now() - since_).count();
  }

 private:
  std::mutex mutex_;
  std::string input_;
  std::string stage_;
  Clock::time_point since_ = Clock::now();
};

Present& present() {
  static Present one;
  return one;
}

class Source {
 public:
  explicit Source(std::uint64_t seed) : words_{seed} {}

  std::uint64_t below(std::uint64_t n) { return words_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  double unit() { return static_cast<double>(words_() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  std::string number() {
    static const std::vector<std::string> odd{"0",     "-1",    "1",   "0.5",   "1e-300", "1e300",  "1e309", "5e-324", "nan",  "inf",     "-0.0", "1e-9",
                                              "1e400", "1e-400", "2",   "3",     "2.5",    "0.999999999", "1e9",   "1e6",    "1e-3", "500",     "z",    "+1",
                                              "0x10",  ".5",    "5.",  "1e",    "1e+",    "00001",  "1.7976931348623157e308", "4.9e-324"};
    if (one_in(3)) return pick(odd);
    return fmt::format("{}", std::exp(-8 + 16 * unit()));
  }
  std::string whole() {
    static const std::vector<std::string> odd{"0", "-1", "1", "2", "9007199254740992", "9007199254740993", "18446744073709551616", "1e3", "1.5", "1e9", "1e16", "n"};
    return one_in(4) ? pick(odd) : fmt::format("{}", static_cast<std::uint64_t>(std::exp(9 * unit())));
  }

  std::string text(int depth) {
    const auto kind = below(depth > 0 ? 19 : 12);
    switch (kind) {
      case 0: return "gaussian(" + number() + ")";
      case 1: return "laplace(" + number() + ")";
      case 2: return "discrete_gaussian(" + number() + ", " + whole() + ")";
      case 3: return "discrete_laplace(" + number() + ", " + whole() + ")";
      case 4: return "randomized_response(" + number() + ", " + whole() + ")";
      case 5: return "exponential(" + number() + ")";
      case 6: return "pure(" + number() + ")";
      case 7: return "approx(" + number() + ", " + number() + ")";
      case 8: return "zcdp(" + number() + ")";
      case 9: return "generalized_gaussian(" + number() + ", " + whole() + ", " + number() + ")";
      case 10: return "k_norm(" + pick(norms_) + ", " + whole() + ", " + number() + ")";
      case 11: return "record_sum(" + number() + ")";
      case 12: return "repeat(" + whole() + ", " + text(depth - 1) + ")";
      case 13: return "compose(" + list(depth) + ")";
      case 14: return "parallel(" + list(depth) + ")";
      case 15: return "poisson(" + (one_in(2) ? fmt::format("{}", unit()) : number()) + ", " + text(depth - 1) + ")";
      case 16: return "without_replacement(" + whole() + "000, " + whole() + ", " + text(depth - 1) + ")";
      case 17: return "shuffled(" + whole() + "000, " + whole() + ", " + text(depth - 1) + ")";
      default: return "deterministic(" + whole() + "000, " + whole() + ", " + text(depth - 1) + ")";
    }
  }

  /// Some bytes changed, removed, doubled or replaced by a word of the language.
  std::string damaged(std::string input) {
    static const std::vector<std::string> words{"gaussian", "record_sum", "repeat(", "(", ")", ",", "{", "}", "[", "]", ":", "\"", "\\u0000", "1e", "-", "null", "true", "version",
                                                "\"event\"", "\n", "\t", "\xff", "\xc3\x28", "poisson(", "compose(", "\"count\": 1", "99999999999999999999", "//", "/*"};
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(below(input.size() + 1));
      switch (below(5)) {
        case 0: input.insert(at, pick(words)); break;
        case 1: input.erase(at, below(6)); break;
        case 2: input.insert(at, 1, static_cast<char>(below(256))); break;
        case 3:
          if (at < input.size()) input[at] = static_cast<char>(static_cast<unsigned char>(input[at]) ^ (1U << below(8)));
          break;
        default: input.insert(at, input.substr(static_cast<std::size_t>(below(input.size() + 1)), below(20))); break;
      }
    }
    return input;
  }

  /// A value anywhere in the JSON replaced, removed or joined by another field.
  void damage(nlohmann::json& json) {
    static const std::vector<nlohmann::json> odd{nullptr, true, -1, 0, 1.5, 1e300, "text", "", nlohmann::json::array(), nlohmann::json::object(), 1e-320, 18446744073709551615U};
    nlohmann::json* at = &json;
    while (at->is_structured() && !at->empty() && !one_in(4)) {
      auto item = at->begin();
      std::advance(item, static_cast<std::ptrdiff_t>(below(at->size())));
      at = &*item;
    }
    if (at->is_object() && one_in(2)) {
      (*at)[one_in(2) ? "unknown" : "event"] = pick(odd);
    } else if (at->is_array() && one_in(2)) {
      at->push_back(pick(odd));
    } else {
      *at = pick(odd);
    }
  }

 private:
  std::string list(int depth) {
    std::string all;
    for (std::uint64_t n = one_in(20) ? 0 : 1 + below(3); n > 0; --n) all += (all.empty() ? "" : ", ") + text(depth - 1);
    return all;
  }
  const std::vector<std::string> norms_{"l1", "l2", "linf", "l3", ""};
  std::mt19937_64 words_;
};

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
  if (size_of(text) > 3 || !source.one_in(4)) return;
  price(accounting::Contour{}, event, delta_at, epsilon_at, counts);
  price(accounting::Participation{}, event, delta_at, epsilon_at, counts);
  price(accounting::PrivacyLoss{.width = 1e-2, .memory = std::size_t{16} << 20}, event, delta_at, epsilon_at, counts);
}

void once(Source& source, Counts& counts) {
  static const std::vector<Adjacency> adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  static const std::vector<std::string> corpus{
      "repeat(10000, poisson(0.01, gaussian(1)))",
      "compose(gaussian(2), laplace(3), repeat(5, pure(0.1)))",
      "parallel(gaussian(2), compose(laplace(1), approx(0.5, 1e-6)))",
      "deterministic(100, 7, shuffled(10, 2, gaussian(1)))",
      "without_replacement(60000, 256, compose(gaussian(3), gaussian(4)))",
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
    json = R"({"version": 1, "adjacency": "replace-one", "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}})";
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

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::atomic<bool> done{false};
  std::thread watchdog{[&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      if (present().seconds() > most_seconds * slower) present().fail("takes too long");
    }
  }};
  Source source{seed};
  Counts counts;
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) once(source, counts);
  done = true;
  watchdog.join();
  fmt::print("event_fuzz: {} inputs, {} of them events, {} answers, seed {}\n", counts.inputs, counts.events, counts.answers, seed);
  return counts.events > 0 && counts.answers > 0 ? 0 : 1;
}
