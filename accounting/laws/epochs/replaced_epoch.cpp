#include <surety/accounting/laws/epochs/replaced_epoch.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/laws/epochs/allocated_epoch.h>
#include <surety/accounting/laws/epochs/replaced_frequencies.h>
#include <surety/accounting/laws/epochs/transform_errors.h>
#include <surety/accounting/laws/epochs/turned_numbers.h>
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

using Complex = std::complex<long double>;
constexpr long double pi = std::numbers::pi_v<long double>;
/// What lies beyond half a period has at most e^this of the mass.
constexpr double log_alias = -34;
constexpr double most_nodes = 0x1p16;
/// Steps of a node's exponential between two that are computed afresh.
constexpr std::size_t restart = 32;
/// Units of a node: of its functions and of its sum, and of each of these steps.
constexpr long double units_of_node = 60 + 8 * restart;
/// Units of a term of the transform's sums, all of whose operations are on numbers that are not negative.
constexpr long double units_of_error = 64;
/// Cells of a law on either side of 0, and the mass that may be left beyond them.
constexpr int cells_of_law = 320;
/// The same where frequencies rise geometrically.
constexpr int cells_of_long_law = 200;
/// And where these are so many.
constexpr int cells_of_dear_law = 112;
constexpr double dear = 1500;
/// Below that many rounds sums (replaced_sum.h) are as narrow as such a law, in less time.
constexpr double few_rounds = 30;
/// Such frequencies of one loss that is asked for by itself, and of each loss of a law.
constexpr std::size_t most_alone = std::size_t{1} << 10;
constexpr std::size_t most_of_law = std::size_t{1} << 13;
constexpr double mass_beyond = 1e-13;
/// Nodes at loss 0 beyond which frequencies that rise geometrically are fewer.
constexpr double long_sum = 1000;
/// Losses that share frequencies: those of few need none of those of many.
constexpr std::size_t sharing = 32;

/// A place on the line that is turned away from where the exponentials turn.
struct ReplacedNode {
  Complex weight;
  Complex a;
  Complex b;
};

/// Bounds on log E e^(-v Y), which falls with v: those of the next v of a grid below, each made once.
class KeptLaplace {
 public:
  explicit KeptLaplace(const AllocatedEpoch& epoch) : epoch_{epoch} {}

  [[nodiscard]] LongUpper operator()(LongLower v) {
    constexpr double per_octave = 64;
    constexpr double last = 1000;  // no place beyond 2^1000
    const double at = std::min(per_octave * last, std::floor(per_octave * static_cast<double>(std::log2(v.value()))));
    if (!(at > -per_octave * last)) return LongExact{0};
    auto place = static_cast<int>(at);
    const auto of_grid = [](int i) { return std::exp2(i / per_octave); };
    while (static_cast<long double>(of_grid(place)) > v.value()) --place;
    const auto [known, is_new] = known_.try_emplace(place, 0.0);
    if (is_new) known->second = epoch_.log_laplace(of_grid(place));
    return LongUpper::claim(known->second);
  }

 private:
  const AllocatedEpoch& epoch_;
  std::unordered_map<int, double> known_;
};

}  // namespace

class ReplacedEpoch::Numbers {
 public:
  Numbers(double rounds, double multiplier)
      : t_{rounds}, multiplier_{multiplier}, tails_{allocated_epoch(rounds, multiplier)}, rising_{rounds, multiplier} {
    const StandardFloatingPoint environment;
    const long double mu = 1 / static_cast<long double>(multiplier);
    const long double b = std::min(1.2L, pi / (4 * mu));
    const long double h = b / 8;
    const long double reach = 10;
    const auto last = static_cast<std::int64_t>(std::ceil((reach + mu) / h));
    for (std::int64_t i = -last; i <= last; ++i) {
      const long double g = static_cast<long double>(i) * h;
      const long double modulus =
          h * (std::numbers::inv_sqrtpi_v<long double> * std::numbers::sqrt2_v<long double> / 2) * std::exp(0.5L * (b - g) * (b + g));
      const long double a = std::exp(mu * (g - 0.5L * mu));
      const long double other = std::exp(-mu * (g + 0.5L * mu));
      // i A and -i B on the line: e^(i w (A - a B)) = e^(w (this))
      nodes_.push_back({.weight = {modulus * std::cos(b * g), -modulus * std::sin(b * g)},
                        .a = {-a * std::sin(mu * b), a * std::cos(mu * b)},
                        .b = {-other * std::sin(mu * b), -other * std::cos(mu * b)}});
      const long double each = rounding_of_node(mu, b, g, units_of_node);
      a_rounding_ += modulus * a * each;
      b_rounding_ += modulus * other * each;
    }
    const long double grown = std::exp(0.5L * b * b);
    const long double strip = (1 + std::exp(2 * b * b)) / std::expm1(16 * pi);
    const long double cut = 2 * grown * (1 + h) * std::exp(-0.5L * reach * reach);
    outside_ = strip + cut;
    for (const long double share : {0.7L, 0.45L, 0.3L, 0.2L, 0.13L, 0.08L, 0.05L, 0.03L, 0.018L, 0.01L, 0.005L, 0.0025L}) {
      const long double angle = share * pi / (2 * mu);
      // Its product with mu, below a quarter, is within two units, and the sine as well.
      turns_.push_back({LongUpper{LongExact{angle}} * LongExact{angle} / 2,
                        LongLower::within(std::sin(mu * angle), LibraryError<long double>::sin + 2)});
    }
    const LongUpper most_mu = LongUpper{1} / LongExact{multiplier};
    smallest_product_ = exp(-(most_mu * most_mu / 2));
  }

  [[nodiscard]] std::vector<Beyond> beyond(std::span<const double> losses, std::size_t most_frequencies) {
    const StandardFloatingPoint environment;
    std::vector<Beyond> found;
    KeptLaplace laplace{*tails_};
    for (std::size_t i = 0; i < losses.size(); i += sharing) {
      const auto some = losses.subspan(i, std::min(sharing, losses.size() - i));
      const auto tails = is_long() ? rising_.beyond(some, most_frequencies) : std::vector<ReplacedFrequencies::Tails>{};
      for (std::size_t j = 0; j < some.size(); ++j)
        found.push_back(tails.empty() ? by_multiples(some[j], laplace) : from_tails(some[j], tails[j]));
    }
    return found;
  }

 private:
  /// Whether multiples of one frequency are too many.
  [[nodiscard]] bool is_long() {
    std::call_once(long_once_, [&] {
      try {
        const long double half_period = tails_->highest(log_alias);
        KeptLaplace laplace{*tails_};
        is_long_ = static_cast<double>(node_count(1, pi / half_period, laplace)) > long_sum;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        is_long_ = true;
      }
    });
    return is_long_;
  }
  static Beyond beyond_of(Ball p, Ball other, Ball curve) {
    return {.p = p.value(),
            .other = other.value(),
            .delta = curve.value(),
            .p_error = p.radius(),
            .other_error = other.radius(),
            .delta_error = curve.radius(),
            .line = 0,
            .alias = 0,
            .nodes = 0};
  }
  static Beyond from_tails(double x, const ReplacedFrequencies::Tails& tails) {
    const auto p = LongBall::around(tails.p, tails.p_error.value());
    const auto other = LongBall::around(tails.other, tails.other_error.value());
    const LongBall difference = p - exp(LongBall{LongExact{x}}) * other;
    // The curve lies between 0 and P(loss > x).
    const long double most = std::max(0.0L, std::min(difference.upper().value(), p.upper().value()));
    const long double least = std::clamp(difference.lower().value(), 0.0L, most);
    const LongBall middle = (LongBall{LongExact{least}} + LongBall{LongExact{most}}) * LongExact{0.5L};
    const Ball curve = shortened(middle + LongBall::around(0, ((LongUpper{LongExact{most}} - LongExact{least}) / LongExact{2}).value()));
    Beyond found = beyond_of(shortened(p), shortened(other), curve);
    found.line = shortened(tails.ends).value();
    found.alias = shortened(tails.rule).value();
    found.nodes = static_cast<double>(tails.count);
    return found;
  }
  [[nodiscard]] Beyond by_multiples(double x, KeptLaplace& laplace) const {
    const long double ratio = std::exp(static_cast<long double>(x));
    // |D| stays below the larger of both means, and each is below this but for e^log_alias of its mass.
    const double most = tails_->highest(log_alias);
    const LongUpper ratio_above = exp(LongUpper{LongExact{x}});
    const long double half_period = (ratio_above * LongExact{most}).value();
    if (!(half_period < 1e9L)) refuse();
    const LongUpper outside = exp(LongUpper{LongExact{log_alias}});
    const long double alias_of_modulus = (2 * (ratio_above + 1) * outside).value();
    const long double alias_of_sign = (4 * outside).value();
    const long double h = pi / half_period;
    const auto count = node_count(ratio, h, laplace);
    const auto line = line_error(ratio, h, count, laplace);
    const long double t = t_;
    const auto transform = transforms(ratio, h / t, count);
    // n = 2 k + 1: |D| = L / 2 - (4 L / pi^2) sum cos(n pi D / L) / n^2, sign D = (4 / pi) sum sin(n pi D / L) / n for |D| < L.
    // From the smallest terms on, since the error of a sum counts all its partial sums.
    SumWithError cosines;
    SumWithError sines;
    PollNowAndThen poll;
    for (std::size_t k = count; k-- > 0;) {
      poll();
      const auto n = static_cast<long double>(2 * k + 1);
      const long double w = n * h / t;
      const auto log = log_one_plus(transform[k].less_one, w * (a_rounding_ + ratio * b_rounding_ + (1 + ratio) * outside_));
      const PowerOfTransform all = power_of(log, t);
      const PowerOfTransform rest = power_of(log, t - 1);
      cosines.add(all.value.real() / (n * n), (all.error + few_operations) / (n * n));
      const Complex& own = transform[k].with_b;
      const long double own_error = 4 * (b_rounding_ + outside_);
      sines.add(times(own, rest.value).imag() / n, error_of_product(std::abs(own), own_error, rest.modulus, rest.error) / n);
    }
    const long double scale = 4 * half_period / (pi * pi);
    const long double modulus = half_period / 2 - scale * cosines.value;
    const long double modulus_error = alias_of_modulus + scale * (cosines.error + line.cosines) + rounding_of_inversion * half_period;
    const long double sign = 4 / pi * sines.value;
    const long double sign_error = alias_of_sign + 4 / pi * (sines.error + line.sines) + rounding_of_inversion;
    const long double delta = 0.5L * ((1 - ratio) + modulus);
    const long double delta_error = 0.5L * modulus_error + few_operations * ratio;
    const long double other = 0.5L * (1 + sign);
    const long double other_error = 0.5L * sign_error + few_operations;
    const long double p = delta + ratio * other;
    const long double p_error = delta_error + ratio * other_error + few_operations * ratio;
    const auto ended = [&](long double value, long double error) {
      const auto most_error = LongUpper::within(error, static_cast<long double>(count) + units_of_error);
      return shortened(LongBall::around(value, most_error.value()));
    };
    Beyond found = beyond_of(ended(p, p_error), ended(other, other_error), ended(delta, delta_error));
    found.line = static_cast<double>(scale * line.cosines + ratio * line.sines);
    found.alias = static_cast<double>(alias_of_modulus + ratio * alias_of_sign);
    found.nodes = static_cast<double>(count);
    return found;
  }

 public:
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

  /// \throws Error{unsupported} where a law takes too many nodes, which it remembers.
  [[nodiscard]] double largest() {
    std::call_once(most_once_, [&] {
      try {
        find_largest();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        most_ = infinity;
      }
    });
    if (most_ == infinity) refuse();
    return most_;
  }

 private:
  struct Transform {
    Complex less_one;  ///< E e^(i w (A - a B)) - 1
    Complex with_b;    ///< E B e^(i w (A - a B))
  };
  /// By an angle g is turned by, any one: half its square, and the sine of mu times it.
  struct Turn {
    LongUpper half_square;
    LongLower sine;
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
  [[nodiscard]] LongUpper log_bound_by(LongLower w, const Mean& mean) const {
    LongUpper best{0};
    for (const auto& turn : turns_) best = min(best, LongExact{t_ - 1} * (turn.half_square + mean(w * turn.sine)));
    return best;
  }
  /// A + a B is at least 2 sqrt(a) e^(-mu^2 / 2).
  [[nodiscard]] LongUpper log_bound_by_least(LongLower ratio, LongLower w) const {
    const LongLower least = 2 * sqrt(ratio) * smallest_product_;
    return log_bound_by(w, [&](LongLower v) { return -(v * least); });
  }
  [[nodiscard]] LongUpper log_bound(LongLower ratio, LongLower w, KeptLaplace& laplace) const {
    const LongUpper simple = log_bound_by_least(ratio, w);
    if (simple.value() < -600) return simple;
    // A rises where B falls, so the mean of the product is at most the product of the means.
    return min(simple, log_bound_by(w, [&](LongLower v) { return laplace(v) + laplace(v * ratio); }));
  }
  /// e^x, and the frequency of the odd n, a product and a quotient.
  static LongLower ratio_below(long double ratio) { return LongLower::within(ratio, LibraryError<long double>::exp); }
  [[nodiscard]] LongLower frequency(long double h, long double n) const {
    return LongLower::within(h * n / static_cast<long double>(t_), 2);
  }

  [[nodiscard]] std::size_t node_count(long double ratio, long double h, KeptLaplace& laplace) const {
    constexpr long double left_out = -38;
    const LongLower a = ratio_below(ratio);
    std::vector<std::size_t> counts{32};
    const auto suffices = [&](std::size_t i) {
      while (counts.size() <= i) counts.push_back(counts.back() + counts.back() / 5);
      if (static_cast<double>(counts[i]) > most_nodes) return true;
      return log_bound(a, frequency(h, static_cast<long double>(2 * counts[i] + 1)), laplace).value() <= left_out;
    };
    // The bound falls: the first count that suffices lies between two looks. Too many are not looked at.
    std::size_t fails = 0;
    if (suffices(0)) return counts[0];
    std::size_t holds = 1;
    for (; !suffices(holds); holds = 2 * holds + 1) fails = holds;
    while (holds - fails > 1) {
      const std::size_t middle = fails + (holds - fails) / 2;
      (suffices(middle) ? holds : fails) = middle;
    }
    if (static_cast<double>(counts[holds]) > most_nodes) refuse();
    return counts[holds];
  }
  /// The sums of 1 / n^2 and 1 / n times the bound over the odd n that are left out, doubling by doubling.
  static constexpr auto nearly_nothing = LongExact{1e-2000L};
  [[nodiscard]] Left line_error(long double ratio, long double h, std::size_t count, KeptLaplace& laplace) const {
    constexpr long double so_little = -100;
    const LongLower a = ratio_below(ratio);
    LongUpper cosines{0};
    LongUpper sines{0};
    LongUpper last{0};
    auto n = static_cast<long double>(2 * count + 1);
    for (int i = 0; i < 200; ++i, n *= 2) {
      const LongLower w = frequency(h, n);
      const LongUpper simple = log_bound_by_least(a, w);
      // The bound falls, so that of the doubling before holds as well.
      last = last.value() > so_little ? log_bound(a, w, laplace) : min(last, simple);
      const LongUpper bound = exp(last);
      // n to 2 n: at most n / 2 + 1 odd ones.
      const LongUpper odd_ones = bound * LongExact{n / 2 + 1} / LongExact{n};
      cosines += odd_ones / LongExact{n};
      sines += odd_ones;
      // An exponential: each doubling more than squares it.
      if (simple.value() < -5000) return {(cosines + nearly_nothing).value(), (sines + nearly_nothing).value()};
    }
    refuse();
  }

  /// Where next to nothing is left, or no digits. At 0 as well: a law begins there.
  void find_largest() {
    static_cast<void>(beyond(std::vector<double>{0}, most_of_law));
    double high = 2 / multiplier_;
    const auto is_beyond = [&](double x) {
      at_most_ = beyond(std::vector<double>{x}, most_of_law).front();
      return at_most_.p < mass_beyond + 2 * at_most_.p_error;
    };
    while (!is_beyond(high)) {
      high *= 1.3;
      if (!(high < 300)) refuse();
    }
    if (at_most_.nodes > dear && t_ < few_rounds) refuse();
    most_ = high;
  }
  void make() {
    const StandardFloatingPoint environment;
    // Nothing is left of a law that was not made to its end.
    law_ = {};
    law_.most = largest();
    const int count = !is_long() ? cells_of_law : at_most_.nodes > dear ? cells_of_dear_law : cells_of_long_law;
    // Narrower where more of the mass is.
    std::vector<double> places;
    for (int i = 0; i < count; ++i) {
      const double share = static_cast<double>(i) / count;
      places.push_back(law_.most * share * (1 + 2 * share * share) / 3);
    }
    places.push_back(law_.most);
    const auto tails = beyond(places, most_of_law);
    for (std::size_t i = 1; i < places.size(); ++i) {
      const Beyond& from = tails[i - 1];
      const Beyond& to = tails[i];
      law_.cells.push_back({.from = places[i - 1],
                            .to = places[i],
                            .p = from.p - to.p,
                            .other = from.other - to.other,
                            .p_error = from.p_error + to.p_error,
                            .other_error = from.other_error + to.other_error});
    }
    law_.beyond = std::max(0.0, tails.back().p) + tails.back().p_error;
  }

  double t_;
  double multiplier_;
  std::shared_ptr<const AllocatedEpoch> tails_;
  ReplacedFrequencies rising_;
  std::once_flag long_once_;
  bool is_long_ = false;
  std::vector<ReplacedNode> nodes_;
  long double a_rounding_ = 0;
  long double b_rounding_ = 0;
  long double outside_ = 0;
  std::vector<Turn> turns_;
  LongLower smallest_product_{0};  // e^(-mu^2 / 2), half of the least A + B
  std::once_flag most_once_;
  double most_ = 0;
  Beyond at_most_{};
  std::once_flag once_;
  Law law_;
};

ReplacedEpoch::ReplacedEpoch(double rounds, double multiplier) : numbers_{std::make_unique<Numbers>(rounds, multiplier)} {}
ReplacedEpoch::~ReplacedEpoch() = default;

ReplacedEpoch::Beyond ReplacedEpoch::beyond(double x) const { return numbers_->beyond({&x, 1}, most_alone).front(); }
LossRange ReplacedEpoch::range() const {
  const double most = numbers_->largest();
  return {-most, most};
}

namespace {

/// Of an atom's mass, which is rounded twice.
constexpr double units_of_mass = share_of_units(4.0);

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
    out.push_back({.index = checked_cast<std::int64_t>(index),
                   .log_scale = 0,
                   .mass = mass,
                   .mass_error = units_of_mass,
                   .excess = -std::expm1(-above),
                   .excess_error = Ball::within(2 + std::abs(loss) + step, 4).radius()});
  };
  const Ball width = -expm1(Ball{Exact{cell.least}} - Exact{cell.most});
  const Ball mass = Ball::around(std::max(cell.p, 0.0), cell.p_error);
  const Ball excess = 1 - exp(Ball{Exact{cell.least}}) * Ball::around(cell.other, cell.other_error) / mass;
  const bool has_digits = mass.value() > 4 * mass.radius();
  if (from_above) {
    const double share = has_digits ? min(max(excess.upper(), Upper{0}) / width.lower(), Upper{1}).value() : 1;
    const double most = mass.upper().value();
    atom(cell.least, most * (1 - share));
    atom(cell.most, most * share);
  } else if (has_digits) {
    const double risen = std::clamp(excess.lower().value(), 0.0, width.lower().value());
    atom(cell.least - std::log1p(-risen), mass.lower().value());
  }
}

}  // namespace

LossCells ReplacedEpoch::cells(bool from_above, double step) const {
  const StandardFloatingPoint environment;
  const auto& law = numbers_->law();
  if (!(law.most / step < 0x1p40)) throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"};
  LossCells found{
      .cells = {}, .anchor = 0, .step = step, .loss_error = Ball::within(1 + law.most + step, 8).radius(), .cut_above = 0, .cut_below = 0};
  for (const auto& cell : law.cells) {
    const Masses own{
        .least = cell.from, .most = cell.to, .p = cell.p, .other = cell.other, .p_error = cell.p_error, .other_error = cell.other_error};
    const Masses mirrored{
        .least = -cell.to, .most = -cell.from, .p = cell.other, .other = cell.p, .p_error = cell.other_error, .other_error = cell.p_error};
    for (const Masses& masses : {own, mirrored}) place(found.cells, masses, from_above, step);
  }
  std::stable_sort(found.cells.begin(), found.cells.end(),
                   [](const LossCell& a, const LossCell& b) { return a.index != b.index ? a.index < b.index : a.excess < b.excess; });
  found.cut_above = law.beyond;
  found.cut_below = law.beyond;
  return found;
}

std::shared_ptr<const ReplacedEpoch> replaced_epoch(double rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<double, double>, std::shared_ptr<const ReplacedEpoch>, laws_of_a_question>;
  return kept.of({rounds, multiplier}, [&] {
    const StandardFloatingPoint environment;
    return std::make_shared<const ReplacedEpoch>(rounds, multiplier);
  });
}

}  // namespace surety::accounting
