#include <surety/accounting/laws/rounds/shuffled_epoch.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting {
namespace {

using Library = LibraryError<long double>;

/// A positive number within a relative `error`. Each operation of it rounds once or twice, half a unit each.
struct Measured {
  long double value;
  long double error;
};
Measured operator-(const Measured& a, const Measured& b) {
  const long double apart = a.value - b.value;
  return {apart, apart > 0 ? (a.value * a.error + b.value * b.error) / apart + share_of_units(1.0L) : 1};
}

/// -log Phi(x) without cancellation in either tail; x is within `shift` of what is meant.
Measured log_normal_cdf(long double x, long double shift) {
  const long double tail = 0.5L * std::erfc(std::abs(x) * (std::numbers::sqrt2_v<long double> / 2));
  // The tail's density is at most (|x| + 1) times the tail; x is multiplied within a unit of itself.
  const long double error = share_of_units(Library::erfc + std::abs(x) * (std::abs(x) + 1)) + shift * (std::abs(x) + 1);
  // Both logarithms magnify a relative error less than twofold, since the tail is at most 1/2.
  return {x < 0 ? -std::log(tail) : -std::log1p(-tail), 2 * error + share_of_units(Library::log1p)};
}

/// A probability and what it leaves, each with all its digits.
struct Split {
  Measured below;
  Measured above;
};
/// Of e^-x.
Split split(const Measured& x) {
  return {{std::exp(-x.value), x.value * x.error + share_of_units(Library::exp + 1)},
          {-std::expm1(-x.value), x.error + share_of_units(Library::expm1 + 1)}};
}

Measured operator+(const Measured& a, const Measured& b) { return {a.value + b.value, std::max(a.error, b.error) + share_of_units(1.0L)}; }
Measured operator*(const Measured& weight, const Measured& a) {
  return {weight.value * a.value, weight.error + a.error + share_of_units(1.0L)};
}

/// One way in which records take part, with its probability: how many times in each batch that they are in.
struct Shares {
  Measured weight;
  std::vector<std::uint64_t> times;
};

/// Both laws of the largest coordinate at a threshold.
struct Threshold {
  Split p;
  Split q;
};
Threshold at(double c, long double mu, long double batches, const std::vector<Shares>& all) {
  const Measured each = log_normal_cdf(c, 0);
  std::vector<Measured> moved;  // so many times
  Threshold found{{{0, 0}, {0, 0}}, split({batches * each.value, each.error + share_of_units(1.0L)})};
  for (const auto& shares : all) {
    Measured sum{(batches - static_cast<long double>(shares.times.size())) * each.value, each.error + share_of_units(1.0L)};
    for (const auto times : shares.times) {
      while (moved.size() < times) {
        const long double shift = mu * static_cast<long double>(moved.size() + 1);
        moved.push_back(log_normal_cdf(c - shift, share_of_units(std::abs(c) + 2 * shift)));
      }
      sum = sum + moved[times - 1];
    }
    const Split part = split(sum);
    found.p.below = found.p.below + shares.weight * part.below;
    found.p.above = found.p.above + shares.weight * part.above;
  }
  return found;
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
  // A logarithm moves by less than the share and its square; the quotient is within half a unit, the logarithm and the double within one of its own.
  const long double error = p.error + q.error;
  return Cell{{loss, static_cast<double>(p.value)},
              static_cast<double>(error + error * error + share_of_units(1.0L)) + share_of_units(std::abs(loss)),
              static_cast<double>(p.error) + share_of_units(1.0)};
}

/// Thresholds where the largest coordinate lies under Q, and where the record's own lies under P.
std::vector<double> thresholds(double mu, std::uint64_t most) {
  constexpr int each = 1000;
  std::vector<double> found;
  for (int i = 0; i < each; ++i) found.push_back(-10 + 32.0 * i / (each - 1));
  for (std::uint64_t times = 1; times <= most; ++times) {
    for (int i = 0; i < each; ++i) found.push_back(static_cast<double>(times) * mu - 10 + 32.0 * i / (each - 1));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

AtomsBase largest_of(double multiplier, std::uint64_t batches, std::uint64_t most, const std::vector<Shares>& all) {
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
  constexpr Split whole{{0, 0}, {1, 0}};
  Threshold from{whole, whole};
  Cell rest{{0, 1}, 0, 0};
  for (const double c : thresholds(static_cast<double>(mu), most)) {
    poll_limit();
    const Threshold to = at(c, mu, count, all);
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

/// All partitions of `left` into parts of at most `most`, with their probabilities when each record draws one of the batches.
void add_partitions(std::uint64_t left, std::uint64_t most, std::uint64_t alike, long double batches, Shares& shares,
                    std::vector<Shares>& all) {
  if (left == 0) all.push_back(shares);
  const Shares before = shares;
  for (std::uint64_t part = std::min(left, most); part >= 1; --part) {
    // C(left, part) ways to fill it, a batch of its own; parts of one size have no order.
    const auto same = !before.times.empty() && before.times.back() == part ? alike + 1 : 1;
    shares = before;
    for (std::uint64_t i = 0; i < part; ++i) {
      shares.weight =
          Measured{static_cast<long double>(left - i) / static_cast<long double>(i + 1) / batches, share_of_units(1.0L)} * shares.weight;
    }
    shares.weight =
        Measured{(batches - static_cast<long double>(before.times.size())) / static_cast<long double>(same), share_of_units(1.0L)} *
        shares.weight;
    if (!(shares.weight.value > 0)) continue;
    shares.times.push_back(part);
    add_partitions(left - part, part, same, batches, shares, all);
  }
  shares = before;
}

}  // namespace

AtomsBase largest_coordinate(double multiplier, std::uint64_t batches, std::uint64_t participations) {
  return largest_of(multiplier, batches, 1, {{{1, 0}, std::vector<std::uint64_t>(static_cast<std::size_t>(participations), 1)}});
}
AtomsBase largest_coordinate(double multiplier, std::uint64_t batches) { return largest_coordinate(multiplier, batches, 1); }

AtomsBase largest_coordinate_of_user(double multiplier, std::uint64_t batches, std::uint64_t records) {
  std::vector<Shares> all;
  Shares none{{1, 0}, {}};
  add_partitions(records, records, 0, static_cast<long double>(batches), none, all);
  return largest_of(multiplier, batches, records, all);
}

}  // namespace surety::accounting
