#include <surety/accounting/laws/rounds/allocated_sum.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <surety/accounting/laws/cells/tilted_law.h>
#include <surety/accounting/laws/losses/pieces.h>
#include <surety/accounting/laws/rounds/sum_cumulants.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/convolution.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using namespace sums_of_terms;
using laws::GaussianShape;

/// Ends of cells of g, and the shift mu, are multiples of it: their differences are exact. A smaller mu is a record that adds less.
constexpr double resolution = 0x1p-40;
double on_grid(double x) { return std::floor(x / resolution) * resolution; }
/// Cells of g begin here: below is one in e^800. Where terms are odd they end alike.
constexpr double lowest = -40;
/// Rounds with less noise than 1 / 64 have larger shifts than the grid of g has room for.
constexpr double largest_shift = 64;
constexpr std::uint64_t most_rounds = std::uint64_t{1} << 24;

/// The law of one rounded term where b records are in the round, as logarithms of masses of cells.
struct TermLaw {
  std::vector<double> log_mass;
  std::vector<double> error;  // of the masses, as shares
};

/// Grid cells of a term: cell i is of the value (first + i) step, and of g from ends[i] to ends[i + 1].
struct Cells {
  double step;
  std::int64_t first;
  std::vector<double> ends;

  Cells(const Term& term, double highest, double wanted)
      : step{wanted}, first{index(term.is_odd ? -term.at(highest) : std::log1p(-term.rate))} {
    const std::int64_t last = index(term.at(highest));
    ends.push_back(term.is_odd ? -highest : lowest);
    for (std::int64_t j = first; j < last; ++j) {
      const double g = term.place((static_cast<double>(j) + 0.5) * step);
      ends.push_back(std::clamp(on_grid(std::max(g, lowest)), ends.back(), highest));
    }
    ends.push_back(highest);
  }
  [[nodiscard]] std::int64_t index(double value) const { return checked_cast<std::int64_t>(std::nearbyint(value / step)); }
  [[nodiscard]] double value(std::size_t i) const { return static_cast<double>(first + static_cast<std::int64_t>(i)) * step; }
  [[nodiscard]] std::size_t size() const { return ends.size() - 1; }

  [[nodiscard]] TermLaw shifted(double shift) const {
    const GaussianShape normal{{1}};
    TermLaw law{std::vector<double>(size(), -std::numeric_limits<double>::infinity()), std::vector<double>(size(), 0.0)};
    PollNowAndThen poll;
    for (std::size_t i = 0; i < size(); ++i) {
      poll();
      if (!(ends[i] < ends[i + 1])) continue;
      const auto piece = normal.piece(ends[i] - shift, ends[i + 1] - shift);
      require_digits(piece);
      const double log_mass = std::log(piece.mass);
      law.log_mass[i] = log_mass + piece.log_scale;
      law.error[i] = piece.mass_error + share_of_units(LibraryError<double>::log * std::abs(log_mass) + std::abs(law.log_mass[i]));
    }
    return law;
  }
};

/// The same, tilted: weight i is the mass times e^(tilt value(i) - shift), within the share `error`.
struct TiltedTerm {
  std::vector<double> weights;
  double shift;
  double error;
};
TiltedTerm tilted(const TermLaw& law, const Cells& cells, double tilt) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < cells.size(); ++i) top = std::max(top, law.log_mass[i] + tilt * cells.value(i));
  double sum = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) sum += std::exp(law.log_mass[i] + tilt * cells.value(i) - top);
  TiltedTerm found{std::vector<double>(cells.size(), 0.0), top + std::log(sum), 0};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double log_mass = law.log_mass[i];
    if (!std::isfinite(log_mass)) continue;
    const double exponent = tilt * cells.value(i);
    found.weights[i] = std::exp(log_mass + exponent - found.shift);
    // The value is rounded, so are the product, a sum and a difference; and the exponential.
    const double units = LibraryError<double>::exp + 2 * std::abs(exponent) + std::abs(log_mass + exponent) + std::abs(found.shift);
    found.error = std::max(found.error, law.error[i] + share_of_units(units));
  }
  return found;
}

/// Both masses of one rounded value of T, from below and from above.
struct Masses {
  double p_least = 0;
  double p_most = std::numeric_limits<double>::infinity();
  double q_least = 0;
  double q_most = std::numeric_limits<double>::infinity();
};

/// How many points a grid takes, whichever bound on them there is; 0 where digits do not suffice.
struct Grid {
  Term term;
  std::size_t shifts = 0;
  double highest = 0;
  std::vector<Centre> places;
  double span = 0;
  double points = 0;

  Grid(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur, bool is_odd)
      : term{on_grid(1 / multiplier), rate, is_odd} {
    for (const auto& one : all) shifts = std::max(shifts, one.rounds_with.size());
    const double most = term.mu * static_cast<double>(shifts);
    if (!(term.mu > 0 && most <= largest_shift) || rounds > most_rounds) return;
    highest = on_grid(most + 15);
    const auto count = static_cast<double>(rounds);
    const Cumulants k{term, count, all};
    const double deviation = std::sqrt(k.of_q(0).variance);
    if (!(deviation > 1e-9 && std::isfinite(range()))) return;
    places = centres(k, 50 + 50 / deviation);
    double spread = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      span = std::max(span, 1.02 * places[i].span);
      spread = std::max(spread, places[i].deviation);
    }
    // Rounding adds the variance of a uniform number to that of each term.
    const double wanted = span / spread * std::sqrt(count / (12 * blur));
    if (wanted < 1e12) points = wanted;
  }
  /// Of one term.
  [[nodiscard]] double range() const { return term.at(highest) - (term.is_odd ? -term.at(highest) : std::log1p(-term.rate)); }
};

class Sum {
 public:
  Sum(const Grid& grid, std::uint64_t rounds, const std::vector<DealtRecords>& all) : rounds_{rounds}, all_{all} {
    if (grid.points == 0) return;
    size_ = std::clamp(std::bit_ceil(static_cast<std::size_t>(grid.points) + 1), fewest_points, most_points);
    const bool is_odd = grid.term.is_odd;
    const double step = grid.span / static_cast<double>(size_);
    // A term has not many more values than the sum.
    if (!(grid.range() / step < 8 * static_cast<double>(size_))) return;
    const Cells cells{grid.term, grid.highest, step};
    std::vector<TermLaw> with;
    std::vector<TermLaw> without;
    for (std::size_t b = 0; b <= grid.shifts; ++b) {
      const double shift = grid.term.mu * static_cast<double>(b);
      with.push_back(cells.shifted(shift));
      without.push_back(is_odd && b > 0 ? cells.shifted(-shift) : b > 0 ? without.front() : with.front());
    }
    for (const auto& place : grid.places) look_at(place, cells, with, without);
  }

  [[nodiscard]] SumLaws laws() const {
    return {atoms([](const Masses& at) {
              return std::tuple{at.p_least, at.p_most, at.q_most};
            }),
            atoms([](const Masses& at) {
              return std::tuple{at.q_least, at.q_most, at.p_most};
            })};
  }

 private:
  void look_at(const Centre& place, const Cells& cells, const std::vector<TermLaw>& with, const std::vector<TermLaw>& without) {
    std::vector<TiltedTerm> p;
    std::vector<TiltedTerm> q;
    for (const auto& law : with) p.push_back(tilted(law, cells, place.p_tilt));
    for (const auto& law : without) q.push_back(tilted(law, cells, place.q_tilt));
    const auto start = checked_cast<std::int64_t>(std::floor(place.least / cells.step));
    const auto points = static_cast<std::int64_t>(size_);
    std::vector<double> p_least(size_, 0.0);
    std::vector<double> p_most(size_, 0.0);
    std::vector<double> q_least(size_, 0.0);
    std::vector<double> q_most(size_, 0.0);
    for (const auto& one : all_) {
      poll_limit();
      // Whichever rounds they are, a sum does not show.
      std::vector<std::uint64_t> times{rounds_};
      for (const auto n : one.rounds_with) {
        times.push_back(n);
        times[0] -= n;
      }
      CircularProduct product{size_};
      for (std::size_t b = 0; b < times.size(); ++b) {
        if (times[b] > 0) product.multiply({p[b].weights, q[b].weights}, times[b]);
      }
      const auto found = std::move(product).result();
      const auto [p_shift, p_error] = together(p, times);
      const auto [q_shift, q_error] = together(q, times);
      // Masses of the sum from its residues: what lies outside the window has come in. From above it only adds.
      const double p_alias = outside(p, times, place.left, place.right, cells, start);
      const double q_alias = outside(q, times, place.left, place.right, cells, start);
      for (std::int64_t i = 0; i < points; ++i) {
        const std::int64_t at = start + i;
        const std::int64_t residue = ((at - static_cast<std::int64_t>(rounds_) * cells.first) % points + points) % points;
        const auto r = static_cast<std::size_t>(residue);
        const auto n = static_cast<std::size_t>(i);
        const long double t = static_cast<long double>(at) * static_cast<long double>(cells.step);
        const auto p_of = untilted(found.first[r], found.error, p_alias, p_shift - static_cast<long double>(place.p_tilt) * t, p_error);
        p_least[n] = (Lower::claim(p_least[n]) + Lower::claim(p_of.first) * one.weight.lower()).value();
        p_most[n] = (Upper::claim(p_most[n]) + Upper::claim(p_of.second) * one.weight.upper()).value();
        const auto q_of = untilted(found.second[r], found.error, q_alias, q_shift - static_cast<long double>(place.q_tilt) * t, q_error);
        q_least[n] = (Lower::claim(q_least[n]) + Lower::claim(q_of.first) * one.weight.lower()).value();
        q_most[n] = (Upper::claim(q_most[n]) + Upper::claim(q_of.second) * one.weight.upper()).value();
      }
    }
    for (std::int64_t i = 0; i < points; ++i) {
      const auto n = static_cast<std::size_t>(i);
      Masses& known = masses_[start + i];
      known = {std::max(known.p_least, p_least[n]), std::min(known.p_most, p_most[n]), std::max(known.q_least, q_least[n]),
               std::min(known.q_most, q_most[n])};
    }
  }

  /// Of so many terms: the sum of their shifts, and of what their masses err by.
  static std::pair<long double, double> together(const std::vector<TiltedTerm>& terms, const std::vector<std::uint64_t>& times) {
    long double shift = 0;
    double error = 0;
    for (std::size_t b = 0; b < times.size(); ++b) {
      shift += static_cast<long double>(times[b]) * static_cast<long double>(terms[b].shift);
      error += static_cast<double>(times[b]) * terms[b].error;
    }
    return {shift, error};
  }

  /// A mass between two bounds, from its residue `entry` within `error`, of which at most `alias` is another's. `share` is what the terms' masses
  /// err by together.
  static std::pair<double, double> untilted(double entry, double error, double alias, long double exponent, double share) {
    if (!(exponent < 600 && share < 1e-3)) return {0, std::numeric_limits<double>::infinity()};
    if (exponent < -650) return {0, 1e-270};
    // Of the exponential in extended precision, of its argument, and of what follows.
    const double units = share_of_units(8.0) + static_cast<double>(std::abs(exponent)) * 0x1p-60;
    const double factor = static_cast<double>(std::exp(exponent));
    const double grown = share * (1 + share) + units;
    // What is too small for double is counted with it.
    return {std::max(0.0, (entry - error - alias - underflow) * factor * (1 - grown)),
            (std::max(entry, 0.0) + error + underflow) * factor * (1 + grown) + 1e-280};
  }

  /// At most the tilted mass of the sum outside the window.
  [[nodiscard]] double outside(const std::vector<TiltedTerm>& terms, const std::vector<std::uint64_t>& times, double left, double right,
                               const Cells& cells, std::int64_t start) const {
    const auto beyond = [&](double a, std::int64_t end) {
      a = std::clamp(a, -8 / cells.step, 8 / cells.step);
      double sum = 0;
      double size = 0;
      const auto add = [&](double x) {
        sum += x;
        size += std::abs(x);
      };
      for (std::size_t b = 0; b < times.size(); ++b) {
        if (times[b] == 0) continue;
        const auto n = static_cast<double>(times[b]);
        add(n * log_transform(terms[b].weights, cells.step, a));
        add(n * (a * static_cast<double>(cells.first) * cells.step));
      }
      add(-a * static_cast<double>(end) * cells.step);
      return exp(Upper::claim(sum + share_of_units(static_cast<double>(4 * times.size() + 8)) * size)).value();
    };
    return (Upper::claim(beyond(right, start + static_cast<std::int64_t>(size_))) + Upper::claim(beyond(-left, start))).value();
  }

  /// Neighbouring values put together, so that some thousand atoms are left. `of`: the mass that is rounded down, what it is at most, and the one
  /// of the other law.
  template <class Of>
  [[nodiscard]] AtomsBase atoms(Of of) const {
    constexpr std::int64_t most = 4096;
    const std::int64_t together = std::max<std::int64_t>(1, static_cast<std::int64_t>(size_) / most);
    AtomsBase found{{}, 0, share_of_units(1.0)};
    double largest = 0;
    Lower mass{0};
    Upper other{0};
    std::int64_t now = 0;
    const auto put = [&] {
      if (mass.value() > 1e-250 && std::isfinite(other.value())) {
        const double loss = std::log(mass.value() / std::max(other.value(), 1e-280));
        largest = std::max(largest, std::abs(loss));
        found.atoms.push_back({loss, mass.value()});
      }
      mass = Lower{0};
      other = Upper{0};
    };
    for (const auto& [at, masses] : masses_) {
      const std::int64_t group = at >= 0 ? at / together : -((-at + together - 1) / together);
      if (group != now) put();
      now = group;
      const auto [least, upper, against] = of(masses);
      // A value without digits is left out, under both laws.
      if (!(least > 0.5 * upper)) continue;
      mass = mass + Lower::claim(least);
      other = other + Upper::claim(against);
    }
    put();
    std::sort(found.atoms.begin(), found.atoms.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; });
    // A quotient, its logarithm.
    found.loss_error = share_of_units(2 + (LibraryError<double>::log + 1) * largest);
    return found;
  }

  static constexpr std::size_t fewest_points = std::size_t{1} << 12;
  static constexpr std::size_t most_points = std::size_t{1} << 17;

  std::uint64_t rounds_;
  const std::vector<DealtRecords>& all_;
  std::size_t size_ = 0;
  std::map<std::int64_t, Masses> masses_;
};

}  // namespace

namespace {

using Key = std::tuple<double, std::uint64_t, std::vector<std::vector<std::uint64_t>>, double, double, bool>;
Key key_of(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur, bool is_odd) {
  std::vector<std::vector<std::uint64_t>> ways;
  for (const auto& one : all) ways.push_back(one.rounds_with);
  return Key{multiplier, rounds, std::move(ways), rate, blur, is_odd};
}
std::shared_ptr<const Grid> kept_grid(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate,
                                      double blur, bool is_odd) {
  static auto& kept = *new LastFew<Key, std::shared_ptr<const Grid>>;
  return kept.of(key_of(multiplier, rounds, all, rate, blur, is_odd),
                 [&] { return std::make_shared<const Grid>(multiplier, rounds, all, rate, blur, is_odd); });
}
SumLaws kept_sum(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur, bool is_odd) {
  static auto& kept = *new LastFew<Key, SumLaws>;
  return kept.of(key_of(multiplier, rounds, all, rate, blur, is_odd), [&] {
    const StandardFloatingPoint environment;
    try {
      return Sum{*kept_grid(multiplier, rounds, all, rate, blur, is_odd), rounds, all}.laws();
    } catch (const Error& error) {
      // Too little noise for the digits of its masses.
      if (error.code() != ErrorCode::unsupported) throw;
      return SumLaws{};
    }
  });
}

}  // namespace

double points_of_sum(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur, bool is_odd) {
  const StandardFloatingPoint environment;
  return kept_grid(multiplier, rounds, all, rate, blur, is_odd)->points;
}
SumLaws sum_of_logarithms(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur) {
  return kept_sum(multiplier, rounds, all, rate, blur, false);
}
AtomsBase sum_of_differences(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& all, double rate, double blur) {
  return kept_sum(multiplier, rounds, all, rate, blur, true).removed;
}

}  // namespace surety::accounting
