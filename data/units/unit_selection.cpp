#include <surety/data/units/unit_selection.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <queue>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>
#include <surety/data/csv/csv.h>
#include <surety/data/reading/called_off.h>
#include <surety/data/reading/keyed_texts.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {
namespace {

/// An identifier as 128 bits, each with its own: one of up to 15 bytes by these and its length, a longer one by the place of its text, an empty
/// one that is a unit of its own by its row.
class Identifiers {
 public:
  explicit Identifiers(const KeyedHash& hash) : texts_{hash} {}

  [[nodiscard]] Hash of(std::string_view identifier) {
    if (identifier.size() > longest_inside) return numbered(long_text, texts_.place_of(identifier));
    std::array<unsigned char, sizeof(Hash)> bytes{};
    bytes[0] = static_cast<unsigned char>(identifier.size());
    std::memcpy(bytes.data() + 1, identifier.data(), identifier.size());
    Hash result;
    std::memcpy(result.data(), bytes.data(), sizeof(result));
    return result;
  }
  [[nodiscard]] static Hash of_row(std::uint64_t row) { return numbered(empty_row, row); }
  [[nodiscard]] static bool is_row(const Hash& key) { return key[0] == of_row(0)[0]; }

  /// The identifier of what `of` and `of_row` returned.
  [[nodiscard]] std::string text(const Hash& key) const {
    std::array<char, sizeof(Hash)> bytes;
    std::memcpy(bytes.data(), key.data(), sizeof(key));
    const auto kind = static_cast<unsigned char>(bytes[0]);
    if (kind == long_text) return std::string{texts_.text(key[1])};
    if (kind == empty_row) return {};
    return {bytes.data() + 1, kind};
  }

 private:
  static constexpr std::size_t longest_inside = 15;
  static constexpr unsigned char long_text = 0xff;
  static constexpr unsigned char empty_row = 0xfe;

  static Hash numbered(unsigned char kind, std::uint64_t number) {
    std::array<unsigned char, sizeof(Hash)> bytes{};
    bytes[0] = kind;
    std::memcpy(bytes.data() + sizeof(number), &number, sizeof(number));
    Hash result;
    std::memcpy(result.data(), bytes.data(), sizeof(result));
    return result;
  }

  Texts texts_;
};

struct Entry {
  Hash unit;
  Hash content;
  std::uint64_t row;
  friend bool operator<(const Entry& a, const Entry& b) { return std::tie(a.unit, a.content, a.row) < std::tie(b.unit, b.content, b.row); }
};

[[noreturn]] void unlinked_file_failed(const char* what, int error) {
  throw Error{ErrorCode::environment, fmt::format("units: cannot {} an unlinked file in {} ({})", what,
                                                  std::getenv("TMPDIR") != nullptr ? "$TMPDIR" : "/tmp", std::strerror(error))};
}

/// A file of mode 0600 without a name.
class UnlinkedFile {
 public:
  UnlinkedFile() {
    const char* const said = std::getenv("TMPDIR");
    const std::string folder = said != nullptr && *said != '\0' ? said : "/tmp";
    file_ = uninterrupted([&] { return ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR); });
    if (file_ >= 0) return;
    std::string name;  // where the file system knows no files without a name
    file_ = uninterrupted([&] {
      name = folder + "/surety-XXXXXX";
      return mkostemp(name.data(), O_CLOEXEC);
    });
    if (file_ < 0) unlinked_file_failed("make", errno);
    // Before it holds a record.
    if (::unlink(name.c_str()) != 0) {
      const int error_number = errno;
      ::close(file_);
      unlinked_file_failed("remove the name of", error_number);
    }
  }
  UnlinkedFile(const UnlinkedFile&) = delete;
  UnlinkedFile& operator=(const UnlinkedFile&) = delete;
  ~UnlinkedFile() { close(file_); }

  [[nodiscard]] int descriptor() const noexcept { return file_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  void append(std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) unlinked_file_failed("write", errno);
      size_ += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void read(std::uint64_t place, std::span<char> bytes) const {
    while (!bytes.empty()) {
      const ssize_t got = pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(place));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) unlinked_file_failed("read", errno);
      place += static_cast<std::uint64_t>(got);
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// Entries in ascending order, whatever their number: sorted run by run, in memory as far as it goes, and merged.
class SortedEntries {
 public:
  explicit SortedEntries(std::size_t memory)
      : run_entries_{std::clamp<std::size_t>(memory / sizeof(Entry) / 8, 1, std::size_t{1} << 20)},
        runs_in_memory_{std::max<std::size_t>(1, memory / (run_entries_ * sizeof(Entry)))} {}

  void add(const Entry& entry) {
    if (recent_.size() == run_entries_) finish_run();
    recent_.push_back(entry);
  }

  /// Calls see(entry) for all of them.
  template <class See>
  void in_order(const See& see) {
    finish_run();
    std::vector<Cursor> cursors(runs_.size());
    const auto is_later = [&](std::size_t a, std::size_t b) { return cursors[b].first() < cursors[a].first(); };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_later)> next{is_later};
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      cursors[k].run = &runs_[k];
      if (refill(cursors[k])) next.push(k);
    }
    while (!next.empty()) {
      const std::size_t k = next.top();
      next.pop();
      see(cursors[k].first());
      ++cursors[k].place;
      if (cursors[k].place < cursors[k].entries.size() || refill(cursors[k])) next.push(k);
    }
  }

 private:
  struct Run {
    std::vector<Entry> entries;     ///< in memory, or
    std::uint64_t place = 0;        ///< in the file
    std::uint64_t in_the_file = 0;  ///< how many entries
  };
  struct Cursor {
    Run* run = nullptr;
    std::vector<Entry> entries = {};
    std::size_t place = 0;
    std::uint64_t read = 0;
    [[nodiscard]] const Entry& first() const { return entries[place]; }
  };

  void finish_run() {
    if (recent_.empty()) return;
    std::sort(recent_.begin(), recent_.end());
    if (runs_.size() + 1 < runs_in_memory_) {
      recent_.shrink_to_fit();
      runs_.push_back({.entries = std::exchange(recent_, {})});
      return;
    }
    if (!file_) file_ = std::make_unique<UnlinkedFile>();
    runs_.push_back({.entries = {}, .place = file_->size(), .in_the_file = recent_.size()});
    file_->append({reinterpret_cast<const char*>(recent_.data()), recent_.size() * sizeof(Entry)});
    recent_.clear();
  }

  bool refill(Cursor& cursor) {
    constexpr std::uint64_t at_once = 2048;
    cursor.place = 0;
    auto& run = *cursor.run;
    if (!run.entries.empty()) {
      cursor.entries = std::exchange(run.entries, {});
      return true;
    }
    cursor.entries.resize(static_cast<std::size_t>(std::min(at_once, run.in_the_file - cursor.read)));
    if (cursor.entries.empty()) return false;
    file_->read(run.place + cursor.read * sizeof(Entry),
                {reinterpret_cast<char*>(cursor.entries.data()), cursor.entries.size() * sizeof(Entry)});
    cursor.read += cursor.entries.size();
    return true;
  }

  std::size_t run_entries_;
  std::size_t runs_in_memory_;
  std::vector<Entry> recent_;
  std::vector<Run> runs_;
  std::unique_ptr<UnlinkedFile> file_;
};

/// A row of the unit at hand, with its priority.
struct Candidate {
  Hash priority;
  std::uint64_t row;
  friend bool operator<(const Candidate& a, const Candidate& b) { return std::tie(a.priority, a.row) < std::tie(b.priority, b.row); }
};

/// The K rows of least priority of each unit, unit by unit.
template <class SeeUnit>
void keep_least(SortedEntries& entries, const KeyedHash& hash, std::uint64_t most, const SeeUnit& see_unit) {
  std::optional<Entry> last;
  std::uint64_t rank = 0;
  std::vector<Candidate> kept;  // a heap, the largest in front
  entries.in_order([&](const Entry& entry) {
    require_not_called_off();
    const bool is_same_unit = last && last->unit == entry.unit;
    if (last && !is_same_unit) {
      see_unit(last->unit, kept);
      kept.clear();
    }
    rank = is_same_unit && last->content == entry.content ? rank + 1 : 0;
    last = entry;
    std::array<unsigned char, sizeof(Hash) + sizeof(rank)> ranked;
    std::memcpy(ranked.data(), entry.content.data(), sizeof(Hash));
    std::memcpy(ranked.data() + sizeof(Hash), &rank, sizeof(rank));
    const Candidate candidate{hash(std::span<const unsigned char>{ranked}), entry.row};
    if (kept.size() == most) {
      if (!(candidate < kept.front())) return;
      std::pop_heap(kept.begin(), kept.end());
      kept.pop_back();
    }
    kept.push_back(candidate);
    std::push_heap(kept.begin(), kept.end());
  });
  if (last) see_unit(last->unit, kept);
}

}  // namespace

std::vector<std::string> UnitRule::columns() const {
  std::vector<std::string> all{column};
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

void combine(std::span<const std::string_view> texts, std::string& identifier) {
  identifier.clear();
  if (std::any_of(texts.begin(), texts.end(), [](std::string_view text) { return text.empty(); })) return;
  for (const auto text : texts) {
    fmt::format_to(std::back_inserter(identifier), "{}:", text.size());
    identifier += text;
  }
}

std::string_view first_of_combination(std::string_view identifier) {
  if (identifier.empty()) return {};
  const auto colon = identifier.find(':');
  std::size_t length = 0;
  std::from_chars(identifier.data(), identifier.data() + colon, length);
  return identifier.substr(colon + 1, length);
}

KeptRows select_rows(const std::filesystem::path& path, const UnitRule& rule, const DataPolicy& policy, const UnitKey& key,
                     const UnitSelectionOptions& options) {
  const KeyedHash hash{key};
  Identifiers identifiers{hash};
  SortedEntries entries{options.memory};
  KeptRows found;
  const bool is_combined = !rule.beside.empty();
  {
    CsvReader reader{path, policy};
    const auto columns = rule.columns();
    std::vector<std::size_t> positions;
    for (const auto& column : columns) positions.push_back(reader.position(column));
    std::vector<std::string> cells;
    std::vector<std::string_view> texts(columns.size());
    std::string combined;
    std::uint64_t row = 0;
    for (; reader.next(cells); ++row) {
      for (std::size_t k = 0; k < positions.size(); ++k) {
        texts[k] = reader.text(cells, positions[k]);
        if (texts[k].empty() && policy.form == RecordForm::is_public) {
          reader.refuse_record(fmt::format(", column {}: the cell is empty, must name a unit", in_quotes(columns[k])));
        }
      }
      if (is_combined) combine(texts, combined);
      const std::string_view identifier = is_combined ? std::string_view{combined} : texts.front();
      const bool is_alone = identifier.empty() && rule.empty == EmptyUnit::each;
      entries.add({is_alone ? Identifiers::of_row(row) : identifiers.of(identifier), hash(reader.record()), row});
    }
    found.is_kept.resize(static_cast<std::size_t>(row));
  }
  UnitKey public_key{};
  std::memcpy(public_key.data(), &options.public_seed, sizeof(options.public_seed));
  const KeyedHash public_hash{public_key};
  std::optional<OwnerBucketFinder> bucket_of;
  if (options.finds_buckets) bucket_of.emplace();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> listed;
  keep_least(entries, hash, rule.most.value(), [&](const Hash& unit, const std::vector<Candidate>& kept) {
    for (const auto& candidate : kept) {
      found.is_kept[static_cast<std::size_t>(candidate.row)] = true;
      if (options.lists_units) listed.emplace_back(candidate.row, found.units);
    }
    found.kept += kept.size();
    ++found.units;
    if (options.lists_units) found.words.push_back(public_hash(identifiers.text(unit))[0]);
    if (!bucket_of || Identifiers::is_row(unit)) return;
    const auto text = identifiers.text(unit);
    found.buckets.set((*bucket_of)(is_combined ? first_of_combination(text) : text));
  });
  std::sort(listed.begin(), listed.end());
  found.unit_of.reserve(listed.size());
  for (const auto& [row, unit] : listed) found.unit_of.push_back(unit);
  return found;
}

UnitSplit split_units(const Dataset& data, const KeptRows& found, double held_out_fraction) {
  if (!(held_out_fraction >= 0 && held_out_fraction < 1)) {
    invalid(fmt::format("held-out fraction is {}, must be at least 0 and less than 1", held_out_fraction));
  }
  if (found.unit_of.size() != data.size()) throw Error{ErrorCode::internal, "units of other rows than those kept"};
  const auto threshold = static_cast<std::uint64_t>(std::ldexp(held_out_fraction, 64));
  std::vector<std::size_t> training;
  std::vector<std::size_t> held_out;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const bool is_held_out = found.words[static_cast<std::size_t>(found.unit_of[i])] < threshold;
    (is_held_out ? held_out : training).push_back(i);
  }
  const auto put_together = [&](std::vector<std::size_t>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return found.unit_of[a] < found.unit_of[b]; });
    std::vector<std::size_t> ends;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (k + 1 == rows.size() || found.unit_of[rows[k]] != found.unit_of[rows[k + 1]]) ends.push_back(k + 1);
    }
    return ends;
  };
  auto ends = put_together(training);
  auto held_out_ends = put_together(held_out);
  return {.parts = {.training = data.subset(training), .held_out = data.subset(held_out)},
          .unit_ends = std::move(ends),
          .held_out_ends = std::move(held_out_ends)};
}

FileReadTwice::FileReadTwice(std::filesystem::path path) : path_{std::move(path)}, is_standard_input_{path_ == TextReader::standard_input} {
  struct stat status {};
  const int failed = is_standard_input_ ? fstat(STDIN_FILENO, &status) : stat(path_.c_str(), &status);
  if (failed == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    if (!is_standard_input_) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("{}: is no file, must be one to be read twice, or come by standard input (-)", one_line(path_.string()))};
    }
    UnlinkedFile copy;
    std::vector<char> bytes(std::size_t{1} << 16);
    for (;;) {
      const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error{code_of_failed_read(errno), fmt::format("standard input: cannot be read ({})", std::strerror(errno))};
      if (got == 0) break;
      copy.append({bytes.data(), static_cast<std::size_t>(got)});
    }
    if (dup2(copy.descriptor(), STDIN_FILENO) < 0 || lseek(STDIN_FILENO, 0, SEEK_SET) < 0) unlinked_file_failed("read", errno);
  }
  if (is_standard_input_) start_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
  found_ = state();
}

FileReadTwice::State FileReadTwice::state() const {
  struct stat status {};
  if ((is_standard_input_ ? fstat(STDIN_FILENO, &status) : stat(path_.c_str(), &status)) != 0) {
    const int error_number = errno;
    if (code_of_failed_read(error_number) == ErrorCode::environment) {
      throw Error{ErrorCode::environment, fmt::format("{}: cannot be read ({})", one_line(path_.string()), std::strerror(error_number))};
    }
    // What is not there cannot be opened either, and the reader says why.
    return {};
  }
  return {.device = status.st_dev,
          .file = status.st_ino,
          .size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

void FileReadTwice::rewind() const {
  if (is_standard_input_ && lseek(STDIN_FILENO, start_, SEEK_SET) < 0) unlinked_file_failed("read", errno);
}

void FileReadTwice::require_unchanged() const {
  if (state() == found_) return;
  throw Error{ErrorCode::bad_data, fmt::format("{}: changed while it was read, must stand still",
                                               is_standard_input_ ? std::string{"standard input"} : one_line(path_.string()))};
}

}  // namespace surety::data
