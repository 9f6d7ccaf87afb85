// A data set: records of features, dense or sparse, each with its label, its l2 norm and where weights are given its weight. The position of a record is its index. Its rows are in
// memory, or stay in a record file and are read through a `RowReader`.
//
// Everything computed here looks at one record at a time (its norm, its side of a split), so that nothing about one record
// can reach another except through a release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/data/features/record_file.h>

namespace surety::data {

/// The features of one record, without a copy. Dense: `indices` is empty and `values` holds every feature. Sparse: feature
/// indices[k] is values[k], indices ascend, all other features are zero.
struct RowView {
  std::span<const std::uint32_t> indices;
  std::span<const double> values;
  double norm;  ///< l2 norm of the row, as mechanisms::l2_norm computes it

  [[nodiscard]] bool is_sparse() const noexcept { return !indices.empty(); }

  /// The inner product with dense `weights`. O(nonzeros).
  [[nodiscard]] double dot(std::span<const double> weights) const noexcept {
    double sum = 0;
    if (is_sparse()) {
      for (std::size_t k = 0; k < values.size(); ++k) sum += values[k] * weights[indices[k]];
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) sum += values[k] * weights[k];
    }
    return sum;
  }

  /// Adds factor x row to dense `target`. O(nonzeros).
  void add_scaled_to(double factor, std::span<double> target) const noexcept {
    if (is_sparse()) {
      for (std::size_t k = 0; k < values.size(); ++k) target[indices[k]] += factor * values[k];
    } else {
      for (std::size_t k = 0; k < values.size(); ++k) target[k] += factor * values[k];
    }
  }
};

/// What becomes of rows: of each a function of that row and of public numbers alone, to as many numbers, one row after the other in `mapped`, where it
/// finds zeros. Several at a time are the same as one after the other.
using RowMap = std::function<void(std::span<const RowView> rows, std::span<double> mapped)>;

/// Puts in the place of `rows` what `map` makes of them, in `room`; zeros in the place of a row of which a number is not finite.
/// \pre room has as many numbers for each row as there are features
void map_in_room(const RowMap& map, std::span<RowView> rows, std::span<double> room);

struct Split;
struct SplitOptions;

/// Records of one length. A value; all features and labels are finite. Two data sets that stay in one file share it. Rows in memory lie in blocks of
/// about a megabyte, so that a data set grows, and is split, without a second copy of it.
class Dataset {
 public:
  /// `values` holds the rows one after the other, `features` numbers each. `labels` holds one number per record, or nothing
  /// when the records have no labels. For data that come one by one: `DatasetBuilder`.
  /// \throws Error{invalid_argument} when the lengths do not fit, features is 0, or a number is not finite.
  [[nodiscard]] static Dataset dense(std::size_t features, const std::vector<double>& values, std::vector<double> labels);

  /// Compressed rows: row i is indices[row_ends[i-1] .. row_ends[i]) with the values at the same positions (row_ends[-1] = 0).
  /// \throws Error{invalid_argument} when the lengths do not fit, an index is not below `features` or does not ascend within
  ///         its row, or a number is not finite.
  [[nodiscard]] static Dataset sparse(std::size_t features, const std::vector<std::size_t>& row_ends,
                                      const std::vector<std::uint32_t>& indices, const std::vector<double>& values,
                                      std::vector<double> labels);

  /// All records of a file, whose rows stay there: 24 bytes of memory for each. What `label_of` makes of a label is the record's; it is asked for
  /// NaN where the record was damaged when the file was written, and where a number is not finite. Where it answers nothing it is a record of zeros.
  /// Reads the file once. \throws Error{bad_data} as `RecordFile::read_block`; what `label_of` throws.
  [[nodiscard]] static Dataset in_file(std::shared_ptr<const RecordFile> file,
                                       const std::function<std::optional<double>(std::size_t record, double label)>& label_of);

  [[nodiscard]] std::size_t size() const noexcept { return norms_.size(); }
  [[nodiscard]] bool empty() const noexcept { return norms_.empty(); }
  [[nodiscard]] std::size_t features() const noexcept { return features_; }
  [[nodiscard]] bool is_sparse() const noexcept { return is_sparse_; }
  [[nodiscard]] bool has_labels() const noexcept { return labels_.size() == size(); }
  /// Public, also where there are no records.
  [[nodiscard]] bool has_weights() const noexcept { return has_weights_; }

  /// The file in which rows stay; nothing where they are in memory.
  [[nodiscard]] const RecordFile* file() const noexcept { return file_.get(); }
  /// \pre file() != nullptr, index < size()
  [[nodiscard]] std::size_t place_in_file(std::size_t index) const noexcept { return places_[index]; }

  /// \throws Error{unsupported} where rows stay in a file: `RowReader` reads those. \pre index < size(); for `label`, has_labels().
  [[nodiscard]] RowView row(std::size_t index) const;
  /// The l2 norm of the row.
  [[nodiscard]] double norm(std::size_t index) const noexcept { return norms_[index]; }
  [[nodiscard]] double label(std::size_t index) const noexcept { return labels_[index]; }
  [[nodiscard]] std::span<const double> labels() const noexcept { return labels_; }
  /// From 0 to 1: what the record's contribution to a sum is multiplied by. 1 where there are no weights. \pre index < size()
  [[nodiscard]] double weight(std::size_t index) const noexcept { return has_weights_ ? weights_[index] : 1; }

  /// The records at `indices`, in that order. \pre every index < size().
  [[nodiscard]] Dataset subset(std::span<const std::size_t> indices) const;
  /// Keeps the records at `ascending`: takes the memory of a block. \pre the places ascend strictly, and are < size().
  void keep(std::span<const std::size_t> ascending);
  /// Replaces every row by what `map` makes of it, where it is. \throws Error{unsupported} unless rows are dense and in memory; what `map` throws.
  void map_rows(const RowMap& map);
  /// The same records with other labels. \throws Error{invalid_argument} unless there is one finite label per record.
  [[nodiscard]] Dataset with_labels(std::vector<double> labels) const;
  /// The same records with other weights. \throws Error{invalid_argument} unless there is one from 0 to 1 per record.
  [[nodiscard]] Dataset with_weights(std::vector<double> weights) const;

 private:
  friend class DatasetBuilder;
  friend Split split(Dataset data, const SplitOptions& options);

  /// Rows one after the other, as many in each block but the last.
  struct Block {
    std::vector<std::size_t> ends;       // of sparse rows
    std::vector<std::uint32_t> indices;  // likewise
    std::vector<double> values;
  };

  Dataset(std::size_t features, bool is_sparse, bool has_weights = false);
  [[nodiscard]] std::size_t rows_in_block() const noexcept { return std::size_t{1} << shift_; }
  void append(const RowView& row);
  void append_from(const Dataset& other, std::size_t index);
  /// As with these records and no others. \pre nothing reads the rows of the block any more
  void forget_block(std::size_t block) { blocks_[block] = {}; }

  std::size_t features_;
  bool is_sparse_;
  bool has_weights_;
  unsigned shift_;  ///< log2 of the rows in a block
  std::vector<Block> blocks_;
  std::vector<double> labels_;
  std::vector<double> weights_ = {};
  std::vector<double> norms_;
  std::shared_ptr<const RecordFile> file_ = nullptr;
  std::vector<std::size_t> places_ = {};  // in the file
};

/// A data set in the making, record by record.
class DatasetBuilder {
 public:
  /// \throws Error{invalid_argument} unless features is from 1 to 2^32 - 1.
  DatasetBuilder(std::size_t features, bool is_sparse, bool has_weights = false);

  /// Adds a record; one without values is one of zeros. \pre the row is sparse where the data set is, and has `features` numbers where it is not;
  /// its indices ascend and are below `features`; its norm is that of its values. \throws Error{invalid_argument} for a number that is not finite.
  /// Where records have no weights, `weight` is not looked at; elsewhere one outside [0, 1] is refused likewise.
  void add(const RowView& row, double label, double weight = 1);
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }
  [[nodiscard]] Dataset finish() && { return std::move(data_); }

 private:
  Dataset data_;
};

struct Split {
  Dataset training;
  Dataset held_out;
};

struct SplitOptions {
  Adjacency adjacency = Adjacency::replace_one;
  double held_out_fraction = 0.2;  ///< share of held-out records, 0 <= fraction < 1
  std::uint64_t seed = 0;          ///< public; another seed, another split
};

/// A public pseudo-random split into a training and a held-out part. Neighbouring data sets have neighbouring training parts:
///
///   replace-one, zero-out   the side of a record is a function of its index: of each run of about 1 / fraction records one is
///                           held out, at a pseudo-random place in the run, so that the share is exact and both parts follow a
///                           file that is sorted. Replacing a record moves no record, and the number of training records is as
///                           public as the number of all records.
///   add-or-remove-one       the side of a record is a function of its own features and label (explicit zeros do not count), so
///                           the share is that of coin tosses. Adding a record, which shifts the indices, moves no other record.
///                           Equal records stay together.
///
/// Data that are moved here are not copied but a block at a time.
/// \throws Error{invalid_argument} unless 0 <= held_out_fraction < 1.
/// \complexity O(stored values).
/// \source docs/proofs/data.md#split.
[[nodiscard]] Split split(Dataset data, const SplitOptions& options);

/// How many of `records` records such a split trains on, where that is as public as their number. O(log records).
/// \throws Error{invalid_argument} as `split`, and under add-or-remove-one.
[[nodiscard]] std::size_t training_records(std::size_t records, const SplitOptions& options);

}  // namespace surety::data
