// Randomized response: each record's category is answered truthfully with probability p, otherwise another one is answered, each with
// equal probability. The answers are private one by one, before anybody collects them.
//
//   P(answer = own) = p,   P(answer = j) = q = (1 - p) / (k - 1) for each other j;   epsilon = |log(p / q)|
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/lazy_real.h>

namespace surety::mechanisms {

/// A probability numerator / denominator. \throws Error{invalid_argument} unless 0 < numerator < denominator <= 2^53.
class Ratio {
 public:
  Ratio(std::uint64_t numerator, std::uint64_t denominator);
  [[nodiscard]] std::uint64_t numerator() const noexcept { return numerator_; }
  [[nodiscard]] std::uint64_t denominator() const noexcept { return denominator_; }

 private:
  std::uint64_t numerator_;
  std::uint64_t denominator_;
};

/// The estimated fraction of the records in a category, and the standard deviation of its error.
struct Frequency {
  double value;
  double standard_error;
};

class RandomizedResponse {
 public:
  /// Truth with probability p, taken as the binary fraction that the double is. Adjacency is replace_one or zero_out.
  /// \throws Error{invalid_argument} for fewer than two categories and for add_or_remove_one: the answers show the number of records.
  RandomizedResponse(Probability truth, Count categories, Adjacency adjacency);
  /// The same for a rational probability; the event's is the double next to it on the side of more loss.
  RandomizedResponse(Ratio truth, Count categories, Adjacency adjacency);

  /// The largest double p = e^epsilon / (e^epsilon + k - 1), rounded down, whose loss is at most epsilon.
  /// \throws Error{invalid_argument} for fewer than two categories, and where epsilon is so small that p would be below 1 / k.
  [[nodiscard]] static Probability truth_for(Epsilon epsilon, Count categories);

  /// randomized_response(truth, categories).
  [[nodiscard]] const Event& event() const noexcept { return event_; }

  /// One answer for a record of category `own` in 0 .. k - 1; a number beyond counts as k - 1. Never throws on a category.
  ///
  /// Draws a word for the coin and one for the other answer, whether it is needed or not, and further ones with probability at most k
  /// 2^-63, whatever the record is: time depends on whether the answer is the truth by a branch or two, nanoseconds.
  /// \throws Error{environment} when the bits fail.
  [[nodiscard]] std::uint64_t release(std::uint64_t own, BitsRef bits) const;

  /// One answer per record, in order.
  [[nodiscard]] std::vector<std::uint64_t> release(std::span<const std::uint64_t> records, BitsRef bits) const;

  /// Estimates of the fraction of records in each category from how often each was answered.
  ///
  /// (c_j / n - q) / (p - q) for c_j answers of n: unbiased for every data set, hence sometimes below 0 or above 1. The variance of its
  /// error is (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)^2) where f is the fraction, here taken as the estimate within [0, 1]. Double
  /// arithmetic. \throws Error{invalid_argument} when there are not k counts, no answer, or p = 1 / k, when answers tell nothing.
  [[nodiscard]] std::vector<Frequency> frequencies(std::span<const std::uint64_t> counts) const;

 private:
  [[nodiscard]] bool tells_truth(const NextWord& next_word) const;

  std::uint64_t numerator_ = 0;  ///< of a rational truth
  std::uint64_t denominator_ = 0;
  double truth_;  ///< p, or the double nearest to it
  std::uint64_t categories_;
  Event event_;
};

}  // namespace surety::mechanisms
