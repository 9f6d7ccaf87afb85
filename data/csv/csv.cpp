#include <surety/data/csv/csv.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/features/named_records.h>
#include <surety/data/reading/called_off.h>

namespace surety::data {

namespace {

/// The policy, once its format is known to be one.
const DataPolicy& checked(const DataPolicy& policy) {
  const auto byte = static_cast<unsigned char>(policy.csv.delimiter);
  if (byte == 0 || byte >= 0x80 || byte == '"' || byte == '\r' || byte == '\n') {
    invalid("the delimiter of cells is a quote, a line end or no byte of ASCII, must be another one");
  }
  if (policy.csv.decimal != '.' && policy.csv.decimal != ',') invalid("what stands before decimals is neither a point nor a comma");
  if (const char thousands = policy.csv.thousands; thousands != 0) {
    if (thousands_separators.find(thousands) == std::string_view::npos) {
      invalid("what separates thousands is no comma, point, blank, apostrophe or underscore, must be one of them");
    }
    if (thousands == policy.csv.decimal) invalid("what separates thousands also stands before decimals, must be another character");
  }
  std::set<std::string_view> names;
  for (const auto& name : policy.csv.columns) {
    if (trimmed(name).empty()) invalid("a column has no name");
    if (!names.insert(trimmed(name)).second) invalid(fmt::format("column {} is named twice", in_quotes(name)));
  }
  return policy;
}

/// Whether Latin letters are two bytes each, of which one is zero: UTF-16 that does not say which byte comes first.
bool is_every_other_byte_zero(std::string_view header) {
  const std::size_t first_zero = header.starts_with('\0') ? 0 : 1;
  std::size_t zeros = 0;
  for (std::size_t i = first_zero; i < header.size(); i += 2) zeros += header[i] == '\0' ? 1 : 0;
  return header.size() >= 4 && 2 * zeros + 2 >= header.size();
}

/// What a header is not the text of, by its first bytes: "a Parquet file"; empty where it may be a header.
std::string_view foreign_format(std::string_view header) {
  const bool has_zero = header.find('\0') != std::string_view::npos;
  const bool has_control = std::any_of(header.begin(), header.end(), [](char byte) { return byte >= '\0' && byte < ' ' && byte != '\t'; });
  if (header.starts_with("PK\x03\x04")) return "a ZIP archive, as files of spreadsheets are";
  if (header.starts_with("7z\xbc\xaf\x27\x1c")) return "a 7z archive";
  if (header.starts_with("\xfd"
                         "7zXZ"))
    return "a file compressed by xz";
  if (header.starts_with("PAR1") && has_control) return "a Parquet file";
  if (header.starts_with("ARROW1") && has_control) return "an Arrow file";
  if (header.starts_with("SQLite format 3") && has_zero) return "an SQLite database";
  // Its mark begins as that of UTF-16 does.
  if (header.starts_with(std::string_view{"\xff\xfe\0\0", 4}) || header.starts_with(std::string_view{"\0\0\xfe\xff", 4}))
    return "UTF-32 text";
  const bool has_byte_order = header.starts_with("\xff\xfe") || header.starts_with("\xfe\xff");
  if (has_zero && (has_byte_order || is_every_other_byte_zero(header))) return "UTF-16 text";
  return "";
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, const DataPolicy& policy)
    : policy_{checked(policy)}, records_{path, RecordEnd::line_outside_quotes, policy.limits.header_bytes, policy} {
  const auto& limits = policy.limits;
  if (policy.csv.columns.empty()) {
    if (!records_.next(record_)) records_.refuse_file("is empty, must start with a header line");
    if (const auto format = foreign_format(record_); !format.empty()) {
      records_.refuse_file(fmt::format("is {}, must be CSV in UTF-8", format));
    }
    if (const auto fault = cut(limits.columns, limits.header_bytes, header_); !fault.empty()) refuse_record(fault);
  } else {
    header_ = policy.csv.columns;
    if (header_.size() > limits.columns) {
      invalid(fmt::format("{} columns are named, must be at most {} unless --no-limits is given", header_.size(), limits.columns));
    }
  }
  records_.set_most_bytes(limits.record_bytes);
  for (std::size_t k = 0; k < header_.size(); ++k) {
    header_[k] = std::string{trimmed(header_[k])};
    if (header_[k].empty()) records_.refuse_file(fmt::format("column {} of the header has no name", k + 1));
    if (!positions_.emplace(header_[k], k).second) {
      records_.refuse_file(fmt::format("column {} appears twice in the header", in_quotes(header_[k])));
    }
  }
  for (const auto& [column, value] : policy.csv.missing) count_missing_as(column, value);
  for (const auto& column : policy.csv.complete) static_cast<void>(position(column));
}

std::string CsvReader::cut(std::size_t cells, std::size_t most_bytes, std::vector<std::string>& result) {
  if (records_.is_too_long()) return fmt::format(" has more than {} bytes, must have fewer unless --no-limits is given", most_bytes);
  if (record_.empty()) return " is empty";
  if (record_.find('\0') != std::string::npos) return " holds a zero byte, must be text";
  const auto [count, fault] = split_cells(record_, cells, result, policy_.csv.delimiter);
  if (fault != CsvFault::none) return std::string{describe(fault)};
  if (row_ == 0 && count > cells) return fmt::format(" has {} columns, must have at most {} unless --no-limits is given", count, cells);
  if (row_ > 0 && count != cells)
    return fmt::format(" has {} cells, must have {} as {}", count, cells, policy_.csv.columns.empty() ? "the header" : "columns are named");
  return {};
}

bool CsvReader::advance() {
  for (;;) {
    const bool is_there = records_.next(record_);
    ++row_;
    if (!is_kept_) return is_there;
    if (is_there ? row_ > is_kept_->size() : row_ - 1 != is_kept_->size()) {
      records_.refuse_file("changed while it was read, must stand still");
    }
    if (!is_there || (*is_kept_)[row_ - 1]) return is_there;
  }
}

bool CsvReader::next(std::vector<std::string>& cells) {
  require_not_called_off();
  is_damaged_ = false;
  if (!advance()) return false;
  if (policy_.form == RecordForm::is_public) {
    if (const auto fault = cut(header_.size(), policy_.limits.record_bytes, cells); !fault.empty()) refuse_record(fault);
    is_damaged_ = is_blank(cells);
    if (is_damaged_) remember_owner(cells);
    return true;
  }
  const auto [count, fault] = split_cells(record_, header_.size(), cells, policy_.csv.delimiter);
  const bool is_nobodys = record_.empty() || records_.is_too_long() || fault != CsvFault::none || count != header_.size();
  is_damaged_ = is_nobodys || is_blank(cells);
  if (!is_damaged_) return true;
  if (is_nobodys) {
    owner_of_damaged_.assign(owners_.size(), {});
  } else {
    remember_owner(cells);
  }
  cells.assign(header_.size(), {});
  return true;
}

bool CsvReader::is_blank(const std::vector<std::string>& cells) const {
  if (owners_.empty()) return false;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    if (std::find(owners_.begin(), owners_.end(), k) == owners_.end() && !trimmed(cells[k]).empty()) return false;
  }
  return true;
}

void CsvReader::keep_only(std::shared_ptr<const std::vector<bool>> is_kept, const std::vector<std::string>& owners) {
  is_kept_ = std::move(is_kept);
  owners_.clear();
  for (const auto& owner : owners) owners_.push_back(position(owner));
}

void CsvReader::remember_owner(const std::vector<std::string>& cells) {
  owner_of_damaged_.clear();
  for (const auto position : owners_) owner_of_damaged_.push_back(cells[position]);
}

const std::string& CsvReader::owner(const std::vector<std::string>& cells, std::size_t position) const {
  if (!is_damaged_ || owners_.empty()) return cells[position];
  const auto found = std::find(owners_.begin(), owners_.end(), position);
  return owner_of_damaged_[static_cast<std::size_t>(found - owners_.begin())];
}

std::size_t CsvReader::position(const std::string& column) const {
  const auto found = positions_.find(column);
  if (found == positions_.end()) {
    constexpr std::size_t shown = 20;
    std::string names =
        fmt::format("{}", fmt::join(header_.begin(), header_.begin() + std::min<std::ptrdiff_t>(shown, std::ssize(header_)), ", "));
    if (header_.size() > shown) names += ", ...";
    const auto other = header_.size() == 1 && policy_.csv.columns.empty() ? header_.front().find_first_of(",;\t|") : std::string::npos;
    if (other != std::string::npos) {
      names += fmt::format(" (one name with {} in it: set the delimiter to that)", in_quotes(header_.front().substr(other, 1)));
    }
    records_.refuse_file(fmt::format("column {} is missing, {} {}", in_quotes(column),
                                     policy_.csv.columns.empty() ? "the header has" : "the names given are", names));
  }
  return found->second;
}

std::size_t CsvReader::position(const std::string& column, CellUse use) const {
  const auto found = position(column);
  if (!missing_.empty() && missing_[found]) require_missing_value(column, missing_[found]->text, use);
  return found;
}

void CsvReader::count_missing_as(const std::string& column, const std::string& value) {
  if (trimmed(value).empty())
    invalid(fmt::format("a missing cell of column {} counts as nothing, must count as a value", in_quotes(column)));
  const auto found = position(column);
  missing_.resize(header_.size());
  const auto [number, fault] = parse_number(value);
  missing_[found] = Missing{value, fault == NumberFault::none ? std::optional{number} : std::nullopt};
}

std::optional<std::string> CsvReader::missing(std::size_t position) const {
  if (missing_.empty() || !missing_[position]) return std::nullopt;
  return missing_[position]->text;
}

const std::string& CsvReader::text(const std::vector<std::string>& cells, std::size_t position) const {
  if (missing_.empty() || is_damaged_ || !missing_[position] || !trimmed(cells[position]).empty()) return cells[position];
  return missing_[position]->text;
}

std::optional<double> CsvReader::number(const std::vector<std::string>& cells, std::size_t position, std::string_view advice) const {
  const auto [value, fault] = parse_number(cells[position], policy_.csv.numbers());
  if (fault == NumberFault::none) return value;
  const bool is_private = policy_.form == RecordForm::is_private;
  const bool is_empty = trimmed(cells[position]).empty();
  if (!missing_.empty() && missing_[position] && !is_damaged_ && (is_private || is_empty)) return missing_[position]->number;
  if (is_private) return std::nullopt;
  const auto column = in_quotes(header_[position]);
  if (is_empty) refuse_record(fmt::format(", column {}: the cell is empty, must be a number", column));
  refuse_record(fmt::format(", column {}: {} {}{}", column, in_quotes(cells[position]), describe(fault),
                            fault == NumberFault::not_a_number ? advice : ""));
}

std::optional<Date> CsvReader::date(const std::vector<std::string>& cells, std::size_t position) const {
  if (const auto date = date_in(cells[position])) return date;
  const bool is_private = policy_.form == RecordForm::is_private;
  const bool is_empty = trimmed(cells[position]).empty();
  if (!missing_.empty() && missing_[position] && !is_damaged_ && (is_private || is_empty)) return parse_date(missing_[position]->text);
  if (is_private) return std::nullopt;
  const auto column = in_quotes(header_[position]);
  if (is_empty) refuse_record(fmt::format(", column {}: the cell is empty, must be a date", column));
  refuse_record(fmt::format(", column {}: {} is not a date", column, in_quotes(cells[position])));
}

bool CsvReader::is_missing(const std::vector<std::string>& cells, std::size_t position, CellKind kind) const {
  if (trimmed(cells[position]).empty()) return true;
  if (kind == CellKind::text) return false;
  const bool is_there = kind == CellKind::number ? parse_number(cells[position], policy_.csv.numbers()).fault == NumberFault::none
                                                 : date_in(cells[position]).has_value();
  if (!is_there && policy_.form == RecordForm::is_public) {
    refuse_record(fmt::format(", column {}: {} is not a {}", in_quotes(header_[position]), in_quotes(cells[position]),
                              kind == CellKind::number ? "number" : "date"));
  }
  return !is_there;
}

void CsvReader::refuse_record(const std::string& reason) const {
  if (row_ == 0) records_.refuse_file(fmt::format("header (line {}){}", records_.line(), reason));
  throw DamagedRecord{records_.about_file(fmt::format("row {} (line {}){}", row_, records_.line(), reason))};
}

FeatureMap csv_features(const CsvReader& reader, const LabelRule& label, const CsvOptions& options) {
  return named_features(reader, label, options);
}

CsvRecords::CsvRecords(CsvReader reader, const FeatureMap& features, const std::optional<LabelRule>& label,
                       const std::optional<WeightRule>& weight)
    : reader_{std::move(reader)},
      record_{std::make_unique<NamedRecord>(reader_, features, label, weight)},
      has_weights_{weight.has_value()} {}
CsvRecords::CsvRecords(CsvRecords&&) noexcept = default;
CsvRecords& CsvRecords::operator=(CsvRecords&&) noexcept = default;
CsvRecords::~CsvRecords() = default;

bool CsvRecords::next(std::vector<double>& row, double& label) {
  row.clear();
  label = 0;
  if (!reader_.next(cells_)) return false;
  is_damaged_ = reader_.is_damaged();
  if (!is_damaged_) {
    const CsvRow in_hand{reader_, cells_};
    is_damaged_ = !record_->make(in_hand, row, label);
    const auto weight = is_damaged_ ? std::nullopt : record_->weight(in_hand);
    is_damaged_ = !weight;
    weight_ = weight.value_or(0);
  }
  if (is_damaged_) {
    row.clear();
    weight_ = 0;
  }
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
  if (empty) throw Error{ErrorCode::bad_data, fmt::format("{}: has no records after the header", one_line(name))};
  return Dataset::dense(features.features(), std::move(values), std::move(labels));
}

}  // namespace

Dataset read_csv(const std::filesystem::path& path, const FeatureMap& features, const std::optional<LabelRule>& label,
                 const DataLimits& limits, const CsvFormat& format) {
  return read_all(CsvReader{path, {.form = RecordForm::is_public, .limits = limits, .csv = format}}, path.string(), features, label);
}

CsvData read_csv(const std::filesystem::path& path, const LabelRule& label, const CsvOptions& options) {
  CsvReader reader{path, public_form};
  FeatureMap features = csv_features(reader, label, options);
  Dataset data = read_all(std::move(reader), path.string(), features, label);
  return {std::move(data), std::move(features)};
}

}  // namespace surety::data
