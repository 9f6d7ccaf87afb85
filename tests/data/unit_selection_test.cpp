// Which rows of a unit are kept. Neighbours are made from the meaning of the adjacency, not from the rule: all rows of one unit give way to any
// rows of another one, at any places of the file. Mutants of the rule fail the same property that the rule passes.
#include <surety/data/units/unit_selection.h>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>

#include <surety/data/csv/csv.h>

namespace surety::data::unit_selection_test {
namespace {

struct Row {
  std::string unit;
  std::string content;
  friend auto operator<=>(const Row&, const Row&) = default;
};
using Rows = std::vector<Row>;
/// Of a file, whether each row is kept.
using Keep = std::function<std::vector<bool>(const Rows& rows)>;

constexpr UnitKey a_key{9, 8, 7, 6, 5, 4, 3, 2, 1};

class UnitSelection : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  mutable int files_ = 0;
  std::filesystem::path write(std::string_view name, const std::string& content) const { return folder_.write(name, content); }
  [[nodiscard]] std::filesystem::path file_of(const Rows& rows) const {
    // A new file each time: some file systems write what is truncated to the disk at once.
    std::filesystem::remove(folder_ / fmt::format("{}.csv", files_));
    std::string text = "unit,content\n";
    for (const auto& row : rows) text += row.unit + "," + row.content + "\n";
    return write(fmt::format("{}.csv", ++files_), text);
  }
  [[nodiscard]] KeptRows kept_of(const Rows& rows, const UnitRule& rule, const UnitSelectionOptions& options = {},
                                 const UnitKey& key = a_key) const {
    return select_rows(file_of(rows), rule, {}, key, options);
  }
  [[nodiscard]] Keep rule_of(std::uint64_t most) const {
    return [=, this](const Rows& rows) { return kept_of(rows, {.column = "unit", .most = Count{most}}).is_kept; };
  }
};

/// What is kept, without the rows of `but`: a multiset.
std::multiset<Row> kept_of_others(const Rows& rows, const std::vector<bool>& is_kept, const std::string& but) {
  std::multiset<Row> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_kept[i] && rows[i].unit != but) kept.insert(rows[i]);
  }
  return kept;
}

/// All rows that `others` have, and of unit x every list of at most `most_rows` rows, at every choice of places.
void for_all_files(const Rows& others, std::size_t most_rows, const std::function<void(const Rows& rows)>& see) {
  const std::function<void(const Rows&, std::size_t)> insert = [&](const Rows& rows, std::size_t left) {
    see(rows);
    if (left == 0) return;
    for (std::size_t place = 0; place <= rows.size(); ++place) {
      for (const char* content : {"1", "2"}) {
        Rows more = rows;
        more.insert(more.begin() + static_cast<std::ptrdiff_t>(place), {"x", content});
        insert(more, left - 1);
      }
    }
  };
  insert(others, most_rows);
}

/// The property: whatever unit x owns and wherever its rows stand, what is kept of others is the same, and of nobody more than `most` rows.
bool protects_units(const Keep& keep, std::uint64_t most) {
  const Rows others{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"a", "1"}, {"b", "3"}};
  const auto expected = kept_of_others(others, keep(others), "x");
  bool holds = true;
  for_all_files(others, 3, [&](const Rows& rows) {
    const auto is_kept = keep(rows);
    holds = holds && is_kept.size() == rows.size() && kept_of_others(rows, is_kept, "x") == expected;
    std::map<std::string, std::uint64_t> counts;
    for (std::size_t i = 0; i < rows.size(); ++i) counts[rows[i].unit] += is_kept[i] ? 1 : 0;
    for (const auto& [unit, count] : counts) holds = holds && count <= most;
  });
  return holds;
}

TEST_F(UnitSelection, KeepsOfOthersTheSameWhateverOneUnitOwns) {
  for (const std::uint64_t most : {1, 2, 3}) EXPECT_TRUE(protects_units(rule_of(most), most)) << most;
}

TEST_F(UnitSelection, IsFoundOutWhereItKeepsOneMore) { EXPECT_FALSE(protects_units(rule_of(2), 1)); }

/// The K of least priority of each unit, for any priority.
Keep least(std::uint64_t most, const std::function<std::string(const Rows&, std::size_t)>& priority) {
  return [=](const Rows& rows) {
    std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> units;
    for (std::size_t i = 0; i < rows.size(); ++i) units[rows[i].unit].emplace_back(priority(rows, i), i);
    std::vector<bool> is_kept(rows.size());
    for (auto& [unit, its] : units) {
      std::sort(its.begin(), its.end());
      for (std::size_t k = 0; k < std::min<std::size_t>(most, its.size()); ++k) is_kept[its[k].second] = true;
    }
    return is_kept;
  };
}

TEST_F(UnitSelection, IsFoundOutWhereThePriorityKnowsPlacesOrOthers) {
  const auto scrambled = [](std::size_t n) { return std::to_string((n * 7 + 3) % 11); };
  EXPECT_TRUE(protects_units(least(1, [](const Rows& rows, std::size_t i) { return rows[i].content; }), 1));
  EXPECT_FALSE(protects_units(least(1, [&](const Rows&, std::size_t i) { return scrambled(i); }), 1));
  EXPECT_FALSE(protects_units(least(1, [&](const Rows& rows, std::size_t i) { return scrambled(rows.size() * rows[i].content[0]); }), 1));
  // The number that a unit has by the order in which units first come.
  EXPECT_FALSE(protects_units(least(1,
                                    [&](const Rows& rows, std::size_t i) {
                                      std::vector<std::string> seen;
                                      for (const auto& row : rows) {
                                        if (std::find(seen.begin(), seen.end(), row.unit) == seen.end()) seen.push_back(row.unit);
                                      }
                                      const auto number = std::find(seen.begin(), seen.end(), rows[i].unit) - seen.begin();
                                      return std::string(
                                          1, static_cast<char>(number % 2 == 0 ? rows[i].content[0] : 'z' - rows[i].content[0]));
                                    }),
                              1));
  // One cap on all rows, or one row of each content whoever owns it.
  EXPECT_FALSE(protects_units(
      [](const Rows& rows) {
        std::vector<bool> is_kept(rows.size());
        for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 2); ++i) is_kept[i] = true;
        return is_kept;
      },
      2));
}

TEST_F(UnitSelection, IsFoundOutWhereItSplitsOneIdentifierInTwo) {
  // 'x' is owned by two units, by the row's content.
  EXPECT_FALSE(protects_units(
      [this](const Rows& rows) {
        Rows split = rows;
        for (auto& row : split) row.unit += row.content;
        return rule_of(1)(split);
      },
      1));
}

TEST_F(UnitSelection, KeepsTheSameRowsInEveryOrder) {
  Rows rows{{"a", "1"}, {"a", "1"}, {"a", "2"}, {"b", "7"}, {"b", "8"}};
  std::sort(rows.begin(), rows.end());
  const auto expected = kept_of_others(rows, rule_of(2)(rows), "");
  ASSERT_EQ(expected.size(), 4U);
  do {
    EXPECT_EQ(kept_of_others(rows, rule_of(2)(rows), ""), expected);
  } while (std::next_permutation(rows.begin(), rows.end()));
}

TEST_F(UnitSelection, KeepsEachOfEqualAndOtherRowsAsOftenAsAnyOther) {
  // Of rows 1, 1, 2 one is kept: 1 in two of three cases. 3,000 keys; five standard errors are 129.
  const Rows rows{{"a", "1"}, {"a", "2"}, {"a", "1"}};
  const auto file = file_of(rows);
  int ones = 0;
  for (unsigned k = 0; k < 3000; ++k) {
    UnitKey key{};
    key[0] = static_cast<unsigned char>(k);
    key[1] = static_cast<unsigned char>(k >> 8U);
    ones += select_rows(file, {.column = "unit"}, {}, key).is_kept[1] ? 0 : 1;
  }
  EXPECT_NEAR(ones, 2000, 129);
}

TEST_F(UnitSelection, TellsIdentifiersApartByTheirBytes) {
  const std::string long_one(40, 'l');
  const Rows rows{{"7", "1"},
                  {"07", "1"},
                  {" 7", "1"},
                  {"\"7\"", "1"},
                  {"\"a,b\"", "1"},
                  {long_one, "1"},
                  {long_one + "0", "1"},
                  {long_one, "2"},
                  {"123456789012345", "1"},
                  {"1234567890123456", "1"},
                  {"\xff\xfe", "1"},
                  {"\xfe", "1"},
                  {std::string(15, 'z'), "1"}};
  EXPECT_EQ(kept_of(rows, {.column = "unit"}).units, 11U);  // "7" is 7, and the long one owns two
}

TEST_F(UnitSelection, KnowsWhatAnEmptyIdentifierIs) {
  const auto file = write("rows.csv", "unit,content\n,1\n,2\n\na,1\n\"\",3\n1,2,3\n");
  const UnitRule one{.column = "unit", .most = Count{2}};
  EXPECT_EQ(select_rows(file, one, {}, a_key).units, 2U);
  EXPECT_EQ(select_rows(file, one, {}, a_key).kept, 3U);
  UnitRule each = one;
  each.empty = EmptyUnit::each;
  EXPECT_EQ(select_rows(file, each, {}, a_key).units, 6U);
  EXPECT_EQ(select_rows(file, each, {}, a_key).kept, 6U);
  const auto empty = write("empty.csv", "unit,content\n,1\n");
  EXPECT_TRUE(refuses([&] { static_cast<void>(select_rows(empty, one, public_form, a_key)); }, ErrorCode::bad_data,
                      {"row 1 (line 2), column 'unit': the cell is empty, must name a unit"}));
}

TEST_F(UnitSelection, FindsTheSameWithLittleMemory) {
  Rows rows;
  for (int i = 0; i < 4000; ++i) {
    rows.push_back(
        {i % 3 == 0 ? "a name that is long " + std::to_string(i * i % 500) : std::to_string(i * i % 700), std::to_string(i % 5)});
  }
  const UnitRule rule{.column = "unit", .most = Count{2}};
  const auto all = kept_of(rows, rule, {.lists_units = true, .public_seed = 5});
  const auto spilled = kept_of(rows, rule, {.memory = 16000, .lists_units = true, .public_seed = 5});
  EXPECT_EQ(all.is_kept, spilled.is_kept);
  EXPECT_EQ(all.unit_of, spilled.unit_of);
  EXPECT_EQ(all.words, spilled.words);
  std::map<std::string, std::set<Row>> owned;
  for (const auto& row : rows) owned[row.unit].insert(row);
  EXPECT_EQ(all.units, owned.size());
}

TEST_F(UnitSelection, ListsUnitsAndTheirPublicWords) {
  const Rows rows{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"c", "1"}, {"b", "2"}};
  const auto found = kept_of(rows, {.column = "unit", .most = Count{2}}, {.lists_units = true});
  ASSERT_EQ(found.unit_of.size(), 5U);
  ASSERT_EQ(found.words.size(), 3U);
  EXPECT_EQ(found.unit_of[0], found.unit_of[2]);
  EXPECT_EQ(found.unit_of[1], found.unit_of[4]);
  EXPECT_EQ((std::set<std::uint64_t>{found.unit_of.begin(), found.unit_of.end()}).size(), 3U);
  // Another key, other units, other rows: the same word; another seed: another one.
  const auto alone = kept_of({{"a", "9"}}, {.column = "unit"}, {.lists_units = true}, UnitKey{1});
  EXPECT_EQ(alone.words.at(0), found.words[found.unit_of[0]]);
  EXPECT_NE(kept_of({{"a", "9"}}, {.column = "unit"}, {.lists_units = true, .public_seed = 1}).words.at(0), alone.words.at(0));
}

TEST_F(UnitSelection, HoldsOutUnitsByTheirIdentifiers) {
  // What is trained on of everybody but unit 5, whatever that one owns, and whether it is there.
  const auto trained_on = [this](std::size_t rows_of_5, bool is_first) {
    Rows rows;
    if (is_first) rows.assign(rows_of_5, {"5", "100"});
    for (int i = 0; i < 60; ++i) {
      if (i % 20 != 5) rows.push_back({std::to_string(i % 20), std::to_string(i)});
    }
    if (!is_first) rows.insert(rows.begin() + 30, rows_of_5, {"5", "100"});
    const auto found = kept_of(rows, {.column = "unit", .most = Count{2}}, {.lists_units = true, .public_seed = 3});
    std::vector<double> values;
    std::map<double, std::string> owner;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (found.is_kept[i]) values.push_back(std::stod(rows[i].content));
      owner[std::stod(rows[i].content)] = rows[i].unit;
    }
    const auto split = split_units(Dataset::dense(1, values, {}), found, 0.5);
    std::multiset<std::multiset<double>> units;
    std::set<std::string> trained;
    for (std::size_t unit = 0, row = 0; unit < split.unit_ends.size(); ++unit) {
      std::multiset<double> its;
      const auto whose = owner[split.parts.training.row(row).values[0]];
      for (; row < split.unit_ends[unit]; ++row) {
        its.insert(split.parts.training.row(row).values[0]);
        EXPECT_EQ(owner[*its.rbegin()], whose);
      }
      EXPECT_LE(its.size(), 2U);
      trained.insert(whose);
      if (whose != "5") units.insert(its);
    }
    for (std::size_t i = 0; i < split.parts.held_out.size(); ++i) {
      EXPECT_FALSE(trained.contains(owner[split.parts.held_out.row(i).values[0]])) << "a unit on both sides";
    }
    std::set<std::string> held_out;
    for (std::size_t unit = 0, row = 0; unit < split.held_out_ends.size(); ++unit) {
      const auto whose = owner[split.parts.held_out.row(row).values[0]];
      EXPECT_TRUE(held_out.insert(whose).second) << "a unit in two places";
      for (; row < split.held_out_ends[unit]; ++row) EXPECT_EQ(owner[split.parts.held_out.row(row).values[0]], whose);
    }
    EXPECT_EQ(split.held_out_ends.empty() ? 0 : split.held_out_ends.back(), split.parts.held_out.size());
    EXPECT_EQ(split.parts.training.size() + split.parts.held_out.size(), values.size());
    return units;
  };
  const auto expected = trained_on(0, true);
  EXPECT_GE(expected.size(), 4U);
  EXPECT_LE(expected.size(), 15U);
  for (const std::size_t rows : {1, 2, 9}) {
    EXPECT_EQ(trained_on(rows, true), expected);
    EXPECT_EQ(trained_on(rows, false), expected);
  }
}

// "a,,": the zeroed row of a; what missing cells count as is for those that have others.
TEST_F(UnitSelection, MakesADamagedRecordOfARowWithNothingButItsOwner) {
  const auto file = write("zeroed.csv", "unit,x,y\na,,\na,1,\nb, ,\t\n");
  const auto is_kept = std::make_shared<const std::vector<bool>>(3, true);
  const auto read = [&](bool knows_owner) {
    CsvReader reader{file, {.csv = {.missing = {{"x", "7"}, {"y", "seven"}}}}};
    if (knows_owner) reader.keep_only(is_kept, "unit");
    std::vector<std::string> found;
    for (std::vector<std::string> cells; reader.next(cells);) {
      found.push_back((reader.is_damaged() ? "damaged" : reader.text(cells, 2)) + (reader.number(cells, 1) ? " 7" : ""));
    }
    return found;
  };
  EXPECT_EQ(read(false), (std::vector<std::string>{"seven 7", "seven 7", "seven 7"}));
  EXPECT_EQ(read(true), (std::vector<std::string>{"damaged", "seven 7", "damaged"}));
}

TEST_F(UnitSelection, LetsAReaderSeeKeptRowsAlone) {
  const Rows rows{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"c", "1"}};
  const auto found = kept_of(rows, {.column = "unit"});
  const auto is_kept = std::make_shared<const std::vector<bool>>(found.is_kept);
  const auto read = [&](const std::filesystem::path& path) {
    CsvReader reader{path, {}};
    reader.keep_only(is_kept, "unit");
    std::size_t count = 0;
    for (std::vector<std::string> cells; reader.next(cells); ++count) EXPECT_EQ(cells.size(), 2U);
    return count;
  };
  EXPECT_EQ(read(file_of(rows)), 3U);
  const std::string_view changed = "changed while it was read";
  EXPECT_TRUE(refuses([&] { static_cast<void>(read(write("fewer.csv", "unit,content\na,1\nb,1\n"))); }, ErrorCode::bad_data, {changed}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(read(write("more.csv", "unit,content\na,1\nb,1\na,2\nc,1\nd,1\n"))); }, ErrorCode::bad_data,
                      {changed}));
}

TEST_F(UnitSelection, ReadsTwiceOnlyWhatStandsStill) {
  const auto path = write("rows.csv", "unit\na\n");
  const FileReadTwice file{path};
  file.rewind();
  file.require_unchanged();
  write("rows.csv", "unit\na\nb\n");
  EXPECT_TRUE(refuses([&] { file.require_unchanged(); }, ErrorCode::bad_data, {"changed while it was read"}));
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(refuses([&] { return FileReadTwice{pipe}; }, ErrorCode::bad_data, {"must be one to be read twice"}));
}

// Those that `printf %s NAME | md5sum` says.
TEST(OwnerBuckets, AreTheFirstDigitsOfMd5) {
  const OwnerBucketFinder bucket_of;
  EXPECT_EQ(bucket_of(""), 0xd41U);
  EXPECT_EQ(bucket_of("a"), 0x0ccU);
  EXPECT_EQ(bucket_of("abc"), 0x900U);
  EXPECT_EQ(bucket_of("7"), 0x8f1U);
  EXPECT_EQ(bucket_of("abcdefghijklmnopqrstuvwxyz"), 0xc3fU);
  std::set<std::size_t> found;
  for (int k = 0; k < 60'000; ++k) found.insert(bucket_of(std::to_string(k)));
  EXPECT_EQ(found.size(), owner_buckets) << "all of them are reached";
  EXPECT_EQ(*found.rbegin(), owner_buckets - 1);
}

TEST_F(UnitSelection, FindsTheBucketsOfAllOwners) {
  const std::string longer(40, 'x');
  const Rows rows{{"ann", "1"}, {"bob", "1"}, {"ann", "2"}, {longer, "1"}, {"", "1"}, {"", "2"}};
  const OwnerBucketFinder bucket_of;
  OwnerBuckets named;
  for (const std::string& name : {std::string{"ann"}, std::string{"bob"}, longer}) named.set(bucket_of(name));
  const UnitRule rule{.column = "unit", .most = Count{1}};
  OwnerBuckets all = named;
  all.set(bucket_of(""));
  EXPECT_EQ(kept_of(rows, rule, {.finds_buckets = true}).buckets, all) << "rows without a name are one unit, which has a bucket";
  const UnitRule each{.column = "unit", .most = Count{1}, .empty = EmptyUnit::each};
  EXPECT_EQ(kept_of(rows, each, {.finds_buckets = true}).buckets, named);
  EXPECT_EQ(kept_of(rows, rule, {.memory = 1, .finds_buckets = true}).buckets, all) << "spilled runs";
  EXPECT_TRUE(kept_of(rows, rule).buckets.none());
  EXPECT_TRUE(kept_of({}, rule, {.finds_buckets = true}).buckets.none());
}

TEST(Combinations, HaveIdentifiersOfTheirOwn) {
  // All pairs and triples of short texts of what `combine` writes, and of what lies near.
  std::vector<std::string> texts{""};
  for (std::size_t k = 0; texts[k].size() < 3; ++k) {
    for (const char c : {'1', ':', ','}) texts.push_back(texts[k] + c);
  }
  std::map<std::string, std::vector<std::string>> known;
  std::string identifier{"from before"};
  const auto require = [&](const std::vector<std::string>& tuple) {
    const std::vector<std::string_view> views{tuple.begin(), tuple.end()};
    combine(views, identifier);
    const bool is_missing = std::find(tuple.begin(), tuple.end(), "") != tuple.end();
    EXPECT_EQ(identifier.empty(), is_missing);
    EXPECT_EQ(first_of_combination(identifier), is_missing ? "" : tuple.front());
    if (is_missing) return;
    EXPECT_EQ(known.try_emplace(identifier, tuple).first->second, tuple) << identifier;
  };
  for (const auto& a : texts) {
    for (const auto& b : texts) require({a, b});
  }
  for (std::size_t a = 0; a < 13; ++a) {
    for (std::size_t b = 0; b < 13; ++b) {
      for (std::size_t c = 0; c < 13; ++c) require({texts[a], texts[b], texts[c]});
    }
  }
  EXPECT_GT(known.size(), 3000U);
}

TEST_F(UnitSelection, OfCombinationsCountsThemApart) {
  const auto path = write("combined.csv", "user,day,x\nu,12,1\nu1,2,2\n\"u,1\",2,3\nu,\"1,2\",4\nu,12,5\nu,,6\n,12,7\nu,12,1\n\n");
  const UnitRule rule{.column = "user", .most = Count{1}, .empty = EmptyUnit::one, .beside = {"day"}};
  const auto one = select_rows(path, rule, {}, a_key, {.lists_units = true, .finds_buckets = true});
  EXPECT_EQ(one.units, 5U) << "four, and that of rows without one";
  EXPECT_EQ(one.kept, 5U);
  EXPECT_EQ(std::set<std::uint64_t>(one.words.begin(), one.words.end()).size(), 5U);
  const auto three = select_rows(path, {.column = "user", .most = Count{9}, .empty = EmptyUnit::each, .beside = {"day"}}, {}, a_key);
  EXPECT_EQ(three.units, 7U);
  EXPECT_EQ(three.kept, 9U);
  // A bucket for each first text, and for none.
  OwnerBuckets buckets;
  const OwnerBucketFinder bucket_of;
  for (const auto* const name : {"u", "u1", "u,1", ""}) buckets.set(bucket_of(name));
  EXPECT_EQ(one.buckets, buckets);
  EXPECT_TRUE(refuses([&] { static_cast<void>(select_rows(path, rule, {.form = RecordForm::is_public}, a_key)); }, ErrorCode::bad_data,
                      {"column 'day': the cell is empty, must name a unit"}));
}

}  // namespace
}  // namespace surety::data::unit_selection_test
