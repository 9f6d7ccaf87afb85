#include <surety/statistics/reading.h>

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/safe_text.h>

namespace surety::statistics {

using namespace data;

Rows::Rows(CsvReader reader) : reader_{Csv{std::move(reader)}}, parsed_(std::get<Csv>(reader_).reader.header().size()) {}
Rows::Rows(ArrowReader reader) : reader_{std::move(reader)}, parsed_(std::get<ArrowReader>(reader_).header().size()) {}

std::size_t Rows::position(const std::string& column, CellUse use) {
  if (auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.position(column, use);
  return std::get<ArrowReader>(reader_).position(column, use);
}

bool Rows::next() {
  ++row_;
  if (auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.next(csv->cells);
  return std::get<ArrowReader>(reader_).next();
}

const std::string& Rows::text(std::size_t position) {
  if (auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.text(csv->cells, position);
  return std::get<ArrowReader>(reader_).text(position);
}

const std::string& Rows::owner(std::size_t position) {
  if (const auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.owner(csv->cells, position);
  return std::get<ArrowReader>(reader_).owner(position);
}

std::optional<double> Rows::number(std::size_t position) {
  auto& parsed = parsed_[position];
  if (parsed.row == row_) return parsed.number;
  auto* const csv = std::get_if<Csv>(&reader_);
  parsed = {row_, csv != nullptr ? csv->reader.number(csv->cells, position) : std::get<ArrowReader>(reader_).number(position)};
  return parsed.number;
}

std::optional<Date> Rows::date(std::size_t position) {
  if (auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.date(csv->cells, position);
  return std::get<ArrowReader>(reader_).date(position);
}

std::optional<double> Rows::days(std::size_t position) {
  const auto found = date(position);
  return found ? std::optional{static_cast<double>(found->days)} : std::nullopt;
}

bool Rows::may_hold_texts(const std::string& column) const {
  const auto* const stream = std::get_if<ArrowReader>(&reader_);
  return stream == nullptr || stream->may_hold_texts(column);
}

void Rows::require_no_column(const Expression& expression) const {
  const auto* const csv = std::get_if<Csv>(&reader_);
  const auto& names = csv != nullptr ? csv->reader.header() : std::get<ArrowReader>(reader_).header();
  if (std::find(names.begin(), names.end(), expression.text()) == names.end()) return;
  const auto reason =
      fmt::format("has a column '{}', which is also the text of an expression: quote the name in a query for the column, or rename it",
                  one_line(expression.text(), 120));
  if (csv != nullptr) csv->reader.refuse_file(reason);
  ArrowReader::refuse_file(reason);
}

bool Rows::is_missing(std::size_t position, CellKind kind) {
  if (auto* const csv = std::get_if<Csv>(&reader_)) return csv->reader.is_missing(csv->cells, position, kind);
  return std::get<ArrowReader>(reader_).is_missing(position, kind);
}

bool Rows::is_damaged() const {
  const auto* const csv = std::get_if<Csv>(&reader_);
  return csv != nullptr ? csv->reader.is_damaged() : std::get<ArrowReader>(reader_).is_damaged();
}

void Rows::refuse_emptiness() const {
  if (const auto* const csv = std::get_if<Csv>(&reader_)) csv->reader.refuse_file("has no records after the header");
  ArrowReader::refuse_file("has no rows");
}

NumberColumn::NumberColumn(const Statistic& statistic, const std::string& column, Rows& rows)
    : are_days_{std::find(statistic.dates.begin(), statistic.dates.end(), column) != statistic.dates.end() && rows.may_hold_texts(column)},
      position_{rows.position(column, are_days_ ? CellUse::date : CellUse::number)} {}

NumberReader::NumberReader(const Statistic& statistic, Rows& rows) : expression_{statistic.expression} {
  if (expression_) rows.require_no_column(*expression_);
  for (const auto& column : columns_of_numbers(statistic)) columns_.emplace_back(statistic, column, rows);
  cells_.resize(columns_.size());
}

std::optional<double> NumberReader::read(Rows& rows) {
  if (!expression_) return columns_.front().read(rows);
  // All cells are read before any has a say, since a public form is public in all rows.
  bool are_there = true;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto cell = columns_[k].read(rows);
    are_there = are_there && cell;
    cells_[k] = cell.value_or(0);
  }
  return are_there ? expression_->value(cells_) : std::nullopt;
}

std::optional<std::size_t> NumberReader::position_in_batches() const {
  return expression_ ? std::nullopt : columns_.front().position_in_batches();
}

OwnerReader::OwnerReader(const Statistic& statistic, Rows& rows) {
  const auto* const owner = owner_of(statistic);
  // A unit of one row is that row.
  if (owner == nullptr || statistic.unit.most().value() == 1) return;
  columns_.push_back(rows.position(owner->column, CellUse::text));
  for (const auto& column : owner->beside) columns_.push_back(rows.position(column, CellUse::text));
  texts_.resize(columns_.size());
  empty_is_each_ = owner->empty_is_each;
}

const std::string* OwnerReader::find(Rows& rows) {
  if (columns_.empty()) return nullptr;
  if (columns_.size() > 1) {
    for (std::size_t k = 0; k < columns_.size(); ++k) texts_[k] = rows.owner(columns_[k]);
    combine(texts_, combined_);
  }
  const auto& name = columns_.size() > 1 ? combined_ : rows.owner(columns_.front());
  return empty_is_each_ && name.empty() ? nullptr : &name;
}

GroupFinder::GroupFinder(const Statistic& statistic, Rows& rows) {
  const auto add = [&](const std::string& column, const Cells& keys) {
    CellFinder cells{keys};
    std::variant<std::size_t, NumberColumn> read{std::size_t{0}};
    if (cells.is_text()) {
      read = rows.position(column, CellUse::text);
    } else {
      read = NumberColumn{statistic, column, rows};
    }
    columns_.push_back({std::move(cells), number_of(keys), read});
  };
  add(statistic.by->column, statistic.by->keys);
  for (const auto& more : statistic.by->beside) add(more.column, more.keys);
}

std::optional<std::size_t> GroupFinder::find(Rows& rows) const {
  std::optional<std::size_t> group = 0;
  for (const auto& [cells, number, read] : columns_) {
    std::optional<std::size_t> cell;
    if (const auto* const texts = std::get_if<std::size_t>(&read)) {
      cell = cells.find(rows.text(*texts));
    } else if (const auto found = std::get<NumberColumn>(read).read(rows)) {
      cell = cells.find(*found);
    }
    group = group && cell ? std::optional{*group * number + *cell} : std::nullopt;
  }
  return group;
}

KeyFinder::KeyFinder(const std::vector<std::string>& columns, Rows& rows) : texts_(columns.size()) {
  for (const auto& column : columns) positions_.push_back(rows.position(column, CellUse::text));
}

const std::string& KeyFinder::find(Rows& rows) {
  if (positions_.size() == 1) return rows.text(positions_.front());
  for (std::size_t k = 0; k < positions_.size(); ++k) texts_[k] = rows.text(positions_[k]);
  key_ = tuple_key(texts_);
  return key_;
}

GroupPlaces::GroupPlaces(const Statistic& statistic, Rows& rows) {
  if (!statistic.group_cap) return;
  most_ = statistic.group_cap->most.value();
  owner_.emplace(statistic, rows);
}

bool GroupPlaces::take(Rows& rows, std::size_t group) {
  const auto* const unit = owner_ ? owner_->find(rows) : nullptr;
  if (unit == nullptr) return true;
  auto& taken = taken_[*unit];
  auto found = std::find_if(taken.begin(), taken.end(), [&](const auto& one) { return one.first == group; });
  if (found == taken.end()) found = taken.insert(taken.end(), {group, 0});
  return found->second++ < most_;
}

SumReader::SumReader(StatisticSum& sum, Rows& rows) : sum_{sum}, places_{sum.statistic(), rows} {
  const auto& statistic = sum.statistic();
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  const bool is_of_texts = histogram != nullptr && std::holds_alternative<Categories>(histogram->cells);
  if (const auto* const column = column_of(statistic)) {
    if (is_of_texts) {
      texts_ = rows.position(*column, CellUse::text);
    } else {
      numbers_.emplace(statistic, rows);
    }
  }
  if (statistic.where) where_.emplace(*statistic.where, rows);
  if (statistic.by) groups_.emplace(statistic, rows);
  if (std::holds_alternative<UnitsOf>(statistic.of)) owner_.emplace(statistic, rows);
}

void SumReader::add(Rows& rows) {
  // All cells are read before any has a say, since a public form is public in all rows.
  const bool meets = !where_ || where_->is_met(rows);
  const auto number = numbers_ ? numbers_->read(rows) : std::nullopt;
  const auto group = groups_ ? groups_->find(rows) : std::optional<std::size_t>{0};
  if (!meets || !group) return;
  // One that is left out takes no place.
  const bool is_left_out = bounds_of(sum_.statistic()) != nullptr && !number && sum_.statistic().missing == MissingCells::left_out;
  if (is_left_out || !places_.take(rows, *group)) return;
  if (owner_) {
    if (const auto* const unit = owner_->find(rows)) {
      auto& groups = seen_in_[*unit];
      if (std::find(groups.begin(), groups.end(), *group) != groups.end()) return;
      groups.push_back(*group);
    }
    sum_.add_to_count(*group);
  } else if (texts_) {
    sum_.add(rows.text(*texts_), *group);
  } else if (!numbers_) {
    sum_.add_to_count(*group);
  } else if (number) {
    sum_.add(*number, *group);
  } else {
    sum_.add_damaged(*group);
  }
}

bool SumReader::add_batch(const ArrowReader& batch) {
  if (where_ || groups_ || texts_ || owner_) return false;
  if (!numbers_) {
    sum_.add_to_count_times(batch.rows_of_batch());
    return true;
  }
  const auto column = numbers_->position_in_batches();
  if (!column || batch.missing(*column)) return false;
  return batch.numbers_of_batch(*column, [&](std::span<const double> numbers, std::size_t rows) {
    sum_.add(numbers);
    for (std::size_t k = numbers.size(); k < rows; ++k) sum_.add_damaged();
  });
}

std::uint64_t read_rows(Rows& rows, bool number_is_public, const std::function<void(Rows&)>& add) {
  std::uint64_t records = 0;
  for (; rows.next(); ++records) add(rows);
  if (records == 0 && number_is_public) rows.refuse_emptiness();
  return records;
}

namespace {

std::uint64_t read_from(Rows rows, StatisticSum& sum) {
  SumReader sum_reader{sum, rows};
  const auto& statistic = sum.statistic();
  return read_rows(rows, has_public_size(statistic.adjacency, statistic.unit), [&](Rows& row) { sum_reader.add(row); });
}

}  // namespace

std::uint64_t read_statistic(CsvReader reader, StatisticSum& sum) { return read_from(Rows{std::move(reader)}, sum); }
std::uint64_t read_statistic(ArrowReader reader, StatisticSum& sum) { return read_from(Rows{std::move(reader)}, sum); }

std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const DataPolicy& policy) {
  return read_statistic(CsvReader{path, policy}, sum);
}

}  // namespace surety::statistics
