#include <surety/data/arrow_units.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/data/keyed_texts.h>

namespace surety::data {
namespace {

constexpr std::size_t parts_of_owners = 256;

/// A row and its owner, as a number of its own.
struct OwnedRow {
  std::uint64_t owner;
  std::uint64_t row;
};

/// Rows in blocks, of which the last one alone is not full.
class RowList {
 public:
  void add(const OwnedRow& row) {
    if (size_ % block_rows == 0) blocks_.push_back(std::make_unique_for_overwrite<OwnedRow[]>(block_rows));
    blocks_.back()[size_++ % block_rows] = row;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] OwnedRow& operator[](std::size_t k) const noexcept { return blocks_[k / block_rows][k % block_rows]; }

 private:
  static constexpr std::size_t block_rows = 1024;
  std::vector<std::unique_ptr<OwnedRow[]>> blocks_;
  std::size_t size_ = 0;
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

/// Owners as numbers: of integers with a sign those, of others the place of their text.
class Owners {
 public:
  explicit Owners(const KeyedHash& hash) : texts_{hash} {}

  /// False for a row without an identifier.
  bool number_of(const ArrowCells& cells, std::size_t row, std::uint64_t& number) {
    if (cells.is_null(row)) return false;
    if (cells.type().kind == ArrowType::Kind::integer) {
      number = static_cast<std::uint64_t>(*cells.integer(row));
      return true;
    }
    const auto text = cells.text(row, buffer_);
    if (text.empty()) return false;
    number = texts_.place_of(text);
    return true;
  }

 private:
  Texts texts_;
  std::string buffer_;
};

std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ word >> 31) * 0x7fb5d329728ea185;
  word = (word ^ word >> 27) * 0x81dadef4bc2dd44d;
  return word ^ word >> 33;
}

struct Unit {
  std::uint64_t owner;
  std::uint64_t rows = 0;
  std::uint64_t first = 0;  ///< its first row, then the place of its first candidate
};

/// The units of one part, found by their owners.
class UnitTable {
 public:
  explicit UnitTable(std::uint64_t salt) : salt_{salt}, slots_(1024) {}

  std::size_t place_of(std::uint64_t owner, std::uint64_t row) {
    if ((units_.size() + 1) * 2 > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mixed(owner ^ salt_) & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      if (units_[slots_[slot] - 1].owner == owner) return slots_[slot] - 1;
    }
    units_.push_back({.owner = owner, .first = row});
    slots_[slot] = units_.size();
    return units_.size() - 1;
  }
  [[nodiscard]] std::vector<Unit>& units() noexcept { return units_; }

 private:
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t k = 0; k < units_.size(); ++k) {
      std::size_t slot = mixed(units_[k].owner ^ salt_) & mask;
      while (slots_[slot] != 0) slot = (slot + 1) & mask;
      slots_[slot] = k + 1;
    }
  }

  std::uint64_t salt_;
  std::vector<std::uint64_t> slots_;  ///< 1 more than the place of a unit, or 0
  std::vector<Unit> units_;
};

/// A row of a unit of more than K, with its priority.
struct RankedRow {
  Hash priority;
  std::uint64_t row;
  friend bool operator<(const RankedRow& a, const RankedRow& b) { return std::tie(a.priority, a.row) < std::tie(b.priority, b.row); }
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
  Selection(std::span<const ArrowBatch> batches, std::size_t owner, std::span<const std::size_t> content, const ArrowUnits& units)
      : hash_{units.key},
        rule_{units.rule},
        options_{units.options},
        owners_of_rows_{batches, std::span{&owner, 1}},
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
    for (std::size_t batch = 0; batch < owners_of_rows_.batches(); ++batch) {
      const auto& cells = owners_of_rows_.cells(batch).front();
      const std::uint64_t start = owners_of_rows_.start(batch);
      for (std::size_t k = 0; k < cells.size(); ++k) {
        std::uint64_t owner = 0;
        if (owners_.number_of(cells, k, owner)) {
          const std::size_t part = mixed(owner ^ salt_) >> 56;
          if (part >= first && part < last) parts[part - first].add({owner, start + k});
        } else if (is_first_round) {
          if (form == RecordForm::is_public) {
            throw DamagedRecord{fmt::format("Arrow stream: row {}, column {}: the cell is empty, must name a unit", start + k + 1,
                                            in_quotes(rule_.column))};
          }
          nameless_.push_back(start + k);
        }
      }
    }
    return parts;
  }

  void choose(const RowList& part) {
    UnitTable table{salt_};
    for (std::size_t k = 0; k < part.size(); ++k) {
      const std::size_t place = table.place_of(part[k].owner, part[k].row);
      ++table.units()[place].rows;
      part[k].owner = place;
    }
    auto& units = table.units();
    const std::uint64_t most = rule_.most.value();
    const std::uint64_t first_unit = found_.units;
    if (bucket_of_) {
      for (const auto& unit : units) found_.buckets.set((*bucket_of_)(name_of(unit.first)));
    }
    if (options_.lists_units) {
      for (const auto& unit : units) name_unit(unit.first);
    }
    found_.units += units.size();
    std::uint64_t ranked = 0;
    for (auto& unit : units) {
      unit.first = ranked;
      if (unit.rows > most) ranked += unit.rows;
    }
    std::vector<RankedRow> rows(static_cast<std::size_t>(ranked));
    // A part's rows lie far apart, so that reading one waits for memory unless it was asked for some rows before.
    constexpr std::size_t ahead = 16;
    std::size_t batch = 0;
    std::size_t batch_ahead = 0;
    for (std::size_t k = 0; k < part.size(); ++k) {
      if (k + ahead < part.size() && units[static_cast<std::size_t>(part[k + ahead].owner)].rows > most) {
        const std::uint64_t row_ahead = part[k + ahead].row;
        batch_ahead = content_.batch_of(row_ahead, batch_ahead);
        // Here, not in a function of its own: GCC takes one that does nothing else for one without effect.
        for (const auto& cells : content_.cells(batch_ahead)) {
          __builtin_prefetch(cells.place_in_memory(static_cast<std::size_t>(row_ahead - content_.start(batch_ahead))));
        }
      }
      auto& unit = units[static_cast<std::size_t>(part[k].owner)];
      const std::uint64_t row = part[k].row;
      if (unit.rows <= most) {
        keep(row, first_unit + part[k].owner);
        continue;
      }
      batch = content_.batch_of(row, batch);
      rows[static_cast<std::size_t>(unit.first++)] = {encoded(row, batch), row};
    }
    std::uint64_t end = 0;
    for (std::size_t k = 0; k < units.size(); ++k) {
      if (units[k].rows <= most) continue;
      keep_least(std::span{rows}.subspan(static_cast<std::size_t>(end), static_cast<std::size_t>(units[k].rows)), first_unit + k);
      end += units[k].rows;
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
    std::vector<RankedRow> rows;
    rows.reserve(nameless_.size());
    std::size_t batch = 0;
    for (const auto row : nameless_) {
      batch = content_.batch_of(row, batch);
      rows.push_back({encoded(row, batch), row});
    }
    keep_least(rows, found_.units);
    add_nameless_unit();
  }
  void add_nameless_unit() {
    ++found_.units;
    if (options_.lists_units) found_.words.push_back(public_hash_(std::string_view{})[0]);
    if (bucket_of_ && rule_.empty == EmptyUnit::one) found_.buckets.set((*bucket_of_)({}));
  }

  void keep_least(std::span<RankedRow> rows, std::uint64_t unit) {
    const auto most = static_cast<std::size_t>(rule_.most.value());
    bring_least_to_front(rows, most, hash_);
    for (const auto& row : rows.first(most)) keep(row.row, unit);
  }
  void keep(std::uint64_t row, std::uint64_t unit) {
    found_.is_kept[static_cast<std::size_t>(row)] = true;
    ++found_.kept;
    if (options_.lists_units) listed_.emplace_back(row, unit);
  }
  /// By one of its rows.
  void name_unit(std::uint64_t row) { found_.words.push_back(public_hash_(name_of(row))[0]); }
  std::string_view name_of(std::uint64_t row) {
    const std::size_t batch = owners_of_rows_.batch_of(row);
    const auto& cells = owners_of_rows_.cells(batch).front();
    return cells.text(static_cast<std::size_t>(row - owners_of_rows_.start(batch)), name_);
  }
  Hash encoded(std::uint64_t row, std::size_t batch) {
    encoding_.clear();
    for (const auto& cells : content_.cells(batch)) cells.encode(static_cast<std::size_t>(row - content_.start(batch)), encoding_);
    return hash_(std::span<const unsigned char>{encoding_});
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
  std::vector<unsigned char> encoding_;
  std::string name_;
  std::optional<OwnerBucketFinder> bucket_of_;
  KeptRows found_;
};

}  // namespace

KeptRows select_rows(std::span<const ArrowBatch> batches, std::size_t owner, std::span<const std::size_t> content, const ArrowUnits& units,
                     RecordForm form) {
  return Selection{batches, owner, content, units}.all(form);
}

}  // namespace surety::data
