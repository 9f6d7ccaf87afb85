#include <surety/optimizers/problem/classes.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <surety/accounting/events/words.h>

namespace surety::optimizers {
namespace {

constexpr accounting::Words<ClassesBy, 2> ways{
    .what = "classes-by", .values = {ClassesBy::one_against_the_rest, ClassesBy::softmax}, .words = {"one-against-the-rest", "softmax"}};

/// exp(value - the largest), divided by their sum.
void normalize(std::span<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value - largest);
  for (double& value : values) value /= sum;
}

}  // namespace

std::string_view name(ClassesBy by) { return ways.name(by); }

ClassesBy parse_classes_by(std::string_view text) { return ways.parse(text); }

std::vector<double> class_probabilities(std::span<const double> scores, ClassesBy by) {
  std::vector<double> result{scores.begin(), scores.end()};
  if (by == ClassesBy::one_against_the_rest) {
    for (double& score : result) score = score < 0 ? score - std::log1p(std::exp(score)) : -std::log1p(std::exp(-score));
  }
  normalize(result);
  return result;
}

void softmax_derivatives(std::size_t own, std::span<double> scores) {
  normalize(scores);
  // In the place of p_own - 1, which has no digits left where p_own is nearly 1.
  scores[own] = 0;
  double others = 0;
  for (const double probability : scores) others += probability;
  scores[own] = -others;
}

}  // namespace surety::optimizers
