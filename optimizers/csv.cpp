#include <surety/optimizers/csv.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/error.h>

namespace surety::optimizers {

CsvReader::CsvReader(const std::filesystem::path& path, Lines lines) : text_{path}, lines_{lines} {
  if (!read_record(header_)) text_.refuse("is empty, must start with a header line");
  std::set<std::string_view> names;
  for (auto& name : header_) {
    name = std::string{trimmed(name)};
    if (name.empty()) text_.refuse(fmt::format("column {} of the header has no name", &name - header_.data() + 1));
    if (!names.insert(name).second) text_.refuse(fmt::format("column {} appears twice in the header", in_quotes(name)));
  }
}

bool CsvReader::next(std::vector<std::string>& cells) {
  ++row_;
  if (!read_record(cells)) return false;
  if (cells.size() != header_.size()) {
    refuse(fmt::format(" has {} cells, must have {} as the header", cells.size(), header_.size()));
  }
  return true;
}

std::size_t CsvReader::position(const std::string& column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) {
    constexpr std::size_t shown = 20;
    std::string names =
        fmt::format("{}", fmt::join(header_.begin(), header_.begin() + std::min<std::ptrdiff_t>(shown, std::ssize(header_)), ", "));
    if (header_.size() > shown) names += ", ...";
    text_.refuse(fmt::format("column {} is missing, the header has {}", in_quotes(column), names));
  }
  return static_cast<std::size_t>(found - header_.begin());
}

double CsvReader::number(const std::vector<std::string>& cells, std::size_t position, std::string_view advice) const {
  const auto [value, fault] = parse_number(cells[position]);
  if (fault == NumberFault::none) return value;
  const auto column = in_quotes(header_[position]);
  if (trimmed(cells[position]).empty()) refuse(fmt::format(", column {}: the cell is empty, must be a number", column));
  refuse(fmt::format(", column {}: {} {}{}", column, in_quotes(cells[position]), describe(fault),
                     fault == NumberFault::not_a_number ? advice : ""));
}

void CsvReader::refuse(const std::string& reason) const {
  const std::string place = row_ == 0 ? "header" : fmt::format("row {}", row_);
  text_.refuse(fmt::format("{} (line {}){}", place, line_, reason));
}

bool CsvReader::read_record(std::vector<std::string>& cells) {
  line_ = text_.line();
  at_line_start_ = false;
  // Empty lines count as such only at the end of the file; before other rows they are ragged.
  while (text_.peek() == '\n' || text_.peek() == '\r') {
    if (lines_ == Lines::each_a_record) refuse(" is empty");
    text_.get();
    if (text_.peek() != '\n' && text_.peek() != '\r' && text_.peek() != TextReader::end) refuse(" is empty");
  }
  if (text_.peek() == TextReader::end) return false;
  std::size_t count = 0;
  do {
    if (count == cells.size()) cells.emplace_back();
    read_cell(cells[count++]);
  } while (text_.peek() == ',' && text_.get() == ',');
  cells.resize(count);
  if (text_.peek() == '\r') {
    text_.get();
    if (text_.peek() != '\n') refuse(" has a carriage return that does not end the line");
  }
  text_.get();
  at_line_start_ = true;
  return true;
}

void CsvReader::skip_line() {
  if (at_line_start_) return;
  text_.skip_line();
  at_line_start_ = true;
}

void CsvReader::read_cell(std::string& cell) {
  constexpr std::size_t longest = std::size_t{1} << 20;
  const auto keep = [&](int byte) {
    if (cell.size() == longest) refuse(fmt::format(" has a cell of more than {} bytes", longest));
    cell.push_back(static_cast<char>(byte));
  };
  const auto ends_cell = [](int byte) { return byte == ',' || byte == '\n' || byte == '\r' || byte == TextReader::end; };
  cell.clear();
  if (text_.peek() != '"') {
    while (!ends_cell(text_.peek())) {
      if (text_.peek() == '"') refuse(" has a quote inside a cell that does not start with one");
      keep(text_.get());
    }
    return;
  }
  text_.get();
  for (;;) {
    if (lines_ == Lines::each_a_record && text_.peek() == '\n') refuse(" has a quote that is not closed on its line");
    const int byte = text_.get();
    if (byte == TextReader::end) refuse(" has a quote that is never closed");
    if (byte != '"') {
      keep(byte);
    } else if (text_.peek() == '"') {
      keep(text_.get());
    } else {
      break;
    }
  }
  if (!ends_cell(text_.peek())) refuse(" has text after a closing quote");
}

namespace {

/// Appends the features that `map` makes of one cell.
void append_features(const CsvReader& reader, const std::vector<std::string>& cells, std::size_t position, const ColumnMap& map,
                     std::vector<double>& features) {
  if (const auto* const categories = std::get_if<Categories>(&map)) {
    for (const auto& category : categories->names) features.push_back(cells[position] == category ? 1.0 : 0.0);
    return;
  }
  const double value = reader.number(cells, position, "; drop the column or give its public list of categories");
  if (const auto* const bounds = std::get_if<Bounds>(&map)) {
    // Halves, so that the width of the widest bounds does not overflow.
    const double clamped = std::clamp(value, bounds->lower, bounds->upper);
    features.push_back((clamped / 2 - bounds->lower / 2) / (bounds->upper / 2 - bounds->lower / 2));
  } else {
    features.push_back(std::holds_alternative<SignedLogarithm>(map) ? std::asinh(value) : value);
  }
}

}  // namespace

FeatureMap csv_features(const CsvReader& reader, const LabelRule& label, const CsvOptions& options) {
  std::set<std::string> named;
  const auto claim = [&](const std::string& column) {
    static_cast<void>(reader.position(column));
    if (!named.insert(column).second) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("column {} has two roles, must have one of label, dropped, bounds, categories", in_quotes(column))};
    }
  };
  claim(label.column);
  for (const auto& column : options.drop) claim(column);
  for (const auto& [column, bounds] : options.bounds) claim(column);
  for (const auto& [column, categories] : options.categories) claim(column);

  NamedColumns columns;
  for (const auto& name : reader.header()) {
    if (const auto bounds = options.bounds.find(name); bounds != options.bounds.end()) {
      columns.push_back({name, bounds->second});
    } else if (const auto categories = options.categories.find(name); categories != options.categories.end()) {
      columns.push_back({name, Categories{categories->second}});
    } else if (!named.contains(name)) {
      columns.push_back({name, options.otherwise});
    }
  }
  FeatureMap map{.inputs = std::move(columns), .intercept = options.intercept, .unit_norm = options.unit_norm};
  map.validate();
  return map;
}

CsvRecords::CsvRecords(CsvReader reader, const FeatureMap& features, const std::optional<LabelRule>& label)
    : features_{features}, label_{label}, reader_{std::move(reader)}, label_position_{label ? reader_.position(label->column) : 0} {
  features.validate();
  const auto* const columns = std::get_if<NamedColumns>(&features.inputs);
  if (columns == nullptr) throw Error{ErrorCode::invalid_argument, "the features have no column names, so they cannot be read from CSV"};
  for (const auto& column : *columns) positions_.push_back(reader_.position(column.name));
}

bool CsvRecords::next(std::vector<double>& row, double& label) {
  if (!reader_.next(cells_)) return false;
  const auto& columns = std::get<NamedColumns>(features_.inputs);
  row.clear();
  for (std::size_t k = 0; k < positions_.size(); ++k) append_features(reader_, cells_, positions_[k], columns[k].map, row);
  if (features_.intercept) row.push_back(1);
  if (features_.unit_norm) scale_to_unit_norm(row);
  label = label_ ? (*label_)(reader_.number(cells_, label_position_)) : 0;
  return true;
}

namespace {

Dataset read_all(CsvReader reader, const std::string& name, const FeatureMap& features, const std::optional<LabelRule>& label) {
  CsvRecords records{std::move(reader), features, label};
  std::vector<double> values;
  std::vector<double> labels;
  std::vector<double> row;
  double row_label = 0;
  bool empty = true;
  for (; records.next(row, row_label); empty = false) {
    values.insert(values.end(), row.begin(), row.end());
    if (label) labels.push_back(row_label);
  }
  if (empty) throw Error{ErrorCode::bad_data, fmt::format("{}: has no rows after the header", one_line(name))};
  return Dataset::dense(features.features(), std::move(values), std::move(labels));
}

}  // namespace

Dataset read_csv(const std::filesystem::path& path, const FeatureMap& features, const std::optional<LabelRule>& label) {
  return read_all(CsvReader{path}, path.string(), features, label);
}

CsvData read_csv(const std::filesystem::path& path, const LabelRule& label, const CsvOptions& options) {
  CsvReader reader{path};
  FeatureMap features = csv_features(reader, label, options);
  Dataset data = read_all(std::move(reader), path.string(), features, label);
  return {std::move(data), std::move(features)};
}

}  // namespace surety::optimizers
