#include <surety/accounting/laws/epochs/allocated_epoch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/laws/epochs/transform_errors.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/allocated.md#cells
using Complex = std::complex<long double>;
constexpr long double pi = std::numbers::pi_v<long double>;
constexpr long double inverse_sqrt_two_pi = std::numbers::inv_sqrtpi_v<long double> * std::numbers::sqrt2_v<long double> / 2;
constexpr Lower pi_below = Lower::rounded(std::numbers::pi);
/// Any angle up to a quarter turns the line; these bounds are of the very angle.
constexpr double quarter = (pi_below / 2).value();
[[nodiscard]] Lower sine_of(double angle) { return Lower::within(std::sin(angle), LibraryError<double>::sin); }

/// Taylor polynomials of this many terms; Gauss-Legendre sums of 8 nodes are exact for those, times another two powers.
constexpr std::size_t terms_of_panel = 14;
/// The table reaches up to the ratio beyond which P has at most e^one of these: the first for which there are few enough nodes.
constexpr std::array log_masses_beyond_table{-33.0, -29.0, -25.0};
/// Tails are bounded down to e^this.
constexpr double least_log_mass = -100;
constexpr double most_nodes = 0x1p17;
/// Units of a node of the Laplace transform: of its functions and of its sum.
constexpr long double units_of_node = 50;
/// Units of the sum of a panel's coefficients, for Horner's rule and for nodes and weights of Gauss.
constexpr double units_of_horner = 32;
/// Beyond this mu neither the density nor the ratios of the rounds have digits, and the sums for the tails take mu^2 cells.
constexpr double largest_mu = 50;

struct GaussNode {
  double at;
  double weight;
};
constexpr std::array<GaussNode, 8> gauss{{{-0.96028985649753623168, 0.10122853629037625915},
                                          {-0.79666647741362673959, 0.22238103445337447054},
                                          {-0.52553240991632898582, 0.31370664587788728734},
                                          {-0.18343464249564980494, 0.36268378337836198297},
                                          {0.18343464249564980494, 0.36268378337836198297},
                                          {0.52553240991632898582, 0.31370664587788728734},
                                          {0.79666647741362673959, 0.22238103445337447054},
                                          {0.96028985649753623168, 0.10122853629037625915}}};

/// Sums of all[k] e^(2 pi i j k / size), in place. Each term passes log2(size) butterflies, whose rounding is at most 8 units of the moduli.
class Transform {
 public:
  explicit Transform(std::size_t size) : roots_(size) {
    // Those of each width side by side: from half on, half of them.
    for (std::size_t k = 0; k < size / 2; ++k) {
      const long double angle = 2 * pi * static_cast<long double>(k) / static_cast<long double>(size);
      roots_[size / 2 + k] = {std::cos(angle), std::sin(angle)};
    }
    for (std::size_t i = size / 2; i-- > 1;) roots_[i] = roots_[2 * i];
  }
  void operator()(std::vector<Complex>& all) const {
    const std::size_t size = all.size();
    for (std::size_t i = 1, j = 0; i < size; ++i) {
      std::size_t bit = size >> 1;
      for (; (j & bit) != 0; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(all[i], all[j]);
    }
    // As many as a cache holds pass all widths below theirs together.
    const std::size_t block = std::min(size, most_of_cache);
    for (std::size_t start = 0; start < size; start += block) {
      for (std::size_t half = 1; half < block; half *= 2) butterflies(all, start, start + block, half);
    }
    for (std::size_t half = block; half < size; half *= 2) butterflies(all, 0, size, half);
  }

 private:
  static constexpr std::size_t most_of_cache = std::size_t{1} << 13;

  void butterflies(std::vector<Complex>& all, std::size_t first, std::size_t last, std::size_t half) const {
    poll_limit();
    PollNowAndThen poll;
    const Complex* const roots = &roots_[half];
    for (std::size_t start = first; start < last; start += 2 * half) {
      poll();
      for (std::size_t k = 0; k < half; ++k) {
        const Complex& w = roots[k];
        const Complex& b = all[start + half + k];
        const Complex turned{b.real() * w.real() - b.imag() * w.imag(), b.real() * w.imag() + b.imag() * w.real()};
        all[start + half + k] = all[start + k] - turned;
        all[start + k] += turned;
      }
    }
  }

  std::vector<Complex> roots_;
};

/// L(s) - 1 on the right half plane, by the trapezoid rule on a line that is turned away from where e^(-s Y) turns.
class LogNormalTransform {
 public:
  explicit LogNormalTransform(long double mu) {
    const long double b = std::min(1.2L, pi / (4 * mu));
    const long double h = b / 8;
    const long double reach = 10;
    const auto first = static_cast<std::int64_t>(std::floor(-reach / h));
    const auto last = static_cast<std::int64_t>(std::ceil((reach + mu) / h));
    const long double grown = std::exp(0.5L * b * b);
    long double rounding = 0;
    for (std::int64_t i = first; i <= last; ++i) {
      const long double g = static_cast<long double>(i) * h;
      const long double modulus = h * inverse_sqrt_two_pi * std::exp(0.5L * (b - g) * (b + g));
      const long double y = std::exp(mu * (g - 0.5L * mu));
      nodes_.push_back({{modulus * std::cos(b * g), modulus * std::sin(b * g)}, {y * std::cos(mu * b), -y * std::sin(mu * b)}});
      rounding += modulus * y * rounding_of_node(mu, b, g, units_of_node);
    }
    // Both edges of the strip of half-width b around the line, at most |s| and |s| e^(2 b^2); 2 pi b / h = 16 pi.
    const long double strip = (1 + std::exp(2 * b * b)) / std::expm1(16 * pi);
    const long double cut = 2 * grown * (1 + h) * std::exp(-0.5L * reach * reach);
    error_ = rounding + strip + cut;
  }

  /// Of L(s) - 1, as a share of |s|.
  [[nodiscard]] long double error() const { return error_; }

  /// L(c + i k h) - 1 for k = 0, ..., count - 1. \pre c > 0, h > 0.
  [[nodiscard]] std::vector<Complex> minus_one(long double c, long double h, std::size_t count) const {
    // With z = a + b, e^-z - 1 = A + B + A B: one product instead of an exponential, as all steps of a block have the same B.
    std::vector<Complex> steps(nodes_.size() * block);
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
      for (std::size_t k = 0; k < block; ++k) steps[j * block + k] = less_one({0, h * static_cast<long double>(k)}, nodes_[j].y);
    }
    std::vector<Complex> found(count);
    std::array<std::array<Complex, block>, 2> sums{};
    for (std::size_t start = 0; start < count; start += block) {
      poll_limit();
      const Complex s{c, h * static_cast<long double>(start)};
      auto& total = sums[0];
      auto& part = sums[1];
      total.fill({0, 0});
      for (std::size_t j = 0; j < nodes_.size();) {
        part.fill({0, 0});
        for (const std::size_t end = std::min(nodes_.size(), j + 16); j < end; ++j) {
          const auto& [weight, y] = nodes_[j];
          const Complex a = less_one(s, y);
          // weight (A + B (1 + A))
          const Complex base = times(weight, a);
          const Complex factor = times(weight, {1 + a.real(), a.imag()});
          const Complex* b = &steps[j * block];
          for (std::size_t k = 0; k < block; ++k) part[k] += base + times(factor, b[k]);
        }
        for (std::size_t k = 0; k < block; ++k) total[k] += part[k];
      }
      for (std::size_t k = start; k < std::min(count, start + block); ++k) found[k] = total[k - start];
    }
    return found;
  }

 private:
  struct Node {
    Complex weight;
    Complex y;
  };
  static constexpr std::size_t block = 64;

  static Complex times(const Complex& x, const Complex& y) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  }
  /// e^(-s y) - 1, \pre Re s y >= 0.
  static Complex less_one(const Complex& s, const Complex& y) {
    const long double decay = s.imag() * y.imag() - s.real() * y.real();
    if (decay < -50) return {-1, 0};
    const long double half = -0.5L * (s.real() * y.imag() + s.imag() * y.real());
    const long double less = std::expm1(decay);
    const long double sine = std::sin(half);
    const long double cosine = std::cos(half);
    return {less * (1 - 2 * sine * sine) - 2 * sine * sine, (1 + less) * 2 * sine * cosine};
  }

  std::vector<Node> nodes_;
  long double error_ = 0;
};

}  // namespace

/// The bounds on tails, and the table of the density once it is needed.
class AllocatedEpoch::Numbers {
 public:
  Numbers(double rounds, double multiplier) : t_{rounds}, multiplier_{multiplier}, mu_{1 / multiplier} {
    if (mu_ > largest_mu) refuse();
    // Cells of a standard normal with the masses that they have under it and shifted by mu.
    constexpr double reach = 16;
    const Ball mu = Ball{1} / Exact{multiplier};
    mu_above_ = mu.upper();
    mu_below_ = mu.lower();
    const double h = std::min(0.05, 0.1 / mu_);
    const Ball root = Ball::rounded(std::numbers::sqrt2 / 2);
    const auto normal_mass = [&](Ball from, Ball to) {
      if (from.value() <= 0 && to.value() >= 0) return (erf(to * root) - erf(from * root)) * Exact{0.5};
      const Ball near = from.value() > 0 ? from : -to;
      const Ball far = from.value() > 0 ? to : -from;
      return (erfc(near * root) - erfc(far * root)) * Exact{0.5};
    };
    Ball from = Exact{-farthest};
    double y_from = 0;
    for (double to = -reach;; to += h) {
      const bool last = to > reach + mu_;
      const Ball end = Exact{last ? farthest : to};
      const Ball y_to = exp(mu * (end - mu * Exact{0.5}));
      const Ball q_mass = normal_mass(from, end);
      parts_.push_back({.low = y_from,
                        .high = last ? infinity : y_to.upper().value(),
                        .q_mass = std::max(0.0, q_mass.upper().value()),
                        .q_least = std::max(0.0, q_mass.lower().value()),
                        .p_mass = std::max(0.0, normal_mass(from - mu, end - mu).upper().value())});
      if (last) break;
      from = end;
      y_from = y_to.lower().value();
    }
  }

  /// An upper bound on log L(v), v > 0.
  [[nodiscard]] Upper log_laplace(double v) const {
    // e^(-v Y), which falls; where that is no small number, 1 - v + E(e^(-v Y) - 1 + v Y), the rest of which rises and is at most v Y.
    if (v > 2) {
      double direct = 0;
      for (const auto& part : parts_) direct += part.q_mass * std::exp(-v * part.low);
      return min(log(summed(direct, units_of_exponential)), Upper{0});
    }
    double risen = 0;
    double second = 0;
    for (const auto& part : parts_) {
      risen -= part.q_least * std::expm1(-v * part.low);
      second += std::isinf(part.high) ? v * part.p_mass : part.q_mass * second_order(-v * part.high);
    }
    const Lower least_risen = Lower::within(risen, units_of_exponential + static_cast<double>(parts_.size()));
    const Upper first = log1p(min(-least_risen, Upper{0}));
    return v < 1 ? min(first, log1p(summed(second, units_of_second_order) - Exact{v})) : min(first, Upper{0});
  }

  /// Markov with e^(theta t R) where all Y are at most y, and the chance that one is not.
  [[nodiscard]] double highest(double log_mass) const {
    poll_limit();
    const double target = std::max(log_mass, least_log_mass);
    const Upper half_square = mu_above_ * mu_above_ / 2;
    const Upper own = sqrt(2 * (log(Upper{4}) - Exact{target}));
    const Upper others = sqrt(2 * (log(Upper{4} * Exact{t_}) - Exact{target}));
    const double y = max(exp(mu_above_ * own + half_square), exp(mu_above_ * others - mu_below_ * mu_below_ / 2)).value();
    const double typical = std::sqrt(-2 * target / std::expm1(std::min(mu_ * mu_, 600.0)) / t_);
    const double steep = -3 * target / y;
    Upper best{Exact{infinity}};
    constexpr int tries = 24;
    const double first = std::log(0.1 * std::min(typical, steep));
    const double last = std::log(std::max(typical, steep));
    for (int i = 0; i <= tries; ++i) {
      const double theta = std::exp(first + (last - first) * i / tries);
      if (theta * y > 600) break;
      double second = 0;
      double own_part = 0;
      for (const auto& part : parts_) {
        if (part.low > y) break;
        const double x = theta * std::min(part.high, y);
        second += part.q_mass * second_order(x);
        own_part += part.p_mass * std::expm1(x);
      }
      const Upper log_own = log1p(summed(own_part, units_of_exponential));
      const Upper log_other = log1p(summed(second, units_of_second_order) + Exact{theta});
      best = min(best, (log_own + Exact{t_ - 1} * log_other - Exact{target} + log(Upper{2})) / (Lower{Exact{t_}} * Exact{theta}));
    }
    return best.value();
  }

  /// Markov with e^(-v t R).
  [[nodiscard]] double lowest(double log_mass) const {
    poll_limit();
    const double target = std::max(log_mass, least_log_mass);
    const auto at = [&](double log_v) {
      const double v = std::exp(log_v);
      const Lower rest = Exact{target} - Exact{t_} * log_laplace(v);
      return (rest / Exact{t_} / Exact{v}).value();
    };
    const double middle = std::log(std::sqrt(-2 * target / t_));
    double low = middle - 6;
    double high = middle + 40;
    // The bound has one maximum in v, up to its rounding; any v is good.
    for (int i = 0; i < 24; ++i) {
      const double a = low + 0.381966 * (high - low);
      const double b = low + 0.618034 * (high - low);
      (at(a) < at(b) ? low : high) = at(a) < at(b) ? a : b;
    }
    return std::max(at(0.5 * (low + high)), 1e-300);
  }

  /// What decides how far a table reaches, and its nodes.
  struct Plan {
    double log_beyond;
    double largest;  ///< ratio up to which it reaches: P(R >= largest) <= e^log_beyond
    double period;
    double tilt;
    std::size_t nodes;
    double line_error;
  };
  [[nodiscard]] const Plan& plan() {
    if (!has_plan()) refuse();
    return *plan_;
  }
  [[nodiscard]] bool has_plan() {
    std::call_once(plan_once_, [&] { choose_plan(); });
    return plan_.has_value();
  }

  struct Table {
    double tilt = 0;
    double spacing = 0;
    std::int64_t first = 0;
    std::vector<std::array<double, terms_of_panel>> panels;
    std::vector<double> rounding;  // of a polynomial in double
    Terms terms{};
  };

  [[nodiscard]] const Table& table() {
    std::call_once(once_, [&] { make(); });
    return table_;
  }

  struct Masses {
    double q = 0;      // integral of the density f
    double p = 0;      // of x f
    double above = 0;  // of (x - x0) f
    double below = 0;  // of (x1 - x) f
    double error = 0;  // of q: that of p is x1 times this, those of the others x1 - x0 times this
  };
  /// \pre the table is made.
  [[nodiscard]] Masses masses(double x0, double x1, double from, double to) const {
    Masses sum;
    const double spacing = table_.spacing;
    auto j = static_cast<std::int64_t>(std::floor(from / spacing + 0.5));
    const auto end = table_.first + static_cast<std::int64_t>(table_.panels.size());
    j = std::clamp(j, table_.first, end - 1);
    const Upper at_right_end = exp(Upper{Exact{table_.tilt}} * Exact{to});
    const Upper bound = (Upper{Exact{table_.terms.rounding}} + Exact{table_.terms.line} + Exact{table_.terms.remainder}) * at_right_end;
    Upper error = Exact{table_.terms.alias};
    double a = from;
    while (a < to) {
      const double b = j + 1 == end ? to : std::min(to, (static_cast<double>(j) + 0.5) * spacing);
      if (b > a) {
        const auto& c = table_.panels[static_cast<std::size_t>(j - table_.first)];
        const double half = 0.5 * (b - a);
        const double centre = a + half;
        // Grid points have few bits, and a is next to one: their difference is exact, where that of the centre would not be.
        const double place = ((a - static_cast<double>(j) * spacing) + half) / spacing;
        const double scale = half / spacing;
        double q = 0;
        double above = 0;
        double below = 0;
        double p = 0;
        for (const auto& node : gauss) {
          const double y = place + node.at * scale;
          double f = c[terms_of_panel - 1];
          for (std::size_t n = terms_of_panel - 1; n-- > 0;) f = f * y + c[n];
          f *= node.weight;
          q += f;
          p += f * (centre + node.at * half);
          above += f * ((centre - x0) + node.at * half);
          below += f * ((x1 - centre) - node.at * half);
        }
        sum.q += q * half;
        sum.p += p * half;
        sum.above += above * half;
        sum.below += below * half;
        error += (Upper{Exact{b}} - Exact{a}) * (bound + Exact{table_.rounding[static_cast<std::size_t>(j - table_.first)]});
        a = b;
      }
      ++j;
    }
    sum.error = error.value();
    return sum;
  }

 private:
  struct Band {
    double low;  // Y lies between these
    double high;
    double q_mass;   // no less than what Q has there
    double q_least;  // no more than that
    double p_mass;   // no less than what P has there
  };
  /// Beyond it a normal variable has no mass in double, nor has one that is shifted by `largest_mu`: e^(-150^2 / 2).
  static constexpr double farthest = 200;

  /// e^x - 1 - x, which rises with |x| on either side: from above but for rounding, by at most `units_of_second_order`.
  static double second_order(double x) {
    if (std::abs(x) < smallest_difference) return 0.5 * x * x * (1 + std::abs(x));
    return std::expm1(x) - x;
  }
  static constexpr double smallest_difference = 1e-3;
  /// Terms times e^x or e^x - 1 with |x| <= 745: the exponent is a product within half a unit of itself, all else within 12.
  static constexpr double units_of_exponential = 385;
  /// The difference magnifies 5 units of x to 10 / |x|, less than 11 / smallest_difference; or they are those of an exponential.
  static constexpr double units_of_second_order = 11 / smallest_difference + units_of_exponential;
  /// Of all parts.
  [[nodiscard]] Upper summed(double sum, double units_of_term) const {
    return Upper::within(sum, units_of_term + static_cast<double>(parts_.size()));
  }

  /// An upper bound on log |E e^(-(c + i w) R)| for any c > 0, by turning g by any angle up to a quarter.
  [[nodiscard]] Upper turned(double w, int i) const {
    const double turn = quarter * std::exp2(-0.25 * i);
    const Upper shift = Upper{Exact{turn}} / mu_below_;
    const Lower v = Lower{Exact{w}} * sine_of(turn) / Exact{t_};
    return Exact{t_} * (shift * shift / 2 + log_laplace(v.value()));
  }
  /// The least of them, roughly: `i` is where the search begins and ends.
  [[nodiscard]] double log_modulus(double w, int& i) const {
    double best = turned(w, i).value();
    for (const int direction : {-1, 1}) {
      for (int next = i + direction; next >= 0 && next < 80; next += direction) {
        const double found = turned(w, next).value();
        if (!(found < best)) break;
        best = found;
        i = next;
      }
    }
    return std::min(best, 0.0);
  }

  /// (1 / pi) times the sum, over all nodes from `line_[i].w` on, of the bound times their distance h; the rest is a geometric series.
  struct Line {
    double w;
    double beyond;
    double modulus;
  };
  [[nodiscard]] std::vector<Line> line() const {
    std::vector<Line> all;
    std::vector<double> bounds;
    const double deviation = std::sqrt(std::expm1(std::min(mu_ * mu_, 600.0)) / t_);
    const double ratio = 1.08;
    double w = 1 / deviation;
    int turn = 0;
    for (int i = 1; i < 80; i += 3) {
      if (turned(w, i).value() < turned(w, turn).value()) turn = i;
    }
    // E e^(-v Y) <= E Y^-1 / (e v) = e^(mu^2 - 1) / v, turned by mu or a quarter.
    const double angle = std::min(quarter, mu_);
    const Upper shift = Upper{Exact{angle}} / mu_below_;
    const Lower sine = sine_of(angle);
    const auto algebraic = [&](double at) {
      return Exact{t_} * (shift * shift / 2 + mu_above_ * mu_above_ - 1 - log(Lower{Exact{at}} * sine / Exact{t_}));
    };
    for (int i = 0; i < 600; ++i) {
      poll_limit();
      all.push_back({w, 0, 1});
      bounds.push_back(log_modulus(w, turn));
      all.back().modulus = exp(Upper{Exact{bounds.back()}}).value();
      if (algebraic(w).value() + std::log(w) < -80) break;
      // Where a bound is far below all that counts, it is kept for longer.
      w *= bounds.back() < -90 ? 4 : ratio;
    }
    const double last = all.back().w;
    // |phi| <= e^algebraic(w) falls at least as w^-2, so its integral beyond w is at most w times that.
    Upper sum = algebraic(last).value() < -70 ? Exact{last} * exp(algebraic(last)) : Upper{Exact{infinity}};
    for (std::size_t i = all.size() - 1; i-- > 0;) {
      sum += (Upper{Exact{all[i + 1].w}} - Exact{all[i].w}) * exp(Upper{Exact{bounds[i]}});
      all[i].beyond = (sum / pi_below).value();
    }
    all.back().beyond = infinity;
    return all;
  }

  [[noreturn]] void refuse() const {
    throw Error{
        ErrorCode::unsupported,
        fmt::format(
            "allocated({}, gaussian({})) has too little noise, or too few rounds, for the density of its losses to be computed; poisson(1 / rounds, ...) is another sampler, and one round is the gaussian itself",
            t_, multiplier_)};
  }

  void choose_plan() {
    const StandardFloatingPoint environment;
    const auto bounds = line();
    const auto far = std::find_if(bounds.begin(), bounds.end(), [](const Line& at) { return at.beyond < 1e-20; });
    if (far == bounds.end()) return;
    for (const double log_beyond : log_masses_beyond_table) {
      const double top = highest(log_beyond);
      if (!(top < 1e9)) continue;
      // A period with few bits, so that places on the grid are exact.
      int exponent = 0;
      const double fraction = std::frexp(3 * top, &exponent);
      const double period = std::ldexp(std::ceil(std::ldexp(fraction, 12)), exponent - 12);
      const double h = 2 * std::numbers::pi / period;
      if (!(far->w / h < most_nodes)) continue;
      // Nodes beyond are counted from the first one on: an integral of a bound that falls holds their sum, but for that first one.
      plan_ = Plan{.log_beyond = log_beyond,
                   .largest = top,
                   .period = period,
                   .tilt = std::ldexp(1.0, 1 - exponent),
                   .nodes = size_of(std::ceil(far->w / h)) + 1,
                   .line_error = (Upper{Exact{far->beyond}} + Upper::within(h, 2) / 3 * Exact{far->modulus}).value()};
      return;
    }
  }

  void make() {
    const StandardFloatingPoint environment;
    const Plan& chosen = plan();
    const double c = chosen.tilt;
    const double period = chosen.period;
    const std::size_t nodes = chosen.nodes;
    const long double h = 2 * pi / static_cast<long double>(period);
    const LogNormalTransform laplace{1 / static_cast<long double>(multiplier_)};
    const std::size_t size = std::bit_ceil(3 * nodes);
    const long double spacing = static_cast<long double>(period) / static_cast<long double>(size);
    const long double t = t_;
    std::vector<Complex> weights(nodes);  // (h / pi) phi, then times powers of s spacing over factorials
    std::vector<Complex> steps(nodes);
    long double rounding = 0;
    long double remainder = 0;
    std::vector<long double> moduli(terms_of_panel + 1, 0);
    const long double passes = static_cast<long double>(std::bit_width(size) - 1);
    const auto values = laplace.minus_one(static_cast<long double>(c) / t, h / t, nodes);
    // Nothing is left of a table that was not made to its end.
    table_ = {};
    PollNowAndThen poll;
    for (std::size_t k = 0; k < nodes; ++k) {
      poll();
      const Complex s{c, h * static_cast<long double>(k)};
      const Complex at{s.real() / t, s.imag() / t};
      const auto log = log_one_plus(values[k], laplace.error() * std::abs(at));
      const long double share = (k == 0 ? 0.5L : 1.0L) * h / pi;
      const long double modulus = std::exp(t * log.real);
      const long double angle = t * log.angle;
      weights[k] = {share * modulus * std::cos(angle), share * modulus * std::sin(angle)};
      steps[k] = {s.real() * spacing, s.imag() * spacing};
      const long double reach = std::abs(steps[k]);
      rounding += share * (error_of_power(log, t, modulus) + few_operations * modulus) * std::exp(0.5L * reach);
      long double term = share * modulus;
      for (std::size_t n = 0; n <= terms_of_panel; ++n) {
        moduli[n] += term;
        term *= reach / static_cast<long double>(n + 1);
      }
    }
    remainder = std::ldexp(moduli[terms_of_panel], -static_cast<int>(terms_of_panel));

    table_.tilt = c;
    table_.spacing = static_cast<double>(spacing);
    const auto last = std::min(static_cast<std::int64_t>(chosen.largest / table_.spacing) + 1, static_cast<std::int64_t>(size) - 1);
    table_.first = std::max<std::int64_t>(0, static_cast<std::int64_t>(lowest(least_log_mass) / table_.spacing) - 1);
    const auto count = size_of(static_cast<double>(last - table_.first)) + 1;
    table_.panels.resize(count);
    const Transform transform{size};
    std::vector<Complex> work(size);
    for (std::size_t n = 0; n < terms_of_panel; n += 2) {
      // The real parts of two sums at once: each is made real by its mirror image, and the second one times i.
      std::fill(work.begin(), work.end(), Complex{0, 0});
      for (std::size_t k = 0; k < nodes; ++k) {
        const Complex first = weights[k];
        const Complex second = first * steps[k] / static_cast<long double>(n + 1);
        const std::size_t mirror = (size - k) % size;
        work[k] += Complex{0.5L * (first.real() - second.imag()), 0.5L * (first.imag() + second.real())};
        work[mirror] += Complex{0.5L * (first.real() + second.imag()), 0.5L * (second.real() - first.imag())};
        weights[k] = second * steps[k] / static_cast<long double>(n + 2);
      }
      transform(work);
      rounding += rounding_of_coefficient(passes, static_cast<long double>(n + 2)) * (moduli[n] + moduli[n + 1]) *
                  (std::ldexp(1.0L, -static_cast<int>(n)) + std::ldexp(1.0L, -static_cast<int>(n) - 1));
      for (std::size_t i = 0; i < count; ++i) {
        poll();
        const auto at = static_cast<std::size_t>(table_.first) + i;
        const long double grown = std::exp(static_cast<long double>(c) * spacing * static_cast<long double>(at));
        table_.panels[i][n] = static_cast<double>(work[at].real() * grown);
        table_.panels[i][n + 1] = static_cast<double>(work[at].imag() * grown);
      }
    }
    for (const auto& panel : table_.panels) {
      double all = 0;
      for (std::size_t n = terms_of_panel; n-- > 0;) all = 0.5 * all + std::abs(panel[n]);
      table_.rounding.push_back(all * share_of_units(units_of_horner));
    }
    // Polynomials were multiplied by e^(c x) at the middle of their panels, whose ends are less than e^(c spacing) away.
    const Upper panel_growth = exp(Upper{Exact{c}} * Exact{table_.spacing});
    // Both are sums over the nodes of products of fewer than 64 roundings, those of exp and of the powers of `reach` included.
    const auto grown = [&](long double sum) {
      return (shortened(LongUpper::within(sum, static_cast<long double>(nodes) + 64)) * panel_growth).value();
    };
    table_.terms.rounding = grown(rounding);
    table_.terms.line = chosen.line_error;
    table_.terms.remainder = grown(remainder);
    // Images lie a period or more above.
    double low = least_log_mass;
    double high = chosen.log_beyond;
    for (int i = 0; i < 12; ++i) {
      const double middle = 0.5 * (low + high);
      (highest(middle) <= period ? high : low) = middle;
    }
    table_.terms.alias = (exp(Upper{Exact{high}} - Lower{Exact{c}} * Exact{period}) / Exact{period}).value();
    table_.terms.tilt = c;
    table_.terms.nodes = static_cast<double>(nodes);
  }

  /// Of the n-th coefficient of a panel, as a share of the sum of the moduli of its terms: each passes so many butterflies of 8 units, and 16 units for
  /// each of n steps of a recurrence, a complex product and a quotient.
  static long double rounding_of_coefficient(long double passes, long double n) { return share_of_units(8 * passes + 16 * n); }

  double t_;
  double multiplier_;
  double mu_;  // fl(1 / multiplier), for choices
  Upper mu_above_{0};
  Lower mu_below_{0};
  std::vector<Band> parts_;
  std::once_flag plan_once_;
  std::optional<Plan> plan_;
  std::once_flag once_;
  Table table_;
};

AllocatedEpoch::AllocatedEpoch(double rounds, double multiplier) : numbers_{std::make_unique<Numbers>(rounds, multiplier)} {}
AllocatedEpoch::~AllocatedEpoch() = default;

double AllocatedEpoch::highest(double log_mass) const { return numbers_->highest(log_mass); }
double AllocatedEpoch::lowest(double log_mass) const { return numbers_->lowest(log_mass); }
double AllocatedEpoch::log_laplace(double v) const { return numbers_->log_laplace(v).value(); }
bool AllocatedEpoch::has_density() const { return numbers_->has_plan(); }
AllocatedEpoch::Terms AllocatedEpoch::terms() const { return numbers_->table().terms; }

LossRange AllocatedEpoch::range(bool reversed, const Cut& cut) const {
  const StandardFloatingPoint environment;
  const double wanted = reversed ? cut.log_below : cut.log_above;
  const auto& plan = numbers_->plan();
  const double high = std::log(wanted > plan.log_beyond ? std::min(highest(wanted), plan.largest) : plan.largest);
  const double low = std::log(lowest(reversed ? cut.log_above : cut.log_below));
  return reversed ? LossRange{-high, -low} : LossRange{low, high};
}

LossCells AllocatedEpoch::cells(bool reversed, double step, const Cut& cut) const {
  const StandardFloatingPoint environment;
  static_cast<void>(numbers_->table());
  const auto& plan = numbers_->plan();
  const double log_high = std::clamp(reversed ? cut.log_below : cut.log_above, plan.log_beyond, -1.0);
  const double log_low = std::clamp(reversed ? cut.log_above : cut.log_below, least_log_mass, -1.0);
  const double high = std::min(highest(log_high), plan.largest);
  const double low = lowest(log_low);
  const double most = std::max(std::abs(std::log(low)), std::abs(std::log(high))) + step;
  if (!(most / step < 0x1p40)) throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
  const auto first = checked_cast<std::int64_t>(std::floor(std::log(low) / step)) - 1;
  const auto last = checked_cast<std::int64_t>(std::ceil(std::log(high) / step)) + 1;

  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = share_of_units(4 + most), .cut_above = 0, .cut_below = 0};
  const double rounding = share_of_units(100 + 2 * most);
  const double width = -std::expm1(-step);
  double from = low;
  double x1 = std::exp(static_cast<double>(first) * step);
  PollNowAndThen poll;
  for (std::int64_t j = first; j < last; ++j) {
    poll();
    const double x0 = x1;
    x1 = std::exp(static_cast<double>(j + 1) * step);
    const double to = std::min(x1, high);
    if (!(to > from)) continue;
    const auto masses = numbers_->masses(x0, x1, from, to);
    from = to;
    const double mass = reversed ? masses.q : masses.p;
    const double error = reversed ? masses.error : masses.error * x1;
    const double share = mass > 0 ? error / mass : infinity;
    const double excess = reversed ? masses.below / x1 / mass : masses.above / mass;
    const double span = reversed ? (x1 - x0) / x1 : x1 - x0;
    const double excess_error = (masses.error * span / mass + std::abs(excess) * share) / (1 - share) + rounding;
    LossCell cell{.index = reversed ? -j - 1 : j,
                  .log_scale = 0,
                  .mass = mass,
                  .mass_error = share + rounding,
                  .excess = excess,
                  .excess_error = excess_error};
    if (!(cell.mass_error < 0.5)) {
      // No digits: its mass lies between 0 and what is found and the error, and may be anywhere in the cell.
      cell.mass = 0.5 * (std::max(mass, 0.0) + error);
      cell.mass_error = 1 + rounding;
    }
    if (!(cell.excess_error < 0.5 * width) || cell.mass_error >= 1) {
      cell.excess = 0.5 * width;
      cell.excess_error = 0.5 * width + rounding;
    }
    found.cells.push_back(cell);
  }
  if (reversed) std::reverse(found.cells.begin(), found.cells.end());
  // P(R >= high), or Q(R >= high), which is at most P's over high; and Q(R < low), of which P has at most the share low < 1.
  const LongUpper most_q_of_p = max(LongUpper{1}, 1 / LongLower{LongExact{high}});
  const long double lost_high = (exp(LongUpper{LongExact{log_high}}) * most_q_of_p).value();
  const long double lost_low = exp(LongUpper{LongExact{log_low}}).value();
  found.cut_above = reversed ? lost_low : lost_high;
  found.cut_below = reversed ? lost_high : lost_low;
  return found;
}

std::shared_ptr<const AllocatedEpoch> allocated_epoch(double rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<double, double>, std::shared_ptr<const AllocatedEpoch>, laws_of_a_question>;
  return kept.of({rounds, multiplier}, [&] {
    const StandardFloatingPoint environment;
    return std::make_shared<const AllocatedEpoch>(rounds, multiplier);
  });
}

// Proved so far.
}  // namespace surety::accounting
