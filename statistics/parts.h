// Several queries in one charge: each is a part, with what it reads of a row, what its release costs, and the numbers that it releases.
//
// One scale s is common to all, and a part of weight w has noise as of a query alone at scale s / sqrt(w): its variance falls as its weight
// grows, and its share of a budget of zCDP is its share of the weights. A part's noise has its own sensitivity, and its own event: together
// they cost what their composition costs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/csv.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/group_means.h>
#include <surety/statistics/key_selection.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/quantile.h>
#include <surety/statistics/query.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// A query and its weight among those that share a charge.
struct WeightedStatistic {
  static constexpr double least_weight = 1e-6;
  static constexpr double largest_weight = 1e6;

  Statistic statistic;
  double weight = 1;

  /// \throws Error{invalid_argument} as `Statistic::validate`, and for a weight out of range.
  void validate() const;
  friend bool operator==(const WeightedStatistic&, const WeightedStatistic&) = default;
};

enum class NoiseFamily { laplace, gaussian };

/// What an answer that is public costs, nothing: pure(0).
[[nodiscard]] Event free_event(Adjacency adjacency);

/// What the release of one query costs at the common scale: laplace(s / sqrt(w)) or gaussian(s / sqrt(w)); of each level of quantiles
/// exponential(sqrt(w) / s) beside Laplace noise and exponential(2 sqrt(w) / s) beside Gaussian noise, which cost as much by pure and by
/// concentrated privacy. Nothing where the answer is public.
[[nodiscard]] Event event_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// Keys without counts beside Laplace noise: each is chosen by itself, and there is no noise.
[[nodiscard]] bool is_selection(const Statistic& statistic, NoiseFamily family) noexcept;
/// The threshold that a query for keys, or for means of groups that nobody listed, has at the common scale, in steps of its grid; of a selection about the
/// number of units of which a key is shown with probability 1/2. \pre it is one. \throws Error{unsupported, invalid_argument} as KeysPart.
[[nodiscard]] std::int64_t key_threshold_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// How many releases of equal events a query is: of quantiles as many as levels, of others one.
[[nodiscard]] std::size_t releases_of(const Statistic& statistic) noexcept;
/// What all of them cost together, each different release once with its count: that of the query itself where there is one; public ones cost nothing.
/// \pre `queries` is not empty and of one adjacency.
[[nodiscard]] Event event_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale);

/// A number that was released, of a group and a cell where there are such.
struct Answer {
  std::string group;
  std::string cell;
  Estimate estimate;
  std::vector<std::string> group_texts = {};  ///< of each column of the group, where it is by several
};

/// What is public of a part, for reports.
struct PartFacts {
  std::string query;
  std::string noise;                         ///< "laplace"
  std::optional<double> standard_deviation;  ///< of the noise on each coordinate, before it is rounded to the grid
  std::string noise_is_on;                   ///< "the count of each group"
  std::optional<double> l1_sensitivity;
  std::optional<double> l2_sensitivity;
  std::optional<double> grid_step;
  bool is_whole;  ///< every number counts records
  bool has_groups;
  bool has_cells;
  /// Of a quantile: its rank misses the one asked for by fewer records than that, with the confidence of an interval. There is no interval.
  std::optional<double> rank_error = std::nullopt;
  double rank_error_share = 0;  ///< and by that share of all records, where several are asked for
  /// The column that is read; empty where records alone are counted.
  std::string column = {};
  std::optional<MissingCells> missing_cells = std::nullopt;  ///< where a column is read
  std::string other_cells = {};                 ///< what becomes of cells beyond what is public: "numbers are clamped to [0, 20]"
  std::vector<std::string> group_columns = {};  ///< where groups are by several
  bool has_values = true;                       ///< else cells or groups alone are told, and their numbers are NaN
};

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// Takes the places of its columns, once before the first row. \throws Error{bad_data} for one that is missing.
  virtual void start(Rows& rows) = 0;
  /// Adds the row in hand. \throws Error{bad_data} as `Rows::number`.
  virtual void add(Rows& rows) = 0;
  /// What the records so far add up to: with the number of records all that `release` looks at.
  [[nodiscard]] virtual QueryTotal total() const = 0;
  /// Adds that of at most `records` other records, and of keys of other units. \throws Error{invalid_argument} for one that no such records have.
  virtual void add_total(const QueryTotal& total, std::uint64_t records) = 0;
  /// Adds all rows of the batch in hand at once; false, and adds none, where it needs them one by one. \pre the form of the table is private
  [[nodiscard]] virtual bool add_batch(const data::ArrowReader& /*batch*/) { return false; }
  /// What `release` spends.
  [[nodiscard]] virtual Event event() const = 0;
  [[nodiscard]] virtual PartFacts facts() const = 0;
  /// Spends, then draws. `records` is the number of records where it is public. \throws Error{internal} when the reservation does not hold
  /// the event; Error{environment} when the bits fail.
  [[nodiscard]] virtual std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                                    std::uint64_t records) = 0;
};

using Parts = std::vector<std::unique_ptr<Part>>;

/// The parts of queries at the common scale, before any row, of which those with equal noise share what its sampler needs.
/// \param confidence of each interval alone. \throws Error{invalid_argument} as StatisticSum and `noise_for`.
[[nodiscard]] Parts parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale, double confidence);

/// The same that add alone: what they total is that of the others, and no sampler is made. They have no noise: `event`, `facts` and `release` throw
/// std::bad_optional_access.
[[nodiscard]] Parts adding_parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale);

/// Looks at the header alone, for all parts. \throws Error{bad_data, invalid_argument} as `read_parts` before its first row.
void check_header(data::CsvReader reader, const Parts& parts);
void check_header(data::ArrowReader reader, const Parts& parts);

/// Reads the rows that `reader` has not read yet, once for all parts. \return the number of records.
/// \throws Error{bad_data} as `read_statistic`. \complexity one pass; memory does not grow with the rows.
[[nodiscard]] std::uint64_t read_parts(data::CsvReader reader, const Parts& parts, bool number_is_public);
/// \param units where a unit is an owner of several rows: then the stream is held until it was read. \param buckets of owners, where the options of `units` ask for them
[[nodiscard]] std::uint64_t read_parts(data::ArrowReader reader, const Parts& parts, bool number_is_public,
                                       const std::optional<data::ArrowUnits>& units = std::nullopt, data::OwnerBuckets* buckets = nullptr);

}  // namespace surety::statistics
