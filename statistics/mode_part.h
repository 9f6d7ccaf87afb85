// The most frequent of listed texts as a part: choices among counts, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/statistics/part.h>
#include <surety/statistics/sum_parts.h>

namespace surety::statistics {

/// One choice of a mode: candidates are the texts not chosen yet, and the score of a text is the number of records that have it.
class ModeChoice {
 public:
  /// \param level exponential(e), or for permute-and-flip pure(e). \throws Error{unsupported} for another event; Error{invalid_argument} for
  ///        units of more than 2^52 rows
  ModeChoice(const Statistic& statistic, Event level);

  [[nodiscard]] const Event& event() const noexcept { return level_; }
  [[nodiscard]] bool is_permute_and_flip() const noexcept;
  /// One unit changes the counts of all groups by at most its range together. \param candidates how many texts are left. \source docs/proofs/statistics.md#mode
  [[nodiscard]] mechanisms::SelectionOptions options(std::size_t candidates) const;
  /// The index of the chosen count. \throws Error{environment} when the bits fail. \pre counts is not empty \complexity linear
  [[nodiscard]] std::size_t choose(const std::vector<std::int64_t>& counts, mechanisms::BitsRef bits) const;
  /// The count of the chosen text is less than the largest of `candidates` counts by fewer than so many records with probability at least
  /// 1 - `exceeded`, whatever the data. Infinite where epsilon is 0. \pre 0 < exceeded < 1 \source docs/proofs/statistics.md#mode
  [[nodiscard]] double count_error(double exceeded, std::size_t candidates) const;

 private:
  Event level_;
  Epsilon epsilon_;
  double range_;  ///< of the changes of counts: the rows of a unit that count, or twice as many where another unit replaces it
};

/// The most frequent texts of a column, in the order of the choices. The counts are those of a histogram.
class ModePart final : public SumPart {
 public:
  /// \throws Error{invalid_argument} as `Statistic::validate`; Error{unsupported} as ModeChoice.
  ModePart(const Statistic& statistic, Event level, double confidence);
  /// One that adds alone.
  explicit ModePart(const Statistic& statistic);

  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  Statistic statistic_;
  std::optional<ModeChoice> choice_;
  double confidence_ = 0;
};

}  // namespace surety::statistics
