#include <surety/statistics/reading.h>

#include <utility>

namespace surety::statistics {

using namespace data;

Rows::Rows(CsvReader reader) : reader_{std::move(reader)}, parsed_(reader_.header().size()) {}

bool Rows::next() {
  ++row_;
  return reader_.next(cells_);
}

std::optional<double> Rows::number(std::size_t position) {
  auto& parsed = parsed_[position];
  if (parsed.row != row_) parsed = {row_, reader_.number(cells_, position)};
  return parsed.number;
}

SumReader::SumReader(StatisticSum& sum, const Rows& rows) : sum_{sum} {
  const auto& statistic = sum.statistic();
  const auto position = [&](const std::string& column, bool is_text) {
    return is_text ? rows.position(column) : rows.number_position(column);
  };
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  is_text_ = histogram != nullptr && std::holds_alternative<Categories>(histogram->cells);
  if (const auto* const column = column_of(statistic)) column_ = position(*column, is_text_);
  if (statistic.where) where_ = rows.on_rows(*statistic.where);
  if (statistic.by) {
    groups_.emplace(statistic.by->keys);
    by_ = position(statistic.by->column, groups_->is_text());
  }
}

std::optional<std::size_t> SumReader::find(const CellFinder& cells, std::size_t position, Rows& rows) {
  if (cells.is_text()) return cells.find(rows.text(position));
  const auto number = rows.number(position);
  return number ? std::optional{cells.find(*number)} : std::nullopt;
}

void SumReader::add(Rows& rows) {
  // All cells are read before any has a say, since a public form is public in all rows.
  const bool meets = !where_ || rows.meets(*where_);
  const auto number = !column_ || is_text_ ? std::nullopt : rows.number(*column_);
  const auto group = groups_ ? find(*groups_, *by_, rows) : std::optional<std::size_t>{0};
  if (!meets || !group) return;
  if (!column_) {
    sum_.add_to_count(*group);
  } else if (is_text_) {
    sum_.add(rows.text(*column_), *group);
  } else if (number) {
    sum_.add(*number, *group);
  } else {
    sum_.add_damaged(*group);
  }
}

std::uint64_t read_rows(Rows& rows, bool number_is_public, const std::function<void(Rows&)>& add) {
  std::uint64_t records = 0;
  for (; rows.next(); ++records) add(rows);
  if (records == 0 && number_is_public) rows.refuse_file("has no records after the header");
  return records;
}

std::uint64_t read_statistic(CsvReader reader, StatisticSum& sum) {
  Rows rows{std::move(reader)};
  SumReader sum_reader{sum, rows};
  const auto& statistic = sum.statistic();
  return read_rows(rows, has_public_size(statistic.adjacency, statistic.unit), [&](Rows& row) { sum_reader.add(row); });
}

std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const DataPolicy& policy) {
  return read_statistic(CsvReader{path, policy}, sum);
}

}  // namespace surety::statistics
