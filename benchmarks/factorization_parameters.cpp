// surety_factorization_parameters: writes mechanisms/prefix_sums/buffered_parameters.h, the parameters of buffered linear Toeplitz factorizations.
//
// For m buffers and n steps it looks for the poles of c(x) = prod_j (1 - p_j x) / (1 - q_j x) that make the max error of prefix sums,
// ||c||_2 (sum_{k<n} b_k^2)^(1/2) with b(x) = 1 / ((1 - x) c(x)), least. Both norms are sums over pairs of poles in closed form, so a value
// costs O(m^2). Poles interlace, 0 < 1 - q_1 < 1 - p_1 < 1 - q_2 < ... < 1; the search is quasi-Newton in logarithms of their gaps.
// Nothing rests on the result being the best: what a sum charges is the norm of the coefficients that it uses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace {

using Real = long double;
using Vector = std::vector<Real>;

struct Poles {
  Vector encoder;  // 1 - q_j
  Vector decoder;  // 1 - p_j
};

Poles poles_at(const Vector& point) {
  Poles poles;
  Real x = point[0];
  for (std::size_t j = 0; j < point.size(); ++j) {
    if (j > 0) x += std::exp(point[j]);
    (j % 2 == 0 ? poles.encoder : poles.decoder).push_back(std::exp(x));
  }
  return poles;
}

/// c_k = sum_j weight_j q_j^(k-1) for k >= 1: residues of c.
Vector weights(const Poles& poles) {
  Vector result;
  for (std::size_t j = 0; j < poles.encoder.size(); ++j) {
    Real weight = 1;
    for (std::size_t i = 0; i < poles.encoder.size(); ++i) {
      weight *= poles.decoder[i] - poles.encoder[j];
      if (i != j) weight /= poles.encoder[i] - poles.encoder[j];
    }
    result.push_back(weight);
  }
  return result;
}

/// sum over k < terms of (sum_j weights[j] exp(k logs[j]))^2.
Real squared_norm(const Vector& weights, const Vector& logs, Real terms) {
  Real sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const Real log = logs[i] + logs[j];
      sum += weights[i] * weights[j] * (log == 0 ? terms : std::expm1(terms * log) / std::expm1(log));
    }
  }
  return sum;
}

/// The logarithm of the max error squared, or infinity outside the range of poles.
Real log_error(const Vector& point, Real steps) {
  const Poles poles = poles_at(point);
  constexpr Real outside = std::numeric_limits<Real>::infinity();
  if (!(poles.decoder.back() < 1)) return outside;
  Vector encoder_logs;
  for (const Real gap : poles.encoder) encoder_logs.push_back(std::log1p(-gap));
  // b has the poles 1 and p_j.
  Vector gaps{0};
  gaps.insert(gaps.end(), poles.decoder.begin(), poles.decoder.end());
  Vector residues;
  Vector decoder_logs;
  for (std::size_t j = 0; j < gaps.size(); ++j) {
    Real residue = 1;
    for (const Real gap : poles.encoder) residue *= gap - gaps[j];
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (i != j) residue /= gaps[i] - gaps[j];
    }
    residues.push_back(residue);
    decoder_logs.push_back(std::log1p(-gaps[j]));
  }
  const Real error = (1 + squared_norm(weights(poles), encoder_logs, steps - 1)) * squared_norm(residues, decoder_logs, steps);
  return error > 0 && std::isfinite(error) ? std::log(error) : outside;
}

Vector gradient(const Vector& point, Real steps) {
  constexpr Real h = 1e-6L;
  Vector result;
  for (std::size_t i = 0; i < point.size(); ++i) {
    Vector above = point;
    Vector below = point;
    above[i] += h;
    below[i] -= h;
    const Real slope = (log_error(above, steps) - log_error(below, steps)) / (2 * h);
    result.push_back(std::isfinite(slope) ? slope : 0);
  }
  return result;
}

Real inner(const Vector& a, const Vector& b) {
  Real sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The method of Broyden, Fletcher, Goldfarb and Shanno with backtracking.
Vector minimize(Vector point, Real steps) {
  const std::size_t size = point.size();
  std::vector<Vector> inverse(size, Vector(size, 0));
  const auto reset = [&] {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) inverse[i][j] = i == j ? 1 : 0;
    }
  };
  const auto times_inverse = [&](const Vector& v) {
    Vector result;
    for (const auto& row : inverse) result.push_back(inner(row, v));
    return result;
  };
  reset();
  Vector slope = gradient(point, steps);
  Real value = log_error(point, steps);
  for (int iteration = 0; iteration < 2000; ++iteration) {
    Vector direction = times_inverse(slope);
    if (!(inner(direction, slope) > 0)) {
      reset();
      direction = slope;
    }
    Real length = 0;
    for (const Real x : direction) length = std::max(length, std::abs(x));
    Real step = length > 1 ? 1 / length : 1;
    Vector next;
    Real next_value = 0;
    bool lower = false;
    for (int halving = 0; halving < 40 && !lower; ++halving, step /= 2) {
      next = point;
      for (std::size_t i = 0; i < size; ++i) next[i] -= step * direction[i];
      next_value = log_error(next, steps);
      lower = next_value <= value - 1e-4L * step * inner(direction, slope);
    }
    if (!lower) break;
    const Vector next_slope = gradient(next, steps);
    Vector moved;
    Vector turned;
    for (std::size_t i = 0; i < size; ++i) {
      moved.push_back(next[i] - point[i]);
      turned.push_back(next_slope[i] - slope[i]);
    }
    const Real gain = value - next_value;
    point = next;
    slope = next_slope;
    value = next_value;
    if (gain < 1e-15L) break;
    const Real curvature = inner(moved, turned);
    if (!(curvature > 0)) continue;
    const Vector image = times_inverse(turned);
    const Real factor = (1 + inner(turned, image) / curvature) / curvature;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        inverse[i][j] += factor * moved[i] * moved[j] - (image[i] * moved[j] + moved[i] * image[j]) / curvature;
      }
    }
  }
  return point;
}

/// The best poles found from a start with equal logarithmic gaps from 1/n to e^-1/2.
Poles best_poles(std::size_t buffers, Real steps) {
  const Real lowest = -std::log(steps);
  const Real gap = (-0.5L - lowest) / static_cast<Real>(2 * buffers - 1);
  Vector start(2 * buffers, std::log(gap));
  start[0] = lowest;
  return poles_at(minimize(start, steps));
}

}  // namespace

int main() {
  constexpr int smallest = 4;
  constexpr int largest = 24;
  constexpr int most_buffers = 6;
  fmt::print(
      "// Parameters of buffered linear Toeplitz factorizations of least max error. Made by\n"
      "//   surety_factorization_parameters > mechanisms/prefix_sums/buffered_parameters.h      (research/scripts/continual --parameters)\n"
      "#pragma once\n\n"
      "namespace surety::mechanisms {{\n\n"
      "/// c_k = sum_j weight_j (1 - decay_j)^(k-1).\n"
      "struct BufferParameters {{\n  double decay;\n  double weight;\n}};\n\n"
      "inline constexpr int smallest_log2_steps = {0};\n"
      "inline constexpr int largest_log2_steps = {1};\n\n"
      "/// By number of buffers from 2 to {2}, then by log2 of the horizon from {0} to {1}; unused places hold zeros.\n"
      "// clang-format off\n"
      "inline constexpr BufferParameters buffered_parameters[{3}][{4}][{2}] = {{\n",
      smallest, largest, most_buffers, most_buffers - 1, largest - smallest + 1);
  for (std::size_t buffers = 2; buffers <= most_buffers; ++buffers) {
    fmt::print("    {{\n");
    for (int log2_steps = smallest; log2_steps <= largest; ++log2_steps) {
      const Poles poles = best_poles(buffers, std::ldexp(Real{1}, log2_steps));
      const Vector weight = weights(poles);
      std::string line;
      for (std::size_t j = 0; j < buffers; ++j) {
        line += fmt::format("{}{{{:.4e}, {:.4e}}}",
                            j == 0   ? ""
                            : j == 3 ? ",\n          "
                                     : ", ",
                            static_cast<double>(poles.encoder[j]), static_cast<double>(weight[j]));
      }
      fmt::print("        {{{}}},\n", line);
    }
    fmt::print("    }},\n");
  }
  fmt::print("}};\n// clang-format on\n\n}}  // namespace surety::mechanisms\n");
}
