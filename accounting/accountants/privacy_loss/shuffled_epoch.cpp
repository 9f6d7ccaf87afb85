#include <surety/accounting/accountants/privacy_loss/shuffled_epoch.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// A positive number within a relative `error`.
struct Measured {
  long double value;
  long double error;
};
Measured operator-(const Measured& a, const Measured& b) {
  const long double apart = a.value - b.value;
  return {apart, apart > 0 ? (a.value * a.error + b.value * b.error) / apart + 2 * long_unit_roundoff : 1};
}

/// -log Phi(x) without cancellation in either tail; x is within `shift` of what is meant.
Measured log_normal_cdf(long double x, long double shift) {
  const long double tail = 0.5L * std::erfc(std::abs(x) * 0.707106781186547524400844362104849039L);
  // The tail's density is at most (|x| + 1) times the tail.
  const long double error = long_unit_roundoff * (16 + 4 * x * x) + shift * (std::abs(x) + 1);
  // Both logarithms magnify a relative error less than twofold, since the tail is at most 1/2.
  return {x < 0 ? -std::log(tail) : -std::log1p(-tail), 2 * error + 8 * long_unit_roundoff};
}

/// A probability and what it leaves, each with all its digits.
struct Split {
  Measured below;
  Measured above;
};
/// Of e^-x.
Split split(const Measured& x) {
  return {{std::exp(-x.value), x.value * x.error + 8 * long_unit_roundoff}, {-std::expm1(-x.value), x.error + 8 * long_unit_roundoff}};
}

/// Both laws of the largest coordinate at a threshold.
struct Threshold {
  Split p;
  Split q;
};
Threshold at(double c, long double mu, long double batches) {
  const Measured each = log_normal_cdf(c, 0);
  const Measured moved = log_normal_cdf(c - mu, long_unit_roundoff * (std::abs(c) + 2 * mu));
  const long double error = std::max(each.error, moved.error) + 4 * long_unit_roundoff;
  return {split({(batches - 1) * each.value + moved.value, error}), split({batches * each.value, error})};
}

Measured between(const Split& from, const Split& to) { return from.below.value < 0.5L ? to.below - from.below : from.above - to.above; }

struct Cell {
  AtomsBase::Atom atom;
  double loss_error;
  double mass_error;
};
/// Nothing where a mass has too few digits, or none in double.
std::optional<Cell> cell(const Measured& p, const Measured& q) {
  for (const auto* mass : {&p, &q}) {
    if (!(mass->value > 1e-290L && mass->error < 1e-13L)) return std::nullopt;
  }
  const auto loss = static_cast<double>(std::log(p.value / q.value));
  return Cell{{loss, static_cast<double>(p.value)},
              static_cast<double>(1.01L * (p.error + q.error) + 8 * long_unit_roundoff) + 2 * unit_roundoff * std::abs(loss),
              static_cast<double>(p.error) + 2 * unit_roundoff};
}

/// Thresholds where the largest coordinate lies under Q, and where the record's own lies under P.
std::vector<double> thresholds(double mu) {
  constexpr int each = 1000;
  std::vector<double> found;
  for (int i = 0; i < each; ++i) found.push_back(-10 + 32.0 * i / (each - 1));
  for (int i = 0; i < each; ++i) found.push_back(mu - 10 + 32.0 * i / (each - 1));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

AtomsBase largest_coordinate(double multiplier, std::uint64_t batches) {
  const StandardFloatingPoint environment;
  const auto count = static_cast<long double>(batches);
  const long double mu = 1 / static_cast<long double>(multiplier);
  AtomsBase found{{}, 0, 0};
  const auto take = [&](const Cell& cell) {
    found.atoms.push_back(cell.atom);
    found.loss_error = std::max(found.loss_error, cell.loss_error);
    found.mass_error = std::max(found.mass_error, cell.mass_error);
  };
  // Everything from the last threshold taken on is one more interval; a threshold that would leave too little on either side is none.
  constexpr Split all{{0, 0}, {1, 0}};
  Threshold from{all, all};
  Cell rest{{0, 1}, 0, 0};
  for (const double c : thresholds(static_cast<double>(mu))) {
    const Threshold to = at(c, mu, count);
    const auto here = cell(between(from.p, to.p), between(from.q, to.q));
    const auto beyond = cell(to.p.above, to.q.above);
    if (!here || !beyond) continue;
    take(*here);
    rest = *beyond;
    from = to;
  }
  take(rest);
  std::sort(found.atoms.begin(), found.atoms.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; });
  return found;
}

}  // namespace surety::accounting
