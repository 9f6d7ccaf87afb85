#include <surety/data/features/dataset.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data {

namespace {

[[noreturn]] void invalid_set(const std::string& reason) { invalid(fmt::format("data set: {}", reason)); }

void require_finite(std::span<const double> numbers, std::string_view what) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) invalid_set(fmt::format("{} {} is {}, must be finite", what, i, numbers[i]));
  }
}

void require_weight(double weight) {
  if (!(weight >= 0 && weight <= 1)) invalid_set(fmt::format("a weight is {}, must be from 0 to 1", weight));
}

}  // namespace

Dataset::Dataset(std::size_t features, bool is_sparse, bool has_weights)
    : features_{features}, is_sparse_{is_sparse}, has_weights_{has_weights}, shift_{0} {
  constexpr std::size_t block_bytes = std::size_t{1} << 20;
  constexpr unsigned shift_of_sparse = 12;
  shift_ = is_sparse ? shift_of_sparse
                     : static_cast<unsigned>(
                           std::bit_width(std::max<std::size_t>(1, block_bytes / sizeof(double) / std::max<std::size_t>(1, features))) - 1);
}

void Dataset::append(const RowView& row) {
  const std::size_t place = norms_.size() & (rows_in_block() - 1);
  if (place == 0) {
    if (!blocks_.empty()) {
      // The last block is as large as it will be.
      blocks_.back().indices.shrink_to_fit();
      blocks_.back().values.shrink_to_fit();
    }
    const bool is_first = blocks_.empty();
    blocks_.emplace_back();
    if (!is_first && !is_sparse_) blocks_.back().values.reserve(rows_in_block() * features_);
  }
  Block& block = blocks_.back();
  block.indices.insert(block.indices.end(), row.indices.begin(), row.indices.end());
  block.values.insert(block.values.end(), row.values.begin(), row.values.end());
  if (is_sparse_) {
    block.ends.push_back(block.values.size());
  } else if (row.values.empty()) {
    block.values.resize(block.values.size() + features_);
  }
  norms_.push_back(row.norm);
}

void Dataset::append_from(const Dataset& other, std::size_t index) {
  if (other.file_) {
    norms_.push_back(other.norms_[index]);
    places_.push_back(other.places_[index]);
  } else {
    append(other.row(index));
  }
  if (other.has_labels()) labels_.push_back(other.labels_[index]);
  if (has_weights_) weights_.push_back(other.weights_[index]);
}

Dataset Dataset::dense(std::size_t features, const std::vector<double>& values, std::vector<double> labels) {
  if (features == 0) invalid_set("features is 0, must be at least 1");
  if (values.size() % features != 0) invalid_set(fmt::format("{} values do not make rows of {}", values.size(), features));
  const std::size_t size = values.size() / features;
  if (!labels.empty() && labels.size() != size) invalid_set(fmt::format("{} labels for {} records", labels.size(), size));
  require_finite(values, "value");
  require_finite(labels, "label");
  Dataset data{features, false};
  for (std::size_t i = 0; i < size; ++i) {
    const auto row = std::span{values}.subspan(i * features, features);
    data.append({.indices = {}, .values = row, .norm = mechanisms::l2_norm(row)});
  }
  data.labels_ = std::move(labels);
  return data;
}

Dataset Dataset::sparse(std::size_t features, const std::vector<std::size_t>& row_ends, const std::vector<std::uint32_t>& indices,
                        const std::vector<double>& values, std::vector<double> labels) {
  if (features == 0 || features > std::numeric_limits<std::uint32_t>::max()) {
    invalid_set(fmt::format("features is {}, must be from 1 to 2^32 - 1", features));
  }
  const std::size_t size = row_ends.size();
  if (indices.size() != values.size()) invalid_set(fmt::format("{} indices for {} values", indices.size(), values.size()));
  if (!labels.empty() && labels.size() != size) invalid_set(fmt::format("{} labels for {} records", labels.size(), size));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (row_ends[i] < begin || row_ends[i] > values.size())
      invalid_set(fmt::format("row {} ends at {}, outside the values", i, row_ends[i]));
    for (std::size_t k = begin; k < row_ends[i]; ++k) {
      if (indices[k] >= features) invalid_set(fmt::format("row {} has index {}, must be below {}", i, indices[k], features));
      if (k > begin && indices[k] <= indices[k - 1])
        invalid_set(fmt::format("row {} has index {} after {}", i, indices[k], indices[k - 1]));
    }
    begin = row_ends[i];
  }
  if (begin != values.size()) invalid_set(fmt::format("the rows end at {}, but there are {} values", begin, values.size()));
  require_finite(values, "value");
  require_finite(labels, "label");
  Dataset data{features, true};
  begin = 0;
  for (const std::size_t end : row_ends) {
    const auto row = std::span{values}.subspan(begin, end - begin);
    data.append({.indices = std::span{indices}.subspan(begin, end - begin), .values = row, .norm = mechanisms::l2_norm(row)});
    begin = end;
  }
  data.labels_ = std::move(labels);
  return data;
}

DatasetBuilder::DatasetBuilder(std::size_t features, bool is_sparse, bool has_weights) : data_{features, is_sparse, has_weights} {
  if (features == 0 || features > std::numeric_limits<std::uint32_t>::max()) {
    invalid_set(fmt::format("features is {}, must be from 1 to 2^32 - 1", features));
  }
}

void DatasetBuilder::add(const RowView& row, double label, double weight) {
  if (data_.has_weights_) require_weight(weight);
  require_finite(row.values, "value");
  require_finite({&label, 1}, "label");
  data_.append(row);
  data_.labels_.push_back(label);
  if (data_.has_weights_) data_.weights_.push_back(weight);
}

Dataset Dataset::in_file(std::shared_ptr<const RecordFile> file,
                         const std::function<std::optional<double>(std::size_t record, double label)>& label_of) {
  Dataset data{file->features(), false};
  data.labels_.resize(file->size());
  data.norms_.resize(file->size());
  data.places_.resize(file->size());
  const std::size_t d = file->features();
  std::vector<double> block;
  std::size_t record = 0;
  for (std::size_t k = 0; k < file->blocks(); ++k) {
    file->read_block(k, block);
    for (std::size_t begin = 0; begin < block.size(); begin += d + 1, ++record) {
      const auto values = std::span{block}.subspan(begin, d);
      const bool is_whole = std::all_of(&block[begin], &block[begin] + d + 1, [](double number) { return std::isfinite(number); });
      data.places_[record] = record;
      const auto known = label_of(record, is_whole ? block[begin + d] : std::numeric_limits<double>::quiet_NaN());
      if (!known || !is_whole) continue;
      data.labels_[record] = *known;
      data.norms_[record] = mechanisms::l2_norm(values);
    }
  }
  data.file_ = std::move(file);
  return data;
}

void map_in_room(const RowMap& map, std::span<RowView> rows, std::span<double> room) {
  std::fill(room.begin(), room.end(), 0.0);
  map(rows, room);
  const std::size_t features = rows.empty() ? 0 : room.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = room.subspan(i * features, features);
    if (!std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); })) std::fill(row.begin(), row.end(), 0.0);
    rows[i] = {.indices = {}, .values = row, .norm = mechanisms::l2_norm(row)};
  }
}

RowView Dataset::row(std::size_t index) const {
  if (file_) throw Error{ErrorCode::unsupported, "the rows of this data set stay in a file, must be read by a RowReader"};
  const Block& block = blocks_[index >> shift_];
  const std::size_t place = index & (rows_in_block() - 1);
  if (!is_sparse_) return {{}, std::span{block.values}.subspan(place * features_, features_), norms_[index]};
  const std::size_t begin = place == 0 ? 0 : block.ends[place - 1];
  const std::size_t count = block.ends[place] - begin;
  return {std::span{block.indices}.subspan(begin, count), std::span{block.values}.subspan(begin, count), norms_[index]};
}

Dataset Dataset::subset(std::span<const std::size_t> chosen) const {
  Dataset other{features_, is_sparse_, has_weights_};
  other.file_ = file_;
  for (const std::size_t index : chosen) other.append_from(*this, index);
  return other;
}

void Dataset::keep(std::span<const std::size_t> ascending) {
  Dataset kept{features_, is_sparse_, has_weights_};
  kept.file_ = file_;
  std::size_t forgotten = 0;
  for (const std::size_t index : ascending) {
    for (; forgotten < std::min(index >> shift_, blocks_.size()); ++forgotten) forget_block(forgotten);
    kept.append_from(*this, index);
  }
  *this = std::move(kept);
}

void Dataset::map_rows(const RowMap& map) {
  if (file_ || is_sparse_) throw Error{ErrorCode::unsupported, "rows are mapped where they are only where they are dense and in memory"};
  constexpr std::size_t together = 16;
  std::vector<double> room(together * features_);
  std::vector<RowView> rows(together);
  for (std::size_t first = 0; first < size(); first += together) {
    const std::size_t count = std::min(together, size() - first);
    for (std::size_t i = 0; i < count; ++i) rows[i] = row(first + i);
    map_in_room(map, std::span{rows}.first(count), std::span{room}.first(count * features_));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = first + i;
      norms_[index] = rows[i].norm;
      std::copy(rows[i].values.begin(), rows[i].values.end(),
                &blocks_[index >> shift_].values[(index & (rows_in_block() - 1)) * features_]);
    }
  }
}

Dataset Dataset::with_labels(std::vector<double> labels) const {
  if (labels.size() != size()) invalid_set(fmt::format("{} labels for {} records", labels.size(), size()));
  require_finite(labels, "label");
  Dataset other = *this;
  other.labels_ = std::move(labels);
  return other;
}

Dataset Dataset::with_weights(std::vector<double> weights) const {
  if (weights.size() != size()) invalid_set(fmt::format("{} weights for {} records", weights.size(), size()));
  for (const double weight : weights) require_weight(weight);
  Dataset other = *this;
  other.has_weights_ = true;
  other.weights_ = std::move(weights);
  return other;
}

}  // namespace surety::data
