// Records as features, in a binary file: what a CSV or LIBSVM file becomes when it is larger than memory, or read often. `surety convert` makes it.
//
// The feature map was applied when the file was written, and the file says what it was. Records lie one after the other, each its features and
// its label, in blocks of as many records; each block has a checksum (XXH3), and what is read is compared with what the file said when it was
// opened. So a file that changes underneath is an error, never other data. Numbers are doubles in the byte order of the machine.
//
// Layout, in words of 8 bytes:
//     magic (2)  order mark  version  features  records a block  bytes of the description, the description, padded
//     blocks of records: features values, then the label; NaN for one of a damaged record, whose values are zeros
//     a checksum for each block
//     records  checksum of the head  checksum of the checksums  checksum of these three  magic (2)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/features/features.h>
#include <surety/data/reading/data_policy.h>

namespace surety::data {

/// The first bytes of every record file, and the last ones.
inline constexpr std::string_view record_file_magic{"surety records\n\0", 16};

/// What a record file says of its records: public.
struct RecordFileDescription {
  FeatureMap features;
  std::optional<LabelRule> label;  ///< of CSV files
};

/// The text of a record file, made in order. What becomes of the bytes is another's business.
class RecordFileText {
 public:
  /// \throws Error{invalid_argument} for a map that is not valid, a name that is not UTF-8, and several classes.
  explicit RecordFileText(const RecordFileDescription& description);

  /// Takes a record. A damaged one has no values. \pre `values` has as many as there are features, or none; all are finite, and so is `label`
  void add(std::span<const double> values, double label, bool is_damaged);
  /// Nothing can be added any more.
  void finish();

  /// What is to be appended to the file, which is then forgotten here. O(block) bytes where it is taken after each record.
  [[nodiscard]] std::string_view text() const noexcept { return {bytes_.data(), bytes_.size()}; }
  void forget_text() noexcept { bytes_.clear(); }

 private:
  void end_block();

  std::size_t features_;
  std::size_t records_in_block_;
  std::uint64_t records_ = 0;
  std::vector<double> block_;
  std::vector<std::uint64_t> checksums_;
  std::uint64_t checksum_of_head_;
  std::vector<char> bytes_;
};

/// A record file that is open. Blocks may be read from several threads.
class RecordFile {
 public:
  /// Reads what the file says of itself. \throws Error{code_of_failed_read} when it cannot be opened or read; Error{bad_data} when it is no record file, is of another version or byte
  /// order, is cut short or longer than it says, or when what it says of itself was changed.
  explicit RecordFile(std::filesystem::path path);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const RecordFileDescription& description() const noexcept { return description_; }
  [[nodiscard]] std::size_t features() const noexcept { return features_; }
  [[nodiscard]] std::size_t size() const noexcept { return records_; }
  /// The records of every block but the last, which may have fewer.
  [[nodiscard]] std::size_t records_in_block() const noexcept { return records_in_block_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return checksums_.size(); }
  /// Of the whole content, by which two openings see that they are of the same.
  [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

  /// The numbers of a block: of each record its features, then its label. \throws Error{bad_data} when the file cannot be read there, or is not
  /// what it was when it was opened. \pre block < blocks()
  void read_block(std::size_t block, std::vector<double>& numbers) const;

 private:
  [[noreturn]] void refuse(std::string_view reason) const;
  [[noreturn]] void refuse_machine(std::string_view failed, int error_number) const;
  /// Fills `bytes` from `offset` on.
  void read_at(std::uint64_t offset, std::span<char> bytes) const;

  std::filesystem::path path_;
  int file_ = -1;
  RecordFileDescription description_;
  std::size_t features_ = 0;
  std::size_t records_in_block_ = 0;
  std::size_t records_ = 0;
  std::uint64_t first_block_ = 0;
  std::vector<std::uint64_t> checksums_;
  std::uint64_t checksum_ = 0;
};

/// The file is one, by its first bytes. False for a path that names nothing, or no regular file. \throws Error{environment} when the machine
/// refuses to open or read it.
[[nodiscard]] bool is_record_file(const std::filesystem::path& path);

/// The records of a record file, one at a time. A record reader as `LibsvmRecords`.
class StoredRecords {
 public:
  StoredRecords(std::shared_ptr<const RecordFile> file, RecordForm form) : file_{std::move(file)}, form_{form} {}

  /// False at the end. A damaged record has an empty row; where the form is public it is a DamagedRecord that is thrown.
  /// \throws Error{bad_data} as `RecordFile::read_block`.
  [[nodiscard]] bool next(std::vector<double>& row, double& label);
  [[nodiscard]] bool is_damaged() const noexcept { return is_damaged_; }
  [[nodiscard]] RecordForm form() const noexcept { return form_; }

  /// \throws DamagedRecord "<file>: record <number><reason>", always.
  [[noreturn]] void refuse_record(const std::string& reason) const;

 private:
  std::shared_ptr<const RecordFile> file_;
  RecordForm form_;
  std::vector<double> block_;
  std::size_t next_ = 0;
  bool is_damaged_ = false;
};

}  // namespace surety::data
