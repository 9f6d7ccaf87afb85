#include <surety/data/dataset.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/data/row_reader.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data {

namespace {

[[noreturn]] void invalid_set(const std::string& reason) { invalid(fmt::format("data set: {}", reason)); }

void require_finite(std::span<const double> numbers, std::string_view what) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) invalid_set(fmt::format("{} {} is {}, must be finite", what, i, numbers[i]));
  }
}

/// The finalizer of SplitMix64: a fixed bijection of 64-bit words in which every input bit moves every output bit.
/// [Steele, Lea, Flood 2014, Fast splittable pseudorandom number generators, section 4.]
constexpr std::uint64_t mix(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15U;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

std::uint64_t absorb(std::uint64_t state, double value) {
  return mix(state ^ std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));  // -0 is the same number as +0
}

std::uint64_t content_key(std::uint64_t seed, const RowView& row, std::span<const double> label) {
  std::uint64_t state = mix(seed);
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    if (row.values[k] == 0) continue;
    const std::uint64_t feature = row.is_sparse() ? row.indices[k] : k;
    state = absorb(mix(state ^ feature), row.values[k]);
  }
  for (const double value : label) state = absorb(state, value);
  return state;
}

/// For each record, whether it is held out.
std::vector<bool> sides_by_content(const Dataset& data, double fraction, std::uint64_t seed) {
  const auto threshold = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
  std::vector<bool> sides(data.size());
  RowReader reader{data};
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto label = data.has_labels() ? data.labels().subspan(i, 1) : std::span<const double>{};
    sides[i] = content_key(seed, reader.row(i), label) < threshold;
  }
  return sides;
}

void require_fraction(double fraction) {
  if (!(fraction >= 0 && fraction < 1)) invalid_set(fmt::format("held-out fraction is {}, must be at least 0 and less than 1", fraction));
}

std::vector<bool> sides_by_index(std::size_t size, double fraction, std::uint64_t seed) {
  std::vector<bool> sides(size);
  if (fraction == 0) return sides;
  // Run j holds the indices from ceil(j / fraction) up to that of run j + 1, whatever the size: the last run may be cut short.
  const auto start = [&](std::uint64_t run) {
    return static_cast<std::uint64_t>(std::min(std::ceil(static_cast<double>(run) / fraction), 0x1p63));
  };
  for (std::uint64_t run = 0; start(run) < size; ++run) {
    const std::uint64_t held_out = start(run) + mix(mix(seed) ^ run) % (start(run + 1) - start(run));
    if (held_out < size) sides[held_out] = true;
  }
  return sides;
}

}  // namespace

Dataset::Dataset(std::size_t features, std::vector<std::size_t> row_ends, std::vector<std::uint32_t> indices, std::vector<double> values,
                 std::vector<double> labels, std::size_t size)
    : features_{features},
      row_ends_{std::move(row_ends)},
      indices_{std::move(indices)},
      values_{std::move(values)},
      labels_{std::move(labels)},
      norms_(size) {
  for (std::size_t i = 0; i < size; ++i) norms_[i] = mechanisms::l2_norm(row(i).values);
}

Dataset Dataset::dense(std::size_t features, std::vector<double> values, std::vector<double> labels) {
  if (features == 0) invalid_set("features is 0, must be at least 1");
  if (values.size() % features != 0) invalid_set(fmt::format("{} values do not make rows of {}", values.size(), features));
  const std::size_t size = values.size() / features;
  if (!labels.empty() && labels.size() != size) invalid_set(fmt::format("{} labels for {} records", labels.size(), size));
  require_finite(values, "value");
  require_finite(labels, "label");
  return Dataset{features, {}, {}, std::move(values), std::move(labels), size};
}

Dataset Dataset::sparse(std::size_t features, std::vector<std::size_t> row_ends, std::vector<std::uint32_t> indices,
                        std::vector<double> values, std::vector<double> labels) {
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
  return Dataset{features, std::move(row_ends), std::move(indices), std::move(values), std::move(labels), size};
}

Dataset Dataset::in_file(std::shared_ptr<const RecordFile> file,
                         const std::function<std::optional<double>(std::size_t record, double label)>& label_of) {
  Dataset data{file->features(), {}, {}, {}, {}, 0};
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

RowView mapped_row(const RowMap& map, const RowView& row, std::span<double> room) {
  std::fill(room.begin(), room.end(), 0.0);
  map(row, room);
  if (!std::all_of(room.begin(), room.end(), [](double value) { return std::isfinite(value); })) std::fill(room.begin(), room.end(), 0.0);
  return {.indices = {}, .values = room, .norm = mechanisms::l2_norm(room)};
}

RowView Dataset::row(std::size_t index) const {
  if (file_) throw Error{ErrorCode::unsupported, "the rows of this data set stay in a file, must be read by a RowReader"};
  if (row_ends_.empty()) return {{}, std::span{values_}.subspan(index * features_, features_), norms_[index]};
  const std::size_t begin = index == 0 ? 0 : row_ends_[index - 1];
  const std::size_t count = row_ends_[index] - begin;
  return {std::span{indices_}.subspan(begin, count), std::span{values_}.subspan(begin, count), norms_[index]};
}

Dataset Dataset::subset(std::span<const std::size_t> chosen) const {
  if (file_) {
    Dataset other{features_, {}, {}, {}, {}, 0};
    other.file_ = file_;
    for (const std::size_t index : chosen) {
      other.labels_.push_back(labels_[index]);
      other.norms_.push_back(norms_[index]);
      other.places_.push_back(places_[index]);
    }
    return other;
  }
  std::vector<std::size_t> row_ends;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  std::vector<double> labels;
  std::size_t numbers = 0;
  for (const std::size_t index : chosen) numbers += row(index).values.size();
  values.reserve(numbers);
  if (is_sparse()) indices.reserve(numbers);
  for (const std::size_t index : chosen) {
    const RowView view = row(index);
    indices.insert(indices.end(), view.indices.begin(), view.indices.end());
    values.insert(values.end(), view.values.begin(), view.values.end());
    if (is_sparse()) row_ends.push_back(values.size());
    if (has_labels()) labels.push_back(label(index));
  }
  return Dataset{features_, std::move(row_ends), std::move(indices), std::move(values), std::move(labels), chosen.size()};
}

void Dataset::keep(std::span<const std::size_t> ascending) {
  const bool keeps_labels = has_labels();
  const bool keeps_ends = is_sparse();
  const bool keeps_places = file_ != nullptr;
  const auto move_down = [](auto& numbers, std::size_t from, std::size_t count, std::size_t to) {
    const auto at = [&](std::size_t place) { return numbers.begin() + static_cast<std::ptrdiff_t>(place); };
    if (from != to) std::copy(at(from), at(from + count), at(to));
  };
  std::size_t records = 0;
  std::size_t end = 0;
  for (const std::size_t index : ascending) {
    // What was moved lies below this row, and so do the ends that were written.
    const std::size_t begin = !keeps_ends ? index * features_ : index == 0 ? 0 : row_ends_[index - 1];
    const std::size_t count = !keeps_ends ? features_ : row_ends_[index] - begin;
    if (!keeps_places) move_down(values_, begin, count, end);
    if (keeps_ends) move_down(indices_, begin, count, end);
    end += count;
    if (keeps_ends) row_ends_[records] = end;
    if (keeps_labels) labels_[records] = labels_[index];
    if (keeps_places) places_[records] = places_[index];
    norms_[records] = norms_[index];
    ++records;
  }
  if (!keeps_places) values_.resize(end);
  if (keeps_places) places_.resize(records);
  if (keeps_ends) indices_.resize(end);
  if (keeps_ends) row_ends_.resize(records);
  if (keeps_labels) labels_.resize(records);
  norms_.resize(records);
}

void Dataset::map_rows(const RowMap& map) {
  if (file_ || is_sparse()) throw Error{ErrorCode::unsupported, "rows are mapped where they are only where they are dense and in memory"};
  std::vector<double> room(features_);
  for (std::size_t i = 0; i < size(); ++i) {
    norms_[i] = mapped_row(map, row(i), room).norm;
    std::copy(room.begin(), room.end(), values_.begin() + static_cast<std::ptrdiff_t>(i * features_));
  }
}

Dataset Dataset::with_labels(std::vector<double> labels) const {
  if (labels.size() != size()) invalid_set(fmt::format("{} labels for {} records", labels.size(), size()));
  require_finite(labels, "label");
  Dataset other = *this;
  other.labels_ = std::move(labels);
  return other;
}

std::size_t training_records(std::size_t records, const SplitOptions& options) {
  require_fraction(options.held_out_fraction);
  if (options.adjacency == Adjacency::add_or_remove_one) {
    invalid_set("adjacency is add-or-remove-one, must be replace-one or zero-out for a public number of training records");
  }
  const auto sides = sides_by_index(records, options.held_out_fraction, options.seed);
  return static_cast<std::size_t>(std::count(sides.begin(), sides.end(), false));
}

Split split(Dataset data, const SplitOptions& options) {
  const double fraction = options.held_out_fraction;
  require_fraction(fraction);
  const auto held_out_sides = options.adjacency == Adjacency::add_or_remove_one ? sides_by_content(data, fraction, options.seed)
                                                                                : sides_by_index(data.size(), fraction, options.seed);
  std::vector<std::size_t> training;
  std::vector<std::size_t> held_out;
  for (std::size_t i = 0; i < data.size(); ++i) (held_out_sides[i] ? held_out : training).push_back(i);
  Dataset other = data.subset(held_out);
  data.keep(training);
  return {std::move(data), std::move(other)};
}

}  // namespace surety::data
