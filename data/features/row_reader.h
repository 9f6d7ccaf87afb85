// Rows of a data set, some at a time, wherever they lie: views of what is in memory, copies of what stays in a file. One reader for each thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/data/features/dataset.h>

namespace surety::data {

class RowReader {
 public:
  /// `data` must outlive it.
  explicit RowReader(const Dataset& data) : data_{data} {}

  /// The rows of the records at `places`, in that order, valid until the next call. Of a file each block is read once for places that ascend.
  /// \throws Error{bad_data} when a file cannot be read, or is not what it was when it was opened.
  /// \pre every place < data.size(); rows.size() == places.size()
  void read(std::span<const std::size_t> places, std::span<RowView> rows) {
    if (data_.file() == nullptr) {
      for (std::size_t i = 0; i < places.size(); ++i) rows[i] = data_.row(places[i]);
    } else {
      copy(places, rows);
    }
  }

  /// One row, likewise.
  [[nodiscard]] RowView row(std::size_t place) {
    RowView view;
    read({&place, 1}, {&view, 1});
    return view;
  }

 private:
  void copy(std::span<const std::size_t> places, std::span<RowView> rows);

  const Dataset& data_;
  std::vector<double> copies_;
  std::vector<double> block_;
  std::size_t in_hand_ = static_cast<std::size_t>(-1);  ///< which block
};

}  // namespace surety::data
