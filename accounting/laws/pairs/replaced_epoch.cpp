#include <surety/accounting/laws/pairs/replaced_epoch.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include <fmt/format.h>

#include <surety/accounting/laws/pairs/allocated_epoch.h>
#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/last_few.h>
#include <surety/accounting/numbers/limit.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

using Complex = std::complex<long double>;
constexpr long double u = long_unit_roundoff;  // twice what an operation errs by
constexpr long double pi = 3.14159265358979323846264338327950288L;
/// What lies beyond half a period has at most e^this of the mass.
constexpr double log_alias = -34;
constexpr double most_nodes = 0x1p16;
/// Steps of a node's exponential between two that are computed afresh.
constexpr std::size_t restart = 32;
/// Cells of a law on either side of 0, and the mass that may be left beyond them.
constexpr int cells_of_law = 320;
constexpr double mass_beyond = 1e-13;

Complex times(const Complex& x, const Complex& y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
/// e^z - 1, \pre Re z <= 0.
Complex exponential_less_one(const Complex& z) {
  if (z.real() < -50) return {-1, 0};
  const long double less = std::expm1(z.real());
  const long double sine = std::sin(0.5L * z.imag());
  const long double cosine = std::cos(0.5L * z.imag());
  return {less * (1 - 2 * sine * sine) - 2 * sine * sine, (1 + less) * 2 * sine * cosine};
}

/// A place on the line that is turned away from where the exponentials turn.
struct ReplacedNode {
  Complex weight;
  Complex a;
  Complex b;
};

}  // namespace

class ReplacedEpoch::Numbers {
 public:
  Numbers(double rounds, double multiplier) : t_{rounds}, multiplier_{multiplier}, tails_{allocated_epoch(rounds, multiplier)} {
    const StandardFloatingPoint environment;
    const long double mu = 1 / static_cast<long double>(multiplier);
    const long double b = std::min(1.2L, pi / (4 * mu));
    const long double h = b / 8;
    const long double reach = 10;
    const auto last = static_cast<std::int64_t>(std::ceil((reach + mu) / h));
    for (std::int64_t i = -last; i <= last; ++i) {
      const long double g = static_cast<long double>(i) * h;
      const long double modulus = h * 0.39894228040143267793994605993438187L * std::exp(0.5L * (b - g) * (b + g));
      const long double a = std::exp(mu * (g - 0.5L * mu));
      const long double other = std::exp(-mu * (g + 0.5L * mu));
      // i A and -i B on the line: e^(i w (A - a B)) = e^(w (this))
      nodes_.push_back({{modulus * std::cos(b * g), -modulus * std::sin(b * g)},
                        {-a * std::sin(mu * b), a * std::cos(mu * b)},
                        {-other * std::sin(mu * b), -other * std::cos(mu * b)}});
      const long double each = u * (60 + 8 * restart + 2 * (b * b + g * g + std::abs(b * g) + mu * std::abs(g) + mu * mu + mu * b));
      a_rounding_ += modulus * a * each;
      b_rounding_ += modulus * other * each;
    }
    const long double grown = std::exp(0.5L * b * b);
    const long double strip = (1 + std::exp(2 * b * b)) / std::expm1(16 * pi);
    const long double cut = 2 * grown * (1 + h) * std::exp(-0.5L * reach * reach);
    outside_ = strip + cut;
  }

  [[nodiscard]] Beyond beyond(double x) const {
    const StandardFloatingPoint environment;
    const long double ratio = std::exp(static_cast<long double>(x));
    // |D| stays below the larger of both means, and each is below this but for e^log_alias of its mass.
    const double most = tails_->highest(log_alias);
    const long double half_period = ratio * static_cast<long double>(most) * (1 + 1e-12L);
    if (!(half_period < 1e9L)) refuse();
    const long double outside = std::exp(static_cast<long double>(log_alias)) * 1.0000001L;
    const long double alias_of_modulus = 2 * (1 + ratio) * outside;
    const long double alias_of_sign = 4 * outside;
    const long double h = pi / half_period;
    const auto count = node_count(ratio, h);
    const auto line = line_error(ratio, h, count);
    const long double t = t_;
    const auto transform = transforms(ratio, h / t, count);
    // n = 2 k + 1: |D| = L / 2 - (4 L / pi^2) sum cos(n pi D / L) / n^2, sign D = (4 / pi) sum sin(n pi D / L) / n for |D| < L.
    long double cosines = 0;
    long double sines = 0;
    long double cosine_error = 0;
    long double sine_error = 0;
    PollNowAndThen poll;
    for (std::size_t k = 0; k < count; ++k) {
      poll();
      const auto n = static_cast<long double>(2 * k + 1);
      const long double w = n * h / t;
      const Complex& less = transform[k].less_one;
      const long double off = w * (a_rounding_ + ratio * b_rounding_ + (1 + ratio) * outside_);
      const Complex value{1 + less.real(), less.imag()};
      const long double modulus = std::abs(value);
      const long double size = std::abs(less);
      const long double real = modulus > 0.7L ? 0.5L * std::log1p(2 * less.real() + size * size) : std::log(std::max(modulus, 1e-4000L));
      const long double angle = std::atan2(value.imag(), value.real());
      const auto power = [&](long double exponent, long double& error) {
        const long double found = std::exp(exponent * real);
        const long double spread = modulus > 4 * off ? off / (modulus - off) : 1;
        const long double relative = exponent * (spread + u * size * (40 + 8 * std::abs(real)) / std::min(1.0L, modulus)) +
                                     4 * u * exponent * (std::abs(real) + std::abs(angle)) + 8 * u;
        const long double bound = std::exp(exponent * std::log(modulus + off) * (1 - 1e-15L));
        error = relative < 0.01L ? 1.01L * relative * found : found + bound;
        return Complex{found * std::cos(exponent * angle), found * std::sin(exponent * angle)};
      };
      long double all_error = 0;
      long double rest_error = 0;
      const Complex all = power(t, all_error);
      const Complex rest = power(t - 1, rest_error);
      cosines += all.real() / (n * n);
      cosine_error += (all_error + 4 * u) / (n * n);
      const Complex& own = transform[k].with_b;
      const Complex both = times(own, rest);
      const long double own_error = 4 * (b_rounding_ + outside_);
      sines += both.imag() / n;
      sine_error += (std::abs(own) * rest_error + own_error * (std::abs(rest) + rest_error) + 8 * u * std::abs(both)) / n;
    }
    const long double scale = 4 * half_period / (pi * pi);
    const long double modulus = half_period / 2 - scale * cosines;
    const long double modulus_error =
        alias_of_modulus + scale * (cosine_error + line.cosines) + 16 * u * half_period * static_cast<long double>(count + 4);
    const long double sign = 4 / pi * sines;
    const long double sign_error = alias_of_sign + 4 / pi * (sine_error + line.sines) + 16 * u * static_cast<long double>(count + 4);
    const long double delta = 0.5L * ((1 - ratio) + modulus);
    const long double delta_error = 0.5L * modulus_error + 8 * u * ratio;
    const long double other = 0.5L * (1 + sign);
    const long double other_error = 0.5L * sign_error + 8 * u;
    const long double p = delta + ratio * other;
    const long double p_error = delta_error + ratio * other_error + 8 * u * ratio;
    return {static_cast<double>(p),
            static_cast<double>(other),
            static_cast<double>(delta),
            static_cast<double>(p_error * 1.0000001L + unit_roundoff * std::abs(p)),
            static_cast<double>(other_error * 1.0000001L + unit_roundoff * std::abs(other)),
            static_cast<double>(delta_error * 1.0000001L + unit_roundoff * std::abs(delta)),
            static_cast<double>(scale * line.cosines + ratio * line.sines),
            static_cast<double>(alias_of_modulus + ratio * alias_of_sign),
            static_cast<double>(count)};
  }

  struct Cell {
    double from;
    double to;
    double p;
    double other;
    double p_error;
    double other_error;
  };
  struct Law {
    std::vector<Cell> cells;  // of positive losses; the others mirror them
    double most = 0;
    double beyond = 0;
  };
  [[nodiscard]] const Law& law() {
    std::call_once(once_, [&] { make(); });
    return law_;
  }

  [[nodiscard]] double largest() {
    std::call_once(most_once_, [&] {
      // Where next to nothing is left, or no digits.
      double high = 2 / multiplier_;
      const auto is_beyond = [&](double x) {
        const auto at = beyond(x);
        return at.p < mass_beyond + 2 * at.p_error;
      };
      while (!is_beyond(high)) {
        high *= 1.3;
        if (!(high < 300)) refuse();
      }
      most_ = high;
    });
    return most_;
  }

 private:
  struct Transform {
    Complex less_one;  ///< E e^(i w (A - a B)) - 1
    Complex with_b;    ///< E B e^(i w (A - a B))
  };
  struct Left {
    long double cosines;
    long double sines;
  };

  [[noreturn]] void refuse() const {
    throw Error{
        ErrorCode::unsupported,
        fmt::format(
            "allocated({}, record_sum({})) under replace-one has too little noise, or too few rounds, for its losses to be computed", t_,
            multiplier_)};
  }

  /// At the odd multiples of h.
  [[nodiscard]] std::vector<Transform> transforms(long double ratio, long double h, std::size_t count) const {
    std::vector<Transform> found(count, {{0, 0}, {0, 0}});
    for (const auto& node : nodes_) {
      const Complex z{node.a.real() + ratio * node.b.real(), node.a.imag() + ratio * node.b.imag()};
      // B itself, of which -i times it and its sign are kept.
      const Complex own = times(node.weight, {-node.b.imag(), node.b.real()});
      const Complex step = exponential_less_one({2 * h * z.real(), 2 * h * z.imag()});
      Complex less{0, 0};
      for (std::size_t k = 0; k < count; ++k) {
        if (k % restart == 0) {
          poll_limit();
          const long double w = h * static_cast<long double>(2 * k + 1);
          less = exponential_less_one({w * z.real(), w * z.imag()});
          if (less.real() == -1 && less.imag() == 0) {
            // Gone, and so for all that follow.
            for (; k < count; ++k) found[k].less_one -= node.weight;
            break;
          }
        }
        const Complex weighted = times(node.weight, less);
        found[k].less_one += weighted;
        const Complex kept{1 + less.real(), less.imag()};
        found[k].with_b += times(own, kept);
        less += times(step, kept);
      }
    }
    return found;
  }

  /// Bounds on the logarithm of the modulus of the transform's power t - 1 at w (per round): they fall with w. What it is multiplied with, one
  /// more power or E B e^(i w (A - a B)), is at most 1. `mean(v)` bounds log E e^(-v (A + a B)).
  template <class Mean>
  [[nodiscard]] long double log_bound_by(long double w, const Mean& mean) const {
    const long double mu = 1 / static_cast<long double>(multiplier_);
    long double best = 0;
    for (const long double share : {0.7L, 0.45L, 0.3L, 0.2L, 0.13L, 0.08L, 0.05L, 0.03L, 0.018L, 0.01L, 0.005L, 0.0025L}) {
      const long double b = share * pi / (2 * mu) * (1 - 1e-15L);
      best = std::min(best, static_cast<long double>(t_ - 1) * (0.5L * b * b * (1 + 1e-12L) + mean(w * std::sin(mu * b) * (1 - 1e-12L))));
    }
    return best;
  }
  /// A + a B is at least 2 sqrt(a) e^(-mu^2 / 2).
  [[nodiscard]] long double log_bound_by_least(long double ratio, long double w) const {
    const long double mu = 1 / static_cast<long double>(multiplier_);
    const long double least = 2 * std::sqrt(ratio) * std::exp(-0.5L * mu * mu) * (1 - 1e-12L);
    return log_bound_by(w, [&](long double v) { return -v * least; });
  }
  [[nodiscard]] long double log_bound(long double ratio, long double w) const {
    const long double simple = log_bound_by_least(ratio, w);
    if (simple < -600) return simple;
    // A rises where B falls, so the mean of the product is at most the product of the means.
    const auto laplace = [&](long double v) { return static_cast<long double>(tails_->log_laplace(static_cast<double>(v))); };
    return std::min(simple, log_bound_by(w, [&](long double v) { return laplace(v) + laplace(v * ratio); }));
  }

  [[nodiscard]] std::size_t node_count(long double ratio, long double h) const {
    std::size_t count = 32;
    while (log_bound(ratio, h * static_cast<long double>(2 * count + 1) / static_cast<long double>(t_)) > -38) {
      count += count / 5;
      if (static_cast<double>(count) > most_nodes) refuse();
    }
    return count;
  }
  /// The sums of 1 / n^2 and 1 / n times the bound over the odd n that are left out, doubling by doubling.
  [[nodiscard]] Left line_error(long double ratio, long double h, std::size_t count) const {
    Left left{0, 0};
    auto n = static_cast<long double>(2 * count + 1);
    for (int i = 0; i < 200; ++i, n *= 2) {
      const long double w = h * n / static_cast<long double>(t_);
      const long double bound = log_bound(ratio, w);
      // n to 2 n: at most n / 2 + 1 odd ones.
      left.cosines += std::exp(bound) * (n / 2 + 1) / (n * n);
      left.sines += std::exp(bound) * (n / 2 + 1) / n;
      // An exponential: each doubling more than squares it.
      if (log_bound_by_least(ratio, w) < -5000) return {left.cosines * 1.0000001L + 1e-2000L, left.sines * 1.0000001L + 1e-2000L};
    }
    refuse();
  }

  void make() {
    const StandardFloatingPoint environment;
    // Nothing is left of a law that was not made to its end.
    law_ = {};
    law_.most = largest();
    const double step = law_.most / cells_of_law;
    Beyond from = beyond(0);
    double at = 0;
    for (int i = 1; i <= cells_of_law; ++i) {
      const double next = static_cast<double>(i) * step;
      const Beyond to = beyond(next);
      law_.cells.push_back({at, next, from.p - to.p, from.other - to.other, from.p_error + to.p_error, from.other_error + to.other_error});
      at = next;
      from = to;
    }
    law_.beyond = std::max(0.0, from.p) + from.p_error;
  }

  double t_;
  double multiplier_;
  std::shared_ptr<const AllocatedEpoch> tails_;
  std::vector<ReplacedNode> nodes_;
  long double a_rounding_ = 0;
  long double b_rounding_ = 0;
  long double outside_ = 0;
  std::once_flag most_once_;
  double most_ = 0;
  std::once_flag once_;
  Law law_;
};

ReplacedEpoch::ReplacedEpoch(double rounds, double multiplier) : numbers_{std::make_unique<Numbers>(rounds, multiplier)} {}
ReplacedEpoch::~ReplacedEpoch() = default;

ReplacedEpoch::Beyond ReplacedEpoch::beyond(double x) const { return numbers_->beyond(x); }
LossRange ReplacedEpoch::range() const {
  const double most = numbers_->largest();
  return {-most, most};
}

namespace {

/// P-mass and mass under the other law of losses from `least` to `most`, and their absolute errors.
struct Masses {
  double least;
  double most;
  double p;
  double other;
  double p_error;
  double other_error;
};

/// As one or two atoms.
void place(std::vector<LossCell>& out, const Masses& cell, bool from_above, double step) {
  const auto atom = [&](double loss, double mass) {
    if (!(mass > 1e-300)) return;
    const double index = std::floor(loss / step);
    const double above = std::max(0.0, loss - index * step);
    out.push_back({checked_cast<std::int64_t>(index), 0, mass, 8 * unit_roundoff, -std::expm1(-above),
                   unit_roundoff * (16 + 8 * (std::abs(loss) + step))});
  };
  const double width = -std::expm1(cell.least - cell.most);
  const double mass = std::max(cell.p, 0.0);
  const double scale = std::exp(cell.least);
  const double excess = 1 - scale * cell.other / mass;
  const double excess_error = (scale * cell.other_error + cell.p_error * (1 + std::abs(1 - excess))) / mass + 32 * unit_roundoff;
  const bool has_digits = mass > 4 * cell.p_error;
  if (from_above) {
    const double share = has_digits ? std::clamp((excess + excess_error) / width * (1 + 16 * unit_roundoff), 0.0, 1.0) : 1.0;
    const double most = (mass + cell.p_error) * (1 + 8 * unit_roundoff);
    atom(cell.least, most * (1 - share));
    atom(cell.most, most * share);
  } else if (has_digits) {
    const double risen = std::clamp(excess - excess_error, 0.0, width);
    atom(cell.least - std::log1p(-risen), (mass - cell.p_error) * (1 - 8 * unit_roundoff));
  }
}

}  // namespace

LossCells ReplacedEpoch::cells(bool from_above, double step) const {
  const StandardFloatingPoint environment;
  const auto& law = numbers_->law();
  if (!(law.most / step < 0x1p40)) throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
  LossCells found{{}, 0, step, unit_roundoff * (16 + 16 * (law.most + step)), 0, 0};
  for (const auto& cell : law.cells) {
    place(found.cells, {cell.from, cell.to, cell.p, cell.other, cell.p_error, cell.other_error}, from_above, step);
    place(found.cells, {-cell.to, -cell.from, cell.other, cell.p, cell.other_error, cell.p_error}, from_above, step);
  }
  std::stable_sort(found.cells.begin(), found.cells.end(),
                   [](const LossCell& a, const LossCell& b) { return a.index != b.index ? a.index < b.index : a.excess < b.excess; });
  found.cut_above = law.beyond;
  found.cut_below = law.beyond;
  return found;
}

std::shared_ptr<const ReplacedEpoch> replaced_epoch(double rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<double, double>, std::shared_ptr<const ReplacedEpoch>>;
  return kept.of({rounds, multiplier}, [&] {
    const StandardFloatingPoint environment;
    return std::make_shared<const ReplacedEpoch>(rounds, multiplier);
  });
}

}  // namespace surety::accounting
