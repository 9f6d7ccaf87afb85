#include <surety/optimizers/libsvm.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/error.h>
#include <surety/optimizers/text_reader.h>

namespace surety::optimizers {

namespace {

/// Reads one line without its end and comment; false at the end of the file.
bool read_line(TextReader& text, std::string& line) {
  constexpr std::size_t longest = std::size_t{1} << 28;
  line.clear();
  if (text.peek() == TextReader::end) return false;
  bool comment = false;
  for (int byte = text.get(); byte != '\n' && byte != TextReader::end; byte = text.get()) {
    comment = comment || byte == '#';
    if (comment) continue;
    if (line.size() == longest) text.refuse(fmt::format("line {} has more than {} bytes", text.line(), longest));
    line.push_back(static_cast<char>(byte));
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

/// Takes the next word off the front of `line`; empty at its end.
std::string_view take_word(std::string_view& line) {
  line = trimmed(line);
  const auto word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

using Record = LibsvmRecords::Record;

/// \throws Error{invalid_argument} when the features are named columns.
std::uint32_t count_of(const FeatureMap& features) {
  features.validate();
  const auto* const sparse = std::get_if<SparseFeatures>(&features.inputs);
  if (sparse == nullptr)
    throw Error{ErrorCode::invalid_argument, "the features are named columns, so they cannot be read from LIBSVM text"};
  return sparse->count;
}

class RecordParser {
 public:
  RecordParser(const TextReader& text, std::uint32_t features) : text_{text}, features_{features} {}

  void parse(std::string_view line, std::size_t number, Record& record) {
    line_ = number;
    record.indices.clear();
    record.values.clear();
    record.label = parse_value(take_word(line), "label");
    std::uint64_t before = 0;
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
      const auto colon = word.find(':');
      if (colon == std::string_view::npos) refuse(fmt::format("{} is not index:value", in_quotes(word)));
      const std::uint64_t index = parse_index(word.substr(0, colon));
      if (index <= before) refuse(fmt::format("index {} comes after index {}, must ascend", index, before));
      before = index;
      const double value = parse_value(word.substr(colon + 1), fmt::format("value of index {}", index));
      if (value == 0) continue;
      record.indices.push_back(static_cast<std::uint32_t>(index - 1));
      record.values.push_back(value);
    }
  }

 private:
  std::uint64_t parse_index(std::string_view word) const {
    std::uint64_t index = 0;
    const auto* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, index);
    if (error == std::errc::invalid_argument || end != last) refuse(fmt::format("index {} is not a whole number", in_quotes(word)));
    if (error == std::errc::result_out_of_range || index > features_) {
      refuse(fmt::format("index {} is larger than the count of features, {}", in_quotes(word), features_));
    }
    if (index == 0) refuse("index is 0, must be at least 1");
    return index;
  }

  double parse_value(std::string_view word, std::string_view what) const {
    const auto [value, fault] = parse_number(word);
    if (fault != NumberFault::none) refuse(fmt::format("{} {} {}", what, in_quotes(word), describe(fault)));
    return value;
  }

  [[noreturn]] void refuse(const std::string& reason) const { text_.refuse(fmt::format("line {}: {}", line_, reason)); }

  const TextReader& text_;
  std::uint32_t features_;
  std::size_t line_ = 0;
};

}  // namespace

LibsvmRecords::LibsvmRecords(const std::filesystem::path& path, const FeatureMap& features, Lines lines)
    : features_{features}, count_{count_of(features)}, lines_{lines}, text_{path} {}

bool LibsvmRecords::next(Record& record) {
  if (!at_line_start_) text_.skip_line();
  std::size_t number = 0;
  do {
    number = text_.line();
    at_line_start_ = false;
    if (!read_line(text_, line_)) return false;
    at_line_start_ = true;
  } while (lines_ == Lines::free && trimmed(line_).empty());
  RecordParser{text_, count_}.parse(line_, number, record);
  if (features_.intercept) {
    record.indices.push_back(count_);
    record.values.push_back(1);
  }
  if (features_.unit_norm) scale_to_unit_norm(record.values);
  return true;
}

Dataset read_libsvm(const std::filesystem::path& path, const FeatureMap& features) {
  LibsvmRecords records{path, features};
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
  if (row_ends.empty()) records.refuse("has no records");
  return Dataset::sparse(features.features(), std::move(row_ends), std::move(indices), std::move(values), std::move(labels));
}

}  // namespace surety::optimizers
