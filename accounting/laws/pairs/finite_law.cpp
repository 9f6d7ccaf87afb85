#include <surety/accounting/laws/pairs/finite_law.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::privacy_loss {
namespace {

/// Masses that are smaller have no relative error in double.
constexpr long double least_mass = 1e-290L;

/// What is given, scaled to a sum of 1 as docs/proofs/given.md#law says.
struct Given {
  std::map<double, LongBall> p;  ///< by finite loss
  LongBall infinite = 0;
  LongBall sum_p = 0;
  LongBall sum_q = 0;
  bool has_rest = false;  ///< Q has mass where P has none

  explicit Given(const LawAtoms& atoms) {
    for (const auto& [loss, mass] : atoms.all()) {
      if (mass == 0) continue;
      const LongBall ball{LongExact{mass}};
      sum_p += ball;
      if (loss == std::numeric_limits<double>::infinity()) {
        infinite += ball;
      } else {
        const auto [place, is_new] = p.try_emplace(loss, ball);
        if (!is_new) place->second += ball;
      }
    }
    for (const auto& [loss, mass] : p) sum_q += q(loss, mass);
    has_rest = sum_q.value() < 1 - static_cast<long double>(mass_tolerance);
  }
  [[nodiscard]] static LongBall q(double loss, LongBall mass) { return mass * exp(LongBall{LongExact{-static_cast<long double>(loss)}}); }
  /// At least by how much scaling moves a loss.
  [[nodiscard]] double moved() const {
    const auto size = [](LongBall sum) {
      const LongBall found = log(sum);
      return LongUpper{LongExact{std::abs(found.value())}} + LongExact{found.radius()};
    };
    LongUpper all = size(sum_p);
    if (!has_rest) all += size(sum_q);
    return shortened(all).value();
  }
};

}  // namespace

bool has_finite_losses(const LawAtoms& atoms) {
  const StandardFloatingPoint environment;
  const Given given{atoms};
  return given.infinite.value() == 0 && !given.has_rest;
}

LossLaw finite_law(const LawAtoms& atoms, bool reversed, int direction) {
  const StandardFloatingPoint environment;
  const Given given{atoms};
  // Shares of the first law of the pair that is made: P, or Q.
  std::vector<std::pair<double, LongBall>> shares;
  LongBall infinite = 0;
  if (reversed) {
    for (const auto& [loss, mass] : given.p) {
      const LongBall q = Given::q(loss, mass);
      shares.emplace_back(-loss, given.has_rest ? q : q / given.sum_q);
    }
    std::reverse(shares.begin(), shares.end());
    if (given.has_rest) infinite = 1 - given.sum_q;
  } else {
    for (const auto& [loss, mass] : given.p) shares.emplace_back(loss, mass / given.sum_p);
    infinite = given.infinite / given.sum_p;
  }
  if (direction > 0) {
    for (const auto& [loss, share] : shares) {
      if (share.value() < least_mass) infinite += share;
    }
  }
  std::erase_if(shares, [](const auto& one) { return one.second.value() < least_mass; });
  LossLaw law{AtomsBase{{}, given.moved(), 0, false}};
  if (infinite.value() > 0) {
    law.infinite_mass = direction > 0 ? std::min(shortened(infinite.upper()).value(), 1 - unit_roundoff)
                                      : std::max(shortened(infinite.lower()).value(), 0.0);
  }
  // Masses are given as shares of what is finite.
  const LongBall finite = 1 - LongBall{LongExact{law.infinite_mass}};
  auto& base = std::get<AtomsBase>(law.base);
  base.atoms.reserve(shares.size());
  for (const auto& [loss, share] : shares) {
    const Ball mass = shortened(share / finite);
    base.atoms.push_back({loss, mass.value()});
    base.mass_error = std::max(base.mass_error, mass.share());
  }
  return law;
}

}  // namespace surety::accounting::privacy_loss
