#include <surety/jobs/run/kept_units.h>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::kept_units_test {
namespace {

TEST(UnitOfColumn, KeepsTheColumnsName) {
  std::set<std::string> names{std::string{UnitOfPrivacy::row}};
  for (const std::string column : {"who", "row", "column row", "column column row", "column", "column ", "user,day", "column user,day"}) {
    const auto unit = jobs::unit_of_column(column, Count{1}, {});
    EXPECT_FALSE(unit.is_row());
    EXPECT_EQ(columns_of(unit), std::vector{column});
    EXPECT_TRUE(names.insert(unit.name()).second) << "two columns are one unit: " << unit.name();
  }
  EXPECT_TRUE(columns_of({}).empty());
}

TEST(KeptUnits, AreAtMostSoManyRowsOfEachOwner) {
  const TemporaryFolder folder;
  std::string text = "who,x\n";
  for (int k = 0; k < 50; ++k) text += "p" + std::to_string(k * k % 9) + "," + std::to_string(k) + "\n";
  const auto file = folder.write("table.csv", text);
  mechanisms::ReplayBits bits{1};
  const auto unit = jobs::unit_of_column("who", Count{3}, {});
  const auto units = jobs::keep_units(file, unit, {}, bits);
  data::CsvReader reader{file, {}};
  units.keep_only(reader);
  std::multiset<std::string> owners;
  for (std::vector<std::string> cells; reader.next(cells);) owners.insert(cells[0]);
  EXPECT_EQ(owners.size(), units.rows->kept);
  EXPECT_EQ(units.rows->units, 4U);
  for (const char* owner : {"p0", "p1", "p4", "p7"}) EXPECT_EQ(owners.count(owner), 3U) << owner;
  data::DataPolicy named;
  named.csv.missing = {{"who", "x"}};
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(jobs::keep_units(file, unit, named, bits)); }, ErrorCode::invalid_argument, {"names the unit"}));
}

}  // namespace
}  // namespace surety::kept_units_test
