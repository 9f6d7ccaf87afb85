#include "classification_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/data/csv/csv.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/regularizer.h>

#include "report.h"

namespace surety::experiments {

using namespace optimizers;
using namespace data;

namespace {

const LogisticLoss logistic;

/// Divides by the norm, rounded so that no norm is above 1.
void scale(std::vector<double>& row) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  for (double& x : row) x /= std::sqrt(squares) * (1 + 0x1p-48);
}

/// LIBSVM lines, and the constant as the last feature.
Dataset read_sparse(const std::string& command, std::uint32_t dimension) {
  std::vector<std::size_t> ends;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  std::vector<double> labels;
  for (const auto& line : lines_of(command)) {
    std::istringstream text{line};
    double label = 0;
    text >> label;
    std::vector<double> row;
    std::uint32_t index = 0;
    char colon = 0;
    double value = 0;
    while (text >> index >> colon >> value) {
      indices.push_back(index - 1);
      row.push_back(value);
    }
    indices.push_back(dimension);
    row.push_back(1);
    scale(row);
    values.insert(values.end(), row.begin(), row.end());
    ends.push_back(values.size());
    labels.push_back(label > 0 ? 1 : -1);
  }
  return Dataset::sparse(dimension + 1, std::move(ends), std::move(indices), std::move(values), std::move(labels));
}

/// The ranges are ours: round numbers that hold all records or nearly all, for which there is no source but these data (angles and
/// hillshade have theirs by definition).
Dataset read_covtype(const std::string& command) {
  constexpr std::array<Bounds, 10> bounds{
      {{1800, 3900}, {0, 360}, {0, 70}, {0, 1400}, {-200, 600}, {0, 7200}, {0, 255}, {0, 255}, {0, 255}, {0, 7200}}};
  std::vector<double> values;
  std::vector<double> labels;
  for (const auto& line : lines_of(command)) {
    std::istringstream text{line};
    std::vector<double> row;
    std::string cell;
    while (std::getline(text, cell, ',')) {
      char* end = nullptr;
      row.push_back(std::strtod(cell.c_str(), &end));
      if (end == cell.c_str()) break;  // a header
    }
    if (row.size() != 55) continue;
    labels.push_back(row.back() == 2 ? 1 : -1);
    for (std::size_t j = 0; j < bounds.size(); ++j) {
      row[j] = 2 * std::clamp((row[j] - bounds[j].lower) / (bounds[j].upper - bounds[j].lower), 0.0, 1.0) - 1;
    }
    row.back() = 1;
    scale(row);
    values.insert(values.end(), row.begin(), row.end());
  }
  return Dataset::dense(55, std::move(values), std::move(labels));
}

}  // namespace

Dataset classification_data(const std::string& name, const std::string& folder) {
  if (name == "a9a") return read_sparse("zcat '" + folder + "/a9a.gz'", 123);
  if (name == "ijcnn1") return read_sparse("bzcat '" + folder + "/ijcnn1.trn.bz2'", 22);
  if (name == "covtype.20k") return read_covtype("zcat '" + folder + "/covtype.20k.data.gz'");
  if (name == "covtype_sample") return read_covtype("zcat '" + folder + "/covtype_sample.csv.gz'");
  return encode_labels(logistic, read_csv(folder + "/randhie.csv", parse_label_rule("mdvis>0"), {}).data);
}

// ---- The optimum ----

void solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t d = b.size();
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      for (std::size_t i = j; i < d; ++i) a[i * d + j] -= a[i * d + k] * a[j * d + k];
    }
    const double root = std::sqrt(a[j * d + j]);
    for (std::size_t i = j; i < d; ++i) a[i * d + j] /= root;
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * d + k] * b[k];
    b[i] /= a[i * d + i];
  }
  for (std::size_t i = d; i-- > 0;) {
    for (std::size_t k = i + 1; k < d; ++k) b[i] -= a[k * d + i] * b[k];
    b[i] /= a[i * d + i];
  }
}

SecondOrder second_order(const Dataset& data, std::span<const double> weights, Regularization lambda) {
  const std::size_t d = data.features();
  const auto n = static_cast<double>(data.size());
  SecondOrder found{std::vector<double>(d, 0.0), std::vector<double>(d * d, 0.0)};
  for (std::size_t i = 0; i < data.size(); ++i) {
    const RowView row = data.row(i);
    const double derivative = logistic.derivative(row.dot(weights), data.label(i));
    row.add_scaled_to(derivative / n, found.gradient);
    const double curvature = std::abs(derivative) * (1 - std::abs(derivative)) / n;
    const auto index = [&](std::size_t k) { return row.is_sparse() ? row.indices[k] : k; };
    for (std::size_t a = 0; a < row.values.size(); ++a) {
      if (row.values[a] == 0) continue;
      for (std::size_t b = 0; b <= a; ++b) found.hessian[index(a) * d + index(b)] += curvature * row.values[a] * row.values[b];
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    found.gradient[j] += lambda.value() * weights[j];
    found.hessian[j * d + j] += lambda.value();
  }
  return found;
}

double logistic_optimum(const Dataset& data, Regularization lambda) {
  const std::size_t d = data.features();
  std::vector<double> weights(d, 0.0);
  double value = regularized_loss(logistic, data, weights, lambda);
  for (int iteration = 0; iteration < 60; ++iteration) {
    auto [gradient, hessian] = second_order(data, weights, lambda);
    for (std::size_t j = 0; j < d; ++j) hessian[j * d + j] += 1e-13;  // features that are always 0 keep weight 0
    std::vector<double> direction = gradient;
    solve(hessian, direction);
    double decrement = 0;
    for (std::size_t j = 0; j < d; ++j) decrement += gradient[j] * direction[j];
    if (decrement < 2e-11) return value - decrement / 2;
    for (double step = 1;; step /= 2) {
      auto next = weights;
      for (std::size_t j = 0; j < d; ++j) next[j] -= step * direction[j];
      const double there = regularized_loss(logistic, data, next, lambda);
      if (there < value || step < 1e-9) {
        weights = std::move(next);
        value = there;
        break;
      }
    }
  }
  fmt::print(stderr, "Newton's method did not end: the optimum is not within 1e-10\n");
  return value;
}

}  // namespace surety::experiments
