#include <surety/data/arrow/arrow_reader.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>

namespace surety::data {

ArrowReader::ArrowReader(ArrowStream stream, const DataPolicy& policy) : stream_{std::move(stream)}, policy_{policy} {
  for (const auto& column : stream_.columns()) names_.push_back(column.name);
  cells_.resize(names_.size());
  texts_.resize(names_.size());
  for (const auto& [column, value] : policy_.csv.missing) count_missing_as(column, value);
  for (const auto& column : policy_.csv.complete) static_cast<void>(stream_.position(column));
}

std::size_t ArrowReader::position(const std::string& column, CellUse use) {
  const auto found = stream_.position(column);
  if (!missing_.empty() && missing_[found]) require_missing_value(column, missing_[found]->text, use);
  if (std::find(used_.begin(), used_.end(), found) == used_.end()) used_.push_back(found);
  return found;
}

void ArrowReader::count_missing_as(const std::string& column, const std::string& value) {
  if (trimmed(value).empty())
    invalid(fmt::format("a missing cell of column {} counts as nothing, must count as a value", in_quotes(column)));
  const auto found = stream_.position(column);
  missing_.resize(names_.size());
  const auto [number, fault] = parse_number(value);
  missing_[found] = Missing{value, fault == NumberFault::none ? std::optional{number} : std::nullopt};
}

std::optional<std::string> ArrowReader::missing(std::size_t position) const {
  if (missing_.empty() || !missing_[position]) return std::nullopt;
  return missing_[position]->text;
}

void ArrowReader::look_for_blanks(const ArrowBatch& batch) {
  std::vector<bool> is_blank(batch.rows(), true);
  const auto see = [&](bool looks_at_texts) {
    for (std::size_t position = 0; position < names_.size(); ++position) {
      // Numbers come first: mostly all rows have one.
      if (is_of_owner(position) || stream_.columns()[position].may_hold_texts() != looks_at_texts) continue;
      const auto cells = batch.cells(position);
      if (!looks_at_texts && cells.is_whole()) return true;
      for (std::size_t row = 0; row < is_blank.size(); ++row) is_blank[row] = is_blank[row] && cells.is_blank(row);
      if (std::find(is_blank.begin(), is_blank.end(), true) == is_blank.end()) return true;
    }
    return false;
  };
  if (see(false) || see(true)) is_blank.assign(batch.rows(), false);
  is_blank_.insert(is_blank_.end(), is_blank.begin(), is_blank.end());
}

const KeptRows& ArrowReader::keep_units(const ArrowUnits& units) {
  owners_.clear();
  for (const auto& column : units.rule.columns()) owners_.push_back(position(column, CellUse::text));
  while (auto batch = stream_.next(policy_.form)) {
    require_not_called_off_now();
    look_for_blanks(*batch);
    batch->keep_only(used_);
    held_.push_back(*std::move(batch));
  }
  std::vector<std::size_t> content;
  // Rows of a unit are alike in the column that names it, but not always in those of a combination.
  std::copy_if(used_.begin(), used_.end(), std::back_inserter(content),
               [&](std::size_t position) { return owners_.size() > 1 || position != owners_.front(); });
  std::sort(content.begin(), content.end(), [&](std::size_t a, std::size_t b) { return names_[a] < names_[b]; });
  kept_ = std::make_shared<const KeptRows>(select_rows(held_, owners_, content, units, policy_.form));
  return *kept_;
}

bool ArrowReader::next_batch() {
  rows_before_ += stored_rows_;
  stored_rows_ = 0;
  next_place_ = 0;
  require_not_called_off_now();
  for (const auto position : used_) cells_[position].reset();
  if (kept_) {
    if (next_held_ == held_.size()) return false;
    ++next_held_;
  } else {
    batch_ = stream_.next(policy_.form);
    if (!batch_) return false;
  }
  stored_rows_ = batch().rows();
  for (const auto position : used_) cells_[position] = batch().cells(position);
  return true;
}

std::size_t ArrowReader::rows_of_batch() const {
  if (!kept_) return stored_rows_;
  const auto first = kept_->is_kept.begin() + static_cast<std::ptrdiff_t>(rows_before_);
  return static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(stored_rows_), true));
}

bool ArrowReader::numbers_of_batch(std::size_t position, const std::function<void(std::span<const double>, std::size_t)>& see) const {
  // A row with nothing in it but its owner has a cell there alone.
  if (kept_ && is_of_owner(position)) return false;
  std::array<double, 4096> numbers;
  std::array<std::size_t, numbers.size()> rows;
  for (std::size_t first = 0; first < stored_rows_; first += numbers.size()) {
    require_not_called_off_now();
    const std::size_t end = std::min(stored_rows_, first + numbers.size());
    std::size_t count = end - first;
    std::size_t there = 0;
    if (kept_) {
      count = 0;
      for (std::size_t row = first; row < end; ++row) {
        rows[count] = row;
        count += kept_->is_kept[static_cast<std::size_t>(rows_before_) + row] ? 1 : 0;
      }
      there = cells_[position]->numbers(std::span{rows}.first(count), numbers.data(), number_format());
    } else {
      there = cells_[position]->numbers(first, count, numbers.data(), number_format());
    }
    see(std::span{numbers}.first(there), count);
  }
  return true;
}

bool ArrowReader::next_in_batch() {
  for (; next_place_ != stored_rows_; ++next_place_) {
    const auto row = static_cast<std::size_t>(rows_before_ + next_place_);
    if (kept_ && !kept_->is_kept[row]) continue;
    require_not_called_off();
    place_ = next_place_++;
    is_damaged_ = batch().is_null(place_);
    if (is_damaged_ && policy_.form == RecordForm::is_public) refuse_record(" is null as a whole, must have cells");
    is_damaged_ = is_damaged_ || (kept_ && is_blank_[row]);
    return true;
  }
  return false;
}

bool ArrowReader::next() {
  while (!next_in_batch()) {
    if (!next_batch()) return false;
  }
  return true;
}

const std::string& ArrowReader::text(std::size_t position) {
  auto& result = texts_[position];
  result.clear();
  if (is_there(position)) {
    const auto found = cells_[position]->text(place_, result);
    if (found.data() != result.data()) result.assign(found);
  }
  const auto* const missing = missing_at(position);
  return missing != nullptr && trimmed(result).empty() ? missing->text : result;
}

const std::string& ArrowReader::owner(std::size_t position) {
  auto& result = texts_[position];
  result.clear();
  if (!batch().is_null(place_) && !cells_[position]->is_null(place_)) {
    const auto found = cells_[position]->text(place_, result);
    if (found.data() != result.data()) result.assign(found);
  }
  return result;
}

std::string ArrowReader::shown(std::size_t position) {
  const auto found = cells_[position]->text(place_, texts_[position]);
  return in_quotes(found.empty() ? fmt::format("{}", parsed(position).value) : found);
}

std::optional<bool> ArrowReader::truth(std::size_t position) const {
  return is_there(position) ? cells_[position]->truth(place_) : std::nullopt;
}

std::optional<double> ArrowReader::number(std::size_t position, std::string_view advice) {
  bool is_empty = true;
  NumberFault fault = NumberFault::not_a_number;
  if (is_there(position)) {
    const auto found = parsed(position);
    if (found.fault == NumberFault::none) return found.value;
    fault = found.fault;
    is_empty = cells_[position]->is_blank(place_);
  }
  const bool is_private = policy_.form == RecordForm::is_private;
  const auto* const missing = missing_at(position);
  if (missing != nullptr && (is_private || is_empty)) return missing->number;
  if (is_private) return std::nullopt;
  const auto column = in_quotes(names_[position]);
  if (is_empty) refuse_record(fmt::format(", column {}: the cell is empty, must be a number", column));
  refuse_record(
      fmt::format(", column {}: {} {}{}", column, shown(position), describe(fault), fault == NumberFault::not_a_number ? advice : ""));
}

std::optional<Date> ArrowReader::date(std::size_t position) {
  bool is_empty = true;
  if (is_there(position)) {
    if (const auto date = cells_[position]->date(place_)) return date;
    is_empty = cells_[position]->is_blank(place_);
  }
  const bool is_private = policy_.form == RecordForm::is_private;
  const auto* const missing = missing_at(position);
  if (missing != nullptr && (is_private || is_empty)) return parse_date(missing->text);
  if (is_private) return std::nullopt;
  const auto column = in_quotes(names_[position]);
  if (is_empty) refuse_record(fmt::format(", column {}: the cell is empty, must be a date", column));
  refuse_record(fmt::format(", column {}: {} is not a date", column, shown(position)));
}

bool ArrowReader::is_missing(std::size_t position, CellKind kind) {
  if (is_damaged_ || cells_[position]->is_blank(place_)) return true;
  if (kind == CellKind::text) return false;
  const bool is_number = kind == CellKind::number;
  const bool is_right = is_number ? parsed(position).fault == NumberFault::none : cells_[position]->date(place_).has_value();
  if (!is_right && policy_.form == RecordForm::is_public) {
    refuse_record(fmt::format(", column {}: {} is not a {}", in_quotes(names_[position]), shown(position), is_number ? "number" : "date"));
  }
  return !is_right;
}

void ArrowReader::refuse_record(std::string_view reason) const {
  throw DamagedRecord{fmt::format("Arrow stream: row {}{}", rows_before_ + place_ + 1, reason)};
}

}  // namespace surety::data
