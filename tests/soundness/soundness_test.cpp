// Every accountant against the truth, over random events whose curve can be computed: Gaussian compositions, finite laws by exact
// sums over multinomials, lattice noise by exact sums, Laplace noise and sampled Gaussian releases in closed form. The truth is
// plain MPFR and shares nothing with accounting/. Case number i is the same on every machine and in every run.
//
// SURETY_SOUNDNESS_CASES says how many cases are run, SURETY_SOUNDNESS_REPORT names a file for the counts (scripts/soundness).
#include <surety/accounting/answers/best.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asked.h>

#include <support/allocated_truth.h>
#include <support/gaussian_truth.h>
#include <support/quadrature.h>
#include <support/random.h>
#include <support/real.h>

namespace surety::accounting::soundness_test {
namespace {

using reference::log_uniform;
using reference::Real;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr mpfr_prec_t bits = 320;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t default_cases = 300;  // a sanitizer is some 20 times slower
#else
constexpr std::size_t default_cases = 5000;
#endif

Real real(double value) { return Real{value, bits}; }
Real positive_part(const Real& value) { return value > 0.0 ? value : real(0); }

/// MPFR's widest range of exponents while it lives, so that the truth neither overflows nor vanishes; the accountants have their own.
class WideExponents {
 public:
  WideExponents() {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  ~WideExponents() {
    mpfr_set_emin(least_);
    mpfr_set_emax(most_);
  }
  WideExponents(const WideExponents&) = delete;
  WideExponents& operator=(const WideExponents&) = delete;

 private:
  mpfr_exp_t least_ = mpfr_get_emin();
  mpfr_exp_t most_ = mpfr_get_emax();
};

// ---- truth ----

/// delta(epsilon) of an event: the supremum over neighbours, in both directions.
using Curve = std::function<Real(double)>;

Curve gaussian_curve(const Real& mu) {
  return [mu](double epsilon) { return positive_part(reference::gaussian_delta(mu, Real{epsilon, bits})); };
}

/// One Poisson-sampled Gaussian release, from the definition in both directions; x is the likelihood ratio of the Gaussian pair.
///   removed   ((1 - q) + q x) - e^epsilon > 0 where x > 1 + (e^epsilon - 1) / q
///   added     1 - e^epsilon ((1 - q) + q x) > 0 where x < (e^-epsilon - (1 - q)) / q
Curve sampled_gaussian_curve(double rate, double multiplier) {
  return [=](double epsilon) {
    const Real q = real(rate);
    const Real mu = 1.0 / real(multiplier);
    const Real removed = q * reference::gaussian_delta(mu, log1p(expm1(real(epsilon)) / q));
    const Real factor = 1.0 - exp(real(epsilon)) * (1.0 - q);
    if (!(factor > 0.0)) return positive_part(removed);
    const Real added = factor * reference::gaussian_delta(mu, log(exp(real(epsilon)) * q / factor));
    return positive_part(removed < added ? added : removed);
  };
}

/// A user's k records in one Poisson batch, from the definition in both directions: x(t) = sum_i w_i e^(i mu t - i^2 mu^2 / 2), w_i the binomial
/// probabilities, rises in the coordinate t of N(0, 1), so what counts lies beyond one t. Newton's steps find it, and an error of 1e-40 in it
/// costs its square.
Curve users_curve(std::uint64_t records, double rate, double multiplier) {
  return [=](double epsilon) {
    const Real mu = 1.0 / real(multiplier);
    std::vector<Real> weights;
    Real weight = exp(real(static_cast<double>(records)) * log1p(-real(rate)));
    for (std::uint64_t i = 0; i <= records; ++i) {
      weights.push_back(weight);
      weight = weight * (static_cast<double>(records - i) / real(static_cast<double>(i + 1))) * (real(rate) / (1.0 - real(rate)));
    }
    struct Ratio {
      Real value;
      Real slope;
    };
    const auto ratio_at = [&](const Real& t) {
      Ratio found{real(0), real(0)};
      for (std::uint64_t i = 0; i <= records; ++i) {
        const Real shift = static_cast<double>(i) * mu;
        const Real term = weights[i] * exp(shift * t - shift * shift / 2.0);
        found.value = found.value + term;
        found.slope = found.slope + shift * term;
      }
      return found;
    };
    const auto where = [&](const Real& log_ratio) {
      double low = -1000;
      double high = 1000;
      for (int i = 0; i < 60; ++i) {
        const double mid = 0.5 * (low + high);
        (log(ratio_at(real(mid)).value) < log_ratio ? low : high) = mid;
      }
      Real t = real(low);
      for (int i = 0; i < 4; ++i) {
        const auto [value, slope] = ratio_at(t);
        t = t - (log(value) - log_ratio) * value / slope;
      }
      return t;
    };
    const auto mixed_tail = [&](const Real& t, double side) {
      Real sum = real(0);
      for (std::uint64_t i = 0; i <= records; ++i)
        sum = sum + weights[i] * reference::normal_tail(side * (t - static_cast<double>(i) * mu));
      return sum;
    };
    const Real e = exp(real(epsilon));
    const Real right = where(real(epsilon));
    const Real removed = mixed_tail(right, 1) - e * reference::normal_tail(right);
    if (!(weights[0] < 1.0 / e)) return positive_part(removed);
    const Real left = where(-real(epsilon));
    const Real added = reference::normal_tail(-left) - e * mixed_tail(left, -1);
    return positive_part(removed < added ? added : removed);
  };
}

/// One batch without replacement: q delta_base(log(1 + (e^epsilon - 1) / q)), attained where all other records are alike.
Curve batch_curve(double rate, double multiplier) {
  return [=](double epsilon) {
    const Real q = real(rate);
    return positive_part(q * reference::gaussian_delta(1.0 / real(multiplier), log1p(expm1(real(epsilon)) / q)));
  };
}

Real from_long_double(long double value) {
  mpfr_t wide;
  mpfr_init2(wide, bits);
  mpfr_set_ld(wide, value, MPFR_RNDN);
  Real found{wide};
  mpfr_clear(wide);
  return found;
}

/// Two or three Poisson-sampled Gaussian releases, in both directions. \post a relative error of at most `quadrature_tolerance`
constexpr double quadrature_tolerance = 2e-9;
Curve quadrature_curve(const std::vector<reference::SampledGaussian>& releases) {
  return [=](double epsilon) {
    const auto removed = reference::SampledGaussianQuadrature{releases, Direction::remove}(epsilon);
    const auto added = reference::SampledGaussianQuadrature{releases, Direction::add}(epsilon);
    const auto& larger = removed.value < added.value ? added : removed;
    EXPECT_LE(larger.error, quadrature_tolerance * larger.value + 1e-320L) << "quadrature at " << epsilon;
    return from_long_double(larger.value);
  };
}

/// Records dealt to two or three rounds. \post a relative error of at most `dealing_tolerance`
constexpr double dealing_tolerance = 1e-7;
constexpr double coarse_dealing_tolerance = 1e-5;
Curve dealing_curve(reference::Dealing dealing, double multiplier, long double step) {
  return [=](double epsilon) { return from_long_double(reference::allocated_delta(dealing, multiplier, epsilon, step)); };
}

/// Scalar Laplace noise of scale b between neighbours at distance 1.
Curve laplace_curve(double scale) {
  return [=](double epsilon) { return positive_part(-expm1((real(epsilon) - 1.0 / real(scale)) / 2.0)); };
}

/// The loss is +loss with probability `more`, -loss with probability `less` = more e^-loss, and 0 otherwise; `count` times.
struct Finite {
  Real loss;
  Real more;
  Real less;
  unsigned count;
};

/// Probabilities of `count` releases by the number of losses: at index count + j the loss is j times `loss`.
std::vector<Real> law_of(const Finite& finite) {
  std::vector<Real> law{real(1)};
  const Real none = 1.0 - finite.more - finite.less;
  const bool binary = !(none > 1e-60);
  for (unsigned i = 0; i < finite.count; ++i) {
    std::vector<Real> next(law.size() + 2, real(0));
    for (std::size_t j = 0; j < law.size(); ++j) {
      next[j] = next[j] + law[j] * finite.less;
      if (!binary) next[j + 1] = next[j + 1] + law[j] * none;
      next[j + 2] = next[j + 2] + law[j] * finite.more;
    }
    law = std::move(next);
  }
  return law;
}

/// Two finite laws composed, with `infinite` the probability of an infinite loss.
Curve finite_curve(const Finite& first, const Finite& second, const Real& infinite) {
  const auto a = law_of(first);
  const auto b = law_of(second);
  return [=](double epsilon) {
    Real total = real(0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) {
        const Real above =
            first.loss * (static_cast<double>(i) - first.count) + second.loss * (static_cast<double>(j) - second.count) - epsilon;
        if (above > 0.0) total = total - a[i] * b[j] * expm1(-above);
      }
    }
    return infinite + (1.0 - infinite) * total;
  };
}

Finite pure(double epsilon, unsigned count) {
  const Real loss = real(epsilon);
  return {loss, 1.0 / (1.0 + exp(-loss)), 1.0 / (1.0 + exp(loss)), count};
}
Finite response(double truth, double categories, unsigned count) {
  const Real own = real(truth);
  const Real other = (1.0 - own) / (categories - 1);
  if (own > other) return {log(own / other), own, other, count};
  return {log(other / own), other, own, count};
}
Finite nothing() { return {real(0), real(0), real(0), 0}; }

/// sum over k of max(0, p(k) - e^epsilon p(k - shift)) for p(k) proportional to weights[|k|], log-concave: the ratio falls with k.
Curve lattice_curve(const std::vector<Real>& weights, unsigned shift) {
  Real norm = real(0);
  for (std::size_t k = weights.size(); k-- > 1;) norm = norm + weights[k] * 2.0;
  norm = norm + weights[0];
  return [=](double epsilon) {
    const Real factor = exp(real(epsilon));
    const auto last = static_cast<std::int64_t>(weights.size()) - 1;
    Real total = real(0);
    for (std::int64_t k = shift - last; k <= last; ++k) {
      const auto near = static_cast<std::size_t>(std::abs(k));
      const auto far = static_cast<std::size_t>(std::abs(k - static_cast<std::int64_t>(shift)));
      if (near >= weights.size() || far >= weights.size()) continue;
      const Real excess = weights[near] - factor * weights[far];
      if (excess > 0.0)
        total = total + excess;
      else
        break;
    }
    return total / norm;
  };
}

/// exp(-k^2 / (2 sigma^2)), down to 1e-700 of the largest.
std::vector<Real> discrete_gaussian_weights(double sigma) {
  const Real slope = 1.0 / (real(sigma) * real(sigma));
  const Real twice = exp(-slope);
  std::vector<Real> weights{real(1)};
  Real ratio = exp(-slope / 2.0);
  while (mpfr_get_exp(weights.back().get()) > -2400 && weights.size() < 20000) {
    weights.push_back(weights.back() * ratio);
    ratio = ratio * twice;
  }
  return weights;
}

// ---- cases ----

struct Case {
  std::string family;
  Event event;
  Curve truth;
  double scale = 1;        ///< a typical loss
  bool grid = true;        ///< whether the PLD accountant is also asked
  bool unbounded = false;  ///< every finite loss is exceeded
  double infinite = 0;     ///< the probability of an infinite loss, rounded up
  double tolerance = 0;    ///< relative error of the truth
};

struct Question {
  bool ask_delta;
  double at;  ///< epsilon where delta is asked, otherwise delta
};

/// What is wrong with an answer, or nothing. `truth_at` is the curve of the case.
std::string complaint(const Case& one, const Question& question, const Enclosure& found, const Curve& truth_at) {
  const auto wrong = [&](const Real& truth) {
    return fmt::format("{} at {} {:.17g} is in [{:.17g}, {:.17g}], truth {:.17g}", describe(one.event),
                       question.ask_delta ? "epsilon" : "delta", question.at, found.lower, found.upper, truth.nearest_double());
  };
  if (!(found.lower >= 0)) return wrong(real(0));
  const auto most = [&](const Real& truth) { return truth * (1.0 + one.tolerance) + one.tolerance * 1e-311; };
  const auto least = [&](const Real& truth) { return truth * (1.0 - one.tolerance) - one.tolerance * 1e-311; };
  if (question.ask_delta) {
    const Real truth = truth_at(question.at);
    return found.upper <= 1 && least(truth) <= found.upper && most(truth) >= found.lower ? "" : wrong(truth);
  }
  if (found.upper < infinity) {
    const Real truth = truth_at(found.upper);
    if (!(least(truth) <= question.at)) return wrong(truth);
  }
  // Just below the lower end delta is still above the target; no finite epsilon is none only where delta is 0.
  if (found.lower == infinity) {
    return question.at < one.infinite || (question.at == 0 && one.unbounded) ? "" : wrong(real(0));
  }
  if (found.lower > 0) {
    const Real truth = truth_at(found.lower * (1 - 1e-15));
    if (!(most(truth) > question.at)) return wrong(truth);
  }
  return "";
}

class Generator {
 public:
  explicit Generator(std::size_t number) : words_{0x50facade + number} {}

  Case next(std::size_t number) {
    if (number % 20 == 3) return few_sampled_gaussians();
    if (number % 40 == 34) return batch_with_replacement();
    if (number % 20 == 14) return batch_without_replacement();
    if (number % 20 == 9) return users_in_a_batch();
    if (number % 40 == 11) return dealt_epoch();
    if (number % 40 == 28) return coin_flips();
    if (number % 40 == 39) return poisson_variables();
    switch (number % 10) {
      case 0:
      case 1: return gaussian_composition();
      case 2: return different_gaussians();
      case 3: return sampled_gaussian();
      case 4: return laplace();
      case 5: return randomized_response();
      case 6: return pure_composition();
      case 7: return approximate();
      case 8: return discrete_gaussian();
      default: return discrete_laplace();
    }
  }

  double unit() { return static_cast<double>(words_() >> 11) * 0x1p-53; }
  bool one_in(unsigned n) { return words_() % n == 0; }
  double log_scale(double low, double high) { return log_uniform(words_, low, high); }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[words_() % from.size()];
  }

 private:
  Adjacency adjacency() { return pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}); }
  Adjacency fixed_size() { return pick<Adjacency>({Adjacency::replace_one, Adjacency::zero_out}); }

  /// The same cost written differently.
  Event disguised(const Event& event) {
    switch (words_() % 12) {
      case 0: return repeat(Count{1}, event);
      case 1: return compose({event});
      case 2: return compose({repeat(Count{1}, compose({event}))});
      case 3: return parallel({event, event});
      case 4:
        if (event.adjacency() != Adjacency::add_or_remove_one && !event.has_sampling()) {
          return deterministic(Count{100}, Count{10}, event);
        }
        return event;
      default: return event;
    }
  }

  double noise() { return one_in(6) ? pick<double>({1e-3, 1e6, 1, 0.1, 1e3}) : log_scale(0.05, 2000); }
  std::uint64_t times() {
    return one_in(4) ? pick<std::uint64_t>({1, 2, 1000000000, 4, 10000}) : static_cast<std::uint64_t>(log_scale(1, 1e6));
  }

  Case gaussian_composition() {
    const double sigma = noise();
    const std::uint64_t count = times();
    const Real mu = sqrt(real(static_cast<double>(count))) / real(sigma);
    const Event once = gaussian(NoiseMultiplier{sigma}, adjacency());
    return of_gaussians("Gaussian, repeated", disguised(count == 1 && one_in(2) ? once : repeat(Count{count}, once)), mu);
  }

  Case different_gaussians() {
    const auto neighbours = adjacency();
    const auto parts = 2 + words_() % 3;
    Real squared = real(0);
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < parts; ++i) {
      const double sigma = noise();
      const std::uint64_t count = times();
      squared = squared + real(static_cast<double>(count)) / (real(sigma) * real(sigma));
      events.push_back(repeat(Count{count}, gaussian(NoiseMultiplier{sigma}, neighbours)));
    }
    const double repeats = static_cast<double>(1 + words_() % 3);
    const Event all = repeat(Count{static_cast<std::uint64_t>(repeats)}, compose(std::move(events)));
    return of_gaussians("Gaussian, different ones composed", disguised(all), sqrt(squared * repeats));
  }

  Case of_gaussians(const std::string& family, const Event& event, const Real& mu) {
    const double size = mu.nearest_double();
    return {family, event, gaussian_curve(mu), size * size / 2 + size, one_in(size > 1e-3 && size < 20 ? 4 : 100), true};
  }

  Case sampled_gaussian() {
    const double rate = one_in(4) ? pick<double>({1, 1e-9, 0.5, 0.999999, 1e-4}) : log_scale(1e-6, 1);
    const double sigma = one_in(10) ? pick<double>({1e-3, 1e6}) : log_scale(0.1, 200);
    const auto neighbours = pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::zero_out});
    const Event event = poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{sigma}, neighbours));
    const double size = 1 / sigma;
    return {"Gaussian, Poisson-sampled, once",
            disguised(event),
            sampled_gaussian_curve(rate, sigma),
            std::log1p(rate * std::expm1(std::min(600.0, size * size / 2 + size))),
            one_in(4),
            true};
  }

  /// Two of them, and rarely three, whose truth takes seconds.
  Case few_sampled_gaussians() {
    const bool three = words_() % 300 == 0;
    const auto neighbours = pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::zero_out});
    const bool alike = one_in(2);
    std::vector<reference::SampledGaussian> releases;
    std::vector<Event> events;
    double rate = 0;
    double sigma = 0;
    for (int i = 0; i < (three ? 3 : 2); ++i) {
      if (i == 0 || !alike) {
        rate = one_in(4) ? pick<double>({1, 1e-9, 0.01, 1e-4}) : log_scale(1e-6, 0.3);
        sigma = log_scale(0.6, 50);
      }
      releases.push_back({rate, sigma});
      events.push_back(poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{sigma}, neighbours)));
    }
    const Event event = alike ? repeat(Count{events.size()}, events[0]) : compose(events);
    const double size = 1 / sigma;
    return {"Gaussian, Poisson-sampled, two or three",
            disguised(event),
            quadrature_curve(releases),
            std::log1p(rate * std::expm1(size * size / 2 + size)),
            one_in(4),
            true,
            0,
            quadrature_tolerance};
  }

  Case users_in_a_batch() {
    const std::uint64_t records = 1 + words_() % 6;
    const double rate = one_in(4) ? pick<double>({1e-9, 0.5, 0.999, 1e-4}) : log_scale(1e-6, 0.9);
    const double sigma = log_scale(0.3, 100);
    const auto neighbours = pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::zero_out});
    const Event batch = poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{sigma}, neighbours));
    const double size = static_cast<double>(records) / sigma;
    return {"Gaussian, users in a batch, once",
            users(Count{records}, one_in(3) ? repeat(Count{1}, batch) : batch),
            users_curve(records, rate, sigma),
            std::log1p(rate * std::expm1(std::min(600.0, size * size / 2 + size))),
            one_in(4),
            true};
  }

  /// Its curve is a difference of numbers near 1, in long double.
  Case replaced_epoch() {
    const double sigma = log_scale(0.3, 30);
    const double size = 2 / sigma;
    return {"Gaussian, dealt to two rounds and replaced",
            disguised(allocated(Count{2}, surety::record_sum(NoiseMultiplier{sigma}, Adjacency::replace_one))),
            [=](double epsilon) {
              return positive_part(from_long_double(reference::replaced_delta(reference::Dealing::one_of_two, sigma, epsilon)));
            },
            std::log1p(std::expm1(size * size / 2 + size) / 2),
            true,
            true,
            0,
            dealing_tolerance};
  }

  /// Rarely of three rounds, whose truth takes half a second.
  Case dealt_epoch() {
    if (one_in(4)) return replaced_epoch();
    using reference::Dealing;
    const bool three = one_in(30);
    const auto dealing = three ? pick<Dealing>({Dealing::one_of_three, Dealing::two_of_three})
                               : pick<Dealing>({Dealing::one_of_two, Dealing::two_records_in_two});
    const double sigma = log_scale(0.3, 30);
    const Event noise = gaussian(NoiseMultiplier{sigma}, pick<Adjacency>({Adjacency::add_or_remove_one, Adjacency::zero_out}));
    const double size = (dealing == Dealing::two_of_three || dealing == Dealing::two_records_in_two ? 2 : 1) / sigma;
    const auto event = [&] {
      switch (dealing) {
        case Dealing::one_of_two: return disguised(allocated(Count{2}, noise));
        case Dealing::one_of_three: return disguised(allocated(Count{3}, noise));
        case Dealing::two_of_three: return disguised(allocated(Count{3}, Count{2}, noise));
        default: return users(Count{2}, allocated(Count{2}, noise));
      }
    };
    return {"Gaussian, dealt to two or three rounds",
            event(),
            dealing_curve(dealing, sigma, three ? 0.2L : 0.125L),
            std::log1p(std::expm1(size * size / 2 + size) / 2),
            one_in(2),
            true,
            0,
            three ? coarse_dealing_tolerance : dealing_tolerance};
  }

  Case batch_without_replacement() {
    const std::uint64_t records = pick<std::uint64_t>({1, 10, 1000, 1000000000});
    const std::uint64_t size =
        pick<std::uint64_t>({1, std::max<std::uint64_t>(1, records / 10), std::max<std::uint64_t>(1, records / 2), records});
    const double sigma = one_in(10) ? pick<double>({1e-3, 1e6}) : log_scale(0.1, 200);
    const double rate = static_cast<double>(size) / static_cast<double>(records);
    const Event event = without_replacement(Count{records}, Count{size}, gaussian(NoiseMultiplier{sigma}, Adjacency::replace_one));
    const double move = 1 / sigma;
    return {"Gaussian, batch without replacement, once",
            disguised(event),
            batch_curve(rate, sigma),
            std::log1p(rate * std::expm1(std::min(600.0, move * move / 2 + move))),
            one_in(4),
            true,
            0,
            1e-15};
  }

  /// Where all other records are alike; 1 / n is a double.
  Case batch_with_replacement() {
    const double records = std::exp2(1 + static_cast<double>(words_() % 40));
    const std::uint64_t size = 1 + words_() % 5;
    const double sigma = log_scale(0.3, 100);
    const double move = static_cast<double>(size) / sigma;
    return {
        "Gaussian, batch with replacement, once",
        with_replacement(Count{static_cast<std::uint64_t>(records)}, Count{size}, gaussian(NoiseMultiplier{sigma}, Adjacency::replace_one)),
        users_curve(size, 1 / records, sigma),
        std::log1p(std::expm1(std::min(600.0, move * move / 2 + move)) / records),
        one_in(4),
        true};
  }

  Case laplace() {
    const double scale = one_in(6) ? pick<double>({1e-3, 1e6, 1, 0.01}) : log_scale(0.02, 1000);
    const auto neighbours = adjacency();
    const Event event =
        one_in(3) ? surety::k_norm(NormName::l1, Count{1}, NoiseScale{scale}, neighbours) : surety::laplace(NoiseScale{scale}, neighbours);
    return {"Laplace, once", disguised(event), laplace_curve(scale), 1 / scale, one_in(2)};
  }

  Case randomized_response() {
    const double truth = one_in(8) ? pick<double>({0.5, 0.999, 1e-3, 0.25}) : 0.02 + 0.96 * unit();
    const auto categories = one_in(2) ? std::uint64_t{2} : 3 + words_() % 20;
    const auto count = static_cast<unsigned>(log_scale(1, categories == 2 ? 120 : 40));
    const auto finite = response(truth, static_cast<double>(categories), count);
    const Event once = surety::randomized_response(Probability{truth}, Count{categories}, fixed_size());
    return {"Randomized response, repeated", disguised(repeat(Count{count}, once)), finite_curve(finite, nothing(), real(0)),
            finite.loss.nearest_double() * std::sqrt(count), true};
  }

  Case pure_composition() {
    const auto neighbours = adjacency();
    const double first = one_in(8) ? pick<double>({1e-6, 10, 1}) : log_scale(1e-3, 4);
    const double second = one_in(8) ? first : log_scale(1e-3, 4);
    const auto m = static_cast<unsigned>(log_scale(1, 40));
    const auto n = static_cast<unsigned>(log_scale(1, 40)) - 1;
    const auto event = [&](double epsilon, unsigned count) { return repeat(Count{count}, surety::pure(Epsilon{epsilon}, neighbours)); };
    if (n == 0) {
      return {"Pure, composed", disguised(event(first, m)), finite_curve(pure(first, m), nothing(), real(0)), first * std::sqrt(m), true};
    }
    return {"Pure, composed", disguised(compose({event(first, m), event(second, n)})),
            finite_curve(pure(first, m), pure(second, n), real(0)), first * std::sqrt(m) + second * std::sqrt(n), true};
  }

  Case approximate() {
    const double loss = log_scale(1e-3, 4);
    const double infinite = one_in(4) ? pick<double>({0, 0.5, 1e-300}) : log_scale(1e-20, 0.3);
    const auto count = static_cast<unsigned>(log_scale(1, 60));
    Real finite = real(1);
    for (unsigned i = 0; i < count; ++i) finite = finite * (1.0 - Real{infinite, 1400});
    const Event once = surety::approx(Epsilon{loss}, Delta{infinite}, adjacency());
    return {"(epsilon, delta), repeated",
            disguised(repeat(Count{count}, once)),
            finite_curve(pure(loss, count), nothing(), 1.0 - finite),
            loss * std::sqrt(count),
            true,
            false,
            (1.0 - finite).rounded_up()};
  }

  Case discrete_gaussian() {
    const double sigma = one_in(8) ? pick<double>({1e-3, 0.2, 1}) : log_scale(0.3, 15);
    const auto shift = static_cast<unsigned>(log_scale(1, std::max(2.0, 2 * sigma)));
    const Event event = surety::discrete_gaussian(NoiseScale{sigma}, Count{shift}, adjacency());
    const double size = shift / sigma;
    return {"Discrete Gaussian, once",
            disguised(event),
            lattice_curve(discrete_gaussian_weights(sigma), shift),
            size * size / 2 + size,
            true,
            true};
  }

  Case coin_flips() {
    const auto half = static_cast<unsigned>(log_scale(1, 1000));
    std::vector<Real> weights{real(1)};
    for (unsigned k = 1; k <= half; ++k) weights.push_back(weights.back() * (half - k + 1.0) / static_cast<double>(half + k));
    const double sigma = std::sqrt(0.5 * half);
    const auto shift = std::min(half, static_cast<unsigned>(log_scale(1, std::max(2.0, 2 * sigma))));
    Real beyond = real(0);
    Real norm = -weights[0];
    for (unsigned k = 0; k <= half; ++k) {
      norm = norm + 2.0 * weights[k];
      if (k + shift > half) beyond = beyond + weights[k];
    }
    const Curve within = lattice_curve(weights, shift);
    const double size = shift / sigma;
    return {"Coin flips, once",
            disguised(surety::binomial(Count{2 * std::uint64_t{half}}, Count{shift}, adjacency())),
            [=](double epsilon) { return within(epsilon) + beyond / norm; },
            size * size / 2 + size,
            true,
            false,
            (beyond / norm).rounded_up()};
  }

  /// Each weight the sum over all pairs of that difference, of the Poisson probabilities over the first.
  Case poisson_variables() {
    const double mean = log_scale(0.01, 30);
    std::vector<Real> one{real(1)};
    while (one.size() < 700) one.push_back(one.back() * mean / static_cast<double>(one.size()));
    std::vector<Real> weights;
    for (std::size_t k = 0; k < 400; ++k) {
      Real sum = real(0);
      for (std::size_t i = one.size() - k; i-- > 0;) sum = sum + one[i] * one[i + k];
      weights.push_back(sum);
    }
    const double sigma = std::sqrt(2 * mean);
    const auto shift = static_cast<unsigned>(log_scale(1, std::max(2.0, 2 * sigma)));
    const double size = shift / sigma;
    return {"Difference of Poisson variables, once",
            disguised(surety::skellam(PoissonMean{mean}, Count{shift}, adjacency())),
            lattice_curve(weights, shift),
            std::min(size * size / 2 + size, 10.0),
            true,
            true};
  }

  /// The weights are geometric, and so is each side: p(k) = (1 - y) / (1 + y) y^|k|, y = e^(-1/b). Where the ratio exceeds e^epsilon
  /// is k <= last, the largest integer below (shift - b epsilon) / 2.
  Case discrete_laplace() {
    const double scale = one_in(8) ? pick<double>({0.01, 100, 1}) : log_scale(0.1, 50);
    const auto shift = static_cast<unsigned>(log_scale(1, std::max(2.0, 4 * scale)));
    const Event event = surety::discrete_laplace(NoiseScale{scale}, Count{shift}, adjacency());
    const Curve truth = [=](double epsilon) {
      const Real b = real(scale);
      const Real norm = (-expm1(-1.0 / b)) / (1.0 + exp(-1.0 / b));
      const Real factor = exp(real(epsilon));
      // All k <= 0 together, then one by one up to the shift; the excess falls with k.
      Real total = real(0);
      for (unsigned k = 0; k <= shift; ++k) {
        const Real excess = exp(-static_cast<double>(k) / b) - factor * exp((static_cast<double>(k) - shift) / b);
        if (!(excess > 0.0)) break;
        total = total + (k == 0 ? excess / (-expm1(-1.0 / b)) : excess);
      }
      return norm * total;
    };
    return {"Discrete Laplace, once", disguised(event), truth, shift / scale, true};
  }

  std::mt19937_64 words_;
};

// ---- the judge ----

struct Tally {
  std::size_t cases = 0;
  std::map<std::string, std::size_t> answers;
};

class Judge {
 public:
  void operator()(std::size_t number) {
    Generator generator{number};
    const Case one = generator.next(number);
    auto& tally = tallies_[one.family];
    ++tally.cases;
    const bool ask_delta = generator.one_in(2);
    const double epsilon_at = generator.one_in(8) ? generator.pick<double>({0, 500}) : one.scale * generator.log_scale(0.01, 10);
    const double delta_at = generator.one_in(4) ? generator.pick<double>({0.5, 1e-300, 0}) : generator.log_scale(1e-40, 0.5);
    const auto begin = std::chrono::steady_clock::now();
    const auto ask = [&](const auto& accountant) {
      try {
        if (ask_delta) return std::optional{delta(accountant, one.event, Epsilon{std::min(epsilon_at, 1e300)})};
        return std::optional{epsilon(accountant, one.event, Delta{delta_at})};
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::memory)
            << number << ", " << accountant.name << " on " << describe(one.event) << (ask_delta ? " at epsilon " : " at delta ")
            << (ask_delta ? epsilon_at : delta_at) << ": " << error.what();
        return std::optional<Enclosure>{};
      }
    };
    std::vector<std::pair<std::string, Enclosure>> answers;
    const auto collect = [&](const auto& accountant) {
      const auto start = std::chrono::steady_clock::now();
      if (const auto found = ask(accountant)) answers.emplace_back(accountant.name, *found);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      seconds_[std::string{accountant.name}] += took;
      if (took > slowest_) {
        slowest_ = took;
        slowest_case_ = fmt::format("case {}, {} of {}", number, accountant.name, describe(one.event));
      }
    };
    collect(ClosedForm{});
    collect(Choices{.width = 0.02 * std::clamp(one.scale, 1e-3, 10.0)});
    collect(Contour{});
    collect(Participation{});
    collect(Renyi{});
    collect(Moments{});
    collect(Zcdp{});
    // A grid no finer than the answer needs: what is looked at is whether the truth is inside, at any width.
    if (one.grid) collect(Pld{.width = 0.02 * std::clamp(one.scale, 1e-3, 10.0), .memory = std::size_t{64} << 20});

    // What `best` makes of them never disagrees with itself.
    if (number % 64 == 0 && one.grid) {
      try {
        const Effort effort{.width = 0.02 * std::clamp(one.scale, 1e-3, 10.0)};
        static_cast<void>(ask_delta ? best_delta(one.event, Epsilon{epsilon_at}, effort)
                                    : best_epsilon(one.event, Delta{delta_at}, effort));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << number << ": " << error.what();
      }
    }
    std::map<double, Real> known;
    const WideExponents wide;
    const auto truth_at = [&](double epsilon) {
      auto found = known.find(epsilon);
      if (found == known.end()) found = known.emplace(epsilon, one.truth(epsilon)).first;
      return found->second;
    };
    for (const auto& [accountant, found] : answers) {
      ++tally.answers[accountant];
      const std::string wrong = complaint(one, {ask_delta, ask_delta ? epsilon_at : delta_at}, found, truth_at);
      ASSERT_EQ(wrong, "") << "case " << number << ", " << accountant;
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(overlap(answers[i].second, answers[j].second))
            << number << ": " << answers[i].first << " and " << answers[j].first << " on " << describe(one.event);
      }
    }
    seconds_["all"] += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  [[nodiscard]] const std::map<std::string, Tally>& tallies() const { return tallies_; }

  [[nodiscard]] std::string report() const {
    const std::vector<std::string> accountants{"closed-form", "contour", "privacy-loss", "renyi", "moments", "zcdp"};
    std::string text = "| family | cases |";
    for (const auto& name : accountants) text += fmt::format(" {} |", name);
    text += "\n|---|---|---|---|---|---|---|---|\n";
    std::size_t all = 0;
    std::map<std::string, std::size_t> sums;
    for (const auto& [family, tally] : tallies_) {
      text += fmt::format("| {} | {} |", family, tally.cases);
      all += tally.cases;
      for (const auto& name : accountants) {
        const auto found = tally.answers.find(name);
        const std::size_t answers = found == tally.answers.end() ? 0 : found->second;
        sums[name] += answers;
        text += fmt::format(" {} |", answers);
      }
      text += "\n";
    }
    text += fmt::format("| **all** | **{}** |", all);
    for (const auto& name : accountants) text += fmt::format(" **{}** |", sums[name]);
    return text + "\n";
  }

  [[nodiscard]] std::string times() const {
    std::string text;
    for (const auto& [name, seconds] : seconds_) text += fmt::format("{} {:.3g} s; ", name, seconds);
    return text + fmt::format("slowest {:.3g} s: {}", slowest_, slowest_case_);
  }
  [[nodiscard]] double slowest() const { return slowest_; }

 private:
  std::map<std::string, Tally> tallies_;
  std::map<std::string, double> seconds_;
  double slowest_ = 0;
  std::string slowest_case_;
};

TEST(Soundness, EveryEnclosureContainsTheTruth) {
  const char* wanted = std::getenv("SURETY_SOUNDNESS_CASES");
  const char* first = std::getenv("SURETY_SOUNDNESS_FIRST");
  const std::size_t begin = first == nullptr ? 0 : std::stoul(first);
  const std::size_t cases = wanted == nullptr ? default_cases : std::stoul(wanted);
  Judge judge;
  const auto failures = [] { return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count(); };
  for (std::size_t number = begin; number < begin + cases && failures() < 20; ++number) judge(number);
  std::cout << judge.report() << judge.times() << '\n';
  // Refusing everything is no way to pass; the shares below are those of many cases.
  if (cases >= 400) {
    const auto answers = [&](const std::string& family, const std::string& accountant) {
      const auto& tally = judge.tallies().at(family);
      const auto found = tally.answers.find(accountant);
      return found == tally.answers.end() ? 0.0 : static_cast<double>(found->second) / static_cast<double>(tally.cases);
    };
    EXPECT_GT(answers("Gaussian, repeated", "closed-form"), 0.8);
    EXPECT_GT(answers("Gaussian, repeated", "contour"), 0.5);
    EXPECT_GT(answers("Gaussian, repeated", "privacy-loss"), 0.03);
    EXPECT_GT(answers("Gaussian, Poisson-sampled, once", "privacy-loss"), 0.1);
    for (const auto* family : {"Randomized response, repeated", "Pure, composed", "(epsilon, delta), repeated"}) {
      EXPECT_GT(answers(family, "privacy-loss"), 0.7) << family;
      EXPECT_GT(answers(family, "closed-form"), 0.1) << family;
    }
    EXPECT_GT(answers("Gaussian, users in a batch, once", "privacy-loss"), 0.1);
    EXPECT_GT(answers("Gaussian, batch with replacement, once", "privacy-loss"), 0.1);
    EXPECT_GT(answers("Gaussian, dealt to two or three rounds", "privacy-loss"), 0.3);
    for (const auto* family : {"Coin flips, once", "Difference of Poisson variables, once"}) {
      EXPECT_GT(answers(family, "privacy-loss"), 0.9) << family;
    }
    for (const auto& [family, tally] : judge.tallies()) {
      if (family != "Coin flips, once" && family != "Difference of Poisson variables, once" && family != "(epsilon, delta), repeated" &&
          family != "Gaussian, users in a batch, once" && family != "Gaussian, batch with replacement, once" &&
          family.find("dealt to two") == std::string::npos) {
        EXPECT_GT(answers(family, "renyi"), 0.9) << family;
      }
    }
  }
  if (const char* path = std::getenv("SURETY_SOUNDNESS_REPORT"); path != nullptr && !HasFailure()) {
    std::ofstream out{path};
    out << judge.report();
    ASSERT_TRUE(out.flush()) << path;
  }
}

// ---- vectors ----

/// What x + v shows against x, and where both are mixed with x at a rate, x of density proportional to e^-(||x||_r^2 / (2 z^2)) in the plane: by the middles of
/// squares.
double of_squares(double r, double z, double along, double across, double rate, double epsilon) {
  const double reach = 7 * z + 1;
  const double step = reach / 80;
  const auto density = [&](double x, double y) {
    const double power = std::pow(std::abs(x), r) + std::pow(std::abs(y), r);
    return std::exp(-std::pow(power, 2 / r) / (2 * z * z));
  };
  double all = 0;
  double shown = 0;
  for (double x = -reach + step / 2; x < reach; x += step) {
    for (double y = -reach + step / 2; y < reach; y += step) {
      const double here = density(x, y);
      all += here;
      shown += std::max(0.0, rate * density(x - along, y - across) + (1 - rate - std::exp(epsilon)) * here);
    }
  }
  return shown / all;
}

TEST(SoundnessVectors, GeneralizedGaussianNoiseInThePlane) {
  constexpr double error_of_squares = 3e-3;
  constexpr double r = 3;
  constexpr double z = 1.5;
  const Event noise = generalized_gaussian(NormExponent{r}, Count{2}, NoiseMultiplier{z}, Adjacency::add_or_remove_one);
  const std::vector<std::pair<double, double>> rates_and_epsilons{{1, 0.6}, {0.3, 0.1}};
  for (const auto& [rate, epsilon] : rates_and_epsilons) {
    const Event event = rate == 1 ? noise : poisson(SamplingRate{rate}, noise);
    const auto told = delta(Pld{.width = 1e-2}, event, Epsilon{epsilon});
    double worst = 0;
    for (const double along : {1.0, std::pow(0.5, 1 / r), 0.95}) {
      const double across = std::pow(std::max(0.0, 1 - std::pow(along, r)), 1 / r);
      worst = std::max(worst, of_squares(r, z, along, across, rate, epsilon));
    }
    EXPECT_GT(told.upper, worst * (1 - error_of_squares)) << rate << " " << epsilon;
    EXPECT_LT(told.lower, worst * (1 + error_of_squares)) << rate << " " << epsilon;
    EXPECT_LT(told.upper, 1.5 * worst) << rate << " " << epsilon;
  }
}

// A user's two records, each dealt to one of two rounds, against the opposite ones: shifts (2, 0), (1, 1) and (0, 2).
TEST(SoundnessVectors, TwoRecordsDealtToTwoRounds) {
  constexpr double error_of_squares = 3e-3;
  constexpr double z = 2;
  constexpr double reach = 7 + 2 / z;
  constexpr double step = reach / 80;
  const auto density = [&](double x, double y, double side) {
    const auto at = [&](double first, double second) {
      return std::exp(-0.5 * (std::pow(x - side * first / z, 2) + std::pow(y - side * second / z, 2)));
    };
    return 0.25 * at(2, 0) + 0.5 * at(1, 1) + 0.25 * at(0, 2);
  };
  const Event event = parse_event("users(2, allocated(2, record_sum(2)))", Adjacency::replace_one);
  for (const double epsilon : {0.2, 1.0}) {
    double all = 0;
    double shown = 0;
    for (double x = -reach + step / 2; x < reach; x += step) {
      for (double y = -reach + step / 2; y < reach; y += step) {
        const double here = density(x, y, -1);
        all += here;
        shown += std::max(0.0, density(x, y, 1) - std::exp(epsilon) * here);
      }
    }
    const auto told = best_delta(event, Epsilon{epsilon}).value;
    EXPECT_GT(told.lower, 0) << epsilon;
    EXPECT_LT(told.lower, shown / all * (1 + error_of_squares)) << epsilon;
    EXPECT_GT(told.upper, shown / all * (1 - error_of_squares)) << epsilon;
  }
}

// ---- the truths themselves, and laws that compose by convolution ----

double at_double(const Curve& curve, double epsilon) { return curve(epsilon).nearest_double(); }

TEST(SoundnessTruth, QuadratureAgreesWithClosedForms) {
  for (const double sigma : {0.6, 1.0, 7.0}) {
    for (const double epsilon : {0.0, 0.3, 2.0, 6.0}) {
      for (const std::size_t count : {2U, 3U}) {
        const double plain = at_double(gaussian_curve(sqrt(real(static_cast<double>(count))) / real(sigma)), epsilon);
        EXPECT_NEAR(at_double(quadrature_curve({count, {1, sigma}}), epsilon), plain, 2e-9 * plain)
            << sigma << ' ' << epsilon << ' ' << count;
      }
      // A release of nearly no one adds nearly nothing, wherever it stands.
      const double once = at_double(sampled_gaussian_curve(0.1, sigma), epsilon);
      EXPECT_NEAR(at_double(quadrature_curve({{0.1, sigma}, {1e-18, 1}}), epsilon), once, 2e-9 * once) << sigma << ' ' << epsilon;
      EXPECT_NEAR(at_double(quadrature_curve({{1e-18, 1}, {0.1, sigma}}), epsilon), once, 2e-9 * once) << sigma << ' ' << epsilon;
    }
  }
}

TEST(SoundnessTruth, DealingAgreesWithClosedFormsAndFinerNodes) {
  using reference::Dealing;
  for (const double sigma : {0.3, 1.0, 20.0}) {
    for (const double epsilon : {0.0, 0.7 / sigma, 4 / sigma}) {
      for (const auto dealing : {Dealing::one_of_two, Dealing::two_records_in_two}) {
        const auto coarse = static_cast<double>(reference::allocated_delta(dealing, sigma, epsilon));
        const auto fine = static_cast<double>(reference::allocated_delta(dealing, sigma, epsilon, 0.05L));
        EXPECT_NEAR(coarse, fine, 0.5 * dealing_tolerance * fine) << sigma << ' ' << epsilon;
      }
    }
  }
  // Of three rounds, as the records' rounds are independent of their noise: two of three is less than all of them, and more than one.
  const auto at = [](Dealing dealing) { return static_cast<double>(reference::allocated_delta(dealing, 1, 0.5, 0.2L)); };
  const double one = at(Dealing::one_of_three);
  const double two = at(Dealing::two_of_three);
  EXPECT_NEAR(one, 0.1068406436, 1e-6);
  EXPECT_NEAR(two, 0.3157157088, 1e-6);
  EXPECT_LT(one, at(Dealing::one_of_two));
  EXPECT_LT(two, at_double(gaussian_curve(sqrt(real(3))), 0.5));
}

using Law = std::vector<Real>;  ///< probabilities; the loss at index i is origin + i unit

Law convolution(const Law& a, const Law& b) {
  Law sum(a.size() + b.size() - 1, real(0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] = sum[i + j] + a[i] * b[j];
  }
  return sum;
}

Law normalised(Law law) {
  Real total = real(0);
  for (const auto& mass : law) total = total + mass;
  for (auto& mass : law) mass = mass / total;
  return law;
}

/// `count` releases of one law.
Curve repeated_curve(const Law& once, const Real& origin, const Real& unit, unsigned count) {
  Law law = once;
  for (unsigned i = 1; i < count; ++i) law = convolution(law, once);
  return [=](double epsilon) {
    Real total = real(0);
    for (std::size_t i = 0; i < law.size(); ++i) {
      const Real above = origin * static_cast<double>(count) + unit * static_cast<double>(i) - epsilon;
      if (above > 0.0) total = total - law[i] * expm1(-above);
    }
    return total;
  };
}

/// Every accountant's answer to `question`; those that refuse are left out.
std::vector<std::pair<std::string, Enclosure>> answers_to(const Event& event, const Question& question) {
  std::vector<std::pair<std::string, Enclosure>> answers;
  const auto ask = [&](const auto& accountant) {
    try {
      answers.emplace_back(accountant.name, question.ask_delta ? delta(accountant, event, Epsilon{question.at})
                                                               : epsilon(accountant, event, Delta{question.at}));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::memory) << error.what();
    }
  };
  ask(ClosedForm{});
  ask(Choices{.width = 0.01});
  ask(Contour{});
  ask(Participation{});
  ask(Pld{.width = 0.01});
  ask(Renyi{});
  ask(Moments{});
  ask(Zcdp{});
  return answers;
}

void expect_truth(const Case& one, const Question& question) {
  const auto answers = answers_to(one.event, question);
  EXPECT_FALSE(answers.empty()) << describe(one.event);
  const WideExponents wide;
  for (const auto& [accountant, found] : answers) {
    EXPECT_EQ(complaint(one, question, found, one.truth), "") << accountant;
    for (const auto& [other, value] : answers)
      EXPECT_TRUE(overlap(found, value)) << accountant << ", " << other << ", " << describe(one.event);
  }
}

TEST(SoundnessConvolution, LatticeNoiseRepeated) {
  std::mt19937_64 words{91};
  for (int i = 0; i < 40; ++i) {
    const auto count = static_cast<unsigned>(2 + words() % 3);
    const auto shift = static_cast<unsigned>(1 + words() % 4);
    const double scale = log_uniform(words, 0.4, 4);
    const double at = log_uniform(words, 0.01, 10);
    const double target = log_uniform(words, 1e-40, 0.5);
    // Outcome k has the loss (|k - shift| - |k|) / scale, from -shift to shift; y^k sums to 1 / (1 - y).
    const Real y = exp(-1.0 / real(scale));
    Law laplace(2 * shift + 1, real(0));
    Real power = real(1);
    for (unsigned k = 0; k <= shift; ++k) {
      laplace[2 * (shift - k)] = k == 0 || k == shift ? power / (1.0 - y) : power;
      power = power * y;
    }
    const Case discrete_laplace{"", repeat(Count{count}, surety::discrete_laplace(NoiseScale{scale}, Count{shift}, Adjacency::zero_out)),
                                repeated_curve(normalised(laplace), -static_cast<double>(shift) / real(scale), 1.0 / real(scale), count)};
    expect_truth(discrete_laplace, {true, at});
    expect_truth(discrete_laplace, {false, target});
    // Outcome k has the loss (shift^2 - 2 shift k) / (2 scale^2): linear, so that sums of outcomes suffice.
    const auto half = discrete_gaussian_weights(scale);
    const auto reach = std::min(half.size() - 1, static_cast<std::size_t>(16 * scale) + 4);
    Law gaussian;
    for (std::size_t k = reach; k > 0; --k) gaussian.push_back(half[k]);
    for (std::size_t k = 0; k <= reach; ++k) gaussian.push_back(half[k]);
    const Real variance = real(scale) * real(scale);
    const double s = shift;
    const Real unit = s / variance;
    const Case discrete_gaussian{
        "",
        repeat(Count{count}, surety::discrete_gaussian(NoiseScale{scale}, Count{shift}, Adjacency::zero_out)),
        repeated_curve(normalised(gaussian), s * s / (2.0 * variance) - unit * static_cast<double>(reach), unit, count),
        1,
        true,
        true,
        0,
        1e-9};
    expect_truth(discrete_gaussian, {true, std::min(at, 3.0 * s / scale)});
    expect_truth(discrete_gaussian, {false, std::max(target, 1e-20)});
  }
}

// The worst pair of range E at x in [0, E] has delta(x) = (e^(E/2) - e^(x/2))^2 / (e^E - 1). Repeated, any two-point pair with the
// losses t and t - E is a release of that range, so that none of them may cost more than what is answered.
TEST(SoundnessConvolution, BoundedRange) {
  std::mt19937_64 words{92};
  for (int i = 0; i < 60; ++i) {
    const double whole = log_uniform(words, 0.05, 5);
    const double at = whole * log_uniform(words, 0.05, 1.5);
    const double target = log_uniform(words, 1e-20, 0.5);
    const Event once = surety::exponential(Epsilon{whole}, Adjacency::replace_one);
    const Case single{"", once, [=](double x) {
                        if (x >= whole) return real(0);
                        const Real root = exp(real(whole) / 2.0) - exp(real(x) / 2.0);
                        return root * root / expm1(real(whole));
                      }};
    expect_truth(single, {true, at});
    expect_truth(single, {false, target});

    const auto count = static_cast<unsigned>(2 + words() % 12);
    const double t = whole * static_cast<double>(1 + words() % 9) / 10;
    const Real more = (exp(real(whole)) - exp(real(t))) / expm1(real(whole));
    const Curve pair = repeated_curve({1.0 - more, more}, real(t) - whole, real(whole), count);
    const Curve reverse = repeated_curve({more * exp(-real(t)), 1.0 - more * exp(-real(t))}, -real(t), real(whole), count);
    const Real truth = std::max(pair(at), reverse(at));
    for (const auto& [accountant, found] : answers_to(repeat(Count{count}, once), {true, at})) {
      EXPECT_TRUE(truth * (1.0 - 1e-30) <= found.upper)
          << accountant << ", " << count << " of range " << whole << " at " << at << ", truth " << truth;
    }
  }
}

// ---- mutants: what the judge has to object to ----

TEST(SoundnessMutants, AreCaught) {
  const auto right = [](double sigma, std::uint64_t count) {
    return epsilon(ClosedForm{}, repeat(Count{count}, gaussian(NoiseMultiplier{sigma}, Adjacency::replace_one)), Delta{1e-6});
  };
  std::mt19937_64 words{77};
  for (int i = 0; i < 20; ++i) {
    const double sigma = log_uniform(words, 0.5, 50);
    const auto count = static_cast<std::uint64_t>(log_uniform(words, 2, 100));
    const Event event = repeat(Count{count}, gaussian(NoiseMultiplier{sigma}, Adjacency::replace_one));
    const Case one{"", event, gaussian_curve(sqrt(real(static_cast<double>(count))) / real(sigma)), 1};
    const auto objects = [&](const Enclosure& found) { return !complaint(one, {false, 1e-6}, found, one.truth).empty(); };
    const auto found = right(sigma, count);
    EXPECT_FALSE(objects(found)) << describe(event);
    EXPECT_TRUE(objects(right(sigma, count - 1))) << "a count dropped, " << describe(event);
    EXPECT_TRUE(objects(right(2 * sigma, count))) << "half the sensitivity, " << describe(event);
    EXPECT_TRUE(objects(right(sigma / 2, count))) << "twice the sensitivity, " << describe(event);
    EXPECT_TRUE(objects({std::min(found.lower, found.upper * 0.999), found.upper * 0.999})) << "upper bound shrunk, " << describe(event);
    EXPECT_TRUE(objects({found.lower * 1.001, std::max(found.upper, found.lower * 1.001)})) << "lower bound raised, " << describe(event);

    // Of a sampled release, adding a record alone costs less than removing one.
    const double rate = log_uniform(words, 0.01, 0.3);
    const std::vector<reference::SampledGaussian> releases(2, {rate, sigma});
    const Case sampled{"",
                       repeat(Count{2}, poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{sigma}, Adjacency::zero_out))),
                       quadrature_curve(releases),
                       1,
                       true,
                       false,
                       0,
                       quadrature_tolerance};
    const double at = rate / sigma;
    const auto swapped = static_cast<double>(reference::SampledGaussianQuadrature{releases, Direction::add}(at).value);
    const auto removed = static_cast<double>(reference::SampledGaussianQuadrature{releases, Direction::remove}(at).value);
    EXPECT_FALSE(complaint(sampled, {true, at}, {removed, removed}, sampled.truth).size()) << describe(sampled.event);
    EXPECT_TRUE(complaint(sampled, {true, at}, {0, swapped}, sampled.truth).size()) << "directions swapped, " << describe(sampled.event);
    EXPECT_TRUE(complaint(sampled, {true, at}, {0, removed * 0.999}, sampled.truth).size()) << "delta shrunk, " << describe(sampled.event);
  }
}

// ---- properties ----

Enclosure best_of(const std::string& text, double delta_at) {
  return best_epsilon(parse_event(text, Adjacency::add_or_remove_one), Delta{delta_at}, Effort{.width = 1e-3}).value;
}

TEST(SoundnessProperties, CompositionCommutesAndAssociates) {
  const std::string a = "poisson(0.1, gaussian(1))";
  const std::string b = "repeat(3, laplace(2))";
  const std::string c = "gaussian(1.5)";
  const auto compose = [](const std::string& x, const std::string& y) { return "compose(" + x + ", " + y + ")"; };
  for (const double at : {0.1, 1e-6, 1e-30}) {
    const auto first = best_of(compose(compose(a, b), c), at);
    EXPECT_TRUE(overlap(first, best_of(compose(a, compose(b, c)), at))) << at;
    EXPECT_TRUE(overlap(first, best_of(compose(c, compose(b, a)), at))) << at;
  }
}

// The second of each pair costs at least as much: never is its upper bound below the first one's lower bound.
TEST(SoundnessProperties, EpsilonIsMonotone) {
  std::mt19937_64 words{1234};
  for (std::size_t i = 0; i < default_cases / 150; ++i) {
    const double sigma = log_uniform(words, 0.5, 5);
    const double rate = log_uniform(words, 1e-3, 0.5);
    const auto count = static_cast<int>(log_uniform(words, 1, 1000));
    const double at = log_uniform(words, 1e-20, 0.1);
    const double more = log_uniform(words, 1.01, 2);
    const auto text = [](int times, double q, double z) { return fmt::format("repeat({}, poisson({}, gaussian({})))", times, q, z); };
    const auto here = best_of(text(count, rate, sigma), at);
    EXPECT_GE(best_of(text(count, rate, sigma / more), at).upper, here.lower) << text(count, rate, sigma);
    EXPECT_GE(best_of(text(count, rate * more, sigma), at).upper, here.lower) << text(count, rate, sigma);
    EXPECT_GE(best_of(text(2 * count, rate, sigma), at).upper, here.lower) << text(count, rate, sigma);
    EXPECT_GE(best_of(text(count, rate, sigma), at / more).upper, here.lower) << text(count, rate, sigma);
  }
}

TEST(SoundnessProperties, SamplingEveryRecordIsNoSampling) {
  for (const double at : {0.5, 1e-5, 1e-50}) {
    const auto plain = best_of("repeat(10, gaussian(2))", at);
    const auto sampled = best_of("repeat(10, poisson(1, gaussian(2)))", at);
    EXPECT_TRUE(overlap(plain, sampled)) << at;
    EXPECT_LE(std::abs(plain.upper - sampled.upper), 2e-3) << at;
  }
}

TEST(SoundnessProperties, ParallelOfEqualPartsCostsOnePart) {
  for (const double at : {0.1, 1e-5, 1e-50}) {
    EXPECT_TRUE(overlap(best_of("gaussian(2)", at), best_of("parallel(gaussian(2), gaussian(2), gaussian(2))", at))) << at;
    const auto one = epsilon(Renyi{}, parse_event("gaussian(2)", Adjacency::replace_one), Delta{at}).upper;
    const auto three =
        epsilon(Renyi{}, parse_event("parallel(gaussian(2), gaussian(2), gaussian(2))", Adjacency::replace_one), Delta{at}).upper;
    EXPECT_NEAR(one, three, 1e-9 * (1 + one)) << at;
  }
}

}  // namespace
}  // namespace surety::accounting::soundness_test
