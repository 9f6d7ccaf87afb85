// Which rows of a unit are kept, beside the rule written out with the SipHash of OpenSSL, over every way to store the same table.
#include <surety/data/arrow/arrow_units.h>

#include <gtest/gtest.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/data/arrow/arrow_reader.h>

#include <support/arrow_batches.h>
#include <support/refusal.h>

namespace surety::data::arrow_units_test {
namespace {

using surety::testing::arrow_stream;
using surety::testing::ArrowCell;
using surety::testing::ArrowStreamOptions;
using surety::testing::ArrowTestTable;
using surety::testing::batches_of;
using Bytes = std::vector<unsigned char>;

constexpr UnitKey a_key{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// By OpenSSL.
Bytes siphash(const Bytes& bytes, const UnitKey& key = a_key) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac{EVP_MAC_fetch(nullptr, "SIPHASH", nullptr), EVP_MAC_free};
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context{EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free};
  unsigned int size = 16;
  const std::array parameters{OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
  Bytes result(16);
  std::size_t length = 0;
  EXPECT_TRUE(EVP_MAC_init(context.get(), key.data(), key.size(), parameters.data()) == 1 &&
              EVP_MAC_update(context.get(), bytes.data(), bytes.size()) == 1 &&
              EVP_MAC_final(context.get(), result.data(), &length, result.size()) == 1 && length == 16);
  return result;
}

/// Priorities are compared as two words, the first byte the least of each.
std::array<std::uint64_t, 2> words(const Bytes& bytes) {
  std::array<std::uint64_t, 2> result{};
  for (std::size_t k = 0; k < 16; ++k) result[k / 8] |= std::uint64_t{bytes[k]} << 8 * (k % 8);
  return result;
}

void put(Bytes& bytes, unsigned char tag, std::initializer_list<std::uint64_t> numbers) {
  bytes.push_back(tag);
  for (const auto number : numbers) {
    for (int k = 0; k < 8; ++k) bytes.push_back(static_cast<unsigned char>(number >> 8 * k));
  }
}

/// As the proofs write it, of integers, floats and texts.
Bytes encoding_of(const std::vector<ArrowCell>& cells) {
  Bytes bytes;
  for (const auto& cell : cells) {
    if (const auto* const whole = std::get_if<std::int64_t>(&cell)) {
      put(bytes, 1, {static_cast<std::uint64_t>(*whole)});
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, real, sizeof(bits));
      if (std::isnan(*real)) {
        put(bytes, 0, {});
      } else if (std::abs(*real) <= 0x1p53 && *real == std::floor(*real)) {
        put(bytes, 1, {static_cast<std::uint64_t>(static_cast<std::int64_t>(*real))});
      } else {
        put(bytes, std::abs(*real) < 0x1p53 ? 3 : 9, {bits});
      }
    } else if (const auto* const text = std::get_if<std::string>(&cell)) {
      put(bytes, 4, {text->size()});
      bytes.insert(bytes.end(), text->begin(), text->end());
    } else {
      put(bytes, 0, {});
    }
  }
  return bytes;
}

std::string name_of(const ArrowCell& owner) {
  if (const auto* const whole = std::get_if<std::int64_t>(&owner)) return std::to_string(*whole);
  const auto* const text = std::get_if<std::string>(&owner);
  return text != nullptr ? *text : "";
}

/// The rule written out. The first column is the owner's, the others are in the order of their names.
std::vector<bool> kept_by_the_rule(const ArrowTestTable& table, const UnitRule& rule, const UnitKey& key = a_key) {
  std::map<std::string, std::vector<std::size_t>> units;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    auto name = name_of(table.columns[0].cells[row]);
    if (name.empty() && rule.empty == EmptyUnit::each) name = fmt::format("\n{}", row);
    units[name].push_back(row);
  }
  std::vector<bool> is_kept(table.rows());
  for (const auto& [name, rows] : units) {
    std::map<Bytes, std::uint64_t> seen;
    std::vector<std::pair<std::array<std::uint64_t, 2>, std::size_t>> ranked;
    for (const auto row : rows) {
      std::vector<ArrowCell> cells;
      for (std::size_t k = 1; k < table.columns.size(); ++k) cells.push_back(table.columns[k].cells[row]);
      const auto encoding = encoding_of(cells);
      auto priority = siphash(encoding, key);
      if (const auto rank = seen[encoding]++; rank > 0) {
        for (int k = 0; k < 8; ++k) priority.push_back(static_cast<unsigned char>(rank >> 8 * k));
        priority = siphash(priority, key);
      }
      ranked.emplace_back(words(priority), row);
    }
    std::sort(ranked.begin(), ranked.end());
    for (std::size_t k = 0; k < std::min<std::size_t>(ranked.size(), rule.most.value()); ++k) is_kept[ranked[k].second] = true;
  }
  return is_kept;
}

struct Held {
  std::vector<ArrowBatch> batches;
  std::vector<std::size_t> content;
};
/// \pre the first column is the owner's
Held held(const ArrowTestTable& table, const ArrowStreamOptions& options = {}) {
  auto given = arrow_stream(table, options);
  ArrowStream stream{&given};
  Held result;
  while (auto batch = stream.next()) result.batches.push_back(*std::move(batch));
  for (std::size_t k = 1; k < table.columns.size(); ++k) result.content.push_back(k);
  return result;
}

KeptRows kept(const ArrowTestTable& table, const UnitRule& rule, const ArrowStreamOptions& options = {},
              const UnitSelectionOptions& selection = {}, const UnitKey& key = a_key) {
  const auto rows = held(table, options);
  return select_rows(rows.batches, std::array{std::size_t{0}}, rows.content, {rule, key, selection});
}

// The published vectors, of the key 00 01 ... 0f and the messages of no byte and of 00: the reference is no other function.
TEST(ArrowUnits, HaveTheHashThatWasPublished) {
  EXPECT_EQ(hex(siphash({})), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hex(siphash({0})), "da87c1d86b99af44347659119b22fc45");
}

std::string hex_of_text(const std::string& text) { return hex({text.begin(), text.end()}); }

TEST(ArrowUnits, EncodeCellsAsTheProofsSay) {
  constexpr std::int64_t milliseconds = 86'400'000;
  const auto encoded = [](const std::string& format, const ArrowCell& cell, const std::string& indices = "") {
    const auto rows = held({.columns = {{"u", "l", {std::int64_t{1}}}, {"x", format, {cell}, indices}}});
    Bytes bytes{0xee};  // it is added
    rows.batches.front().cells(1).encode(0, bytes);
    return hex(bytes).substr(2);
  };
  const std::int64_t minus_two = -2;
  for (const std::string format : {"c", "s", "i", "l"}) EXPECT_EQ(encoded(format, minus_two), "01feffffffffffffff") << format;
  for (const std::string format : {"c", "C", "S", "I", "L"}) EXPECT_EQ(encoded(format, std::int64_t{7}), "010700000000000000") << format;
  EXPECT_EQ(encoded("L", minus_two), "041400000000000000" + hex_of_text("18446744073709551614")) << "2^64 - 2";
  for (const std::string format : {"e", "f", "g"}) {
    EXPECT_EQ(encoded(format, 0.5), "03000000000000e03f") << format;
    EXPECT_EQ(encoded(format, -0.0), "010000000000000000") << format;
    EXPECT_EQ(encoded(format, 7.0), "010700000000000000") << format;
    EXPECT_EQ(encoded(format, std::nan("")), "00") << format;
    EXPECT_EQ(encoded(format, -HUGE_VAL), "09000000000000f0ff") << format;
  }
  EXPECT_EQ(encoded("g", 1e300), "099c7500883ce4377e");
  for (const std::string format : {"u", "U", "vu"}) {
    for (const std::string indices : {"", "i"}) {
      EXPECT_EQ(encoded(format, "Rome", indices), "040400000000000000526f6d65") << format;
      EXPECT_EQ(encoded(format, "", indices), "040000000000000000") << format;
      EXPECT_EQ(encoded(format, {}, indices), "00") << format;
      EXPECT_EQ(encoded(format, "-2", indices), "01feffffffffffffff") << format;
      EXPECT_EQ(encoded(format, "0.5", indices), "03000000000000e03f") << format;
      for (const std::string other : {"07", "-0", "7.0", "0.50", ".5", "1e300", "+7", " 7", "5e-1", "nan", "18446744073709551614"}) {
        EXPECT_EQ(encoded(format, other, indices), hex(encoding_of({other}))) << other;
      }
    }
  }
  EXPECT_EQ(encoded("b", std::int64_t{1}), "050100000000000000");
  EXPECT_EQ(encoded("tdD", std::int64_t{17318}), "06a643000000000000");
  EXPECT_EQ(encoded("tdm", 17318 * milliseconds + 5), "06a643000000000000");
  for (const auto& [format, of_second] : std::map<std::string, std::int64_t>{{"tss:", 1}, {"tsm:", 1000}, {"tsu:", 1'000'000}}) {
    EXPECT_EQ(encoded(format, 17318 * 86'400 * of_second), "06a643000000000000") << format;
    EXPECT_EQ(encoded(format, -1 * of_second), "07ffffffffffffffff0036b455944e0000") << format;
  }
  EXPECT_EQ(encoded("ttm", std::int64_t{1500}), "080000000000000000002f685900000000");
  EXPECT_EQ(encoded("tDs", std::int64_t{3 * 86'400}), "010300000000000000");
  EXPECT_EQ(encoded("tDs", std::int64_t{43'200}), "03000000000000e03f");
  for (const std::string format : {"d:9,2,32", "d:18,2,64", "d:38,2", "d:76,2,256"}) {
    EXPECT_EQ(encoded(format, std::int64_t{-200}), "01feffffffffffffff") << format;
    EXPECT_EQ(encoded(format, std::int64_t{50}), "03000000000000e03f") << format;
  }
  EXPECT_EQ(encoded("d:38,20", std::int64_t{1'000'000'000'000'000'001}), "041600000000000000" + hex_of_text("0.01000000000000000001"));
  for (const auto* const format : {surety::testing::dense_union, surety::testing::sparse_union}) {
    EXPECT_EQ(encoded(format, std::int64_t{7}), "010700000000000000");
    EXPECT_EQ(encoded(format, 7.0), "010700000000000000");
    EXPECT_EQ(encoded(format, "Rome"), "040400000000000000526f6d65");
    EXPECT_EQ(encoded(format, {}), "00");
  }
  EXPECT_EQ(encoded("n", {}), "00");
}

/// A table of few owners and few different rows.
ArrowTestTable random_table(std::mt19937_64& random, const std::string& owners, std::size_t rows) {
  ArrowTestTable table{.columns = {{"who", owners, {}}, {"a", "g", {}}, {"b", "u", {}}, {"c", "l", {}}}};
  for (std::size_t k = 0; k < rows; ++k) {
    const auto who = static_cast<std::int64_t>(random() % 9) - 2;
    const bool is_text = owners == "u" || owners == "U" || owners == "vu";
    table.columns[0].cells.push_back(
        who == -2 ? ArrowCell{}
        : is_text ? ArrowCell{who == -1 ? std::string{} : fmt::format("{}person number {}", who % 2 ? "" : "the very long name of ", who)}
                  : ArrowCell{who});
    table.columns[1].cells.push_back(random() % 5 == 0 ? ArrowCell{} : ArrowCell{static_cast<double>(random() % 3) - 1});
    table.columns[2].cells.push_back(random() % 5 == 0 ? ArrowCell{} : ArrowCell{std::string(random() % 3 * 9, 'x')});
    table.columns[3].cells.push_back(static_cast<std::int64_t>(random() % 2));
  }
  return table;
}

TEST(ArrowUnits, KeepWhatTheRuleSaysHoweverTheTableIsStored) {
  std::mt19937_64 random{5};
  for (const std::string owners : {"l", "i", "u", "vu"}) {
    for (const std::size_t rows : {0, 1, 7, 60, 300}) {
      auto table = random_table(random, owners, rows);
      for (const std::uint64_t most : {1, 2, 5, 1000}) {
        for (const auto empty : {EmptyUnit::one, EmptyUnit::each}) {
          const UnitRule rule{.column = "who", .most = Count{most}, .empty = empty};
          const auto expected = kept_by_the_rule(table, rule);
          std::set<std::string> names;
          std::uint64_t nameless = 0;
          for (const auto& cell : table.columns[0].cells) {
            if (const auto name = name_of(cell); !name.empty()) names.insert(name);
            if (name_of(cell).empty()) ++nameless;
          }
          const auto see = [&](const ArrowTestTable& stored, const ArrowStreamOptions& options,
                               const UnitSelectionOptions& selection = {}) {
            const auto found = kept(stored, rule, options, selection);
            EXPECT_EQ(found.is_kept, expected);
            EXPECT_EQ(found.kept, static_cast<std::uint64_t>(std::count(expected.begin(), expected.end(), true)));
            EXPECT_EQ(found.units, names.size() + (empty == EmptyUnit::each ? nameless : nameless > 0 ? 1 : 0));
          };
          see(table, {});
          see(table, {.batches = batches_of(rows, 1)});
          see(table, {.batches = {3, 0, 0, 11}, .offset = 5, .child_offset = 3});
          see(table, {}, {.memory = 1});
          see(table, {.batches = {17}}, {.memory = 1000});
          auto otherwise = table;
          otherwise.columns[0].indices = "s";
          otherwise.columns[2].format = "U";
          otherwise.columns[3].format = "c";
          see(otherwise, {.batches = {9}});
          otherwise.columns[2].format = "vu";
          otherwise.columns[2].indices = "L";
          see(otherwise, {.batches = {2, 8}});
        }
      }
    }
  }
}

// One owner by whole floats, integers, decimals and texts; of what is stored otherwise the same rows are kept.
TEST(ArrowUnits, KeepTheSameRowsWhateverTheTypesOfColumns) {
  std::mt19937_64 random{13};
  for (int repetition = 0; repetition < 20; ++repetition) {
    const auto table = random_table(random, "l", 60);
    const UnitRule rule{.column = "who", .most = Count{2}};
    const auto expected = kept_by_the_rule(table, rule);
    const auto written = [](const std::vector<ArrowCell>& cells, const std::string& format) {
      std::vector<ArrowCell> result;
      for (std::size_t k = 0; k < cells.size(); ++k) {
        const auto* const whole = std::get_if<std::int64_t>(&cells[k]);
        const auto* const real = std::get_if<double>(&cells[k]);
        const double value = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0;
        if (whole == nullptr && real == nullptr) {
          result.push_back(cells[k]);
        } else if (format == "g" || (format.starts_with("+u") && k % 3 == 1)) {
          result.emplace_back(value);
        } else if (format == "u" || (format.starts_with("+u") && k % 3 == 2)) {
          result.emplace_back(fmt::format("{:.0f}", value == 0 ? 0.0 : value));
        } else {
          result.emplace_back(static_cast<std::int64_t>(value) * (format == "d:9,1" ? 10 : 1));
        }
      }
      return result;
    };
    for (const std::string format : {"l", "g", "u", "d:9,1", "c", surety::testing::dense_union, surety::testing::sparse_union}) {
      auto stored = table;
      for (const std::size_t column : {0, 1, 3}) {
        stored.columns[column].format = format;
        stored.columns[column].cells = written(table.columns[column].cells, format);
      }
      const auto found = kept(stored, rule, {.batches = {7, 20}, .offset = 3, .child_offset = 2});
      EXPECT_EQ(found.is_kept, expected) << format;
    }
  }
}

// Rows that all differ, of units of 1 to 40 rows, more of them than are looked at together: by their numbers alone, and beside few that are equal.
TEST(ArrowUnits, KeepWhatTheRuleSaysOfRowsThatDiffer) {
  std::mt19937_64 random{7};
  for (const bool some_are_equal : {false, true}) {
    ArrowTestTable table{.columns = {{"who", "l", {}}, {"a", "g", {}}}};
    for (std::int64_t who = 1; who <= 40; ++who) {
      for (std::int64_t k = 0; k < who; ++k) {
        table.columns[0].cells.emplace_back(who);
        const bool is_equal = some_are_equal && who % 5 == 0 && k % 7 < 2;
        table.columns[1].cells.emplace_back(is_equal ? 0.5 : std::ldexp(static_cast<double>(random() >> 12), -20));
      }
    }
    auto order = std::vector<std::size_t>(table.rows());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    ArrowTestTable shuffled = table;
    for (std::size_t column = 0; column < 2; ++column) {
      for (std::size_t k = 0; k < order.size(); ++k) shuffled.columns[column].cells[k] = table.columns[column].cells[order[k]];
    }
    for (const auto& stored : {table, shuffled}) {
      for (const std::uint64_t most : {1, 3, 8, 17, 39}) {
        const UnitRule rule{.column = "who", .most = Count{most}};
        const auto expected = kept_by_the_rule(stored, rule);
        EXPECT_EQ(kept(stored, rule).is_kept, expected);
        EXPECT_EQ(kept(stored, rule, {.batches = batches_of(stored.rows(), 19), .child_offset = 5}).is_kept, expected);
        EXPECT_EQ(kept(stored, rule, {.batches = {400}}, {.memory = 3000}).is_kept, expected);
      }
    }
  }
}

// Of a unit equal rows are kept in equal numbers whatever the order of rows, and what others own decides nothing.
TEST(ArrowUnits, KeepOfAUnitAFunctionOfItsOwnRows) {
  std::mt19937_64 random{11};
  using Row = std::vector<std::string>;
  const auto kept_of_units = [](const ArrowTestTable& table, std::uint64_t most) {
    const auto found = kept(table, {.column = "who", .most = Count{most}});
    std::map<std::string, std::multiset<Row>> rows;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (!found.is_kept[row]) continue;
      Row cells;
      for (const auto& column : table.columns) cells.push_back(hex(encoding_of({column.cells[row]})));
      rows[name_of(table.columns[0].cells[row])].insert(cells);
    }
    return rows;
  };
  for (int repetition = 0; repetition < 200; ++repetition) {
    const auto table = random_table(random, "l", 40);
    const std::uint64_t most = 1 + random() % 4;
    const auto expected = kept_of_units(table, most);
    // The rows of one unit give way to others, and all are put in another order.
    const auto moved = std::to_string(random() % 7);
    const auto other = random_table(random, "l", 40);
    std::vector<std::pair<const ArrowTestTable*, std::size_t>> rows;
    for (std::size_t k = 0; k < 40; ++k) {
      if (name_of(table.columns[0].cells[k]) != moved) rows.emplace_back(&table, k);
      if (name_of(other.columns[0].cells[k]) == moved) rows.emplace_back(&other, k);
    }
    std::shuffle(rows.begin(), rows.end(), random);
    ArrowTestTable neighbour = table;
    for (std::size_t k = 0; k < neighbour.columns.size(); ++k) {
      neighbour.columns[k].cells.clear();
      for (const auto& [from, row] : rows) neighbour.columns[k].cells.push_back(from->columns[k].cells[row]);
    }
    auto found = kept_of_units(neighbour, most);
    auto without = expected;
    found.erase(moved);
    without.erase(moved);
    EXPECT_EQ(found, without);
    for (const auto& [unit, its] : found) EXPECT_LE(its.size(), most);
  }
}

TEST(ArrowUnits, ChooseByTheKeyAlone) {
  std::mt19937_64 random{3};
  const auto table = random_table(random, "l", 200);
  const UnitRule rule{.column = "who", .most = Count{3}};
  UnitKey other = a_key;
  other[15] ^= 1;
  EXPECT_NE(kept(table, rule).is_kept, kept(table, rule, {}, {}, other).is_kept);
  EXPECT_EQ(kept(table, rule, {}, {}, other).is_kept, kept_by_the_rule(table, rule, other));
}

TEST(ArrowUnits, AreListedByTheirNames) {
  std::mt19937_64 random{4};
  for (const auto empty : {EmptyUnit::one, EmptyUnit::each}) {
    std::map<std::string, std::set<std::uint64_t>> words;
    for (const std::string owners : {"l", "c", "u"}) {
      auto table = random_table(random, "l", 100);
      table.columns[0].format = owners;
      if (owners == "u") {
        for (auto& cell : table.columns[0].cells) cell = name_of(cell);
      }
      const auto found =
          kept(table, {.column = "who", .most = Count{2}, .empty = empty}, {}, {.memory = 800, .lists_units = true, .public_seed = 9});
      ASSERT_EQ(found.unit_of.size(), found.kept);
      ASSERT_EQ(found.words.size(), found.units);
      std::map<std::uint64_t, std::string> name_of_unit;
      std::size_t next = 0;
      for (std::size_t row = 0; row < 100; ++row) {
        if (!found.is_kept[row]) continue;
        const auto unit = found.unit_of[next++];
        const auto name = name_of(table.columns[0].cells[row]);
        EXPECT_TRUE(name_of_unit.emplace(unit, name).second || name_of_unit[unit] == name);
        words[name].insert(found.words[static_cast<std::size_t>(unit)]);
      }
    }
    // 7 is the text "7": the same word however it is stored.
    for (const auto& [name, its] : words) EXPECT_EQ(its.size(), 1U) << name;
    EXPECT_GT(words.size(), 7U);
  }
}

TEST(ArrowUnits, RefuseARowWithoutANameWhereTheFormIsPublic) {
  const auto rows = held({.columns = {{"who", "u", {"a", "b", "", "c"}}}}, {.batches = {2}});
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(select_rows(rows.batches, std::array{std::size_t{0}}, {}, {{.column = "who"}, a_key}, RecordForm::is_public));
      },
      ErrorCode::bad_data, {"row 3, column 'who': the cell is empty, must name a unit"}));
}

// A combination is the same unit however its texts are stored, here and in a file.
TEST(ArrowUnits, MayBeCombinationsOfAnyTypes) {
  const std::vector<std::int64_t> users{7, 12, 7, 1, 7, 0};
  const std::vector<std::string> days{"2024-01-01", "2024-01-01", "2024-01-02", "", "2024-01-01", "2024-01-01"};
  constexpr std::int64_t first_day = 19723;  // 2024-01-01
  const auto table_of = [&](const std::string& user_format, const std::string& day_format) {
    ArrowTestTable table{.columns = {{"user", user_format, {}}, {"day", day_format, {}}, {"x", "l", {}}}};
    for (std::size_t k = 0; k < users.size(); ++k) {
      const bool is_text = user_format == "u";
      ArrowCell user = is_text              ? ArrowCell{std::to_string(users[k])}
                       : user_format == "g" ? ArrowCell{static_cast<double>(users[k])}
                                            : ArrowCell{users[k]};
      if (users[k] == 0) user = {};
      table.columns[0].cells.push_back(user);
      ArrowCell day;
      if (!days[k].empty()) day = day_format == "u" ? ArrowCell{days[k]} : ArrowCell{first_day + (days[k].back() == '2' ? 1 : 0)};
      table.columns[1].cells.push_back(day);
      table.columns[2].cells.push_back(static_cast<std::int64_t>(k));
    }
    return table;
  };
  const UnitRule rule{.column = "user", .most = Count{1}, .empty = EmptyUnit::one, .beside = {"day"}};
  const UnitSelectionOptions options{.lists_units = true, .public_seed = 3, .finds_buckets = true};
  const TemporaryFolder folder;
  const auto path =
      folder.write("units.csv", "user,day,x\n7,2024-01-01,0\n12,2024-01-01,1\n7,2024-01-02,2\n1,,3\n7,2024-01-01,4\n,2024-01-01,5\n");
  const auto file = select_rows(path, rule, {}, a_key, options);
  const std::multiset<std::uint64_t> words(file.words.begin(), file.words.end());
  ASSERT_EQ(file.units, 4U);
  for (const std::string user : {"l", "u", "g", "c"}) {
    for (const std::string day : {"u", "tdD"}) {
      const auto rows = held(table_of(user, day), {.batches = {2}});
      const std::array owners{std::size_t{0}, std::size_t{1}};
      const auto found = select_rows(rows.batches, owners, rows.content, {rule, a_key, options});
      EXPECT_EQ(found.units, 4U) << user << ' ' << day;
      EXPECT_EQ(found.kept, 4U);
      EXPECT_EQ(std::multiset<std::uint64_t>(found.words.begin(), found.words.end()), words) << user << ' ' << day;
      EXPECT_EQ(found.buckets, file.buckets);
      EXPECT_TRUE(refuses(
          [&] {
            static_cast<void>(select_rows(rows.batches, owners, rows.content, {rule, a_key}, RecordForm::is_public));
          },
          ErrorCode::bad_data, {"row 4, column 'day': the cell is empty, must name a unit"}));
    }
  }
}

// The reader keeps the columns that are used and gives the rows that are kept.
TEST(ArrowUnits, AreReadAsRecords) {
  std::mt19937_64 random{8};
  auto table = random_table(random, "l", 50);
  table.columns.push_back({"nothing of interest", "+l", std::vector<ArrowCell>(50)});
  table.columns.push_back({"zero", "l", std::vector<ArrowCell>(50, ArrowCell{std::int64_t{0}})});
  std::reverse(table.columns.begin(), table.columns.end());  // names decide, not places
  auto given = arrow_stream(table, {.batches = {20, 0, 9}});
  ArrowReader reader{ArrowStream{&given}, {}};
  const auto c = reader.position("c", CellUse::number);
  const auto a = reader.position("a", CellUse::number);
  const auto b = reader.position("b", CellUse::text);
  const UnitRule rule{.column = "who", .most = Count{2}};
  std::reverse(table.columns.begin(), table.columns.end());
  table.columns.resize(4);
  const auto expected = kept_by_the_rule(table, rule);
  EXPECT_EQ(reader.keep_units({rule, a_key}).is_kept, expected);
  for (std::size_t row = 0; row < 50; ++row) {
    if (!expected[row]) continue;
    ASSERT_TRUE(reader.next());
    const auto& number = table.columns[1].cells[row];
    EXPECT_EQ(reader.number(a), std::holds_alternative<double>(number) ? std::optional{std::get<double>(number)} : std::nullopt);
    EXPECT_EQ(reader.text(b), name_of(table.columns[2].cells[row]));
    EXPECT_EQ(reader.number(c), static_cast<double>(std::get<std::int64_t>(table.columns[3].cells[row])));
    EXPECT_FALSE(reader.is_damaged());
  }
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
}

// So a unit is zeroed: what stands in columns that can be used is asked, used or not.
TEST(ArrowUnits, ADamagedRowHasNothingInItButItsOwner) {
  const ArrowTestTable table{.columns = {{"who", "l", std::vector<ArrowCell>(6, ArrowCell{std::int64_t{1}})},
                                         {"x", "g", {{}, 1.0, {}, {}, {}, {}}},
                                         {"t", "u", {{}, {}, " ", "p", {}, {}}},
                                         {"f", "b", {{}, {}, {}, {}, std::int64_t{0}, {}}, "c"},
                                         {"list", "+l", std::vector<ArrowCell>(6, ArrowCell{std::int64_t{1}})}},
                             .null_rows = {false, false, false, false, false, true}};
  auto given = arrow_stream(table, {.batches = {1, 2}, .offset = 3});
  ArrowReader reader{ArrowStream{&given}, {.csv = {.missing = {{"x", "4"}}}}};
  const auto x = reader.position("x", CellUse::number);
  static_cast<void>(reader.keep_units({{.column = "who", .most = Count{6}}, a_key}));
  std::string damaged;
  std::string numbers;
  while (reader.next()) {
    damaged += reader.is_damaged() ? '1' : '0';
    const auto number = reader.number(x);
    numbers += number ? fmt::format("{}", *number) : "-";
  }
  EXPECT_EQ(damaged, "101001");
  EXPECT_EQ(numbers, "-1-44-");
}

}  // namespace
}  // namespace surety::data::arrow_units_test
