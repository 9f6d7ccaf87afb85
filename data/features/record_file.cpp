#include <surety/data/features/record_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <xxhash.h>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {
namespace {

constexpr std::string_view magic = record_file_magic;
constexpr std::uint64_t order_mark = 0x0102030405060708;
constexpr std::uint64_t known_version = 1;
constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t head_words = 7;
constexpr std::size_t tail_words = 6;
constexpr std::size_t usual_block_bytes = std::size_t{1} << 16;
constexpr std::size_t most_description_bytes = std::size_t{1} << 27;
constexpr std::uint64_t most_features = std::uint64_t{1} << 27;  // so that no product overflows

std::uint64_t checksum_of(const void* bytes, std::size_t size, std::uint64_t seed) { return XXH3_64bits_withSeed(bytes, size, seed); }

template <class Number>
std::uint64_t checksum_of(const std::vector<Number>& numbers, std::uint64_t seed) {
  return checksum_of(numbers.data(), numbers.size() * sizeof(Number), seed);
}

void append(std::vector<char>& bytes, std::uint64_t number) {
  std::array<char, word> text;
  std::memcpy(text.data(), &number, word);
  bytes.insert(bytes.end(), text.begin(), text.end());
}

std::uint64_t word_at(std::span<const char> bytes, std::size_t index) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + index * word, word);
  return number;
}

nlohmann::json to_json(const RecordFileDescription& description) {
  return {{"unit", "one record"},
          {"features", to_json(description.features)},
          {"label", description.label ? nlohmann::json(describe(*description.label)) : nlohmann::json{}}};
}

RecordFileDescription description_of(const nlohmann::json& json) {
  RecordFileDescription description{.features = feature_map_from_json(json.at("features")), .label = std::nullopt};
  if (!json.at("label").is_null()) description.label = parse_label_rule(accounting::text_of(json.at("label"), "label"));
  return description;
}

std::size_t padded(std::size_t bytes) { return (bytes + word - 1) / word * word; }

std::size_t records_in_block_of(std::size_t features) {
  return std::max<std::size_t>(1, usual_block_bytes / ((features + 1) * sizeof(double)));
}

}  // namespace

RecordFileText::RecordFileText(const RecordFileDescription& description)
    : features_{description.features.features()}, records_in_block_{records_in_block_of(features_)} {
  description.features.validate();
  if (description.label && !description.label->classes.empty()) {
    invalid("the label is one of several classes, must be a number or a comparison in a record file");
  }
  const auto text = accounting::translating_json_errors(
      "record file", [&] { return to_json(description).dump(); },
      "a name of the features or of the label is not UTF-8, must be for a record file");
  bytes_.assign(magic.begin(), magic.end());
  for (const std::uint64_t number :
       {order_mark, known_version, std::uint64_t{features_}, std::uint64_t{records_in_block_}, std::uint64_t{text.size()}}) {
    append(bytes_, number);
  }
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.resize(padded(bytes_.size()), ' ');
  checksum_of_head_ = checksum_of(bytes_, 0);
}

void RecordFileText::add(std::span<const double> values, double label, bool is_damaged) {
  block_.insert(block_.end(), values.begin(), values.end());
  if (values.empty()) block_.resize(block_.size() + features_);
  block_.push_back(is_damaged ? std::numeric_limits<double>::quiet_NaN() : label);
  ++records_;
  if (block_.size() == records_in_block_ * (features_ + 1)) end_block();
}

void RecordFileText::end_block() {
  if (block_.empty()) return;
  checksums_.push_back(checksum_of(block_, checksums_.size()));
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + block_.size() * sizeof(double));
  std::memcpy(bytes_.data() + begin, block_.data(), block_.size() * sizeof(double));
  block_.clear();
}

void RecordFileText::finish() {
  end_block();
  for (const std::uint64_t checksum : checksums_) append(bytes_, checksum);
  const std::vector<std::uint64_t> tail{records_, checksum_of_head_, checksum_of(checksums_, 0)};
  for (const std::uint64_t number : tail) append(bytes_, number);
  append(bytes_, checksum_of(tail, 0));
  bytes_.insert(bytes_.end(), magic.begin(), magic.end());
}

RecordFile::RecordFile(std::filesystem::path path) : path_{std::move(path)} {
  // A pipe must not wait for a writer.
  file_ = uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (file_ < 0) refuse_machine("cannot be opened", errno);
  try {
    struct stat status {};
    if (::fstat(file_, &status) != 0) refuse_machine("cannot be read", errno);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || size < (head_words + tail_words) * word) refuse("is no record file: 'surety convert' makes them");

    std::vector<char> head(head_words * word);
    read_at(0, head);
    if (std::string_view{head.data(), magic.size()} != magic) refuse("is no record file: 'surety convert' makes them");
    const std::uint64_t mark = word_at(head, 2);
    if (mark == __builtin_bswap64(order_mark)) refuse("was written in the other byte order, must be converted on such a machine as this");
    if (mark != order_mark) refuse("is damaged at its beginning");
    if (const auto version = word_at(head, 3); version != known_version) {
      refuse(fmt::format("is a record file of version {}, this program knows {}", version, known_version));
    }
    const std::uint64_t description_bytes = word_at(head, 6);
    if (description_bytes > std::min<std::uint64_t>(most_description_bytes, size - head.size())) refuse("is damaged at its beginning");
    head.resize(padded(head.size() + description_bytes));
    if (head.size() + tail_words * word > size) refuse("is cut short");
    read_at(0, head);

    std::vector<char> tail(tail_words * word);
    read_at(size - tail.size(), tail);
    if (std::string_view{tail.data() + 4 * word, magic.size()} != magic) refuse("is cut short, or goes on behind its end");
    if (checksum_of(tail.data(), 3 * word, 0) != word_at(tail, 3) || checksum_of(head, 0) != word_at(tail, 1)) {
      refuse("is damaged in what it says of itself");
    }
    const std::uint64_t records = word_at(tail, 0);
    features_ = word_at(head, 4);
    records_in_block_ = word_at(head, 5);
    first_block_ = head.size();
    // What has a right checksum may still be hostile: no product here overflows.
    if (features_ == 0 || features_ > most_features || records_in_block_ != records_in_block_of(features_) ||
        records > size / ((features_ + 1) * sizeof(double))) {
      refuse("is damaged in what it says of itself");
    }
    records_ = records;
    const std::uint64_t blocks = (records + records_in_block_ - 1) / records_in_block_;
    const std::uint64_t end_of_blocks = first_block_ + records * (features_ + 1) * sizeof(double);
    if (end_of_blocks + blocks * word + tail.size() != size) refuse("is cut short, or goes on behind its end");
    checksums_.resize(blocks);
    read_at(end_of_blocks, {reinterpret_cast<char*>(checksums_.data()), blocks * word});
    checksum_ = word_at(tail, 3);
    if (checksum_of(checksums_, 0) != word_at(tail, 2)) refuse("is damaged in its checksums");
    try {
      constexpr int deepest = 8;
      const std::string_view text{head.data() + head_words * word, description_bytes};
      description_ = accounting::translating_json_errors(
          "description", [&] { return description_of(accounting::parse_strict_json(text, deepest, "description")); });
    } catch (const Error&) {
      refuse("is damaged in what it says of itself");
    }
    if (description_.features.features() != features_) refuse("is damaged in what it says of itself");
  } catch (...) {
    ::close(std::exchange(file_, -1));
    throw;
  }
}

RecordFile::~RecordFile() {
  if (file_ >= 0) ::close(file_);
}

void RecordFile::refuse(std::string_view reason) const {
  throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(path_.string()), reason)};
}

void RecordFile::refuse_machine(std::string_view failed, int error_number) const {
  throw Error{code_of_failed_read(error_number), fmt::format("{}: {}: {}", one_line(path_.string()), failed, std::strerror(error_number))};
}

void RecordFile::read_at(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_machine("cannot be read", errno);
    if (got == 0) refuse("became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void RecordFile::read_block(std::size_t block, std::vector<double>& numbers) const {
  const std::size_t first = block * records_in_block_;
  const std::size_t record = features_ + 1;
  numbers.resize(std::min(records_in_block_, records_ - first) * record);
  read_at(first_block_ + first * record * sizeof(double), {reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(double)});
  if (checksum_of(numbers, block) != checksums_[block]) refuse("is damaged, or was changed while it was read");
}

bool is_record_file(const std::filesystem::path& path) {
  const int file = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  const auto refuse_machine = [&](int error_number) {
    throw Error{ErrorCode::environment, fmt::format("{}: cannot be read: {}", one_line(path.string()), std::strerror(error_number))};
  };
  if (file < 0) {
    if (code_of_failed_read(errno) == ErrorCode::environment) refuse_machine(errno);
    return false;
  }
  struct stat status {};
  std::array<char, magic.size()> bytes{};
  ssize_t got = ::fstat(file, &status);
  if (got == 0 && S_ISREG(status.st_mode)) got = uninterrupted([&] { return ::pread(file, bytes.data(), bytes.size(), 0); });
  const int error_number = errno;
  ::close(file);
  if (got < 0) refuse_machine(error_number);
  return got == static_cast<ssize_t>(bytes.size()) && std::string_view{bytes.data(), bytes.size()} == magic;
}

bool StoredRecords::next(std::vector<double>& row, double& label) {
  if (next_ == file_->size()) return false;
  const std::size_t place = next_ % file_->records_in_block();
  if (place == 0) file_->read_block(next_ / file_->records_in_block(), block_);
  ++next_;
  const std::size_t d = file_->features();
  const auto record = std::span{block_}.subspan(place * (d + 1), d + 1);
  is_damaged_ = !std::all_of(record.begin(), record.end(), [](double value) { return std::isfinite(value); });
  if (is_damaged_ && form_ == RecordForm::is_public) refuse_record(": was damaged when the file was converted");
  label = is_damaged_ ? 0 : record[d];
  row.clear();
  if (!is_damaged_) row.assign(record.begin(), record.end() - 1);
  return true;
}

void StoredRecords::refuse_record(const std::string& reason) const {
  throw DamagedRecord{fmt::format("{}: record {}{}", one_line(file_->path().string()), next_, reason)};
}

}  // namespace surety::data
