#include <surety/data/arrow/arrow_units.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>
#include <surety/data/reading/keyed_texts.h>

namespace surety::data {
namespace {

constexpr std::size_t parts_of_owners = 256;
/// Rows that are hashed at once.
constexpr std::size_t block_rows = 256;

/// A row and its owner, as a number of its own, with the first word of the hash of its encoding: mostly no more is needed, and the row is not read again.
struct OwnedRow {
  std::uint64_t owner;
  std::uint64_t hash;
  std::uint64_t row;
};

/// Rows in blocks, of which the last one alone is not full.
class RowList {
 public:
  void add(const OwnedRow& row) {
    if (next_ == end_) {
      blocks_.push_back(std::make_unique_for_overwrite<OwnedRow[]>(rows_of_block));
      next_ = blocks_.back().get();
      end_ = next_ + rows_of_block;
    }
    *next_++ = row;
  }
  [[nodiscard]] std::size_t size() const noexcept { return blocks_.size() * rows_of_block - static_cast<std::size_t>(end_ - next_); }
  /// Calls see(row) for each, in the order in which they came.
  template <class See>
  void each(const See& see) const {
    for (const auto& block : blocks_) {
      OwnedRow* const end = block == blocks_.back() ? next_ : block.get() + rows_of_block;
      for (OwnedRow* row = block.get(); row != end; ++row) see(*row);
    }
  }

 private:
  static constexpr std::size_t rows_of_block = 1024;
  std::vector<std::unique_ptr<OwnedRow[]>> blocks_;
  OwnedRow* next_ = nullptr;
  OwnedRow* end_ = nullptr;
};

/// The cells of some columns in all batches, by row.
class HeldColumns {
 public:
  HeldColumns(std::span<const ArrowBatch> batches, std::span<const std::size_t> positions) {
    for (const auto& batch : batches) {
      auto& cells = cells_.emplace_back();
      for (const auto position : positions) cells.push_back(batch.cells(position));
      starts_.push_back(starts_.back() + batch.rows());
    }
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return starts_.back(); }
  [[nodiscard]] std::size_t batches() const noexcept { return cells_.size(); }
  [[nodiscard]] std::uint64_t start(std::size_t batch) const noexcept { return starts_[batch]; }
  [[nodiscard]] const std::vector<ArrowCells>& cells(std::size_t batch) const noexcept { return cells_[batch]; }

  /// The batch of a row, sought from that of another on. \pre row < rows(), and not before that batch
  [[nodiscard]] std::size_t batch_of(std::uint64_t row, std::size_t from = 0) const noexcept {
    if (row < starts_[from + 1]) return from;
    return static_cast<std::size_t>(std::upper_bound(starts_.begin() + static_cast<std::ptrdiff_t>(from), starts_.end(), row) -
                                    starts_.begin()) -
           1;
  }

 private:
  std::vector<std::vector<ArrowCells>> cells_;
  std::vector<std::uint64_t> starts_{0};
};

/// Owners as numbers, which depend on their texts alone: an even one of an integer's digits, an odd one of the place of another text.
class Owners {
 public:
  explicit Owners(const KeyedHash& hash) : texts_{hash} {}

  /// False for a row without an identifier.
  bool number_of(const std::vector<ArrowCells>& columns, std::size_t row, std::uint64_t& number) {
    if (columns.size() == 1) return number_of(columns.front(), row, number);
    if (!combine_texts(columns, row)) return false;
    number = 2 * texts_.place_of(combined_) + 1;
    return true;
  }
  /// The identifier of a combination, until the next call; empty where there is none.
  std::string_view combined(const std::vector<ArrowCells>& columns, std::size_t row) {
    return combine_texts(columns, row) ? std::string_view{combined_} : std::string_view{};
  }
  bool number_of(const ArrowCells& cells, std::size_t row, std::uint64_t& number) {
    if (cells.is_null(row)) return false;
    if (const auto whole = cells.integer(row); whole && number_of(*whole, number)) return true;
    const auto text = cells.text(row, buffer_);
    if (text.empty()) return false;
    number = 2 * texts_.place_of(text) + 1;
    return true;
  }
  /// False, and sets nothing, for one that is too large, which counts as a text.
  static bool number_of(std::int64_t whole, std::uint64_t& number) noexcept {
    constexpr auto most = std::int64_t{1} << 62;
    if (!(whole >= -most && whole < most)) return false;
    number = 2 * static_cast<std::uint64_t>(whole);
    return true;
  }

 private:
  bool combine_texts(const std::vector<ArrowCells>& columns, std::size_t row) {
    if (buffers_.size() < columns.size()) {
      buffers_.resize(columns.size());
      parts_.resize(columns.size());
    }
    for (std::size_t k = 0; k < columns.size(); ++k) {
      if (columns[k].is_null(row)) return false;
      buffers_[k].clear();
      parts_[k] = columns[k].text(row, buffers_[k]);
    }
    combine(parts_, combined_);
    return !combined_.empty();
  }

  Texts texts_;
  std::string buffer_;
  std::vector<std::string> buffers_;  ///< of the texts of a combination
  std::vector<std::string_view> parts_;
  std::string combined_;
};

std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ word >> 31) * 0x7fb5d329728ea185;
  word = (word ^ word >> 27) * 0x81dadef4bc2dd44d;
  return word ^ word >> 33;
}

struct Unit {
  std::uint64_t rows = 0;
  std::uint64_t first_row = 0;
  std::uint64_t end = 0;          ///< of those of its rows that were put among the rows of its part, unit by unit
  bool has_equal_hashes = false;  ///< and more than K rows: then the same of such units alone
};

/// The units of one part, found by their owners.
class UnitTable {
 public:
  explicit UnitTable(std::uint64_t salt) : salt_{salt}, slots_(1024) {}

  std::size_t place_of(std::uint64_t owner, std::uint64_t row) {
    if ((units_.size() + 1) * 2 > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mixed(owner ^ salt_) & mask;
    for (; slots_[slot].place != 0; slot = (slot + 1) & mask) {
      if (slots_[slot].owner == owner) return slots_[slot].place - 1;
    }
    units_.push_back({.first_row = row});
    slots_[slot] = {owner, units_.size()};
    return units_.size() - 1;
  }
  [[nodiscard]] std::vector<Unit>& units() noexcept { return units_; }

 private:
  struct Slot {
    std::uint64_t owner = 0;
    std::size_t place = 0;  ///< 1 more than that of its unit, or 0
  };

  void grow() {
    const auto old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    const std::size_t mask = slots_.size() - 1;
    for (const auto& one : old) {
      if (one.place == 0) continue;
      std::size_t slot = mixed(one.owner ^ salt_) & mask;
      while (slots_[slot].place != 0) slot = (slot + 1) & mask;
      slots_[slot] = one;
    }
  }

  std::uint64_t salt_;
  std::vector<Slot> slots_;
  std::vector<Unit> units_;
};

/// A row of a unit with the first word of its hash.
struct HashedRow {
  std::uint64_t hash;
  std::uint64_t row;
};

/// Puts rows in the order of their hashes where the first 31 bits of these differ; otherwise leaves them as they are and gives false. A branch that goes
/// either way at random costs more than many subtractions, so places are counted, of all pairs, by the sign of a difference. \pre rows.size() <= few
template <std::size_t few>
bool put_few_in_order(std::span<HashedRow> rows) {
  std::array<HashedRow, few> given;
  std::array<std::int32_t, few> firsts;
  firsts.fill(std::numeric_limits<std::int32_t>::max());  // before none
  for (std::size_t k = 0; k < rows.size(); ++k) {
    given[k] = rows[k];
    firsts[k] = static_cast<std::int32_t>(rows[k].hash >> 33);
  }
  std::array<std::int32_t, few> places;
  std::size_t pairs = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::int32_t before = 0;
    for (const auto first : firsts) before -= (first - firsts[k]) >> 31;
    places[k] = before;
    pairs += static_cast<std::size_t>(before);
  }
  // Of two that are equal neither is before the other.
  if (pairs != rows.size() * (rows.size() - 1) / 2) return false;
  for (std::size_t k = 0; k < rows.size(); ++k) rows[static_cast<std::size_t>(places[k])] = given[k];
  return true;
}

/// Puts rows in the order of their hashes; false where two have the same.
bool put_in_order(std::span<HashedRow> rows) {
  constexpr std::size_t few = 16;
  if (rows.size() <= few && put_few_in_order<few>(rows)) return true;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.hash < b.hash; });
  return std::adjacent_find(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.hash == b.hash; }) == rows.end();
}

/// A row of a unit of more than K, with its priority.
struct RankedRow {
  Hash priority;
  std::uint64_t row;
  friend bool operator<(const RankedRow& a, const RankedRow& b) {
    if (a.priority[0] != b.priority[0]) return a.priority[0] < b.priority[0];
    return std::tie(a.priority[1], a.row) < std::tie(b.priority[1], b.row);
  }
};

/// Brings the K rows of least priority to the front. Those of `rows` come with the hashes of their encodings.
void bring_least_to_front(std::span<RankedRow> rows, std::size_t most, const KeyedHash& hash) {
  std::sort(rows.begin(), rows.end());
  bool has_equal_ones = false;
  for (std::size_t k = 1; k < rows.size() && !has_equal_ones; ++k) has_equal_ones = rows[k].priority == rows[k - 1].priority;
  if (!has_equal_ones) return;
  Hash equal{};
  std::uint64_t rank = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rank = k > 0 && rows[k].priority == equal ? rank + 1 : 0;
    equal = rows[k].priority;
    if (rank == 0) continue;
    std::array<unsigned char, sizeof(Hash) + sizeof(rank)> ranked;
    std::memcpy(ranked.data(), equal.data(), sizeof(Hash));
    for (std::size_t byte = 0; byte < sizeof(rank); ++byte) ranked[sizeof(Hash) + byte] = static_cast<unsigned char>(rank >> 8 * byte);
    rows[k].priority = hash(std::span<const unsigned char>{ranked});
  }
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end());
}

/// The rows that are kept of the owners that were seen.
class Selection {
 public:
  Selection(std::span<const ArrowBatch> batches, std::span<const std::size_t> owners, std::span<const std::size_t> content,
            const ArrowUnits& units)
      : hash_{units.key},
        rule_{units.rule},
        options_{units.options},
        owners_of_rows_{batches, owners},
        content_{batches, content},
        owners_{hash_},
        public_hash_{public_key(units.options.public_seed)} {
    if (options_.finds_buckets) bucket_of_.emplace();
    std::memcpy(&salt_, units.key.data(), sizeof(salt_));
    found_.is_kept.resize(static_cast<std::size_t>(owners_of_rows_.rows()));
  }

  KeptRows all(RecordForm form) {
    const auto entries = std::max<std::uint64_t>(1, options_.memory / sizeof(OwnedRow));
    const auto rounds =
        static_cast<std::size_t>(std::clamp<std::uint64_t>((owners_of_rows_.rows() + entries - 1) / entries, 1, parts_of_owners));
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t first = parts_of_owners * round / rounds;
      const std::size_t last = parts_of_owners * (round + 1) / rounds;
      for (const auto& part : scattered(first, last, round == 0, form)) choose(part);
    }
    choose_nameless();
    mark_kept();
    std::sort(listed_.begin(), listed_.end());
    found_.unit_of.reserve(listed_.size());
    for (const auto& [row, unit] : listed_) found_.unit_of.push_back(unit);
    return std::move(found_);
  }

 private:
  static UnitKey public_key(std::uint64_t seed) {
    UnitKey key{};
    std::memcpy(key.data(), &seed, sizeof(seed));
    return key;
  }

  /// The rows whose owners are in the parts from `first` to before `last`, part by part.
  std::vector<RowList> scattered(std::size_t first, std::size_t last, bool is_first_round, RecordForm form) {
    std::vector<RowList> parts(last - first);
    std::array<std::int64_t, block_rows> integers;
    std::array<std::uint64_t, block_rows> owners;
    std::array<std::size_t, block_rows> rows;
    for (std::size_t batch = 0; batch < owners_of_rows_.batches(); ++batch) {
      const auto& columns = owners_of_rows_.cells(batch);
      const auto& cells = columns.front();
      const std::uint64_t start = owners_of_rows_.start(batch);
      for (std::size_t begin = 0; begin < cells.size(); begin += block_rows) {
        require_not_called_off_now();
        const std::size_t end = std::min(cells.size(), begin + block_rows);
        std::size_t count = 0;
        const auto see = [&](std::uint64_t owner, std::size_t row) {
          owners[count] = owner;
          rows[count] = row;
          const std::size_t part = part_of(owner);
          count += part >= first && part < last ? 1 : 0;
        };
        const bool are_whole = columns.size() == 1 && cells.whole_integers(begin, end - begin, integers.data());
        for (std::size_t k = begin; k < end; ++k) {
          std::uint64_t owner = 0;
          if ((are_whole && Owners::number_of(integers[k - begin], owner)) || owners_.number_of(columns, k, owner)) {
            see(owner, k);
          } else if (is_first_round) {
            if (form == RecordForm::is_public) {
              throw DamagedRecord{fmt::format("Arrow stream: row {}, column {}: the cell is empty, must name a unit", start + k + 1,
                                              in_quotes(empty_column(columns, k)))};
            }
            nameless_.push_back(start + k);
          }
        }
        const auto hashed = hashed_rows(batch, std::span{rows}.first(count));
        for (std::size_t k = 0; k < count; ++k) {
          parts[part_of(owners[k]) - first].add({owners[k], hashed[k].first_word(), start + rows[k]});
        }
      }
    }
    return parts;
  }
  [[nodiscard]] std::size_t part_of(std::uint64_t owner) const noexcept { return mixed(owner ^ salt_) >> 56; }

  void choose(const RowList& part) {
    require_not_called_off_now();
    if (part.size() == 0) return;  // most parts of a small table
    UnitTable table{salt_};
    auto& units = table.units();
    part.each([&](OwnedRow& row) {
      row.owner = table.place_of(row.owner, row.row);
      ++units[static_cast<std::size_t>(row.owner)].rows;
    });
    if (bucket_of_) {
      for (const auto& unit : units) found_.buckets.set((*bucket_of_)(first_name_of(unit.first_row)));
    }
    if (options_.lists_units) {
      for (const auto& unit : units) name_unit(unit.first_row);
    }
    std::uint64_t begin = 0;
    for (auto& unit : units) {
      unit.end = begin;
      begin += unit.rows;
    }
    const auto rows = std::make_unique_for_overwrite<HashedRow[]>(part.size());
    part.each([&](const OwnedRow& row) {
      rows[static_cast<std::size_t>(units[static_cast<std::size_t>(row.owner)].end++)] = {row.hash, row.row};
    });
    std::uint64_t equal = 0;
    for (auto& unit : units) {
      const std::span its{rows.get() + (unit.end - unit.rows), static_cast<std::size_t>(unit.rows)};
      if (its.size() <= rule_.most.value() || put_in_order(its)) {
        const auto first_unit = found_.units + static_cast<std::uint64_t>(&unit - units.data());
        for (const auto& row : its.first(static_cast<std::size_t>(std::min(rule_.most.value(), unit.rows)))) keep(row.row, first_unit);
      } else {
        unit.has_equal_hashes = true;
        unit.end = equal;
        equal += unit.rows;
      }
    }
    if (equal > 0) keep_of_equal(part, units, static_cast<std::size_t>(equal));
    found_.units += units.size();
    mark_kept();
  }

  /// Of units of which two rows have hashes that begin alike: equal ones, or nearly never others. Whole hashes decide, and ranks.
  void keep_of_equal(const RowList& part, std::vector<Unit>& units, std::size_t count) {
    std::vector<std::uint64_t> rows;
    std::vector<std::size_t> places;
    rows.reserve(count);
    places.reserve(count);
    part.each([&](const OwnedRow& row) {
      auto& unit = units[static_cast<std::size_t>(row.owner)];
      if (!unit.has_equal_hashes) return;
      rows.push_back(row.row);
      places.push_back(static_cast<std::size_t>(unit.end++));
    });
    std::vector<RankedRow> ranked(count);
    each_hashed(rows, [&](std::size_t k, HashedBytes& bytes) { ranked[places[k]] = {bytes.whole(), rows[k]}; });
    for (std::size_t k = 0; k < units.size(); ++k) {
      if (!units[k].has_equal_hashes) continue;
      keep_ranked(
          std::span{ranked}.subspan(static_cast<std::size_t>(units[k].end - units[k].rows), static_cast<std::size_t>(units[k].rows)),
          found_.units + k);
    }
  }

  /// Rows without an identifier: of one unit, or each of one of its own.
  void choose_nameless() {
    if (nameless_.empty()) return;
    const std::uint64_t most = rule_.most.value();
    const bool is_each = rule_.empty == EmptyUnit::each;
    if (is_each || nameless_.size() <= most) {
      for (const auto row : nameless_) {
        keep(row, found_.units);
        if (is_each) add_nameless_unit();
      }
      if (!is_each) add_nameless_unit();
      return;
    }
    std::vector<RankedRow> ranked(nameless_.size());
    each_hashed(nameless_, [&](std::size_t k, HashedBytes& bytes) { ranked[k] = {bytes.whole(), nameless_[k]}; });
    keep_ranked(ranked, found_.units);
    add_nameless_unit();
  }
  void add_nameless_unit() {
    ++found_.units;
    if (options_.lists_units) found_.words.push_back(public_hash_(std::string_view{})[0]);
    if (bucket_of_ && rule_.empty == EmptyUnit::one) found_.buckets.set((*bucket_of_)({}));
  }

  void keep_ranked(std::span<RankedRow> rows, std::uint64_t unit) {
    const auto most = static_cast<std::size_t>(rule_.most.value());
    bring_least_to_front(rows, most, hash_);
    for (const auto& row : rows.first(most)) keep(row.row, unit);
  }
  void keep(std::uint64_t row, std::uint64_t unit) {
    to_keep_.push_back(row);
    if (options_.lists_units) listed_.emplace_back(row, unit);
  }
  /// By themselves: the bits lie far apart, and the processor waits for several at a time where nothing stands between them.
  void mark_kept() {
    for (const auto row : to_keep_) found_.is_kept[static_cast<std::size_t>(row)] = true;
    found_.kept += to_keep_.size();
    to_keep_.clear();
  }
  /// By one of its rows.
  void name_unit(std::uint64_t row) { found_.words.push_back(public_hash_(name_of(row))[0]); }
  std::string_view name_of(std::uint64_t row) {
    if (rule_.beside.empty()) return first_name_of(row);
    const std::size_t batch = owners_of_rows_.batch_of(row);
    return owners_.combined(owners_of_rows_.cells(batch), static_cast<std::size_t>(row - owners_of_rows_.start(batch)));
  }
  std::string_view first_name_of(std::uint64_t row) {
    const std::size_t batch = owners_of_rows_.batch_of(row);
    const auto& cells = owners_of_rows_.cells(batch).front();
    return cells.text(static_cast<std::size_t>(row - owners_of_rows_.start(batch)), name_);
  }
  /// The first of the rule's columns whose cell is empty in a row without an identifier.
  std::string empty_column(const std::vector<ArrowCells>& columns, std::size_t row) {
    const auto names = rule_.columns();
    for (std::size_t k = 0; k + 1 < columns.size(); ++k) {
      if (columns[k].is_null(row) || columns[k].text(row, name_).empty()) return names[k];
    }
    return names.back();
  }
  /// The encodings of rows of a batch, until others are asked for.
  std::span<HashedBytes> hashed_rows(std::size_t batch, std::span<const std::size_t> rows) {
    hashed_.assign(rows.size(), hash_.start());
    for (const auto& cells : content_.cells(batch)) cells.encode(rows, hashed_.data());
    return hashed_;
  }
  /// Calls see(k, encoding) for each of these rows, which ascend.
  template <class See>
  void each_hashed(std::span<const std::uint64_t> rows, const See& see) {
    std::vector<std::size_t> places;  // in a batch
    std::size_t batch = 0;
    for (std::size_t begin = 0; begin < rows.size(); begin += places.size()) {
      require_not_called_off_now();
      places.clear();
      batch = content_.batch_of(rows[begin], batch);
      for (const auto row : rows.subspan(begin, std::min(block_rows, rows.size() - begin))) {
        if (row >= content_.start(batch + 1)) break;
        places.push_back(static_cast<std::size_t>(row - content_.start(batch)));
        // They may lie far apart, and are waited for together. Here, not in a function of its own: GCC takes one that does nothing else for one
        // without effect.
        for (const auto& cells : content_.cells(batch)) __builtin_prefetch(cells.place_in_memory(places.back()));
      }
      const auto hashed = hashed_rows(batch, places);
      for (std::size_t k = 0; k < places.size(); ++k) see(begin + k, hashed[k]);
    }
  }

  KeyedHash hash_;
  UnitRule rule_;
  UnitSelectionOptions options_;
  HeldColumns owners_of_rows_;
  HeldColumns content_;
  Owners owners_;
  KeyedHash public_hash_;
  std::uint64_t salt_ = 0;
  std::vector<std::uint64_t> nameless_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> listed_;
  std::vector<HashedBytes> hashed_;
  std::vector<std::uint64_t> to_keep_;
  std::string name_;
  std::optional<OwnerBucketFinder> bucket_of_;
  KeptRows found_;
};

}  // namespace

KeptRows select_rows(std::span<const ArrowBatch> batches, std::span<const std::size_t> owners, std::span<const std::size_t> content,
                     const ArrowUnits& units, RecordForm form) {
  return Selection{batches, owners, content, units}.all(form);
}

}  // namespace surety::data
