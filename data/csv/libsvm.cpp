#include <surety/data/csv/libsvm.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {

namespace {

/// Takes the next word off the front of `line`; empty at its end.
std::string_view take_word(std::string_view& line) {
  line = trimmed(line);
  const auto word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

using Record = LibsvmRecords::Record;

/// Reads one line into a record, or says what is wrong with it.
class RecordParser {
 public:
  explicit RecordParser(std::uint32_t features) : features_{features} {}

  bool parse(std::string_view line, Record& record) {
    record.indices.clear();
    record.values.clear();
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return fail(" holds no record");
    if (!parse_value(take_word(line), "label", record.label)) return false;
    std::uint64_t before = 0;
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
      const auto colon = word.find(':');
      if (colon == std::string_view::npos) return fail(fmt::format(": {} is not index:value", in_quotes(word)));
      std::uint64_t index = 0;
      if (!parse_index(word.substr(0, colon), index)) return false;
      if (index <= before) return fail(fmt::format(": index {} comes after index {}, must ascend", index, before));
      before = index;
      double value = 0;
      if (!parse_value(word.substr(colon + 1), "value of index " + std::string{word.substr(0, colon)}, value)) return false;
      if (value == 0) continue;
      record.indices.push_back(static_cast<std::uint32_t>(index - 1));
      record.values.push_back(value);
    }
    return true;
  }

  /// What was wrong with the line that was refused, to stand behind its number.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  bool fail(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  bool parse_index(std::string_view word, std::uint64_t& index) {
    const auto* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, index);
    if (error == std::errc::invalid_argument || end != last) return fail(fmt::format(": index {} is not a whole number", in_quotes(word)));
    if (error == std::errc::result_out_of_range || index > features_) {
      return fail(fmt::format(": index {} is larger than the count of features, {}", in_quotes(word), features_));
    }
    return index != 0 || fail(": index is 0, must be at least 1");
  }

  bool parse_value(std::string_view word, std::string_view what, double& value) {
    const auto parsed = parse_number(word);
    value = parsed.value;
    return parsed.fault == NumberFault::none || fail(fmt::format(": {} {} {}", what, in_quotes(word), describe(parsed.fault)));
  }

  std::uint32_t features_;
  std::string fault_;
};

}  // namespace

LibsvmRecords::LibsvmRecords(const std::filesystem::path& path, const FeatureMap& features, const DataPolicy& policy)
    : features_{features},
      count_{count_of_sparse(features)},
      policy_{policy},
      records_{path, RecordEnd::line, policy.limits.record_bytes, policy} {}

bool LibsvmRecords::next(Record& record) {
  if (!records_.next(line_)) return false;
  RecordParser parser{count_};
  is_damaged_ = records_.is_too_long() || !parser.parse(line_, record);
  if (is_damaged_) {
    if (policy_.form == RecordForm::is_public) {
      refuse_record(records_.is_too_long()
                        ? fmt::format(" has more than {} bytes, must have fewer unless --no-limits is given", policy_.limits.record_bytes)
                        : parser.fault());
    }
    record = {};
    return true;
  }
  finish_record(features_, record);
  return true;
}

void LibsvmRecords::refuse_record(const std::string& reason) const {
  throw DamagedRecord{records_.about_file(fmt::format("line {}{}", records_.line(), reason))};
}

Dataset read_libsvm(const std::filesystem::path& path, const FeatureMap& features, const DataLimits& limits) {
  LibsvmRecords records{path, features, {.form = RecordForm::is_public, .limits = limits}};
  std::vector<std::size_t> row_ends;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  std::vector<double> labels;
  for (Record record; records.next(record);) {
    indices.insert(indices.end(), record.indices.begin(), record.indices.end());
    values.insert(values.end(), record.values.begin(), record.values.end());
    row_ends.push_back(values.size());
    labels.push_back(record.label);
  }
  if (row_ends.empty()) throw Error{ErrorCode::bad_data, fmt::format("{}: has no records", path.string())};
  return Dataset::sparse(features.features(), std::move(row_ends), std::move(indices), std::move(values), std::move(labels));
}

}  // namespace surety::data
