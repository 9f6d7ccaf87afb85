#include <surety/accounting/laws/rounds/joint_round.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting {
namespace {

using laws::GaussianShape;
using laws::Mix;
using LongBall = BallOf<long double>;

constexpr double largest_mu = 4;
constexpr std::uint64_t most_rounds = 1'000'000;
/// The normal variable of a round: one cell from `lowest` to `low`, then cells of `width`, up to `reach` above the mean of who is in the round.
constexpr double lowest = -40;
constexpr double low = -12;
constexpr double reach = 15;
constexpr double width = 0x1p-8;
/// At least the mass below `lowest`.
constexpr double below_lowest = 1e-300;

/// What a round adds to the logarithm of the product, and its share in the variance of how many rounds were drawn.
struct Numbers {
  double mu;
  double rate;

  [[nodiscard]] double term(double g) const {
    const double u = mu * g - 0.5 * mu * mu;
    return u < 1 ? std::log1p(rate * std::expm1(u)) : u + std::log(rate + (1 - rate) * std::exp(-u));
  }
  [[nodiscard]] double variance(double g) const {
    const double odds = rate / (1 - rate) * std::exp(mu * g - 0.5 * mu * mu);
    return odds / ((1 + odds) * (1 + odds));
  }
};

/// A line above log M from `least` to `most`, M(V) = e^-V I_0(V): alpha - beta V.
struct Chord {
  double least;
  double most;
  double beta;
  double alpha;
};

/// At least log M(V): a mean over the circle, of which sums over equally spaced points are never less.
Upper log_bessel(double v) {
  const auto points = static_cast<std::size_t>(32 + 16 * std::sqrt(v));
  long double sum = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const long double sine = std::sin(std::numbers::pi_v<long double> * static_cast<long double>(i) / static_cast<long double>(points));
    sum += std::exp(-2 * static_cast<long double>(v) * sine * sine);
  }
  return log(Upper::within(static_cast<double>(sum / static_cast<long double>(points)), 8 + v));
}

Chord chord_above(double least, double most) {
  const Upper at_least = log_bessel(least);
  const Upper at_most = log_bessel(most);
  const double beta = std::max(0.0, (at_least.value() - at_most.value()) / (most - least));
  const Upper alpha = max(at_least + Upper{Exact{beta}} * Upper{Exact{least}}, at_most + Upper{Exact{beta}} * Upper{Exact{most}});
  return {least, most, beta, alpha.value()};
}

/// log C(rounds, participations) rate^participations (1 - rate)^(rounds - participations).
LongBall log_binomial(std::uint64_t rounds, std::uint64_t participations, double rate) {
  const auto number = [](std::uint64_t n) { return LongBall{LongExact{static_cast<long double>(n)}}; };
  LongBall sum{0};
  for (std::uint64_t i = 1; i <= participations; ++i) sum += log(number(rounds - participations + i) / number(i));
  const LongBall q{LongExact{static_cast<long double>(rate)}};
  return sum + number(participations) * log(q) + number(rounds - participations) * log1p(-q);
}

/// Guesses, by sums over few values of the normal variable: they choose the rate and the chord, nothing that is claimed.
class Guess {
 public:
  Guess(Numbers numbers, std::uint64_t rounds, std::uint64_t participations) : rounds_{static_cast<double>(rounds)} {
    constexpr double spacing = 0.05;
    for (double g = low; g < numbers.mu + -low; g += spacing) {
      mass_.push_back(spacing * inverse_root_of_two_pi * std::exp(-0.5 * g * g));
      term_.push_back(numbers.term(g));
      variance_.push_back(numbers.variance(g));
    }
    log_b_ = static_cast<double>(log_binomial(rounds, participations, numbers.rate).value());
  }

  /// The chord outside which e^log_outside is left, and that or more from then on.
  [[nodiscard]] Chord chord(double log_outside) const {
    const double most = std::min(end(1, log_outside), 0.25 * rounds_);
    const double least = -end(-1, log_outside);
    return chord_above(least > 0 && most - least > 0.01 ? least : 0.0, most);
  }
  /// About the epsilon at which the bound is e^log_delta, by the saddle point of the tilted law of the product.
  [[nodiscard]] double epsilon(const Chord& chord, double log_delta) const {
    const double log_scale = chord.alpha - log_b_;
    double least = -7;
    double most = 7;
    double found = 0;
    for (int i = 0; i < 30; ++i) {
      const double middle = 0.5 * (least + most);
      const double s = std::exp(middle);
      double mass = 0;
      double mean = 0;
      double square = 0;
      for (std::size_t k = 0; k < mass_.size(); ++k) {
        const double w = term_[k] - chord.beta * variance_[k];
        const double weight = mass_[k] * std::exp((1 + s) * w);
        mass += weight;
        mean += weight * w;
        square += weight * w * w;
      }
      mean /= mass;
      const double variance = rounds_ * (square / mass - mean * mean);
      found = rounds_ * mean + log_scale;
      const double log_value = rounds_ * std::log(mass) + (1 + s) * log_scale - s * found - middle - std::log1p(s) -
                               0.5 * std::log(2 * std::numbers::pi * variance);
      (log_value > log_delta ? least : most) = middle;
    }
    return found;
  }

 private:
  [[nodiscard]] double end(double sign, double log_outside) const {
    double best = std::numeric_limits<double>::infinity();
    for (double s = 0.01; s < 100; s *= 1.25) {
      double sum = 0;
      for (std::size_t i = 0; i < mass_.size(); ++i) sum += mass_[i] * std::exp(term_[i] + sign * s * variance_[i]);
      best = std::min(best, (rounds_ * std::log(sum) - log_outside - log_b_) / s);
    }
    return best;
  }

  double rounds_;
  double log_b_;
  std::vector<double> mass_;
  std::vector<double> term_;
  std::vector<double> variance_;
};

/// A cell of the normal variable.
struct Cell {
  Upper mass;         ///< where the record is in no round
  Upper drawn;        ///< and where it is in each with the rate
  Upper mean;         ///< of 1 - q + q Y given the cell, in units of e^least
  Lower least;        ///< of log(1 - q + q Y)
  Upper most;         ///< likewise
  Lower variance;     ///< p (1 - p) is at least this,
  Upper variance_up;  ///< and at most this
};

class Cells {
 public:
  Cells(double multiplier, double rate) : shape_{{multiplier}}, mix_{rate}, mu_{Ball{1} / Exact{multiplier}} {
    const double step = width / std::max(1.0, shape_.inverse);
    const double last = std::ceil((mu_.upper().value() + reach) / step) * step;
    At from = at(lowest);
    for (double g = low;; g += step) {
      const At to = at(g);
      cells_.push_back(between(from, to));
      if (g >= last) break;
      from = to;
    }
    // The first one takes what lies below it, where 1 - q + q Y is less.
    Cell& first = cells_.front();
    const Lower least = log(mix_.other.lower());
    first.mass += Exact{below_lowest};
    first.drawn += Exact{below_lowest};
    first.mean = first.mean * exp(Upper{Exact{first.least.value()}} - least);
    first.least = least;
    first.variance = Lower{0};
    const Lower beyond = (Lower{Exact{last}} - mu_.upper()) * root_half_;
    above_ = erfc(beyond);
  }
  [[nodiscard]] const std::vector<Cell>& all() const { return cells_; }
  /// At least the mass beyond all cells where the record is in each round with the rate; times what there is more of it.
  [[nodiscard]] Upper above() const { return above_; }

 private:
  struct At {
    double g;
    Ball log_term;
    Ball variance;
    bool is_past_the_peak;
  };
  [[nodiscard]] At at(double g) const {
    const Ball u = mu_ * (Ball{Exact{g}} - mu_ * Exact{0.5});
    const Ball odds = Exact{mix_.rate} / mix_.other * exp(u);
    return {g, mix_.loss(u), odds / ((Ball{1} + odds) * (Ball{1} + odds)), odds.value() > 1};
  }
  [[nodiscard]] Cell between(const At& from, const At& to) const {
    const auto piece = shape_.piece(from.g, to.g);
    laws::require_digits(piece);
    const Ball mass = Ball::of_share(piece.mass, piece.mass_error) * exp(Ball{Exact{piece.log_scale}});
    const Ball ratio = Ball::of_share(piece.ratio, piece.ratio_error) * exp(Ball{Exact{piece.loss}});
    const Ball term = mix_.other + Exact{mix_.rate} * ratio;
    const Lower least = from.log_term.lower();
    // p (1 - p) rises up to p = 1/2 and falls from there on.
    const Upper most_variance =
        from.is_past_the_peak != to.is_past_the_peak ? Upper{Exact{0.25}} : max(from.variance.upper(), to.variance.upper());
    return {.mass = mass.upper(),
            .drawn = (mass * term).upper(),
            .mean = (term * exp(-Ball{Exact{least.value()}})).upper(),
            .least = least,
            .most = to.log_term.upper(),
            .variance = max(Lower{0}, min(from.variance.lower(), to.variance.lower())),
            .variance_up = min(most_variance, Upper{Exact{0.25}})};
  }

  GaussianShape shape_;
  Mix mix_;
  Ball mu_;
  Lower root_half_ = laws::root_half.lower();
  std::vector<Cell> cells_;
  Upper above_{0};
};

/// At least the probability that the sum of all p (1 - p) lies outside the chord, over b, by Chernoff's inequality; any tilt is one.
Upper outside(const Cells& cells, const Chord& chord, std::uint64_t rounds, LongLower log_b) {
  const Exact times{static_cast<double>(rounds)};
  const Exact b{-shortened(log_b).value()};
  const auto beyond = [&](bool is_above) {
    Upper best{Exact{std::numeric_limits<double>::infinity()}};
    if (is_above ? chord.most >= 0.25 * times.value : chord.least <= 0) return Upper{0};
    for (double s = 0.05; s < 100; s *= 1.25) {
      poll_limit();
      Upper sum = is_above ? cells.above() * exp(Upper{Exact{0.25 * s}}) : cells.above();
      for (const auto& cell : cells.all()) {
        const Upper exponent = is_above ? Exact{s} * cell.variance_up : -(Exact{s} * cell.variance);
        sum += cell.drawn * exp(exponent);
      }
      const Upper found = times * log(sum) + (is_above ? -(Exact{s} * Lower{Exact{chord.most}}) : Exact{s} * Upper{Exact{chord.least}}) + b;
      best = min(best, exp(found));
    }
    return best;
  };
  return beyond(true) + beyond(false);
}

/// e^W of one round, spread from each cell over its ends with its mean kept, as a law and the sum of its masses.
std::pair<LossLaw, Upper> spread(const Cells& cells, double beta) {
  std::vector<AtomsBase::Atom> atoms;  // of e^W times the mass of each end, for now
  Upper all = cells.above();
  for (const auto& cell : cells.all()) {
    const Upper lifted = -(Exact{beta} * cell.variance);
    const Upper length = cell.most - cell.least;
    // The share of the upper end is (mean - 1) / (e^length - 1), which rises with the mean and falls with the length.
    const Lower run = expm1(Lower{Exact{length.value()}});
    const double share = std::min(1.0, ((cell.mean - Exact{1}) / Exact{run.value()}).value());
    const Exact upper_share{std::max(0.0, share)};
    const Upper at_least = Upper{Exact{cell.least.value()}} + lifted;
    const Upper at_most = at_least + Exact{length.value()};
    const Upper left = cell.mass * (Upper{1} - upper_share) * exp(at_least);
    const Upper right = cell.mass * Upper{upper_share} * exp(at_most);
    for (const auto& [loss, mass] : {std::pair{at_least.value(), left.value()}, std::pair{at_most.value(), right.value()}}) {
      if (mass > 0) atoms.push_back({loss, mass});
    }
    all += left + right;
  }
  std::sort(atoms.begin(), atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; });
  const Upper log_all = log(all);
  double largest = 0;
  for (auto& atom : atoms) {
    atom.mass = std::max((Upper{Exact{atom.mass}} / Exact{all.value()}).value(), std::numeric_limits<double>::min());
    atom.loss -= log_all.value();
    largest = std::max(largest, std::abs(atom.loss));
  }
  // Three sums, and the logarithm of the sum of all.
  const double units = 4 * largest + 8 * std::abs(log_all.value());
  LossLaw law{AtomsBase{std::move(atoms), share_of_units(units), share_of_units(2.0)}};
  law.infinite_mass = (cells.above() / Exact{all.value()}).value();
  return {std::move(law), log_all};
}

}  // namespace

std::optional<JointRound> joint_round(double multiplier, std::uint64_t rounds, std::uint64_t participations, double log_delta) {
  const StandardFloatingPoint environment;
  const double mu = 1 / multiplier;
  if (!(mu <= largest_mu && mu > 1e-3 && rounds <= most_rounds && log_delta > -200)) return std::nullopt;
  // What is left outside the chord should not be seen.
  const double log_outside = log_delta - 9;
  const double drawn = static_cast<double>(participations) / static_cast<double>(rounds);
  double best = std::numeric_limits<double>::infinity();
  double rate = 0;
  Chord chord{};
  const auto look_at = [&](double share) {
    const Numbers numbers{mu, share * drawn};
    const Guess guess{numbers, rounds, participations};
    const Chord here = guess.chord(log_outside);
    const double epsilon = guess.epsilon(here, log_delta);
    if (!(epsilon < best)) return;
    best = epsilon;
    rate = numbers.rate;
    chord = here;
  };
  for (double share = 1; share > 0.3; share -= 0.05) look_at(share);
  const double middle = rate / drawn;
  for (const double step : {-0.025, 0.025}) {
    if (middle + step < 1) look_at(middle + step);
  }
  if (!(rate > 0 && rate < 1)) return std::nullopt;
  const LongBall log_b = log_binomial(rounds, participations, rate);
  const Cells cells{multiplier, rate};
  auto [round, log_all] = spread(cells, chord.beta);
  const LongUpper scale = LongExact{static_cast<long double>(rounds)} * LongUpper{LongExact{log_all.value()}} +
                          LongUpper{LongExact{chord.alpha}} - log_b.lower();
  return JointRound{std::move(round), shortened(scale), outside(cells, chord, rounds, log_b.lower())};
}

}  // namespace surety::accounting
