#include <surety/accounting/accountants/pld/either_way.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/vectorized.h>

namespace surety::accounting::pld {
namespace {

// Proved: docs/proofs/choices.md#either-way
/// So much P-mass at a loss of so many steps, with no less Q-mass than that says.
struct Row {
  std::ptrdiff_t place;
  double mass;
};
struct Rows {
  double infinite = 0;
  std::vector<Row> rows;
};

/// What is merged into rows.
class Merged {
 public:
  Merged(double step, std::size_t points, double tilt, const EitherWayTerms& terms)
      : step_{step}, most_{static_cast<double>(points - 1)}, tilt_{tilt}, terms_{terms} {}

  [[nodiscard]] Rows of(const std::vector<WeighedAtom>& atoms) {
    // What each atom and those of larger losses count for, by their mass and by their tilted mass.
    double mass = 0;
    double tilted = 0;
    for (const auto& atom : atoms) {
      mass += atom.p;
      tilted += tilted_mass(atom);
    }
    std::vector<double> above;
    for (double sum = 0; const auto& atom : atoms) above.push_back(sum += 0.5 * (atom.p / mass + tilted_mass(atom) / tilted));
    // By rising loss: what lies below a place takes as much of what lies above it as brings both there.
    for (std::size_t i = atoms.size(); i-- > 0;) {
      if (atoms[i].q == 0) {
        found_.infinite += atoms[i].p;
        continue;
      }
      if (!(atoms[i].p > 0)) continue;
      take(atoms[i], stride(above[i], i > 0 ? above.back() - above[i - 1] : 1));
    }
    put();
    found_.infinite = Lower::of_sum(found_.infinite, static_cast<double>(atoms.size())).value();
    return std::move(found_);
  }

 private:
  [[nodiscard]] double tilted_mass(const WeighedAtom& atom) const {
    return atom.q > 0 && atom.p > 0 ? atom.p * std::exp(tilt_ * std::min(std::log(atom.p / atom.q), most_ * step_)) : 0;
  }
  /// The distance of places: where little counts that lies beyond, wider ones lose as little.
  static double stride(double above, double below) {
    constexpr double share = 0.05;
    constexpr double least = 1e-100;
    return std::exp2(std::floor(std::log2(std::max(1.0, std::sqrt(share / std::clamp(std::min(above, below), least, 1.0))))));
  }
  [[nodiscard]] Upper odds(double place) const { return exp(Upper{Exact{step_}} * Exact{std::abs(place)}); }
  /// At least q e^(place step).
  [[nodiscard]] Upper needed(double q, double place) const {
    const Upper at{Exact{q}};
    return place >= 0 ? at * odds(place) : at / exp(Lower{Exact{step_}} * Exact{-place});
  }

  void take(WeighedAtom atom, double stride) {
    while (true) {
      // No farther than what is taken now allows, and as far up as there are places.
      const double next = stride * std::ceil(std::log(atom.p / atom.q) / step_ / stride);
      place_ = std::clamp(p_ == 0 ? next : std::min(place_, next), -most_, most_);
      if (!terms_.merged) return add({static_cast<std::ptrdiff_t>(place_), atom.p});
      const double odds = std::exp(place_ * step_);
      constexpr double beyond_rounding = 1e-13;
      const double short_of = odds * q_ - p_ + beyond_rounding * (p_ + atom.p);
      const double brings = atom.p - odds * atom.q;
      if (!(brings > short_of)) {
        p_ = (Lower{Exact{p_}} + Lower{Exact{atom.p}}).value();
        q_ = (Upper{Exact{q_}} + Upper{Exact{atom.q}}).value();
        return;
      }
      // An atom out of order can lower the place so far that the row needs nothing: it then takes no part, as a quotient may be of any size.
      const double part = p_ == 0 ? 1 : short_of > 0 ? short_of / brings : 0;
      p_ = (Lower{Exact{p_}} + Lower{Exact{part}} * Lower{Exact{atom.p}}).value();
      q_ = (Upper{Exact{q_}} + Upper{Exact{part}} * Upper{Exact{atom.q}}).value();
      put();
      if (!(part < 1)) return;
      atom.p = ((Lower{1} - Exact{part}) * Lower{Exact{atom.p}}).value();
      atom.q = ((Upper{1} - Exact{part}) * Upper{Exact{atom.q}}).value();
      if (!(atom.p > 0)) return;
    }
  }

  /// A row of what was taken, at its place or, where too little was found, below.
  void put() {
    if (p_ > 0) {
      double place = std::min(place_, std::floor(std::log(p_ / q_) / step_ + 1e-6));
      while (place > -most_ && !(needed(q_, place).value() <= p_)) --place;
      if (place > -most_) add({static_cast<std::ptrdiff_t>(place), p_});
    }
    p_ = 0;
    q_ = 0;
  }

  void add(const Row& row) {
    if (found_.rows.empty() || found_.rows.back().place != row.place) return found_.rows.push_back(row);
    double& mass = found_.rows.back().mass;
    mass = (Lower{Exact{mass}} + Lower{Exact{row.mass}}).value();
  }

  double step_;
  double most_;
  double tilt_;
  EitherWayTerms terms_;
  Rows found_;
  double p_ = 0;
  double q_ = 0;
  double place_ = 0;
};

using Four = double __attribute__((vector_size(4 * sizeof(double))));
constexpr std::size_t together = 16;

/// sum[j] = sum of mass times the value `place` steps below that of j, for j = 0, ..., 15.
SURETY_VECTORIZED void add_up(const Row* rows, std::size_t count, const double* values, double* sum) {
  std::array<Four, together / 4> sums{};
  for (const Row* row = rows; row < rows + count; ++row) {
    for (std::size_t j = 0; j < sums.size(); ++j) {
      Four at;
      std::memcpy(&at, values - row->place + 4 * j, sizeof at);
      sums[j] += row->mass * at;
    }
  }
  std::memcpy(sum, sums.data(), sizeof sums);
}

/// At most what is expected of the values after an outcome of the law, at 0, 1, ... steps.
std::vector<double> after(const Rows& law, const MirroredValues& values) {
  std::vector<double> sums(values.points());
  for (std::size_t i = 0; i < sums.size(); i += together) add_up(law.rows.data(), law.rows.size(), values.at_zero() + i, sums.data() + i);
  const auto terms = static_cast<double>(law.rows.size() + 2);
  for (double& sum : sums) sum = Lower::of_sum(law.infinite + sum, terms).value();
  return sums;
}

}  // namespace

CurveAtSteps either_way(const EitherWayLaws& laws, std::uint64_t blocks, double step, std::size_t points, double tilt,
                        const EitherWayTerms& terms) {
  points = (points + together - 1) / together * together;
  const auto merged = [&](const std::vector<WeighedAtom>& atoms) { return Merged{step, points, tilt, terms}.of(atoms); };
  const Rows block = merged(laws.block);
  MirroredValues values{points - 1, points, step, points};
  if (!laws.last.empty()) values.take(after(merged(laws.last), values));
  for (std::uint64_t i = 0; i < blocks; ++i) {
    poll_limit();
    values.take(after(block, values));
  }
  return {step, values.from_zero()};
}
// Proved so far.

}  // namespace surety::accounting::pld
