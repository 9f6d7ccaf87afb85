#include <surety/accounting/laws/truncated/truncated_batch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting::laws {
namespace {

constexpr mpfr_prec_t batch_precision = 128;
constexpr double most_terms = 1e6;

Interval exactly(double value) { return {value, batch_precision}; }

double probability(double x) { return std::clamp(x, 0.0, 1.0); }
Enclosure probability_of(const Interval& x) {
  const Enclosure found = x.enclosure();
  return {probability(found.lower), probability(found.upper)};
}

/// The shares of a batch in intervals, and what they are made of.
struct Shares {
  Interval roomy;
  Interval last;
  Interval drawn_last;
  Interval at;
  Interval crowded;
  /// b(N) of the largest N <= largest - 2, from which those of fewer follow backwards; 0 where there is none.
  Interval roomiest;
};

/// b(N) = C(others, N) q^N (1 - q)^(others - N), the chance that so many of the others are drawn. \pre 0 < q < 1
struct Drawn {
  double others;
  Interval q;
  Interval left_out;  ///< 1 - q

  Drawn(double others_drawn_from, double rate) : others{others_drawn_from}, q{exactly(rate)}, left_out{exactly(1) - q} {}

  /// \pre 0 <= n <= others
  [[nodiscard]] Interval at(double n) const {
    const Interval ways = log_gamma(exactly(others + 1)) - log_gamma(exactly(n + 1)) - log_gamma(exactly(others - n + 1));
    return exp(ways + exactly(n) * log(q) + exactly(others - n) * log1p(-q));
  }
  /// b(n + 1) / b(n) and b(n - 1) / b(n). Each falls as n goes its way.
  [[nodiscard]] Interval growth(double n) const { return exactly(others - n) * q / (exactly(n + 1) * left_out); }
  [[nodiscard]] Interval decline(double n) const { return exactly(n) * left_out / (exactly(others - n + 1) * q); }
};

/// The sum of `first` and of what follows it, each term a factor of the last one that falls. `step` gives the factor from the term of this place to the
/// next, 0 where it is the last; `see` is shown each term. What is left out is at most a geometric series, and added.
template <class Step, class See>
Interval falling_sum(Interval term, const Step& step, const See& see) {
  constexpr int between_looks = 64;
  constexpr double negligible = -100;
  Interval sum = exactly(0);
  PollNowAndThen poll;
  for (int k = 0;; ++k) {
    poll();
    sum = sum + term;
    see(term);
    const Interval factor = step();
    term = term * factor;
    if (factor.enclosure().upper == 0) return sum;
    if (k % between_looks > 0 || !(factor.enclosure().upper < 1)) continue;
    const Interval rest = term / (exactly(1) - exactly(factor.enclosure().upper));
    if (rest.approximate_log() > sum.approximate_log() + negligible) continue;
    const Interval any = hull(exactly(0), rest);
    see(any);
    return sum + any;
  }
}

/// So many terms are added up from their side also where most of the mass is among them; of more it is what the others leave.
constexpr double few_terms = 0x1p14;

Shares shares_of_drawn(const Drawn& drawn, double largest) {
  const Interval one = exactly(1);
  const double others = drawn.others;
  const double mean = others * drawn.q.enclosure().upper;
  const Interval at = drawn.at(largest - 1);
  const Interval roomiest = largest >= 2 ? drawn.at(largest - 2) : exactly(0);
  const auto sum_below = [&] {  // b(largest - 2) + b(largest - 3) + ...
    double n = largest - 2;
    return n < 0 ? exactly(0)
                 : falling_sum(
                       roomiest, [&] { return drawn.decline(n--); }, [](const Interval&) {});
  };
  // By the side where less is; either sum is sound.
  const bool crowded_by_rest = mean > largest && others - largest > few_terms;
  const bool roomy_by_rest = !crowded_by_rest && largest > few_terms && mean < largest;
  Interval above = exactly(0);
  Interval kept = exactly(0);  // the sum of b(N) largest / (N + 1) over N >= largest
  if (crowded_by_rest) {
    const Interval below = sum_below();
    above = one - below - at;
    // C(others, N) / (N + 1) = C(others + 1, N + 1) / (others + 1): that many times q is a chance among one more.
    kept = exactly(largest) * (above - drawn.left_out * drawn.at(largest)) / (exactly(others + 1) * drawn.q);
    const Interval drawn_last = drawn.q * kept;
    return {.roomy = below, .last = at + drawn_last, .drawn_last = drawn_last, .at = at, .crowded = above, .roomiest = roomiest};
  }
  double n = largest;
  double place = largest;
  above = falling_sum(
      drawn.at(largest), [&] { return drawn.growth(n++); },
      [&](const Interval& term) {
        kept = kept + term * exactly(largest) / exactly(place + 1);
        ++place;
      });
  const Interval drawn_last = drawn.q * kept;  // drawn, and one of `largest` that stay of more
  return {.roomy = roomy_by_rest ? one - at - above : sum_below(),
          .last = at + drawn_last,
          .drawn_last = drawn_last,
          .at = at,
          .crowded = above,
          .roomiest = roomiest};
}

/// \pre largest <= others, or q = 1
Shares made_shares(SamplingRate rate, Batches batches) {
  const auto others = static_cast<double>(batches.records().value() - 1);
  const auto largest = static_cast<double>(batches.size().value());
  const double q = rate.value();
  if (q == 1) {
    // All are drawn.
    const Interval none = exactly(0);
    const Interval all = exactly(1);
    const Interval kept = others >= largest ? exactly(largest) / exactly(others + 1) : none;
    const bool is_last = others == largest - 1;
    return {.roomy = others < largest - 1 ? all : none,
            .last = (is_last ? all : none) + kept,
            .drawn_last = kept,
            .at = is_last ? all : none,
            .crowded = others >= largest ? all : none,
            .roomiest = none};
  }
  // The terms that matter lie within some 15 deviations of the mean.
  if (!(20 * std::sqrt(others * q * (1 - q)) + few_terms <= most_terms)) {
    throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: a batch of at most {} of {} records at rate {} has too many sizes",
                                                    batches.size().value(), batches.records().value(), rate.value())};
  }
  return shares_of_drawn(Drawn{others, q}, largest);
}

/// P(low < N(0, 1) <= high), without cancellation in either tail.
Interval between(const Interval& low, const Interval& high) {
  const bool above = low.compare(0) >= 0;
  const Interval found = above ? normal_cdf(-low) - normal_cdf(-high) : normal_cdf(high) - normal_cdf(low);
  return clamp(found, 0, 1);
}

/// Kept for the accountants and the bounds that ask for the same, which is up to 10^6 terms of 128 bits.
Shares shares_of(SamplingRate rate, Batches batches) {
  static auto& kept = *new LastFew<std::tuple<double, std::uint64_t, std::uint64_t>, std::shared_ptr<const Shares>, laws_of_a_question>;
  return *kept.of({rate.value(), batches.records().value(), batches.size().value()},
                  [&] { return std::make_shared<const Shares>(made_shares(rate, batches)); });
}

}  // namespace

TruncatedBatch truncated_batch(SamplingRate rate, Batches batches) {
  const StandardFloatingPoint environment;
  const Interval q = exactly(rate.value());
  const Shares shares = shares_of(rate, batches);
  return {.roomy = probability_of(shares.roomy),
          .last = probability_of(shares.last),
          .last_rate = probability_of((shares.at * q + shares.drawn_last) / shares.last),
          .full = probability_of(shares.crowded - shares.drawn_last),
          .crowded = probability_of(shares.crowded),
          .room = probability_of(shares.roomy + shares.at),
          .rate = probability_of((shares.roomy + shares.at) * q + shares.drawn_last),
          .displaces = shares.crowded.enclosure().lower > 0 ? probability_of(shares.drawn_last / shares.crowded) : Enclosure{0, 1}};
}

std::vector<BatchShare> shares_by_others_seen(SamplingRate rate, Batches batches, double multiplier) {
  constexpr double most_noise = 10;
  constexpr int steps = 3;
  if (!(multiplier <= most_noise) || rate.value() == 1) return {};
  const StandardFloatingPoint environment;
  const Shares shares = shares_of(rate, batches);
  const auto others = static_cast<double>(batches.records().value() - 1);
  const auto largest = static_cast<double>(batches.size().value());
  const Interval q = exactly(rate.value());
  const Interval z = exactly(multiplier);
  // The places between the steps, of which these few tell nearly as much as many; beyond all of them the ends of the line.
  std::vector<Interval> edges;
  for (int i = steps; i-- > 0;) edges.push_back(exactly(largest - (1 + 1.5 * multiplier) * i / (steps - 1)));
  std::vector<Interval> weight(steps + 1, exactly(0));
  std::vector<Interval> joined(steps + 1, exactly(0));
  const auto count = [&](double kept, const Interval& probability, const Interval& joining) {
    for (int i = 0; i <= steps; ++i) {
      const auto place = [&](int k) { return (edges[static_cast<std::size_t>(k)] - exactly(kept)) / z; };
      const Interval seen = i == 0 ? normal_cdf(place(0)) : i == steps ? normal_cdf(-place(steps - 1)) : between(place(i - 1), place(i));
      const auto at = static_cast<std::size_t>(i);
      weight[at] = weight[at] + probability * seen;
      joined[at] = joined[at] + probability * seen * joining;
    }
  };
  count(largest, shares.crowded - shares.drawn_last, exactly(0));
  count(largest - 1, shares.last, (shares.at * q + shares.drawn_last) / shares.last);
  // Backwards from largest - 2 others: those that lie further than 40 z below count as the lowest step, but for e^-700 of them.
  Interval b = shares.roomiest;
  Interval left = shares.roomy;
  for (double n = largest - 2; n >= 0 && n >= largest - 3 - 45 * multiplier; --n) {
    poll_limit();
    count(n, b, q);
    left = left - b;
    b = b * exactly(n) / exactly(others - n + 1) * (exactly(1) - q) / q;
  }
  left = clamp(left, 0, 1);
  weight[0] = weight[0] + left;
  joined[0] = joined[0] + left * q;
  const Interval mistaken = hull(exactly(0), left * exp(exactly(-700)));
  std::vector<BatchShare> found;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const Interval mass = i == 0 ? weight[i] - mistaken : weight[i] + mistaken;
    if (mass.compare(0) <= 0) continue;
    const Interval joining = (i == 0 ? joined[i] - mistaken : joined[i] + hull(exactly(0), mistaken * q)) / mass;
    found.push_back({probability_of(mass), probability_of(joining)});
  }
  return found;
}

std::vector<CrowdedBatch> crowded_batches(SamplingRate rate, Batches batches) {
  const StandardFloatingPoint environment;
  const auto largest = static_cast<double>(batches.size().value());
  std::vector<CrowdedBatch> found;
  const auto number = [](double records) { return Count{static_cast<std::uint64_t>(records)}; };
  auto most = static_cast<double>(batches.records().value());
  // Numbers in blocks: the weight grows with the number, and the rate falls.
  for (const double part : {1000.0, 0.0}) {
    if (most <= largest) break;
    const Batches here{number(most), batches.size()};
    const double least = part > 0 ? std::floor(most - most / part) : 0;
    const Interval at_most = exactly(rate.value()) * exactly(largest) / exactly(largest + 1);
    double most_rate = probability(at_most.enclosure().upper);
    if (least > largest) {
      const Shares fewest = shares_of(rate, Batches{number(least), batches.size()});
      most_rate = std::min(most_rate, probability((fewest.drawn_last / fewest.crowded).enclosure().upper));
    }
    found.push_back({probability_of(shares_of(rate, here).crowded), most_rate});
    if (least <= largest) break;
    most = least;
  }
  return found;
}

std::optional<double> rate_of_full_batches(SamplingRate rate, Batches batches, double log_room, bool is_public) {
  const StandardFloatingPoint environment;
  const auto largest = static_cast<double>(batches.size().value());
  const auto most = static_cast<double>(batches.records().value());
  double records = most;
  if (!is_public) {
    // So many deviations of the number drawn, roughly: the sum below decides.
    const double deviations = std::sqrt(-2 * log_room * (1 - rate.value()));
    const double root = deviations / 2 + std::sqrt(deviations * deviations / 4 + largest + 1);
    records = std::ceil(root * root / rate.value()) + 2;
  }
  constexpr double growth = 1.02;
  for (int attempt = 0; attempt < 40; ++attempt) {
    records = std::min(records, most);
    if (!(records > largest + 1)) return std::nullopt;
    const Shares shares = shares_of(rate, Batches{Count{static_cast<std::uint64_t>(records)}, batches.size()});
    const Interval room = shares.roomy + shares.at;
    if ((room - exp(exactly(log_room))).compare(0) < 0) {
      const double found = probability_of(shares.drawn_last).lower;
      return found > 0 ? std::optional{found} : std::nullopt;
    }
    if (records == most) return std::nullopt;
    records = std::ceil(records * growth);
  }
  return std::nullopt;
}

}  // namespace surety::accounting::laws
