// Random numbers, words and events for fuzz programs: texts and JSON that may be damaged, and events of any structure with wild numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <surety/accounting/events/event_kinds.h>

namespace surety::fuzz {

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
    static const std::vector<std::string> odd{"0",
                                              "-1",
                                              "1",
                                              "0.5",
                                              "1e-300",
                                              "1e300",
                                              "1e309",
                                              "5e-324",
                                              "nan",
                                              "inf",
                                              "-0.0",
                                              "1e-9",
                                              "1e400",
                                              "1e-400",
                                              "2",
                                              "3",
                                              "2.5",
                                              "0.999999999",
                                              "1e9",
                                              "1e6",
                                              "1e-3",
                                              "500",
                                              "z",
                                              "+1",
                                              "0x10",
                                              ".5",
                                              "5.",
                                              "1e",
                                              "1e+",
                                              "00001",
                                              "1.7976931348623157e308",
                                              "4.9e-324"};
    if (one_in(3)) return pick(odd);
    return fmt::format("{}", std::exp(-8 + 16 * unit()));
  }
  std::string whole() {
    static const std::vector<std::string> odd{
        "0", "-1", "1", "2", "9007199254740992", "9007199254740993", "18446744073709551616", "1e3", "1.5", "1e9", "1e16", "n"};
    return one_in(4) ? pick(odd) : fmt::format("{}", static_cast<std::uint64_t>(std::exp(9 * unit())));
  }

  std::string text(int depth) {
    const auto kind = below(depth > 0 ? 39 : 12);
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
      case 18: return "deterministic(" + whole() + "000, " + whole() + ", " + text(depth - 1) + ")";
      case 19: return "cyclic(" + whole() + ", " + whole() + ", " + number() + ", " + text(depth - 1) + ")";
      case 20: return "truncated_poisson(" + number() + ", " + whole() + ", " + whole() + "000, " + text(depth - 1) + ")";
      case 21: return "allocated(" + whole() + ", " + (one_in(3) ? whole() + ", " : "") + text(depth - 1) + ")";
      case 23: return "curve(" + pairs() + ")";
      case 24: return "law(" + pairs() + ")";
      case 25: return "renyi(" + pairs() + ")";
      case 26: return "mixture(" + pairs() + ", " + text(depth - 1) + ")";
      case 27: return "zcdp(" + number() + ", " + number() + ")";
      case 30: return "binomial(" + whole() + ", " + whole() + ")";
      case 31: return "skellam(" + number() + ", " + whole() + ")";
      case 32: return "laplace_record_sum(" + number() + ")";
      case 29: return "with_replacement(" + whole() + ", " + whole() + ", " + text(depth - 1) + ")";
      case 22: return "best_of(" + pick(runs_) + ", " + number() + (one_in(4) ? ", " + number() : "") + ", " + text(depth - 1) + ")";
      case 33: return "shuffled_reports(" + whole() + ", " + number() + ")";
      case 34: return "shuffled_responses(" + whole() + ", " + number() + ", " + whole() + ")";
      case 35: return "last_iterate(" + whole() + ", " + number() + ", " + text(depth - 1) + ")";
      case 36: return "last_iterate_within(" + number() + ", " + whole() + ", " + number() + ", " + text(depth - 1) + ")";
      case 37: return "last_iterate_of_passes(" + whole() + ", " + whole() + ", " + number() + ", " + text(depth - 1) + ")";
      case 38:
        return "last_iterate_of_batches(" + whole() + ", " + whole() + ", " + whole() + ", " + whole() + ", " + text(depth - 1) + ")";
      default: return "users(" + whole() + ", " + text(depth - 1) + ")";
    }
  }

  /// Some bytes changed, removed, doubled or replaced by a word of the language.
  std::string damaged(std::string input) {
    static const std::vector<std::string> words{"gaussian",
                                                "record_sum",
                                                "repeat(",
                                                "(",
                                                ")",
                                                ",",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                ":",
                                                "\"",
                                                "\\u0000",
                                                "1e",
                                                "-",
                                                "null",
                                                "true",
                                                "version",
                                                "\"event\"",
                                                "\n",
                                                "\t",
                                                "\xff",
                                                "\xc3\x28",
                                                "poisson(",
                                                "compose(",
                                                "\"count\": 1",
                                                "99999999999999999999",
                                                "//",
                                                "/*"};
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
    static const std::vector<nlohmann::json> odd{
        nullptr, true, -1, 0, 1.5, 1e300, "text", "", nlohmann::json::array(), nlohmann::json::object(), 1e-320, 18446744073709551615U};
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
  std::string pairs() {
    std::string all = number() + ", " + number();
    for (std::uint64_t n = below(4); n > 0; --n) all += ", " + number() + ", " + number();
    return all;
  }
  const std::vector<std::string> norms_{"l1", "l2", "linf", "l3", ""};
  const std::vector<std::string> runs_{"poisson_runs",           "geometric_runs",        "logarithmic_runs",
                                       "negative_binomial_runs", "capped_geometric_runs", "poisson"};
  std::mt19937_64 words_;
};

/// Spells events that nearly all are allowed under their adjacency: every kind, nested, of few parts or many, with numbers that are
/// ordinary, tiny, huge, next to where rules change, or the same again.
class WildEvents {
 public:
  WildEvents(Source& source, Adjacency adjacency) : source_{source}, adjacency_{adjacency} {}

  std::string event() { return tree(static_cast<int>(source_.below(4)), false); }

 private:
  /// A positive number.
  std::string positive() {
    static const std::vector<double> corners{1,   0.5, 2,      1 + 0x1p-52, 1 - 0x1p-53, 0x1p-53, 1e-14,  1e-9, 700,
                                             710, 745, 0x1p53, 1e154,       1e-154,      1e-300,  5e-324, 1e308};
    if (!numbers_.empty() && source_.one_in(5)) {
      const double again = source_.pick(numbers_);
      return spelled(source_.one_in(3) ? std::nextafter(again, source_.one_in(2) ? 0.0 : 1e308) : again);
    }
    switch (source_.below(12)) {
      case 0: return spelled(source_.pick(corners));
      case 1: return spelled(std::pow(10, -300 + 600 * source_.unit()));
      case 2:
      case 3: return spelled(std::exp(-15 + 30 * source_.unit()));
      case 4: return spelled(1 + static_cast<double>(source_.below(20)));
      default: return spelled(std::exp(-3 + 6 * source_.unit()));
    }
  }
  std::string probability() {
    static const std::vector<double> corners{1, 0.5, 1 - 0x1p-53, 1 - 1e-9, 1e-9, 1e-30, 1e-300, 5e-324, 0.25};
    if (source_.one_in(6)) return spelled(source_.pick(corners));
    return spelled(source_.one_in(2) ? source_.unit() : std::exp(-12 * source_.unit()));
  }
  std::string spelled(double value) {
    if (!(value > 0 && value <= std::numeric_limits<double>::max())) value = 1;
    numbers_.push_back(value);
    return fmt::format("{}", value);
  }
  std::uint64_t whole() {
    static const std::vector<std::uint64_t> corners{
        1, 2, 3, 50, 51, 1024, 9999, 10000, 10001, std::uint64_t{1} << 52, std::uint64_t{1} << 53};
    switch (source_.below(8)) {
      case 0: return source_.pick(corners);
      case 1: return static_cast<std::uint64_t>(std::exp(36 * source_.unit()));
      case 2:
      case 3: return static_cast<std::uint64_t>(std::exp(9 * source_.unit()));
      default: return 1 + source_.below(10);
    }
  }
  std::string batches() {
    const std::uint64_t size = whole();
    const std::uint64_t most = std::uint64_t{1} << 53;
    const std::uint64_t records = source_.one_in(6) ? size : std::min(most, size + std::min(most, whole()) * (source_.one_in(2) ? 1 : 100));
    return fmt::format("{}, {}", records, size);
  }

  std::string leaf() {
    const bool may_respond = adjacency_ != Adjacency::add_or_remove_one;
    if (source_.one_in(6)) return given();
    switch (source_.below(may_respond ? 15 : 14)) {
      case 0:
      case 1: return "gaussian(" + positive() + ")";
      case 2: return "laplace(" + positive() + ")";
      case 3: return fmt::format("discrete_gaussian({}, {})", positive(), whole());
      case 4: return fmt::format("discrete_laplace({}, {})", positive(), whole());
      case 5: return "exponential(" + positive() + ")";
      case 6: return "pure(" + positive() + ")";
      case 7: return "approx(" + positive() + ", " + probability() + ")";
      case 8: return "zcdp(" + positive() + ")";
      case 9: return fmt::format("generalized_gaussian({}, {}, {})", spelled(1 + 4 * source_.unit()), whole(), positive());
      case 10:
        return source_.one_in(2) ? "record_sum(" + positive() + ")"
                                 : fmt::format("k_norm({}, {}, {})", source_.pick(norms_), whole(), positive());
      case 11: return fmt::format("binomial({}, {})", whole(), whole());
      case 12: return fmt::format("skellam({}, {})", positive(), whole());
      case 13: return "laplace_record_sum(" + positive() + ")";
      default: return fmt::format("randomized_response({}, {})", probability(), 1 + whole());
    }
  }

  /// What others have found: a law of two or three atoms, a curve of two points, divergences of two orders, a shifted rho.
  std::string given() {
    const double loss = std::exp(-8 + 10 * source_.unit());
    const double share = source_.unit();
    switch (source_.below(4)) {
      case 0: {
        const double most = 0.5 * share * std::exp(-loss);
        const double infinite = source_.one_in(2) ? 0 : 0.5 * (1 - most);
        return fmt::format("law({}, {}, {}, {}, inf, {})", -loss, most, source_.one_in(3) ? -loss : loss, 1 - most - infinite, infinite);
      }
      case 1: return fmt::format("curve({}, {}, {}, {})", loss, share, loss + source_.unit() + 1e-6, share * source_.unit());
      case 2: return fmt::format("renyi({}, {}, {}, {})", 1 + loss, positive(), 2 + loss + 10 * share, positive());
      default: return fmt::format("zcdp({}, {})", positive(), positive());
    }
  }

  /// A leaf or several, one below the other, at most one of them a batch on the way down.
  std::string tree(int depth, bool in_batch) {
    if (!in_batch && adjacency_ == Adjacency::replace_one && source_.one_in(12)) {
      return source_.one_in(2) ? fmt::format("shuffled_reports({}, {})", whole(), positive())
                               : fmt::format("shuffled_responses({}, {}, {})", whole(), probability(), 1 + whole());
    }
    if (!in_batch && adjacency_ != Adjacency::add_or_remove_one && source_.one_in(16)) return last_iterate();
    if (depth == 0 || source_.one_in(8)) return leaf();
    switch (source_.below(in_batch ? 4 : 9)) {
      case 0: return fmt::format("repeat({}, {})", whole(), tree(depth - 1, in_batch));
      case 1:
      case 2: return "compose(" + parts(depth, in_batch) + ")";
      case 3: return "parallel(" + parts(depth, in_batch) + ")";
      case 4:
      case 5: return "poisson(" + probability() + ", " + inside(depth) + ")";
      case 8: return of_sums();
      case 6:
        if (adjacency_ == Adjacency::replace_one) {
          if (source_.one_in(3))
            return fmt::format("with_replacement({}, {}, {})", 1 + source_.below(200), 1 + source_.below(20), inside(depth));
          return "without_replacement(" + batches() + ", " + inside(depth) + ")";
        }
        [[fallthrough]];
      default:
        if (adjacency_ == Adjacency::add_or_remove_one) return "poisson(" + probability() + ", " + inside(depth) + ")";
        return (source_.one_in(2) ? "shuffled(" : "deterministic(") + batches() + ", " + inside(depth) + ")";
    }
  }
  /// What takes sums of bounded vectors alone.
  std::string of_sums() {
    const std::string sum = "record_sum(" + positive() + ")";
    const std::string batch = "poisson(" + probability() + ", " + sum + ")";
    switch (source_.below(7)) {
      case 6: {
        const double share = source_.unit();
        return fmt::format("mixture({}, {}, {}, {}, {})", share, source_.one_in(3) ? 0 : 3 * source_.unit(), 1 - share, positive(), sum);
      }
      case 4: return search();
      case 5:
        if (source_.one_in(2)) return fmt::format("allocated({}, {}, {})", 9 + source_.below(9), 1 + source_.below(9), sum);
        return fmt::format("allocated({}, {})", whole(), sum);
      case 0: return fmt::format("cyclic({}, {}, {}, {})", whole(), whole(), probability(), sum);
      case 1: return fmt::format("truncated_poisson({}, {}, {}, {})", probability(), 1 + source_.below(20), 21 + source_.below(200), sum);
      case 2: return fmt::format("users({}, repeat({}, {}))", whole(), whole(), batch);
      default: return fmt::format("users({}, compose({}, {}))", whole(), sum, batch);
    }
  }
  std::string last_iterate() {
    const std::string step = source_.one_in(2) ? "gaussian(" + positive() + ")" : "record_sum(" + positive() + ")";
    const std::string constant = spelled(source_.one_in(3) ? 1 : source_.unit());
    switch (source_.below(4)) {
      case 0: return fmt::format("last_iterate({}, {}, {})", whole(), constant, step);
      case 1: return fmt::format("last_iterate_within({}, {}, {}, {})", positive(), whole(), constant, step);
      case 2:
        return fmt::format("last_iterate_of_passes({}, {}, {}, {})", 1 + source_.below(1000), 1 + source_.below(1000), constant, step);
      default:
        return fmt::format("last_iterate_of_batches({}, {}, {}, {}, {})", 1 + source_.below(1000), whole(), 1 + source_.below(9), whole(),
                           step);
    }
  }
  /// Of releases that all accountants are quick with.
  std::string search() {
    const double mean = 1 + std::exp(-6 + 18 * source_.unit());
    switch (source_.below(5)) {
      case 4:
        return fmt::format("best_of(capped_geometric_runs, {}, {}, gaussian({}))", mean, std::ceil(mean * (1 + 4 * source_.unit())) + 1,
                           positive());
      case 0: return fmt::format("best_of(poisson_runs, {}, {})", mean - 1, leaf());
      case 1: return fmt::format("best_of(geometric_runs, {}, {})", mean, leaf());
      case 2: return fmt::format("best_of(logarithmic_runs, {}, gaussian({}))", mean, positive());
      default: return fmt::format("best_of(negative_binomial_runs, {}, {}, gaussian({}))", mean, 2 * source_.unit() - 0.5, positive());
    }
  }
  /// What one batch is used for. Under replace-one a Poisson batch takes record sums alone.
  std::string inside(int depth) {
    if (adjacency_ == Adjacency::replace_one && source_.one_in(3)) return "record_sum(" + positive() + ")";
    return tree(depth - 1, true);
  }
  std::string parts(int depth, bool in_batch) {
    const bool many = source_.one_in(40);
    std::uint64_t count = many ? 5 + source_.below(60) : 1 + source_.below(4);
    const int below = many ? std::min(depth - 1, 1) : depth - 1;
    std::string all = tree(below, in_batch);
    // Of many, a kind alone or anything.
    const std::string kind = source_.pick(kinds_);
    const bool same_kind = many && source_.one_in(2);
    while (--count > 0) all += ", " + (same_kind ? kind + "(" + positive() + ")" : tree(below, in_batch));
    return all;
  }

  Source& source_;
  Adjacency adjacency_;
  std::vector<double> numbers_;
  const std::vector<std::string> norms_{"l1", "l2", "linf"};
  const std::vector<std::string> kinds_{"gaussian", "laplace", "pure", "exponential"};
};

}  // namespace surety::fuzz
