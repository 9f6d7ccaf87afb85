// What one shuffle of reports of a local randomizer costs.
//
// All bounds have one form. A curve is (1/n) E max(Z_1 + ... + Z_n, 0) of independent values Z = p - e^epsilon q, where p and q are the probabilities of an
// outcome under the randomizer at the two inputs, over that of a reference. A reference that every input's report contains bounds the curve from above;
// the report at an input itself gives the curve of the data in which all others have that input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// How one record may be reported: the two probabilities that an outcome may have at different inputs, which are e^loss apart.
struct LocalRandomizer {
  LongBall loss;
  LongBall more;
  LongBall less;
  /// Of k-ary randomized response; of a randomizer of which epsilon0 alone is known, 0.
  std::uint64_t categories = 0;
  bool is_truthful = true;  ///< the outcome of probability `more` is the input

  /// Any randomizer that is (epsilon0, 0)-differentially private; its worst pair is that of binary randomized response.
  [[nodiscard]] static LocalRandomizer of_epsilon(Epsilon epsilon0);
  /// Each of the other values has probability (1 - truth) / (categories - 1).
  [[nodiscard]] static LocalRandomizer of_response(Probability truth, Count categories);

  /// That of a report. \pre is_shuffle(event)
  [[nodiscard]] static LocalRandomizer of(const Event& event);

  [[nodiscard]] bool is_known() const { return categories > 0; }
  /// The largest loss of one report and of any shuffle of reports, which some outcome attains.
  [[nodiscard]] Enclosure largest_loss() const;
};

/// The curve of `reports` shuffled reports under replace-one, in either order of the neighbours.
class ShuffledCurve {
 public:
  /// More reports are bounded from above as so many.
  static constexpr std::uint64_t most_reports = std::uint64_t{1} << 27;
  /// Up to so many binary reports all data of the others are looked at.
  static constexpr std::uint64_t most_with_all_data = 1000;
  /// Beyond it clones are too rare to count.
  static constexpr double most_loss = 40;

  /// \complexity O(standard deviation of a binomial count of `reports` trials), and O(reports^3) of at most 1000 binary reports.
  ShuffledCurve(Count reports, const LocalRandomizer& randomizer);
  ~ShuffledCurve();
  ShuffledCurve(ShuffledCurve&&) noexcept;
  ShuffledCurve& operator=(ShuffledCurve&&) noexcept;
  ShuffledCurve(const ShuffledCurve&) = delete;
  ShuffledCurve& operator=(const ShuffledCurve&) = delete;

  /// Encloses delta(epsilon) of the worst data, and of the worst randomizer where epsilon0 alone is known. \pre epsilon >= 0
  /// \complexity some ms. \source docs/proofs/shuffled-reports.md
  [[nodiscard]] Enclosure delta(double epsilon) const;
  [[nodiscard]] double upper(double epsilon) const;
  [[nodiscard]] double lower(double epsilon) const;
  /// Encloses inf {epsilon >= 0 : delta(epsilon) <= delta}. \complexity some twenty deltas.
  [[nodiscard]] Enclosure epsilon(double delta) const;
  [[nodiscard]] Enclosure largest_loss() const { return randomizer_.largest_loss(); }
  /// Encloses a curve that costs no more, and is that of one pair which is its own reverse; nothing where none is known.
  [[nodiscard]] std::optional<Enclosure> attained(double epsilon) const;

 private:
  struct Sums;

  LocalRandomizer randomizer_;
  std::uint64_t reports_;
  std::unique_ptr<const Sums> sums_;  ///< null where the loss is beyond the largest
};

/// Whether an event is shuffled_reports or shuffled_responses.
[[nodiscard]] bool is_shuffle(const Event& event);
/// How many reports are shuffled. \pre is_shuffle(event)
[[nodiscard]] Count reports_of(const Event& event);
/// Its curve, kept for the questions that follow. \pre is_shuffle(event)
[[nodiscard]] std::shared_ptr<const ShuffledCurve> shuffled_curve(const Event& event);

}  // namespace surety::accounting::laws
