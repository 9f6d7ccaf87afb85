// Quantiles of a column by a choice on a public grid of candidates, the exponential mechanism's or permute-and-flip's, several by halving, and in groups.
//
// Candidates are equally spaced from one bound to the other. Every number is clamped and has a nearest candidate, to which it is rounded or beside which
// it lies, and the data are counted in one pass and O(candidates) memory. Candidate c has
//
//   rank error  e(c) = max(0, #{x < c} - q n, q n - #{x <= c}),
//
// the number of records by which its rank misses the one that is asked for: 0 for a quantile. There are two, of the clamped numbers as they are and of
// those rounded, which is no larger: an atom of the data between two candidates is one of the nearest. The error that counts is
//
//   s(c) = min(e(c) of numbers as they are, e(c) of rounded ones + `rounding_penalty`),
//
// so that rounding decides only where no candidate is near enough to a quantile without it. A candidate is chosen with probability
// proportional to exp(-epsilon s(c) / (2 Delta)), or is the largest of -s(c) with exponential noise of scale 2 Delta / epsilon, Delta being how far one
// unit moves a rank error:
//
//   K max(q, 1 - q)   under add-or-remove-one and zero-out, for a unit of K rows
//   K                 under replace-one
//
// Several fractions take not as many choices one after the other but ceil(log2(m + 1)) levels of them: the one in the middle is chosen among all records,
// which its number divides into those below and those above; of each half its own middle fraction is chosen, and so on. A record is in one half alone, so
// the choices of a level cost together what one costs. Of the records that are equal to the number chosen, a number with Laplace noise goes into the lower
// half, so that ties spoil no half. Groups are divided beforehand, by the data. What one unit moves at a level is proved in
// docs/proofs/quantiles.md#halving.
//
// The scores are whole numbers, exact in doubles, so is the law (docs/proofs/quantiles.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/features/features.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/statistics/tail_sums.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// q of a q-quantile, in whole billionths: 0.9 is exactly 9/10.
class Fraction {
 public:
  static constexpr std::int64_t whole = 1'000'000'000;

  /// \throws Error{invalid_argument} unless `value` is within 10^-15 of a whole number of billionths above 0 and below 1.
  explicit Fraction(double value);
  [[nodiscard]] static Fraction median() { return Fraction{0.5}; }
  [[nodiscard]] std::int64_t billionths() const noexcept { return billionths_; }
  [[nodiscard]] double value() const noexcept { return static_cast<double>(billionths_) / static_cast<double>(whole); }
  friend bool operator==(Fraction, Fraction) = default;

 private:
  std::int64_t billionths_;
};

/// One fraction or several, ascending.
class Fractions {
 public:
  static constexpr std::size_t most = 255;

  // One fraction is a list of one.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Fractions(Fraction one) : all_{one} {}
  /// \throws Error{invalid_argument} unless they are from 1 to `most` and ascend.
  explicit Fractions(std::vector<Fraction> all);

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<Fraction>& all() const noexcept { return all_; }
  /// How many levels of choices they take: ceil(log2(m + 1)).
  [[nodiscard]] std::size_t levels() const noexcept;
  friend bool operator==(const Fractions&, const Fractions&) = default;

 private:
  std::vector<Fraction> all_;
};

/// `count` equally spaced candidates, the first and the last at the bounds. Public.
class Candidates {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22;

  /// \throws Error{invalid_argument} for bounds that do not ascend or are beyond +-2^900, and for fewer than 2 or more than `most`
  ///         candidates, or more than doubles between the bounds can tell apart.
  Candidates(data::Bounds bounds, std::size_t count);
  /// As many as serve: some 2^14, so that where both bounds are whole numbers at most 2^14 apart, every whole number is one.
  [[nodiscard]] static Candidates between(data::Bounds bounds);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const data::Bounds& bounds() const noexcept { return bounds_; }
  /// \pre index < count().
  [[nodiscard]] double operator[](std::size_t index) const noexcept;
  /// The candidate nearest to a number, clamped; a NaN counts as the lower bound. Ascends with the number.
  [[nodiscard]] std::size_t nearest(double number) const noexcept;

 private:
  data::Bounds bounds_;
  std::size_t count_;
};

/// How many numbers have one candidate as the nearest.
struct RankCount {
  std::uint64_t below = 0;  ///< smaller than it
  std::uint64_t equal = 0;
  std::uint64_t above = 0;
  [[nodiscard]] std::uint64_t all() const noexcept { return below + equal + above; }
  friend bool operator==(const RankCount&, const RankCount&) = default;
};

/// How many numbers have each candidate as the nearest.
class RankCounts {
 public:
  explicit RankCounts(const Candidates& candidates) : candidates_{candidates}, counts_(candidates.count()) {}

  /// One record. Never throws. O(1).
  void add(double number) noexcept;
  /// One record whose cell is damaged: 0, clamped.
  void add_damaged() noexcept { add(0); }

  /// How many numbers each place has, and those of at most `records` other records beside them. \throws Error{invalid_argument} for what no such
  /// records have.
  [[nodiscard]] RankTotal total() const;
  void add_total(const RankTotal& total, std::uint64_t records);

  [[nodiscard]] const Candidates& candidates() const noexcept { return candidates_; }
  [[nodiscard]] std::span<const RankCount> counts() const noexcept { return counts_; }

 private:
  Candidates candidates_;
  std::vector<RankCount> counts_;
};

__extension__ using WideInteger = __int128;

/// A fraction of what a half holds, exactly: `part` of `whole` equal parts. \pre 0 < part < whole <= 10^9
struct Share {
  std::int64_t part;
  std::int64_t whole;
};

/// Rank errors are told apart up to so many records.
inline constexpr std::int64_t largest_rank_error = std::int64_t{1} << 23;

/// By how many records more than the rounded numbers say a candidate misses at most: three, as more than so many numbers lie hardly ever between a
/// candidate and the middle of the next where each has one or two, and an atom between candidates that is worth choosing has many.
inline constexpr std::int64_t rounding_penalty = 3;

/// Minus the error of each candidate, of which so many records are the nearest, in parts of a record: the smaller one of its rank error among the numbers
/// as they are and that among the rounded ones with `rounding_penalty`; what misses by more than 2^23 records counts as that many. O(candidates).
[[nodiscard]] std::vector<double> rank_scores(std::span<const RankCount> counts, Share share);

/// The error of candidates as `rank_scores`, for any number of records below that is requested, in parts of which a record has `whole`.
[[nodiscard]] std::vector<double> target_scores(std::span<const RankCount> counts, WideInteger requested, std::int64_t whole);

/// Parts of a record in which a division is drawn.
inline constexpr std::int64_t division_parts = 1024;
/// How many of the records of candidate `at` belong in the lower half, in `division_parts` of a record and rounded down: the share of all records, less those
/// of lower candidates. It may be negative, or more than there are.
[[nodiscard]] std::int64_t division_target(std::span<const RankCount> counts, std::size_t at, Share share);
/// The noisy target in whole records, from 0 to the records of the candidate.
[[nodiscard]] std::uint64_t divided_records(std::uint64_t records, std::int64_t noisy_target) noexcept;

/// The first `divided` records of candidate `at` with those of the candidates below, and the others with those of the candidates above. Records of `at`
/// count as equal to it in both halves, so that a half does not depend on which of them it has. \pre divided <= counts[at].all()
struct Halves {
  std::vector<RankCount> below;
  std::vector<RankCount> above;
};
[[nodiscard]] Halves halves_at(std::span<const RankCount> counts, std::size_t at, std::uint64_t divided);

/// How each candidate is chosen. At one epsilon permute-and-flip misses by less, and the exponential mechanism composes better.
/// \source docs/proofs/quantiles.md#quantiles
enum class QuantileChoice {
  exponential_mechanism,  ///< exponential(epsilon)
  permute_and_flip,       ///< pure(epsilon)
};

/// Quantiles as choices: `epsilon` is the range of the privacy loss of each level, or by permute-and-flip the largest loss.
class QuantileMechanism {
 public:
  /// \param groups of which a record is in one or in none. \param most_rows of a unit, that count
  /// \throws Error{invalid_argument} for a unit of more than 2^20 rows.
  QuantileMechanism(Fractions fractions, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency, Count most_rows,
                    std::size_t groups = 1, QuantileChoice choice = QuantileChoice::exponential_mechanism);
  /// The same for all rows of a unit.
  QuantileMechanism(Fractions fractions, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency, const UnitOfPrivacy& unit = {},
                    std::size_t groups = 1, QuantileChoice choice = QuantileChoice::exponential_mechanism);

  /// Of one level.
  [[nodiscard]] Event event() const;
  [[nodiscard]] QuantileChoice choice() const noexcept { return choice_; }
  [[nodiscard]] std::size_t levels() const noexcept { return fractions_.levels(); }
  /// Delta of a choice of such a share at a level, in parts of a record.
  [[nodiscard]] ScoreSensitivity sensitivity(std::size_t level, Share share) const;

  /// For each group its quantiles, in the order of the fractions, which never decrease. `spend` is called before each level, to spend `event()`.
  /// \pre `groups` has as many as were said, of the candidates of this mechanism. \throws Error{environment} when the bits fail; what `spend` throws.
  /// O(candidates) for each group and level, 40 to 70 nanoseconds each, and a
  /// millisecond for each share that divides others.
  [[nodiscard]] std::vector<std::vector<double>> release(std::span<const RankCounts> groups, const std::function<void()>& spend,
                                                         mechanisms::BitsRef bits) const;

  /// The choices of `release`, as candidates: of each group one for each fraction.
  [[nodiscard]] std::vector<std::vector<std::size_t>> release_places(std::span<const RankCounts> groups, const std::function<void()>& spend,
                                                                     mechanisms::BitsRef bits) const;

  /// The rank error of the number of fraction `index` is below so many records with probability at least 1 - `exceeded`, whatever the data: the number is a
  /// quantile of the clamped and rounded numbers for some rank so near to q n. Infinite where that is more than `largest_rank_error`.
  /// For one fraction attained by data between two candidates whose rank is missed by just so much at all but one (by permute-and-flip nearly).
  /// \pre 0 < exceeded < 1, index < fractions().size(). \source docs/proofs/quantiles.md#rank-error
  [[nodiscard]] double rank_error(double exceeded, std::size_t index = 0) const;

  [[nodiscard]] const Fractions& fractions() const noexcept { return fractions_; }
  [[nodiscard]] const Candidates& candidates() const noexcept { return candidates_; }
  [[nodiscard]] Epsilon epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] Adjacency adjacency() const noexcept { return adjacency_; }
  [[nodiscard]] double rows() const noexcept { return rows_; }
  /// One of these scores by the mechanism's choice. \throws Error{environment} when the bits fail.
  [[nodiscard]] std::size_t choose(const std::vector<double>& scores, Epsilon epsilon, ScoreSensitivity sensitivity,
                                   mechanisms::BitsRef bits) const;

  /// b of the discrete Laplace noise of a division, in `division_parts` of a record; nothing where it would be too much to draw.
  [[nodiscard]] std::optional<std::uint64_t> division_scale(std::size_t level, Share share) const;

 private:
  /// Of a choice whose records are divided: of that division, and what that leaves.
  [[nodiscard]] Epsilon of_division() const;
  [[nodiscard]] Epsilon beside_division() const;
  /// The bound on what a choice of this share misses is `least` + `scale` E, in records.
  [[nodiscard]] ShiftedExponential missed_by(Epsilon epsilon, std::size_t level, Share share) const;

  Fractions fractions_;
  Candidates candidates_;
  Epsilon epsilon_;
  Adjacency adjacency_;
  QuantileChoice choice_;
  double rows_;                 ///< of a unit
  std::vector<double> shifts_;  ///< under replace-one of each level, in records: how far one row moves two choices together, at least 1
};

}  // namespace surety::statistics
