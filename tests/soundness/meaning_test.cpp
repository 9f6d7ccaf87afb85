// Every accountant against the meaning of its events: small data sets with all their neighbours, mechanisms with finitely many results
// that are what an event says they are, and every batch that a sampler may draw (reference/small_world.h). The truth is a sum over
// results; it knows no theorem, so what is tested is that each theorem's hypothesis holds where an accountant applies it.
//
// SURETY_MEANING_MECHANISMS multiplies how many mechanisms of each kind are drawn, SURETY_MEANING_SEED draws others, SURETY_MEANING_REPORT
// names a file for the counts (scripts/soundness).
#include <surety/accounting/events/hypotheses.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/group.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/events/continual.h>

#include <support/small_world.h>

namespace surety::accounting::meaning_test {
namespace {

using namespace reference;
using Words = std::mt19937_64;
using Kind = Sampling::Kind;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int default_mechanisms = 1;  // a sanitizer without optimisation is some 50 times slower
#else
constexpr int default_mechanisms = 5;
#endif

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

double uniform(Words& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }
int below(Words& words, int count) { return static_cast<int>(words() % static_cast<std::uint64_t>(count)); }
bool coin(Words& words) { return below(words, 2) == 0; }

Event event_of(const std::string& text, Adjacency adjacency) { return parse_event(text, adjacency); }

/// What the enumeration may be wrong by: sums of some thousand doubles.
constexpr double slack = 1e-11;

// ---- Mechanisms that are what an event says ----

/// Adding one of these to a number; P(noise <= x).
using Distribution = std::function<double(double)>;

Distribution discrete_laplace(double scale) {
  const double y = std::exp(-1 / scale);
  return [y](double x) {
    const double k = std::floor(x);
    return k < 0 ? std::pow(y, -k) / (1 + y) : 1 - std::pow(y, k + 1) / (1 + y);
  };
}
Distribution discrete_gaussian(double sigma) {
  std::vector<double> up_to;
  double sum = 0;
  for (int k = -60; k <= 60; ++k) up_to.push_back(sum += std::exp(-0.5 * (k / sigma) * (k / sigma)));
  for (double& mass : up_to) mass /= sum;
  return [up_to](double x) { return up_to[static_cast<std::size_t>(std::clamp(std::floor(x) + 60, 0.0, 120.0))]; };
}
Distribution of_probabilities(const std::vector<double>& masses, int first) {
  std::vector<double> up_to{0};
  for (const double mass : masses) up_to.push_back(up_to.back() + mass);
  return [=](double x) {
    return up_to[static_cast<std::size_t>(std::clamp(std::floor(x) - first + 1, 0.0, static_cast<double>(masses.size())))];
  };
}
Distribution six_flips() { return of_probabilities({1 / 64.0, 6 / 64.0, 15 / 64.0, 20 / 64.0, 15 / 64.0, 6 / 64.0, 1 / 64.0}, -3); }
Distribution difference_of_poisson_variables(double mean) {
  constexpr int most = 40;
  std::vector<double> one{std::exp(-mean)};
  while (one.size() < most) one.push_back(one.back() * mean / static_cast<double>(one.size()));
  std::vector<double> masses(2 * most - 1, 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t j = 0; j < one.size(); ++j) masses[i + most - 1 - j] += one[i] * one[j];
  }
  return of_probabilities(masses, 1 - most);
}
Distribution laplace(double scale) {
  return [scale](double x) { return x < 0 ? 0.5 * std::exp(x / scale) : 1 - 0.5 * std::exp(-x / scale); };
}
Distribution normal(double sigma) {
  return [sigma](double x) { return 0.5 * std::erfc(-x / sigma * 0.70710678118654752440); };
}

/// What a record contributes to a sum, by place and value.
struct Contributions {
  double of[most_places][values];
};
/// Contributions of which one record moves the sum by at most `sensitivity`, whole numbers if asked for. \param per_record bounds each
/// contribution instead, of which a replaced one may turn around.
Contributions draw_contributions(Words& words, const World& world, double sensitivity, bool whole, bool per_record) {
  Contributions found{};
  const bool list = world.is_list_world();
  for (int place = 0; place < most_places; ++place) {
    const double lowest = world.adjacency == Adjacency::replace_one && !per_record ? 0 : -sensitivity;
    for (int value = 0; value < values; ++value) {
      double& to = found.of[place][value];
      if (list && place > 0) {
        to = found.of[0][value];
      } else if (world.adjacency == Adjacency::zero_out && value == 0) {
        to = 0;
      } else {
        to = coin(words) ? sensitivity : lowest + (sensitivity - lowest) * uniform(words);
        if (below(words, 3) == 0) to = lowest;
        if (whole) to = std::round(to);
      }
    }
  }
  return found;
}

/// The intervals between some thresholds that hold a sum with noise. `offset` of the occupied places is added to the sum.
Kernel noisy_sum(
    Words& words, const World& world, const Contributions& contributions, const Distribution& noise, double reach,
    const std::function<double(int)>& offset = [](int) { return 0.0; }) {
  const int thresholds = 1 + below(words, 3);
  std::vector<double> at;
  for (int i = 0; i < thresholds; ++i) at.push_back(std::round((2 * uniform(words) - 1) * reach * 4) / 4 + (coin(words) ? 0 : 0.5));
  std::sort(at.begin(), at.end());
  Kernel kernel{world, thresholds + 1};
  for (const int code : world.batches) {
    double sum = offset(occupied(code));
    for (int place = 0; place < world.places; ++place) {
      if (value_at(code, place) >= 0) sum += contributions.of[place][value_at(code, place)];
    }
    double before = 0;
    for (int i = 0; i <= thresholds; ++i) {
      const double to = i == thresholds ? 1 : noise(at[static_cast<std::size_t>(i)] - sum);
      kernel.of(code)[i] = to - before;
      before = to;
    }
  }
  return kernel;
}

/// Each record answers with one of `categories`; a place without one is silent, and a zeroed record answers as category 0 or at random.
/// With many results they are merged at random.
Kernel answers(Words& words, const World& world, double truth, int categories) {
  const bool at_random = world.adjacency == Adjacency::zero_out && coin(words);
  int results = 1;
  for (int place = 0; place < world.places; ++place) results *= categories + 1;
  std::vector<int> merged(static_cast<std::size_t>(results));
  const int left = results <= 16 ? results : 2 + below(words, 5);
  std::iota(merged.begin(), merged.end(), 0);
  if (left < results && coin(words)) {
    for (int& result : merged) result = below(words, left);
  } else if (left < results) {
    for (int& result : merged) result = std::min(result % (categories + 1), left - 1);  // what place 0 says
  }
  Kernel kernel{world, left};
  for (const int code : world.batches) {
    for (int result = 0; result < results; ++result) {
      double probability = 1;
      int rest = result;
      for (int place = 0; place < world.places; ++place, rest /= categories + 1) {
        const int symbol = rest % (categories + 1);
        const int value = value_at(code, place);
        if ((value < 0) != (symbol == categories)) {
          probability = 0;
        } else if (value >= 0) {
          const double other = (1 - truth) / (categories - 1);
          probability *= at_random && value == 0 ? 1.0 / categories : symbol == value % categories ? truth : other;
        }
      }
      kernel.of(code)[merged[static_cast<std::size_t>(result)]] += probability;
    }
  }
  return kernel;
}

// What a table of probabilities promises to neighbouring batches, from the definitions.

using Fits = std::function<bool(const double* p, const double* q, int results)>;

bool is_pure(const double* p, const double* q, int results, double epsilon) {
  for (int r = 0; r < results; ++r) {
    if (p[r] > std::exp(epsilon) * q[r] || q[r] > std::exp(epsilon) * p[r]) return false;
  }
  return true;
}
bool is_approximate(const double* p, const double* q, int results, double epsilon, double delta) {
  const auto count = static_cast<std::size_t>(results);
  return hockey_stick(p, q, count, std::exp(epsilon)) <= delta && hockey_stick(q, p, count, std::exp(epsilon)) <= delta;
}
bool has_range(const double* p, const double* q, int results, double epsilon) {
  double least = INFINITY;
  double most = -INFINITY;
  for (int r = 0; r < results; ++r) {
    if (p[r] == 0 && q[r] == 0) continue;
    const double loss = std::log(p[r] / q[r]);
    least = std::min(least, loss);
    most = std::max(most, loss);
  }
  return !(most - least > epsilon);
}
/// D_a <= rho a at every order a > 1. Between orders of a list D_a is at most that of the next one, and beyond them the largest loss.
bool is_concentrated(const double* p, const double* q, int results, double rho) {
  double largest = 0;
  for (int r = 0; r < results; ++r) {
    if (p[r] > 0) largest = std::max(largest, std::log(p[r] / q[r]));
  }
  if (!std::isfinite(largest)) return false;
  double before = 1;
  for (double order = 1.02; largest > rho * before; order *= 1.08) {
    double moment = 0;
    for (int r = 0; r < results; ++r) {
      if (p[r] > 0) moment += p[r] * std::pow(p[r] / q[r], order - 1);
    }
    if (std::log(moment) / (order - 1) > rho * before) return false;
    before = order;
  }
  return true;
}

/// A random table, of logits as far apart as `fits` allows on all neighbouring batches. Where the occupied places are the same for all
/// neighbours they may decide anything, so half of the tables show who is in the batch.
Kernel table(Words& words, const World& world, int results, const Fits& fits) {
  std::vector<double> logits(static_cast<std::size_t>(results) << (2 * world.places));
  for (double& logit : logits) logit = below(words, 3) == 0 ? 0 : 4 * uniform(words) - 2;
  std::vector<double> offsets(static_cast<std::size_t>(results) << world.places, 0.0);
  if (!world.is_list_world() && coin(words)) {
    for (double& offset : offsets) offset = coin(words) ? -60 : 0;
  }
  const auto at = [&](double scale) {
    Kernel kernel{world, results};
    for (const int code : world.batches) {
      double sum = 0;
      for (int r = 0; r < results; ++r) {
        const double offset = offsets[static_cast<std::size_t>(occupied(code) * results + r)];
        sum += kernel.of(code)[r] = std::exp(scale * logits[static_cast<std::size_t>(code * results + r)] + offset);
      }
      for (int r = 0; r < results; ++r) kernel.of(code)[r] /= sum;
    }
    return kernel;
  };
  double low = 0;
  double high = 4;
  for (int i = 0; i < 14; ++i) {
    const double middle = (low + high) / 2;
    const Kernel kernel = at(middle);
    const bool good = std::all_of(world.batch_pairs.begin(), world.batch_pairs.end(), [&](const auto& pair) {
      return fits(kernel.of(pair.first), kernel.of(pair.second), results) && fits(kernel.of(pair.second), kernel.of(pair.first), results);
    });
    (good ? low : high) = middle;
  }
  return at(low);
}

/// With probability `shown` the first value of the batch itself; else one bit about it that is right with odds e^epsilon, or 2 for an empty
/// batch. Under add-or-remove-one the bit is whether there is a record of value 2.
Kernel one_bit(const World& world, double epsilon, double shown) {
  Kernel kernel{world, 3 + (shown > 0 ? base : 0)};
  const double right = 1 / (1 + std::exp(-epsilon));
  for (const int code : world.batches) {
    int value = value_at(code, 0);
    if (world.is_list_world()) {
      bool any = false;
      for (int place = 0; place < world.places; ++place) any = any || value_at(code, place) == 2;
      value = any ? 2 : 0;
    }
    double* mass = kernel.of(code);
    if (shown > 0) mass[3 + value + 1] += shown;
    if (value < 0) {
      mass[2] += 1 - shown;
    } else {
      mass[value == 2 ? 1 : 0] += (1 - shown) * right;
      mass[value == 2 ? 0 : 1] += (1 - shown) * (1 - right);
    }
  }
  return kernel;
}

/// An event, and how mechanisms are drawn that are it.
struct Family {
  std::string event;
  std::function<Kernel(Words&, const World&)> draw;
  bool has_adjacency[3] = {true, true, true};  ///< add-or-remove-one, replace-one, zero-out
  int most_places = reference::most_places;
  bool in_poisson = true;
};

bool is_random_place(int place, int) { return place % 2 == 1; }

Kernel draw_sum(Words& words, const World& world, double sensitivity, bool whole, const Distribution& noise) {
  return noisy_sum(words, world, draw_contributions(words, world, sensitivity, whole, false), noise, 2 * sensitivity + 2);
}
Kernel draw_pure(Words& words, const World& world, double epsilon) {
  if (below(words, 4) == 0) return one_bit(world, epsilon, 0);
  return table(words, world, 2 + below(words, 2),
               [=](const double* p, const double* q, int results) { return is_pure(p, q, results, epsilon); });
}
Kernel draw_choice(Words& words, const World& world, double epsilon) {
  return table(words, world, 3, [=](const double* p, const double* q, int results) { return has_range(p, q, results, epsilon); });
}

std::vector<Family> families() {
  std::vector<Family> all;
  all.push_back({"discrete_laplace(1, 1)", [](Words& w, const World& x) { return draw_sum(w, x, 1, true, discrete_laplace(1)); }});
  all.push_back({"discrete_laplace(1.5, 2)", [](Words& w, const World& x) { return draw_sum(w, x, 2, true, discrete_laplace(1.5)); }});
  all.push_back({"discrete_gaussian(1, 1)", [](Words& w, const World& x) { return draw_sum(w, x, 1, true, discrete_gaussian(1)); }});
  all.push_back({"binomial(6, 1)", [](Words& w, const World& x) { return draw_sum(w, x, 1, true, six_flips()); }});
  all.push_back(
      {"skellam(0.8, 2)", [](Words& w, const World& x) { return draw_sum(w, x, 2, true, difference_of_poisson_variables(0.8)); }});
  all.push_back({"laplace(1)", [](Words& w, const World& x) { return draw_sum(w, x, 1, false, laplace(1)); }});
  all.push_back({"gaussian(0.8)", [](Words& w, const World& x) { return draw_sum(w, x, 1, false, normal(0.8)); }});
  all.push_back({"generalized_gaussian(2, 1, 1)", [](Words& w, const World& x) { return draw_sum(w, x, 1, false, normal(1)); }});
  all.push_back(
      {"record_sum(1)", [](Words& w, const World& x) { return noisy_sum(w, x, draw_contributions(w, x, 1, false, true), normal(1), 3); }});
  all.push_back({"laplace_record_sum(1)",
                 [](Words& w, const World& x) { return noisy_sum(w, x, draw_contributions(w, x, 1, false, true), laplace(1), 3); }});
  // Not of a sum: who is in the batch shifts the query as far as it likes.
  all.push_back({"laplace(1)",
                 [](Words& w, const World& x) {
                   const auto shows_places = [](int mask) { return 3.0 * mask; };
                   return noisy_sum(w, x, draw_contributions(w, x, 1, false, false), laplace(1), 12, shows_places);
                 },
                 {false, true, true},
                 reference::most_places,
                 false});
  all.push_back({"k_norm(l1, 2, 1)", [](Words& w, const World& x) {
                   const double share = uniform(w);
                   const Kernel second = draw_sum(w, x, 1 - share, false, laplace(1));
                   return then(x, draw_sum(w, x, share, false, laplace(1)), {second});
                 }});
  all.push_back({"randomized_response(0.75, 2)", [](Words& w, const World& x) { return answers(w, x, 0.75, 2); }, {false, true, true}});
  all.push_back({"randomized_response(0.9, 3)", [](Words& w, const World& x) { return answers(w, x, 0.9, 3); }, {false, true, true}, 3});
  all.push_back({"exponential(1)", [](Words& w, const World& x) { return draw_choice(w, x, 1); }});
  all.push_back({"pure(0.4)", [](Words& w, const World& x) { return draw_pure(w, x, 0.4); }});
  all.push_back({"pure(1.5)", [](Words& w, const World& x) { return draw_pure(w, x, 1.5); }});
  all.push_back({"approx(0.5, 0.1)", [](Words& w, const World& x) {
                   if (below(w, 3) == 0) return one_bit(x, 0.5, 0.1);
                   return table(w, x, 3, [](const double* p, const double* q, int r) { return is_approximate(p, q, r, 0.5, 0.1); });
                 }});
  all.push_back({"zcdp(0.2)",
                 [](Words& w, const World& x) {
                   return table(w, x, 2, [](const double* p, const double* q, int r) { return is_concentrated(p, q, r, 0.2); });
                 },
                 {true, true, true},
                 2});
  all.push_back({"repeat(2, discrete_laplace(2, 1))", [](Words& w, const World& x) {
                   const Kernel left = draw_sum(w, x, 1, true, discrete_laplace(2));
                   Kernel right = draw_sum(w, x, 1, true, discrete_laplace(2));
                   std::vector<Kernel> second{right};
                   while (second.size() < 2) {
                     Kernel other = draw_sum(w, x, 1, true, discrete_laplace(2));
                     if (other.results == right.results) second.push_back(std::move(other));
                   }
                   return then(x, left, second);
                 }});
  all.push_back({"compose(pure(0.5), exponential(0.5))",
                 [](Words& w, const World& x) {
                   std::vector<Kernel> second{draw_choice(w, x, 0.5), draw_choice(w, x, 0.5)};
                   return then(x, draw_pure(w, x, 0.5), second);
                 },
                 {true, true, true},
                 3});
  all.push_back({"compose(gaussian(1), pure(0.5))",
                 [](Words& w, const World& x) { return then(x, draw_sum(w, x, 1, false, normal(1)), {draw_pure(w, x, 0.5)}); },
                 {true, true, true},
                 3});
  all.push_back(
      {"parallel(pure(1), laplace(1))",
       [](Words& w, const World& x) { return in_parts(x, draw_pure(w, x, 1), draw_sum(w, x, 1, false, laplace(1)), is_random_place); },
       {false, true, true}});
  all.push_back({"parallel(randomized_response(0.75, 2), exponential(0.8))",
                 [](Words& w, const World& x) { return in_parts(x, answers(w, x, 0.75, 2), draw_choice(w, x, 0.8), is_random_place); },
                 {false, true, true},
                 3});
  // By value, where a record is in one part or in none.
  all.push_back({"parallel(discrete_laplace(1, 1), laplace(1.2))",
                 [](Words& w, const World& x) {
                   const auto by_value = [](int, int value) { return value == 2; };
                   return in_parts(x, draw_sum(w, x, 1, true, discrete_laplace(1)), draw_sum(w, x, 1, false, laplace(1.2)), by_value);
                 },
                 {true, false, true}});
  all.push_back({"parallel(pure(0.7), exponential(1))",
                 [](Words& w, const World& x) {
                   return in_parts(x, draw_pure(w, x, 0.7), draw_choice(w, x, 1), [](int, int value) { return value == 2; });
                 },
                 {true, false, false}});
  return all;
}

// ---- What the accountants say ----

struct Opinion {
  std::string_view accountant;
  std::vector<double> lower;
  std::vector<double> upper;
};

template <class A>
void ask(std::vector<Opinion>& opinions, const A& accountant, std::string_view name, const Event& event, const std::vector<double>& at) {
  Opinion opinion{name, {}, {}};
  try {
    for (const double epsilon : at) {
      const auto found = delta(accountant, event, Epsilon{epsilon});
      opinion.lower.push_back(found.lower);
      opinion.upper.push_back(found.upper);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return;
  }
  opinions.push_back(std::move(opinion));
}

/// Every accountant that answers.
std::vector<Opinion> opinions_of(const Event& event, const std::vector<double>& at) {
  std::vector<Opinion> found;
  ask(found, ClosedForm{}, "closed-form", event, at);
  ask(found, Contour{}, "contour", event, at);
  ask(found, Pld{.width = 3e-2}, "privacy-loss", event, at);
  ask(found, Participation{}, "participation", event, at);
  ask(found, Choices{}, "choices", event, at);
  ask(found, Renyi{}, "renyi", event, at);
  ask(found, Moments{}, "moments", event, at);
  ask(found, Zcdp{}, "zcdp", event, at);
  ask(found, Composition::Optimal{.points = 1 << 8}, "optimal", event, at);
  ask(found, Composition::Advanced{}, "advanced", event, at);
  ask(found, Composition::Basic{}, "basic", event, at);
  return found;
}

const std::vector<double>& epsilons() {
  static const std::vector<double> at{0.1, 0.9};
  return at;
}

/// The event of a run.
Event whole(const Event& event, const Sampling& sampling, int places) {
  const auto in_batches = [&](Event (*batched)(Count records, Count batch_size, Event)) {
    return batched(Count{static_cast<std::uint64_t>(places)}, Count{static_cast<std::uint64_t>(sampling.size)}, event);
  };
  Event one = event;
  switch (sampling.kind) {
    case Kind::all: break;
    case Kind::poisson: one = poisson(SamplingRate{sampling.rate}, event); break;
    case Kind::fixed_size: one = in_batches(without_replacement); break;
    case Kind::with_replacement: one = in_batches(with_replacement); break;
    case Kind::shuffled: one = in_batches(shuffled); break;
    case Kind::in_order: one = in_batches(deterministic); break;
    case Kind::fixed_order:
    case Kind::fixed_places: throw Error{ErrorCode::internal, "no event lets a batch of fixed size show who is in it"};
  }
  return sampling.times == 1 ? one : repeat(Count{static_cast<std::uint64_t>(sampling.times)}, one);
}

std::vector<Sampling> samplings(Adjacency adjacency, int places) {
  std::vector<Sampling> all{
      {Kind::all, 1, 0, 1}, {Kind::all, 1, 0, 2}, {Kind::poisson, 0.3, 0, 1}, {Kind::poisson, 0.75, 0, 1}, {Kind::poisson, 0.3, 0, 2}};
  if (adjacency == Adjacency::add_or_remove_one) return all;
  if (places == 1) return all;
  const int size = places / 2;
  if (adjacency == Adjacency::replace_one) {
    all.push_back({Kind::fixed_size, 1, size, 1});
    if (places == 2) all.push_back({Kind::fixed_size, 1, size, 2});
    all.push_back({Kind::with_replacement, 1, std::max(2, size), 1});
    if (places == 2) all.push_back({Kind::with_replacement, 1, places, 2});
  }
  all.push_back({Kind::shuffled, 1, size, 1});
  all.push_back({Kind::in_order, 1, size, 1});
  return all;
}

struct Counts {
  std::map<std::string, std::size_t> of_accountant;
  std::size_t cases = 0;
  double closest = 0;  ///< the largest truth over its bound
};

/// Holds all accountants against all samplings of one mechanism.
class Check {
 public:
  void operator()(const World& world, const Family& family, const Mechanism& mechanism, const std::string& number) {
    const Event event = event_of(family.event, world.adjacency);
    for (const auto& sampling : samplings(world.adjacency, world.places)) {
      if (results_of(mechanism, world, sampling) > 200 || (sampling.kind == Kind::poisson && !family.in_poisson)) continue;
      const auto* opinions = opinions_on(event, sampling, world.places);
      if (opinions == nullptr) continue;
      const auto truth = exact_curve(mechanism, world, sampling, epsilons());
      auto& row = counts[std::string{name(world.adjacency)}][static_cast<std::size_t>(sampling.kind)];
      ++row.cases;
      for (const auto& opinion : *opinions) {
        ++row.of_accountant[std::string{opinion.accountant}];
        for (std::size_t e = 0; e < truth.size(); ++e) {
          if (opinion.upper[e] > 0) row.closest = std::max(row.closest, truth[e] / opinion.upper[e]);
          EXPECT_LE(truth[e], opinion.upper[e] * (1 + slack) + slack)
              << number << ": " << describe(whole(event, sampling, world.places)) << " under " << name(world.adjacency) << " with "
              << world.places << " records at epsilon " << epsilons()[e] << " by " << opinion.accountant;
        }
      }
    }
  }

  std::map<std::string, std::array<Counts, 7>> counts;

 private:
  /// Nothing where the event does not exist or no accountant answers.
  const std::vector<Opinion>* opinions_on(const Event& event, const Sampling& sampling, int places) {
    std::optional<Event> run;
    try {
      run = whole(event, sampling, places);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return nullptr;
    }
    const auto key = fmt::format("{} {}", name(run->adjacency()), describe(*run));
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second.empty() ? nullptr : &found->second;
    const auto& made = known_.emplace(key, opinions_of(*run, epsilons())).first->second;
    return made.empty() ? nullptr : &made;
  }

  std::map<std::string, std::vector<Opinion>> known_;
};

void write_report(const std::string& file, const Check& check) {
  constexpr const char* kinds[] = {"none", "poisson", "without_replacement", "shuffled", "deterministic", "", "with_replacement"};
  std::ofstream out{file};
  const std::vector<std::string> accountants{"closed-form", "contour", "privacy-loss", "renyi", "moments", "zcdp", "optimal"};
  out << "| adjacency, batches | cases |";
  for (const auto& accountant : accountants) out << fmt::format(" {} |", accountant);
  out << "\n|---|---|---|---|---|---|---|---|---|\n";
  Counts total;
  for (const auto& [adjacency, rows] : check.counts) {
    for (std::size_t kind = 0; kind < rows.size(); ++kind) {
      const auto& row = rows[kind];
      if (row.cases == 0) continue;
      out << fmt::format("| {}, {} | {} |", adjacency, kinds[kind], row.cases);
      total.cases += row.cases;
      for (const auto& accountant : accountants) {
        const auto found = row.of_accountant.find(accountant);
        const std::size_t count = found == row.of_accountant.end() ? 0 : found->second;
        total.of_accountant[accountant] += count;
        out << fmt::format(" {} |", count);
      }
      out << "\n";
    }
  }
  out << fmt::format("| **all** | **{}** |", total.cases);
  for (const auto& accountant : accountants) out << fmt::format(" **{}** |", total.of_accountant[accountant]);
  out << "\n";
}

TEST(Meaning, NoMechanismCostsMoreThanAnyAccountantSays) {
  Words words{static_cast<std::uint64_t>(from_environment("SURETY_MEANING_SEED", 1))};
  const int mechanisms = from_environment("SURETY_MEANING_MECHANISMS", default_mechanisms);
  Check check;
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (int places = 1; places <= most_places; ++places) {
      const World world{adjacency, places};
      // Many mechanisms where there are few data sets, so that all numbers of records take about as long.
      const int draws = mechanisms * (places == 1 ? 10 : places == 2 ? 8 : places == 3 ? 3 : 1);
      for (const auto& family : families()) {
        if (!family.has_adjacency[static_cast<int>(adjacency)] || places > family.most_places) continue;
        Mechanism before;
        for (int i = 0; i < draws; ++i) {
          Mechanism mechanism{family.draw(words, world)};
          // Half of the runs choose between two mechanisms by the last result.
          if (i % 2 == 1 && before.front().results == mechanism.front().results) mechanism.push_back(before.front());
          check(world, family, mechanism, fmt::format("mechanism {}", i));
          before = {mechanism.front()};
        }
      }
    }
  }
  std::size_t cases = 0;
  for (const auto& [adjacency, rows] : check.counts) {
    for (const auto& row : rows) {
      cases += row.cases;
      // A suite whose mechanisms are far from what is charged would find nothing.
      if (row.cases > 0 && adjacency != "replace-one") {
        EXPECT_GT(row.closest, 0.9) << adjacency;
      }
    }
  }
  if (mechanisms >= 5) {
    EXPECT_GE(cases, 20000u);
  }
  if (const char* file = std::getenv("SURETY_MEANING_REPORT")) write_report(file, check);
}

// ---- Where the truth is known to be attained ----

/// Both ends of an accountant's answer against the worst mechanism there is.
void expect_attained(const std::string& text, const World& world, const Mechanism& worst, const Sampling& sampling) {
  const Event event = whole(event_of(text, world.adjacency), sampling, world.places);
  const std::vector<double> at{0, 0.05, 0.6, 1.3, 2.2};
  const auto truth = exact_curve(worst, world, sampling, at);
  std::size_t answers_found = 0;
  for (const auto& opinion : opinions_of(event, at)) {
    ++answers_found;
    for (std::size_t e = 0; e < at.size(); ++e) {
      EXPECT_LE(truth[e], opinion.upper[e] * (1 + slack) + slack) << describe(event) << " at " << at[e] << " by " << opinion.accountant;
      EXPECT_GE(truth[e], opinion.lower[e] * (1 - slack) - slack) << describe(event) << " at " << at[e] << " by " << opinion.accountant;
    }
  }
  EXPECT_GT(answers_found, 0u) << describe(event);
  const auto narrow = best_delta(event, Epsilon{0.6}).value;
  EXPECT_NEAR(narrow.upper, truth[2], 1e-3 * truth[2] + 1e-9) << describe(event);
  EXPECT_NEAR(narrow.lower, truth[2], 1e-3 * truth[2] + 1e-9) << describe(event);
}

std::string text_of(double number) { return fmt::format("{:.17g}", number); }

TEST(Meaning, TheWorstMechanismOfABatchUnderZeroOutIsEnclosed) {
  for (const int places : {1, 2}) {
    const World world{Adjacency::zero_out, places};
    for (const Sampling& sampling : {Sampling{Kind::all, 1, 0, 1}, Sampling{Kind::all, 1, 0, 3}, Sampling{Kind::poisson, 0.1, 0, 1},
                                     Sampling{Kind::poisson, 0.4, 0, 2}, Sampling{Kind::poisson, 0.1, 0, 4}}) {
      expect_attained("randomized_response(0.9, 2)", world, {one_bit(world, std::log(9), 0)}, sampling);
      expect_attained("pure(1)", world, {one_bit(world, 1, 0)}, sampling);
      if (sampling.kind == Kind::poisson || sampling.times == 1) {
        expect_attained("approx(0.5, 0.1)", world, {one_bit(world, 0.5, 0.1)}, sampling);
      }
    }
  }
}

TEST(Meaning, TheWorstMechanismOfABatchUnderAddOrRemoveOneIsEnclosed) {
  const World world{Adjacency::add_or_remove_one, 2};
  for (const Sampling& sampling : {Sampling{Kind::all, 1, 0, 2}, Sampling{Kind::poisson, 0.1, 0, 1}, Sampling{Kind::poisson, 0.4, 0, 3}}) {
    expect_attained("pure(1)", world, {one_bit(world, 1, 0)}, sampling);
  }
}

TEST(Meaning, TheWorstMechanismOfPublicBatchesIsEnclosed) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
    const World world{adjacency, 2};
    const Mechanism worst{one_bit(world, std::log(9), 0)};
    expect_attained("randomized_response(0.9, 2)", world, worst, {Kind::in_order, 1, 1, 1});
    // What shows who is in a batch leaves nothing of a secret order.
    const auto shuffled_truth = exact_curve(worst, world, {Kind::shuffled, 1, 1, 1}, {0.6});
    EXPECT_NEAR(shuffled_truth[0], exact_curve(worst, world, {}, {0.6})[0], 1e-15);
  }
}

/// Each place answers for itself, all of them in order.
Kernel answers_in_order(const World& world, double truth) {
  Kernel kernel{world, 1 << world.places};
  for (const int code : world.batches) {
    for (int result = 0; result < kernel.results; ++result) {
      double probability = 1;
      for (int place = 0; place < world.places; ++place) {
        const int value = value_at(code, place);
        if (value < 0) {
          probability *= ((result >> place) & 1) == 0 ? 1 : 0;
        } else {
          probability *= ((result >> place) & 1) == (value == 2 ? 1 : 0) ? truth : 1 - truth;
        }
      }
      kernel.of(code)[result] = probability;
    }
  }
  return kernel;
}

// An answer about the batch and an answer of each slot are one event, and in both words it is the former that costs what is said.
TEST(Meaning, OneAnswerAboutABatchCostsMoreThanOneOfEachSlot) {
  constexpr double truth = 0.9;
  const std::vector<double> at{0, 0.3, 1};
  for (const auto& [places, size] : {std::pair{2, 1}, {2, 2}, {3, 2}, {3, 3}, {4, 2}}) {
    const World world{Adjacency::replace_one, places};
    Kernel any{world, 2};
    for (const int code : world.batches) {
      bool holds = false;
      for (int place = 0; place < places; ++place) holds = holds || value_at(code, place) == 2;
      any.of(code)[holds ? 1 : 0] = truth;
      any.of(code)[holds ? 0 : 1] = 1 - truth;
    }
    for (const auto kind : {Kind::fixed_size, Kind::with_replacement}) {
      const Sampling sampling{kind, 1, size, 1};
      const Event event = whole(event_of("randomized_response(0.9, 2)", Adjacency::replace_one), sampling, places);
      const auto about_the_batch = exact_curve({any}, world, sampling, at);
      const auto of_each_slot = exact_curve({answers_in_order(world, truth)}, world, sampling, at);
      for (std::size_t e = 0; e < at.size(); ++e) {
        const auto said = delta(Pld{.width = 1e-4}, event, Epsilon{at[e]});
        EXPECT_LE(about_the_batch[e], said.upper + slack) << describe(event) << ' ' << at[e];
        EXPECT_LE(of_each_slot[e], said.upper + slack) << describe(event) << ' ' << at[e];
        EXPECT_GE(about_the_batch[e], said.lower - slack) << describe(event) << ' ' << at[e];
        EXPECT_LE(about_the_batch[e], said.lower + 1e-4) << describe(event) << ' ' << at[e];
        if (size == 1) {
          EXPECT_NEAR(of_each_slot[e], about_the_batch[e], slack) << describe(event) << ' ' << at[e];
        } else {
          EXPECT_LT(of_each_slot[e], 0.99 * about_the_batch[e]) << describe(event) << ' ' << at[e];
        }
      }
    }
  }
}

TEST(Meaning, BatchesUnderZeroOutOfWhatShowsWhoIsInThemCostWhatTheirNumberSays) {
  const auto epsilon_at = [](const std::string& text, double at) {
    return epsilon(Pld{.width = 1e-3}, event_of(text, Adjacency::zero_out), Delta{at});
  };
  // A Binomial(100, 0.01) number of answers is seen, each of loss +-log 9: 17.330564, where the record's absence would cost 1.3146.
  const auto hundred = epsilon_at("repeat(100, poisson(0.01, randomized_response(0.9, 2)))", 1e-6);
  EXPECT_LE(hundred.lower, 17.330564316);
  EXPECT_GE(hundred.upper, 17.330564315);
  EXPECT_LT(hundred.upper - hundred.lower, 1e-2);
  // One record: it answers with its own category with probability 0.09, or 0.005 after it was zeroed.
  const auto once = epsilon_at("poisson(0.1, randomized_response(0.9, 3))", 0);
  EXPECT_LE(once.lower, std::log(18) * (1 + 1e-12));
  EXPECT_GE(once.upper, std::log(18) * (1 - 1e-12));
  EXPECT_LT(once.upper - once.lower, 1e-9);
  const auto pure = epsilon_at("poisson(0.1, pure(1))", 0);
  EXPECT_LE(pure.lower, 1);
  EXPECT_GE(pure.upper, 1);
  EXPECT_LT(pure.upper, 1 + 1e-9);
  // An event of rate 1 is no batch, and noise on a sum is what it was.
  EXPECT_EQ(epsilon_at("poisson(1, randomized_response(0.9, 2))", 0).upper, epsilon_at("randomized_response(0.9, 2)", 0).upper);
  for (const std::string sum : {"laplace(1)", "discrete_laplace(1, 1)", "gaussian(2)"}) {
    const std::string text = "repeat(3, poisson(0.1, " + sum + "))";
    EXPECT_EQ(epsilon_at(text, 1e-4).upper, epsilon(Pld{.width = 1e-3}, event_of(text, Adjacency::add_or_remove_one), Delta{1e-4}).upper)
        << text;
  }
}

TEST(Meaning, EveryRenyiDivergenceOfARevealedBatchIsExact) {
  for (const double order : {1.01, 1.5, 2.0, 17.0}) {
    for (const double rate : {1e-6, 0.1, 0.9}) {
      const Event batch = event_of("poisson(" + text_of(rate) + ", randomized_response(0.9, 2))", Adjacency::zero_out);
      const double truth = std::log1p(rate * (0.9 * std::pow(9, order - 1) + 0.1 * std::pow(9, 1 - order) - 1)) / (order - 1);
      const double bound = renyi_divergence(batch, RenyiOrder{order}).divergence.upper;
      EXPECT_GE(bound, truth * (1 - 1e-9)) << order;
      EXPECT_LE(bound, truth * (1 + 1e-6)) << order;
    }
  }
}

TEST(Meaning, OnlyNoiseOnSumsTakesAZeroedRecordForAnAbsentOne) {
  const auto acts = [](const std::string& text) { return zeroed_acts_as_absent(event_of(text, Adjacency::zero_out)); };
  for (const std::string sum :
       {"gaussian(1)", "record_sum(1)", "laplace(1)", "discrete_gaussian(1, 1)", "discrete_laplace(1, 1)", "binomial(6, 1)",
        "skellam(1, 1)", "laplace_record_sum(1)", "generalized_gaussian(3, 2, 1)", "k_norm(linf, 3, 1)", "repeat(2, gaussian(1))",
        "compose(laplace(1), gaussian(1))", "parallel(laplace(1), repeat(2, gaussian(1)))"}) {
    EXPECT_TRUE(acts(sum)) << sum;
  }
  for (const std::string other : {"randomized_response(0.9, 2)", "exponential(1)", "pure(1)", "approx(1, 0.1)", "zcdp(1)",
                                  "repeat(2, pure(1))", "compose(gaussian(1), pure(1))", "parallel(gaussian(1), exponential(1))",
                                  "poisson(0.5, gaussian(1))", "shuffled(3, 1, gaussian(1))"}) {
    EXPECT_FALSE(acts(other)) << other;
  }
  EXPECT_EQ(poisson_pair(event_of("pure(1)", Adjacency::add_or_remove_one)), PoissonPair::with_or_without);
  EXPECT_EQ(poisson_pair(event_of("pure(1)", Adjacency::zero_out)), PoissonPair::revealed);
  EXPECT_EQ(poisson_pair(event_of("gaussian(1)", Adjacency::zero_out)), PoissonPair::with_or_without);
  EXPECT_EQ(poisson_pair(event_of("record_sum(1)", Adjacency::replace_one)), PoissonPair::opposite);
  EXPECT_TRUE(splits_its_batch(event_of("repeat(2, compose(gaussian(1), parallel(gaussian(1), gaussian(2))))", Adjacency::replace_one)));
  EXPECT_FALSE(splits_its_batch(event_of("repeat(2, compose(gaussian(1), gaussian(2)))", Adjacency::replace_one)));
}

// ---- Groups, trees and trade-offs ----

TEST(Meaning, NoGroupOfTwoCostsMoreThanItsEvent) {
  Words words{2};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const World world{adjacency, 3};
    for (const auto& family : families()) {
      if (!family.has_adjacency[static_cast<int>(adjacency)] || world.places > family.most_places) continue;
      std::optional<Event> both;
      try {
        both = group(event_of(family.event, adjacency), Count{2});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        continue;
      }
      const auto opinions = opinions_of(*both, epsilons());
      for (int i = 0; i < 4; ++i) {
        const auto truth = exact_curve({family.draw(words, world)}, world, {}, epsilons(), 2);
        for (const auto& opinion : opinions) {
          for (std::size_t e = 0; e < truth.size(); ++e) {
            EXPECT_LE(truth[e], opinion.upper[e] * (1 + slack) + slack) << family.event << " by " << opinion.accountant;
          }
        }
      }
      // Sampled, through a chain of neighbours.
      if (!family.in_poisson || adjacency == Adjacency::replace_one) continue;
      const auto truth = exact_curve({family.draw(words, world)}, world, {Kind::poisson, 0.3, 0, 1}, {0.6}, 2);
      try {
        EXPECT_LE(truth[0], group_delta(Renyi{}, event_of("poisson(0.3, " + family.event + ")", adjacency), Count{2}, Epsilon{0.6}).upper);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
      }
    }
  }
}

TEST(Meaning, NoUserOfTwoRecordsCostsMoreThanTheEvent) {
  Words words{5};
  int seen = 0;
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const World world{adjacency, 3};
    for (const auto& family : families()) {
      if (!family.has_adjacency[static_cast<int>(adjacency)] || world.places > family.most_places) continue;
      std::optional<Event> user;
      try {
        user = event_of("users(2, " + family.event + ")", adjacency);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        continue;
      }
      ++seen;
      const auto opinions = opinions_of(*user, epsilons());
      for (int i = 0; i < 4; ++i) {
        const auto truth = exact_curve({family.draw(words, world)}, world, {}, epsilons(), 2);
        for (const auto& opinion : opinions) {
          for (std::size_t e = 0; e < truth.size(); ++e) {
            EXPECT_LE(truth[e], opinion.upper[e] * (1 + slack) + slack) << describe(*user) << " by " << opinion.accountant;
          }
        }
      }
    }
  }
  EXPECT_GE(seen, 20);
}

TEST(Meaning, ATreeOfNoisySumsCostsAtMostItsEvent) {
  Words words{3};
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
    const World world{adjacency, 3};
    const auto opinions = opinions_of(tree(Count{3}, event_of("discrete_laplace(1, 1)", adjacency)), epsilons());
    for (int i = 0; i < 20; ++i) {
      const auto contributions = draw_contributions(words, world, 1, true, false);
      // Steps 1, 1 to 2, and 3 are the nodes of three steps.
      const auto node = [&](int mask) {
        const Kernel whole_sum = noisy_sum(words, world, contributions, discrete_laplace(1), 3);
        Kernel part{world, whole_sum.results};
        for (const int code : world.batches) std::copy_n(whole_sum.of(restricted(code, mask)), part.results, part.of(code));
        return part;
      };
      const Mechanism nodes{then(world, then(world, node(1), {node(3)}), {node(4)})};
      const auto truth = exact_curve(nodes, world, {}, epsilons());
      for (const auto& opinion : opinions) {
        for (std::size_t e = 0; e < truth.size(); ++e) EXPECT_LE(truth[e], opinion.upper[e] * (1 + slack) + slack) << opinion.accountant;
      }
    }
  }
}

/// The least probability of a miss at false alarms of at most `alpha`, by the likelihood ratios.
double least_miss(const std::vector<double>& p, const std::vector<double>& q, double alpha) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return q[a] * p[b] > q[b] * p[a]; });
  double miss = 1;
  for (const std::size_t i : order) {
    const double share = p[i] > 0 ? std::min(1.0, alpha / p[i]) : 1;
    miss -= share * q[i];
    alpha = std::max(0.0, alpha - p[i]);
    if (share < 1) break;
  }
  return miss;
}

TEST(Meaning, NoTestBeatsTheTradeoffOfABatch) {
  Words words{4};
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    const World world{adjacency, 2};
    const Sampling sampling{Kind::poisson, 0.4, 0, 1};
    const Event event = event_of("poisson(0.4, pure(1))", adjacency);
    const PrivacyCurve curve = [&](Epsilon epsilon) { return delta(Pld{.width = 1e-2}, event, epsilon); };
    for (const double alpha : {0.02, 0.2, 0.7}) {
      const double least = tradeoff(curve, Probability{alpha}).lower;
      for (int i = 0; i < 5; ++i) {
        const Mechanism mechanism{i == 0 ? one_bit(world, 1, 0) : draw_pure(words, world, 1)};
        for (const auto& [a, b] : world.neighbours) {
          const auto p = law_of(mechanism, world, sampling, world.data[a]);
          const auto q = law_of(mechanism, world, sampling, world.data[b]);
          EXPECT_GE(std::min(least_miss(p, q, alpha), least_miss(q, p, alpha)), least - slack) << alpha;
        }
      }
    }
  }
}

// ---- Wrong hypotheses: what an accountant would say that applied a right theorem where it does not hold ----

/// By how much the truth exceeds what is claimed, at the worst of some epsilons.
double excess(const Mechanism& mechanism, const World& world, const Sampling& sampling, const std::function<double(double)>& claimed,
              int changes = 1) {
  const std::vector<double> at{0, 0.05, 0.3, 0.6, 1.3, 2};
  const auto truth = exact_curve(mechanism, world, sampling, at, changes);
  double most = -1;
  for (std::size_t e = 0; e < at.size(); ++e) most = std::max(most, truth[e] - claimed(at[e]));
  return most;
}
/// What is said of an event under an adjacency.
std::function<double(double)> charge(const std::string& text, Adjacency adjacency) {
  return [event = event_of(text, adjacency)](double epsilon) { return best_delta(event, Epsilon{epsilon}).value.upper; };
}

constexpr double found = 1e-3;
constexpr auto add_or_remove = Adjacency::add_or_remove_one;
constexpr auto replace = Adjacency::replace_one;
constexpr auto zero = Adjacency::zero_out;

/// Contributions of which a record has -1, 0 or 1.
constexpr Contributions signs{{{0, 1, -1}, {0, 1, -1}, {0, 1, -1}, {0, 1, -1}}};

/// A sum of `signs` with noise, seen as one of the intervals between halves of whole numbers.
Kernel fine_sum(
    const World& world, const Distribution& noise, const std::function<double(int)>& offset = [](int) { return 0.0; }) {
  constexpr int results = 24;
  Kernel kernel{world, results};
  for (const int code : world.batches) {
    double sum = offset(occupied(code));
    for (int place = 0; place < world.places; ++place) {
      if (value_at(code, place) >= 0) sum += signs.of[place][value_at(code, place)];
    }
    double before = 0;
    for (int i = 0; i < results; ++i) {
      const double to = i + 1 == results ? 1 : noise(0.5 * (i - results / 2) + 0.25 - sum);
      kernel.of(code)[i] = to - before;
      before = to;
    }
  }
  return kernel;
}

TEST(WrongHypothesis, ThatAZeroedRecordDoesNotAnswer) {
  const World world{zero, 1};
  const Mechanism answer{one_bit(world, std::log(9), 0)};
  const Sampling sampling{Kind::poisson, 0.1, 0, 1};
  // The pair of a record that is in the batch or not, which is that of add-or-remove-one.
  EXPECT_GT(excess(answer, world, sampling, charge("poisson(0.1, pure(" + text_of(std::log(9)) + "))", add_or_remove)), found);
  EXPECT_LT(excess(answer, world, sampling, charge("poisson(0.1, randomized_response(0.9, 2))", zero)), slack);
}

TEST(WrongHypothesis, ThatPurePrivacyHidesWhoIsInTheBatch) {
  const World world{zero, 2};
  const Mechanism bit{one_bit(world, 1, 0)};
  const Sampling sampling{Kind::poisson, 0.1, 0, 2};
  EXPECT_GT(excess(bit, world, sampling, charge("repeat(2, poisson(0.1, pure(1)))", add_or_remove)), found);
  EXPECT_LT(excess(bit, world, sampling, charge("repeat(2, poisson(0.1, pure(1)))", zero)), slack);
}

TEST(WrongHypothesis, ThatAChoiceHidesWhoIsInTheBatch) {
  const World world{zero, 1};
  const Mechanism choice{one_bit(world, 0.5, 0)};  // losses +-0.5: a range of 1
  const Sampling sampling{Kind::poisson, 0.1, 0, 1};
  EXPECT_GT(excess(choice, world, sampling, charge("poisson(0.1, exponential(1))", add_or_remove)), found);
  EXPECT_LT(excess(choice, world, sampling, charge("poisson(0.1, exponential(1))", zero)), slack);
}

TEST(WrongHypothesis, ThatANoisyQueryIsASum) {
  const World world{zero, 2};
  const Mechanism shows_size{fine_sum(world, laplace(1), [](int mask) { return mask == 0 ? 0.0 : mask == 3 ? 4.0 : -4.0; })};
  const Mechanism sum{fine_sum(world, laplace(1))};
  const Sampling sampling{Kind::poisson, 0.1, 0, 1};
  EXPECT_GT(excess(shows_size, world, sampling, charge("poisson(0.1, laplace(1))", zero)), found);
  EXPECT_LT(excess(sum, world, sampling, charge("poisson(0.1, laplace(1))", zero)), slack);
}

TEST(WrongHypothesis, ThatABatchOfFixedSizeHasThePairOfAPoissonBatch) {
  const World world{replace, 2};
  // One release shows a record that comes, the other one that goes: no direction is the worse one for both.
  Kernel comes{world, 2};
  Kernel goes{world, 2};
  const double right = 1 / (1 + std::exp(-2.0));
  for (const int code : world.batches) {
    const bool has_two = value_at(code, 0) == 2;
    const bool has_zero = value_at(code, 0) == 0;
    comes.of(code)[0] = has_two ? 1 - right : right;
    comes.of(code)[1] = 1 - comes.of(code)[0];
    goes.of(code)[0] = has_zero ? 1 - right : right;
    goes.of(code)[1] = 1 - goes.of(code)[0];
  }
  const Sampling once{Kind::fixed_size, 1, 1, 1};
  // Two releases of one batch each, the first of one kind and the second of the other.
  const auto run = [&](int code) {
    const auto first = law_of({comes}, world, once, code);
    const auto second = law_of({goes}, world, once, code);
    std::vector<double> law;
    for (const double p : first) {
      for (const double q : second) law.push_back(p * q);
    }
    return law;
  };
  double most = -1;
  double least = 1;
  const auto wrong = charge("repeat(2, poisson(0.5, pure(2)))", add_or_remove);
  const auto right_one = charge("repeat(2, without_replacement(2, 1, pure(2)))", replace);
  for (const double epsilon : {0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 1.8}) {
    double truth = 0;
    for (const auto& [i, j] : world.neighbours) {
      const auto p = run(world.data[i]);
      const auto q = run(world.data[j]);
      truth = std::max({truth, hockey_stick(p.data(), q.data(), p.size(), std::exp(epsilon)),
                        hockey_stick(q.data(), p.data(), p.size(), std::exp(epsilon))});
    }
    most = std::max(most, truth - wrong(epsilon));
    least = std::min(least, right_one(epsilon) - truth);
  }
  EXPECT_GT(most, found);
  EXPECT_GT(least, -slack);
}

TEST(WrongHypothesis, ThatABatchOfFixedSizeMayShowWhoIsInIt) {
  const World world{replace, 2};
  const Mechanism bit{one_bit(world, 1, 0)};
  EXPECT_GT(excess(bit, world, {Kind::fixed_places, 1, 1, 1}, charge("without_replacement(2, 1, pure(1))", replace)), found);
  EXPECT_LT(excess(bit, world, {Kind::fixed_size, 1, 1, 1}, charge("without_replacement(2, 1, pure(1))", replace)), slack);
}

TEST(WrongHypothesis, ThatABatchOfFixedSizeMayBeInTheOrderOfTheData) {
  // Three records, two in the batch, each of which answers: where the third one says what the second one would, the first one is there.
  const World world{replace, 3};
  const Mechanism slots{answers_in_order(world, 0.9)};
  const auto claimed = charge("without_replacement(3, 2, randomized_response(0.9, 2))", replace);
  EXPECT_GT(excess(slots, world, {Kind::fixed_order, 1, 2, 1}, claimed), found);
  EXPECT_LT(excess(slots, world, {Kind::fixed_size, 1, 2, 1}, claimed), slack);
}

TEST(WrongHypothesis, ThatABatchWithReplacementHoldsARecordOnce) {
  const World world{replace, 2};
  const Mechanism sum{fine_sum(world, discrete_laplace(1))};
  const Sampling sampling{Kind::with_replacement, 1, 2, 1};
  EXPECT_GT(excess(sum, world, sampling, charge("without_replacement(4, 3, discrete_laplace(1, 2))", replace)), found);  // q alone
  EXPECT_LT(excess(sum, world, sampling, charge("with_replacement(2, 2, discrete_laplace(1, 2))", replace)), slack);
}

TEST(WrongHypothesis, ThatPartsOfABatchOfFixedSizeAreIndependent) {
  const World world{replace, 2};
  // A part by the public place, in which anything may be said of how many there are: nothing in it is private.
  Kernel number{world, 2};
  for (const int code : world.batches) number.of(code)[occupied(code) == 0 ? 0 : 1] = 1;
  const double right = 1 / (1 + std::exp(-1.0));
  Kernel bit{world, 2};  // silent about absence
  for (const int code : world.batches) {
    bit.of(code)[0] = value_at(code, 0) == 2 ? 1 - right : right;
    bit.of(code)[1] = 1 - bit.of(code)[0];
  }
  const Mechanism parts{in_parts(world, bit, number, is_random_place)};
  EXPECT_GT(excess(parts, world, {Kind::fixed_places, 1, 1, 1}, charge("without_replacement(2, 1, pure(1))", replace)), found);
  // Charged as if there were no batch, it holds.
  EXPECT_LT(excess(parts, world, {Kind::fixed_places, 1, 1, 1}, charge("without_replacement(2, 1, parallel(pure(1), pure(1)))", replace)),
            slack);
}

TEST(WrongHypothesis, ThatAReplacedRecordStaysInItsPart) {
  const World world{replace, 1};
  const auto by_value = [](int, int value) { return value == 2; };
  const Kernel count = fine_sum(world, discrete_laplace(1));
  const Mechanism cells{in_parts(world, count, count, by_value)};
  EXPECT_GT(excess(cells, world, {}, charge("parallel(discrete_laplace(1, 1), discrete_laplace(1, 1))", replace)), found);
  const Mechanism places{in_parts(World{replace, 2}, fine_sum(World{replace, 2}, discrete_laplace(1)),
                                  fine_sum(World{replace, 2}, discrete_laplace(1)), is_random_place)};
  EXPECT_LT(excess(places, World{replace, 2}, {}, charge("parallel(discrete_laplace(1, 2), discrete_laplace(1, 2))", replace)), slack);
}

TEST(WrongHypothesis, ThatAZeroedRecordLeavesItsPartUnseen) {
  const World world{zero, 1};
  // Each part says whether it holds a record of its own value: pure(1) in each, and both change.
  Kernel any{world, 2};
  const double right = 1 / (1 + std::exp(-1.0));
  for (const int code : world.batches) {
    any.of(code)[0] = occupied(code) != 0 ? 1 - right : right;
    any.of(code)[1] = 1 - any.of(code)[0];
  }
  const Mechanism parts{in_parts(world, any, any, [](int, int value) { return value == 2; })};
  EXPECT_GT(excess(parts, world, {}, charge("parallel(pure(1), pure(1))", zero)), found);
}

TEST(WrongHypothesis, ThatAShuffledEpochIsAPoissonBatch) {
  const World world{zero, 2};
  const Mechanism bit{one_bit(world, 1, 0)};
  const Sampling sampling{Kind::shuffled, 1, 1, 1};
  EXPECT_GT(excess(bit, world, sampling, charge("poisson(0.5, pure(1))", zero)), found);
  EXPECT_GT(excess(bit, world, sampling, charge("repeat(2, poisson(0.5, pure(1)))", zero)), found);
  EXPECT_LT(excess(bit, world, sampling, charge("shuffled(2, 1, pure(1))", zero)), slack);
}

TEST(WrongHypothesis, ThatAGroupIsOneRecord) {
  const World world{zero, 2};
  const Mechanism sum{fine_sum(world, discrete_laplace(1))};
  EXPECT_GT(excess(sum, world, {}, charge("discrete_laplace(1, 1)", zero), 2), found);
  const Event both = group(event_of("discrete_laplace(1, 1)", zero), Count{2});
  EXPECT_LT(excess(sum, world, {}, charge(describe(both), zero), 2), slack);
}

TEST(WrongHypothesis, ThatTheConcentrationOfAGroupIsLinear) {
  const World world{zero, 2};
  const Mechanism sum{fine_sum(world, normal(1))};
  EXPECT_GT(excess(sum, world, {}, charge("gaussian(0.70710678118654746)", zero), 2), found);                           // rho times 2
  EXPECT_LT(excess(sum, world, {}, charge(describe(group(event_of("gaussian(1)", zero), Count{2})), zero), 2), slack);  // times 4
}

TEST(WrongHypothesis, ThatAZeroedRecordAnswersAtRandom) {
  const World world{zero, 1};
  const Mechanism answer{one_bit(world, std::log(9), 0)};  // as a category of its own
  const auto special = [](double epsilon) { return std::max({0.9 - std::exp(epsilon) * 0.5, 0.5 - std::exp(epsilon) * 0.1, 0.0}); };
  EXPECT_GT(excess(answer, world, {}, special), found);
  EXPECT_LT(excess(answer, world, {}, charge("randomized_response(0.9, 2)", zero)), slack);
}

TEST(WrongHypothesis, ThatARemovedRecordLeavesTheOthersInTheirBatches) {
  const World world{add_or_remove, 4};
  const Mechanism sums{fine_sum(world, discrete_laplace(1))};
  EXPECT_GT(excess(sums, world, {Kind::in_order, 1, 2, 1}, charge("discrete_laplace(1, 1)", add_or_remove)), found);
  EXPECT_THROW((void)event_of("deterministic(4, 2, discrete_laplace(1, 1))", add_or_remove), Error);
}

TEST(WrongHypothesis, ThatARemovedRecordAnswers) {
  Words words{5};
  const World world{add_or_remove, 2};
  const Mechanism response{answers(words, world, 0.75, 2)};
  EXPECT_GT(excess(response, world, {}, charge("randomized_response(0.75, 2)", replace)), found);
  EXPECT_THROW((void)event_of("randomized_response(0.75, 2)", add_or_remove), Error);
}

TEST(WrongHypothesis, ThatAReplacedRecordIsOneThatIsDrawnOrNot) {
  const World world{replace, 2};
  const Mechanism bit{one_bit(world, 1, 0)};
  const Sampling sampling{Kind::poisson, 0.1, 0, 1};
  EXPECT_GT(excess(bit, world, sampling, charge("poisson(0.1, pure(1))", add_or_remove)), found);
  EXPECT_THROW((void)event_of("poisson(0.1, pure(1))", replace), Error);
  // Two vectors may lie opposite each other: what one record can add is half of it.
  const Mechanism sum{fine_sum(world, normal(1))};
  EXPECT_GT(excess(sum, world, sampling, charge("poisson(0.1, gaussian(1))", add_or_remove)), found);
  EXPECT_LT(excess(sum, world, sampling, charge("poisson(0.1, record_sum(1))", replace)), slack);
}

TEST(WrongHypothesis, ThatTwoReleasesOfOneBatchAreOfTwo) {
  const World world{zero, 1};
  const Kernel bit = one_bit(world, 1, 0);
  const Mechanism twice{then(world, bit, {bit})};
  const Sampling sampling{Kind::poisson, 0.1, 0, 1};
  EXPECT_GT(excess(twice, world, sampling, charge("repeat(2, poisson(0.1, pure(1)))", zero)), found);
  EXPECT_LT(excess(twice, world, sampling, charge("poisson(0.1, repeat(2, pure(1)))", zero)), slack);
}

}  // namespace
}  // namespace surety::accounting::meaning_test
