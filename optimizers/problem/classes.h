// How several classes are told apart by scores s_1, ..., s_K, one for each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace surety::optimizers {

/// Which probabilities scores stand for, and so which loss is minimized.
enum class ClassesBy {
  one_against_the_rest,  ///< each s_k is the log-odds of class k against all others
  softmax,               ///< p_k = exp(s_k) / sum_j exp(s_j), the same where a number is added to all scores
};
/// "one-against-the-rest", "softmax".
[[nodiscard]] std::string_view name(ClassesBy by);
/// The inverse. \throws Error{invalid_argument}.
[[nodiscard]] ClassesBy parse_classes_by(std::string_view text);

/// The probabilities of K classes by their scores: those of the softmax, or those of each class against the rest, divided by their sum.
/// \pre scores are finite, and there is one. O(K).
[[nodiscard]] std::vector<double> class_probabilities(std::span<const double> scores, ClassesBy by = ClassesBy::one_against_the_rest);

/// Writes p_k - [k = own] over each score s_k: the derivative of -log p_own of the softmax, whose sum over k is 0 up to rounding, and whose l2 norm is at
/// most sqrt 2. NaN where a score is not a number or the largest is infinite. O(K). \pre own < scores.size()
/// \source docs/proofs/shaped-descent.md#softmax
void softmax_derivatives(std::size_t own, std::span<double> scores);

}  // namespace surety::optimizers
