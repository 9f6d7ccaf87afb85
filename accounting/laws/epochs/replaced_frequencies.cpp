#include <surety/accounting/laws/epochs/replaced_frequencies.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include <surety/accounting/laws/epochs/transform_errors.h>
#include <surety/accounting/laws/epochs/turned_numbers.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting {
namespace {

using Complex = std::complex<long double>;
using Short = std::complex<double>;
constexpr long double pi = std::numbers::pi_v<long double>;
constexpr long double reach = 10;
/// The integral's rule, and either end of the frequencies, leave a few times e^-this.
constexpr long double digits = 38;
/// Frequencies at which the edges are bounded: each so many times the one before.
constexpr long double rise = 1.1L;
/// What follows them has this modulus, as a logarithm.
constexpr long double last_on_edges = -20;
/// Cells of the edges overlap by this share, and what falls there is taken to fall by this less: both are far above their roundings.
constexpr long double overlap = 1e-5L;
constexpr long double less_fall = 1e-15L;
/// Of a sum or a product of doubles on the edges: fewer than 2^11 operations on terms whose moduli sum to less than 2.
constexpr long double rounding_on_edges = 1e-12L;
/// Nodes of a loss: beyond, each frequency is dear.
constexpr long double most_nodes = 4096;
/// By how much a line is turned at least: a rounding of W moves e^(i W sinh) by at most 1 / (e sin of that) of itself, which the units of a node are for.
constexpr long double least_turn = 0.1L;
/// Units of what is summed as an error, all of whose operations are on numbers that are not negative.
constexpr long double units_of_error = 64;

/// Units of a node: of its functions and of its frequency.
constexpr long double units_of_node = 101;

Complex scaled(const Complex& z, long double w) { return {w * z.real(), w * z.imag()}; }
Complex turned(long double size, long double angle) { return {size * std::cos(angle), size * std::sin(angle)}; }
Short shortened_to_double(const Complex& z) { return {static_cast<double>(z.real()), static_cast<double>(z.imag())}; }
LongUpper cosh(LongUpper x) { return (exp(x) + exp(-LongLower::claim(x.value()))) / LongExact{2}; }

}  // namespace

struct ReplacedFrequencies::Lattice {
  std::vector<long double> place;
  std::vector<Complex> sinh;  // of mu (place + i b)
};

struct ReplacedFrequencies::Loss {
  double x;
  std::size_t first;            // of its nodes on the lattice
  std::vector<Complex> plain;   // weights: of f,
  std::vector<Complex> with_a;  // of f with A,
  std::vector<Complex> with_b;  // and with B
  std::vector<Short> short_plain;
  LongUpper mean_cosh{0};  // E cosh(mu (g - c))
  // Roundings of f, a share of W, and of the others.
  long double plain_rounding = 0;
  long double a_rounding = 0;
  long double b_rounding = 0;
  // Sums over the frequencies.
  SumWithError p;
  SumWithError other;
};

struct ReplacedFrequencies::Frequencies {
  long double step;   // of log W
  long double least;  // W
  std::size_t count;
  LongUpper high{0};             // what the frequencies above the largest add
  long double edge;              // half of the strip's width
  long double log_edges;         // of the largest of
  std::vector<LongUpper> edges;  // of each loss, the integral of the modulus along an edge, at most
};

struct ReplacedFrequencies::Ends {
  long double largest;  // W
  long double range;    // of log W
  LongUpper high{0};    // what lies above the largest
};

ReplacedFrequencies::ReplacedFrequencies(double rounds, double multiplier)
    : t_{rounds}, multiplier_{multiplier}, mu_{1 / static_cast<long double>(multiplier)}, b_{std::min(1.2L, pi / (4 * mu_))}, h_{b_ / 8} {
  const auto gauss = [&](long double of_square) { return exp(LongUpper{LongExact{b_}} * LongExact{b_} * LongExact{of_square}); };
  grown_ = gauss(0.5L);
  const LongUpper cut = 2 * grown_ * LongExact{2} * exp(LongUpper{LongExact{-0.5L * reach * reach}});
  // b / h is 8 but for a rounding, and 50 and 25 are less than 16 pi and 8 pi.
  outside_ = (1 + gauss(2)) / expm1(LongLower{50}) + cut;
  on_edges_ = (gauss(0.125L) + gauss(1.125L)) / expm1(LongLower{25}) + cut;
}

ReplacedFrequencies::Lattice ReplacedFrequencies::lattice(double largest_loss) const {
  Lattice found;
  const long double most = largest_loss / (2 * mu_);
  const auto from = static_cast<std::int64_t>(std::floor((-(reach + mu_) - most) / h_)) - 2;
  const auto to = static_cast<std::int64_t>(std::ceil((reach + mu_) / h_)) + 2;
  for (auto i = from; i <= to; ++i) {
    const long double place = static_cast<long double>(i) * h_;
    found.place.push_back(place);
    found.sinh.push_back({std::sinh(mu_ * place) * std::cos(mu_ * b_), std::cosh(mu_ * place) * std::sin(mu_ * b_)});
  }
  return found;
}

ReplacedFrequencies::Loss ReplacedFrequencies::weights_of(double x, const Lattice& lattice) const {
  Loss found{};
  found.x = x;
  const long double c = x / (2 * mu_);
  const LongUpper mu = LongUpper{1} / LongExact{multiplier_};
  found.mean_cosh = exp(mu * mu / LongExact{2}) * cosh(LongUpper{LongExact{x}} / LongExact{2});
  const auto from = std::lower_bound(lattice.place.begin(), lattice.place.end(), -(reach + mu_) - c - h_);
  const auto to = std::upper_bound(from, lattice.place.end(), reach + mu_ - c + h_);
  found.first = static_cast<std::size_t>(from - lattice.place.begin());
  const auto nodes = static_cast<long double>(to - from);
  for (auto place = from; place != to; ++place) {
    const long double g = *place + c;
    const long double modulus =
        h_ * (std::numbers::inv_sqrtpi_v<long double> * std::numbers::sqrt2_v<long double> / 2) * std::exp(0.5L * (b_ - g) * (b_ + g));
    const long double a = modulus * std::exp(mu_ * (g - 0.5L * mu_));
    const long double other = modulus * std::exp(-mu_ * (g + 0.5L * mu_));
    found.plain.push_back(turned(modulus, -b_ * g));
    found.with_a.push_back(turned(a, b_ * (mu_ - g)));
    found.with_b.push_back(turned(other, -b_ * (mu_ + g)));
    found.short_plain.push_back(shortened_to_double(found.plain.back()));
    // Of exponents and angles, of the place and of c in them, of the frequency, and of the sum over the nodes.
    const long double of_place = mu_ * std::abs(*place) + (std::abs(g) + b_ + mu_) * (std::abs(*place) + c);
    const long double each = rounding_of_node(mu_, b_, g, units_of_node + nodes / 2 + 2 * of_place);
    found.plain_rounding += modulus * std::cosh(mu_ * *place) * each;
    found.a_rounding += a * each;
    found.b_rounding += other * each;
  }
  return found;
}

/// E A cosh or E B cosh and those of the other rounds, which bounds the slope of the product of all transforms in W.
LongUpper ReplacedFrequencies::mean_on_edge(const Loss& loss) const {
  const LongUpper mu = LongUpper{1} / LongExact{multiplier_};
  const LongUpper own = exp(mu * mu / LongExact{2}) * cosh(mu * mu + LongUpper{LongExact{loss.x}} / LongExact{2});
  return own + LongExact{t_ - 1} * loss.mean_cosh;
}

std::vector<LongUpper> ReplacedFrequencies::edges_of(const std::vector<Loss>& losses, const Lattice& lattice, long double edge) const {
  // From `last` on, |f| <= e^(b^2 / 2 - W kappa): a little less than the root of sin^2(mu b) - sin^2(edge).
  const long double kappa = std::sqrt(std::sin(mu_ * b_ + edge) * std::sin(mu_ * b_ - edge)) - less_fall;
  const long double last = (0.5L * b_ * b_ - last_on_edges / (t_ - 1)) / kappa;
  const LongLower decay = LongExact{t_ - 1} * (LongLower{LongExact{last}} * LongExact{kappa});
  const LongUpper rest = grown_ * exp(LongExact{t_ - 1} * (log(grown_) - LongLower{LongExact{last}} * LongExact{kappa})) / decay;
  long double least = last;
  for (const auto& loss : losses) least = std::min(least, (LongLower{1} / (LongExact{t_} * grown_ * loss.mean_cosh)).value());
  std::vector<LongUpper> edges;
  for (const auto& loss : losses) edges.push_back(exp(LongUpper{1}) * grown_ * mean_on_edge(loss) * LongExact{least} + rest);
  // The first cell begins below the least, the last one ends above `last`.
  for (long double w = least; w < last * rise; w *= rise) {
    poll_limit();
    for (const long double angle : {edge, -edge}) add_edges(edges, losses, lattice, w, angle);
  }
  return edges;
}

void ReplacedFrequencies::add_edges(std::vector<LongUpper>& edges, const std::vector<Loss>& losses, const Lattice& lattice, long double w,
                                    long double angle) const {
  const Complex turn{-std::sin(angle), std::cos(angle)};  // i e^(i angle)
  std::vector<Short> value;
  std::vector<Short> slope;
  for (const auto& sinh : lattice.sinh) {
    const Complex by = times(turn, sinh);
    const Complex less = exponential_less_one(scaled(by, w));
    value.push_back(shortened_to_double({1 + less.real(), less.imag()}));
    slope.push_back(shortened_to_double(times(by, Complex{1 + less.real(), less.imag()})));
  }
  const auto half = static_cast<double>(w * (std::sqrt(rise) - 1 + overlap));
  const LongUpper mu = LongUpper{1} / LongExact{multiplier_};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const Loss& loss = losses[i];
    Short f = 0;
    Short d = 0;
    for (std::size_t j = 0; j < loss.short_plain.size(); ++j) {
      f += times(loss.short_plain[j], value[loss.first + j]);
      d += times(loss.short_plain[j], slope[loss.first + j]);
    }
    // Convex along the cell, so largest at an end; the second derivative is at most e^(b^2 / 2) E cosh^2.
    const LongUpper at_ends = LongExact{static_cast<long double>(std::max(std::abs(f + d * half), std::abs(f - d * half)))};
    const LongUpper bend = grown_ * (1 + exp(2 * mu * mu) * cosh(LongUpper{LongExact{loss.x}})) / LongExact{4};
    const LongUpper errors = LongExact{2 * w} * loss.mean_cosh * (on_edges_ + LongExact{rounding_on_edges}) + LongExact{rounding_on_edges};
    const LongUpper most = at_ends + LongExact{half} * (LongExact{half} * bend) + errors;
    // Of each of both edges, half.
    edges[i] += grown_ * exp(LongExact{t_ - 1} * log(most)) * (LongUpper{LongExact{rise}} - LongExact{1}) / LongExact{2};
  }
}

ReplacedFrequencies::Ends ReplacedFrequencies::ends(long double largest_loss) const {
  // |f| <= e^(angle^2 / (2 mu^2) - W sin angle) for every angle up to a quarter of a turn.
  Ends found{std::numeric_limits<long double>::infinity(), 0};
  for (const long double angle : {1.57L, 1.1L, 0.7L, 0.45L, 0.3L, 0.2L, 0.13L, 0.08L, 0.05L, 0.03L, 0.018L, 0.01L, 0.005L}) {
    const LongLower sine = LongLower::within(std::sin(angle), LibraryError<long double>::sin);
    const LongUpper turn = LongUpper{LongExact{angle}} * LongExact{multiplier_};
    const LongUpper half_square = turn * turn / LongExact{2};
    const long double w = (digits / (t_ - 1) + half_square.value()) / sine.value();
    if (w >= found.largest) continue;
    found.largest = w;
    // A sum over the step's places is at most the integral of a falling bound.
    const LongLower decay = LongExact{t_ - 1} * (LongLower{LongExact{w}} * sine);
    found.high = exp(LongExact{t_ - 1} * half_square - decay) / decay;
  }
  // The least is where the cube of W times the third moment is e^-digits, roughly.
  const long double log_third = 3 * std::log(t_) + 4.5L * mu_ * mu_ + 3 * (mu_ * mu_ + largest_loss / 2);
  found.range = std::log(found.largest) + (log_third + digits) / 3;
  return found;
}

std::optional<ReplacedFrequencies::Frequencies> ReplacedFrequencies::frequencies(const std::vector<Loss>& losses, const Lattice& lattice,
                                                                                 double largest_loss, std::size_t most) const {
  const Ends at = ends(largest_loss);
  const auto of_edge = [&](long double edge) {
    std::vector<LongUpper> edges = edges_of(losses, lattice, edge);
    long double log_edges = 0;
    for (const auto& one : edges) log_edges = std::max(log_edges, std::log(one.value()));
    return Frequencies{.step = 2 * pi * edge / (digits + log_edges),
                       .least = 0,
                       .count = 0,
                       .high = at.high,
                       .edge = edge,
                       .log_edges = log_edges,
                       .edges = std::move(edges)};
  };
  // Wider strips need fewer frequencies, but for large losses the modulus grows within them, its logarithm about as the square of the width.
  const auto most_counted = static_cast<long double>(most);
  const long double widest = 0.4999L * mu_ * b_;
  if (at.range * digits > 2 * pi * widest * most_counted) return std::nullopt;
  Frequencies best = of_edge(widest);
  while (best.log_edges > 2 * digits) {
    const long double share = std::sqrt(digits / best.log_edges);
    if (at.range * 2 * digits > 2 * pi * best.edge * share * most_counted) return std::nullopt;
    Frequencies next = of_edge(best.edge / 2);
    if (next.step <= best.step) break;
    best = std::move(next);
  }
  const long double count = std::ceil(at.range / best.step) + 1;
  if (!(count <= most_counted)) return std::nullopt;
  best.count = static_cast<std::size_t>(count);
  best.least = at.largest * std::exp(-best.step * (count - 2));
  return best;
}

void ReplacedFrequencies::add(Loss& loss, long double w, const std::vector<Complex>& less) const {
  Complex plain{0, 0};
  Complex with_a{0, 0};
  Complex with_b{0, 0};
  const Complex* const at = less.data() + loss.first;
  for (std::size_t j = 0; j < loss.plain.size(); ++j) {
    plain += times(loss.plain[j], at[j]);
    with_a += times(loss.with_a[j], at[j]);
    with_b += times(loss.with_b[j], at[j]);
  }
  const auto log = log_one_plus(plain, w * (loss.plain_rounding + loss.mean_cosh.value() * outside_.value()));
  const PowerOfTransform rest = power_of(log, t_ - 1);
  const auto gather = [&](const Complex& sum, long double own_error, SumWithError& all) {
    const Complex own{1 + sum.real(), sum.imag()};  // E A and E B are 1
    all.add(times(own, rest.value).imag(), error_of_product(std::abs(own), own_error, rest.modulus, rest.error));
  };
  gather(with_a, 4 * (loss.a_rounding + outside_.value()), loss.p);
  gather(with_b, 4 * (loss.b_rounding + outside_.value()), loss.other);
}

ReplacedFrequencies::Tails ReplacedFrequencies::tails(const Loss& loss, LongUpper edges, const Frequencies& at) const {
  // Of each direction: 1 / 2 + (1 / pi) (integral over log W of the imaginary part).
  const long double grown = std::exp(mu_ * mu_ / 2);
  const long double below = at.step * at.least / std::expm1(at.step);
  const long double others = -(t_ - 1) * grown * std::sinh(0.5L * loss.x);
  const long double scale = at.step / pi;
  const long double p = 0.5L + scale * loss.p.value + below / pi * (others + grown * std::sinh(mu_ * mu_ - 0.5L * loss.x));
  const long double other = 0.5L + scale * loss.other.value + below / pi * (others - grown * std::sinh(mu_ * mu_ + 0.5L * loss.x));
  const LongUpper mu = LongUpper{1} / LongExact{multiplier_};
  const LongUpper w{LongExact{at.least}};
  const LongUpper third = LongExact{t_} * w * (LongExact{t_} * w) * (LongExact{t_} * w) * exp(LongExact{4.5L} * (mu * mu)) *
                          cosh(3 * (mu * mu + LongUpper{LongExact{loss.x}} / LongExact{2}));
  const LongUpper rule = edges / expm1(LongLower::within(2 * pi * at.edge / at.step, 4));
  const LongUpper ends = third / LongExact{18} + at.high + LongExact{below * rounding_of_inversion} * mean_on_edge(loss);
  const LongUpper rounding{LongExact{rounding_of_inversion}};
  const auto terms = static_cast<long double>(at.count + loss.plain.size()) + units_of_error;
  const auto all = [&](long double error) { return LongUpper::within(scale * error, terms) + rule + ends + rounding; };
  return {.p = p,
          .other = other,
          .p_error = all(loss.p.error),
          .other_error = all(loss.other.error),
          .rule = rule,
          .ends = ends,
          .count = at.count};
}

std::vector<ReplacedFrequencies::Tails> ReplacedFrequencies::beyond(std::span<const double> xs, std::size_t most) const {
  const StandardFloatingPoint environment;
  if (mu_ * b_ < least_turn || 2 * (reach + mu_) > most_nodes * h_) return {};
  const double largest_loss = *std::max_element(xs.begin(), xs.end());
  const Lattice nodes = lattice(largest_loss);
  std::vector<Loss> losses;
  for (const double x : xs) losses.push_back(weights_of(x, nodes));
  const auto chosen = frequencies(losses, nodes, largest_loss, most);
  if (!chosen) return {};
  const Frequencies& at = *chosen;
  std::vector<Complex> less(nodes.sinh.size());
  for (std::size_t k = 0; k < at.count; ++k) {
    const long double w = at.least * std::exp(at.step * static_cast<long double>(k));
    for (std::size_t j = 0; j < less.size(); ++j) less[j] = exponential_less_one({-w * nodes.sinh[j].imag(), w * nodes.sinh[j].real()});
    for (auto& loss : losses) {
      poll_limit();
      add(loss, w, less);
    }
  }
  std::vector<Tails> found;
  for (std::size_t i = 0; i < losses.size(); ++i) found.push_back(tails(losses[i], at.edges[i], at));
  return found;
}

}  // namespace surety::accounting
