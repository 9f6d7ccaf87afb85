// Where on its line a sum of terms (allocated_sum.h) is looked at: cumulants, roughly, and tilts by them. Nothing that is claimed rests on these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/losses/pieces.h>

namespace surety::accounting::sums_of_terms {

/// What is added up: log(1 - q + q e^(mu g - mu^2 / 2)), or under replace-one that at g less that at -g. Roughly: it only says where cells end.
struct Term {
  double mu;
  double rate;
  bool is_odd;

  [[nodiscard]] double at(double g) const { return is_odd ? one(g) - one(-g) : one(g); }
  /// Where it is v: e^(mu g) solves an equation, of the second degree where the term is odd.
  [[nodiscard]] double place(double v) const {
    if (is_odd) {
      const double moved = (1 - rate) * std::expm1(std::abs(v));
      const double own = rate * std::exp(-0.5 * mu * mu);
      const double y = (moved + std::sqrt(moved * moved + 4 * own * own * std::exp(std::abs(v)))) / (2 * own);
      return std::copysign(std::log(y) / mu, v);
    }
    const double scaled = std::expm1(v) + rate;
    return scaled > 0 ? (std::log(scaled / rate) + 0.5 * mu * mu) / mu : -infinity;
  }
  static constexpr double infinity = std::numeric_limits<double>::infinity();

 private:
  [[nodiscard]] double one(double g) const {
    const double log_y = mu * g - 0.5 * mu * mu;
    return log_y < 1 ? std::log1p(rate * std::expm1(log_y)) : log_y + std::log(rate + (1 - rate) * std::exp(-log_y));
  }
};

/// Cumulants of the sum, roughly: by the trapezoid rule over g. They choose tilts and the grid, nothing that is claimed.
class Cumulants {
 public:
  struct At {
    double value;
    double slope;
    double variance;
  };
  Cumulants(const Term& term, double rounds, const std::vector<DealtRecords>& all)
      : mu_{term.mu}, rounds_{rounds}, all_{all}, is_odd_{term.is_odd} {
    std::size_t most = 0;
    for (const auto& one : all) most = std::max(most, one.rounds_with.size());
    const double end = mu_ * static_cast<double>(most) + 15;
    for (double g = is_odd_ ? -end : -15; g < end; g += spacing) {
      g_.push_back(g);
      term_.push_back(term.at(g));
    }
    shifts_ = most;
  }

  /// With the record, and without it, or with the one in its place.
  [[nodiscard]] At of_p(double theta) const { return of(theta, 1); }
  [[nodiscard]] At of_q(double theta) const {
    if (is_odd_) return of(theta, -1);
    const At each = term(theta, 0);
    return {rounds_ * each.value, rounds_ * each.slope, rounds_ * each.variance};
  }

 private:
  [[nodiscard]] At of(double theta, double sign) const {
    std::vector<At> by_shift;
    for (std::size_t b = 0; b <= shifts_; ++b) by_shift.push_back(term(theta, sign * static_cast<double>(b)));
    std::vector<At> parts;
    double top = -infinity;
    for (const auto& one : all_) {
      At sum{std::log(one.weight.value()), 0, 0};
      double rest = rounds_;
      const auto add = [&](const At& each, double times) {
        sum = {sum.value + times * each.value, sum.slope + times * each.slope, sum.variance + times * each.variance};
      };
      for (std::size_t b = 1; b <= one.rounds_with.size(); ++b) {
        const auto times = static_cast<double>(one.rounds_with[b - 1]);
        add(by_shift[b], times);
        rest -= times;
      }
      add(by_shift[0], rest);
      parts.push_back(sum);
      top = std::max(top, sum.value);
    }
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (const auto& part : parts) {
      const double weight = std::exp(part.value - top);
      mass += weight;
      mean += weight * part.slope;
      square += weight * (part.variance + part.slope * part.slope);
    }
    mean /= mass;
    return {top + std::log(mass), mean, std::max(square / mass - mean * mean, 0.0)};
  }
  [[nodiscard]] At term(double theta, double b) const {
    double top = -infinity;
    std::vector<double> exponents;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const double apart = g_[i] - mu_ * b;
      exponents.push_back(theta * term_[i] - 0.5 * apart * apart);
      top = std::max(top, exponents.back());
    }
    double mass = 0;
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const double weight = std::exp(exponents[i] - top);
      mass += weight;
      mean += weight * term_[i];
      square += weight * term_[i] * term_[i];
    }
    mean /= mass;
    return {top + std::log(mass * spacing * inverse_root_of_two_pi), mean, std::max(square / mass - mean * mean, 0.0)};
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double spacing = 0.05;
  double mu_;
  double rounds_;
  const std::vector<DealtRecords>& all_;
  bool is_odd_;
  std::size_t shifts_ = 0;
  std::vector<double> g_;
  std::vector<double> term_;
};

/// Where on the line of T a pair of tilted laws is made, and by how much: both have their means at one place.
struct Centre {
  double p_tilt;
  double q_tilt;
  double least;  // of the window
  double left;   // by how much more, or less, to tilt for Chernoff's bounds at the window's ends
  double right;
  double span;
  double deviation;  // of P as it is tilted
};

/// Windows on the line, the first four of which say how wide the grid is. `steepest`: the largest tilt that is tried.
[[nodiscard]] std::vector<Centre> centres(const Cumulants& k, double steepest);

}  // namespace surety::accounting::sums_of_terms
