#include <surety/data/reading/called_off.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <support/arrow_batches.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_reader.h>
#include <surety/data/csv/csv.h>
#include <surety/data/units/unit_selection.h>

namespace surety::data::called_off_test {
namespace {

using reference::refusal_of;
using testing::ArrowCell;

constexpr std::size_t rows = 1000;
constexpr UnitKey key{7};
const UnitRule rule{.column = "who", .most = Count{2}};

testing::ArrowTestTable table() {
  testing::ArrowTestTable made{.columns = {{"who", "l", {}}, {"x", "g", {}}}};
  for (std::size_t row = 0; row < rows; ++row) {
    made.columns[0].cells.emplace_back(static_cast<std::int64_t>(row / 5));
    made.columns[1].cells.emplace_back(static_cast<double>(row));
  }
  return made;
}

class CalledOffReading : public ::testing::Test {
 protected:
  CalledOffReading() {
    std::string text = "who,x\n";
    for (std::size_t row = 0; row < rows; ++row) text += std::to_string(row / 5) + "," + std::to_string(row) + "\n";
    csv_ = folder_.write("table.csv", text);
  }

  [[nodiscard]] std::size_t csv_rows() const {
    CsvReader reader{csv_, {}};
    std::vector<std::string> cells;
    std::size_t count = 0;
    while (reader.next(cells)) ++count;
    return count;
  }
  static std::size_t arrow_rows() {
    auto stream = arrow_stream(table());
    ArrowReader reader{ArrowStream{&stream}, {}};
    std::size_t count = 0;
    while (reader.next()) ++count;
    return count;
  }
  static std::size_t arrow_numbers() {
    auto stream = arrow_stream(table());
    ArrowReader reader{ArrowStream{&stream}, {}};
    const auto x = reader.position("x", CellUse::number);
    std::size_t count = 0;
    while (reader.next_batch()) {
      static_cast<void>(reader.numbers_of_batch(x, [&](auto numbers, std::size_t) { count += numbers.size(); }));
    }
    return count;
  }
  static std::size_t arrow_units() {
    auto stream = arrow_stream(table());
    ArrowReader reader{ArrowStream{&stream}, {}};
    static_cast<void>(reader.position("x", CellUse::number));
    return static_cast<std::size_t>(reader.keep_units({.rule = rule, .key = key, .options = {}}).kept);
  }
  [[nodiscard]] std::size_t csv_units() const { return static_cast<std::size_t>(select_rows(csv_, rule, {}, key).kept); }

  TemporaryFolder folder_;
  std::filesystem::path csv_;
};

TEST_F(CalledOffReading, EndsWhatReadsAndNothingElse) {
  const auto each = [&](const auto& see) {
    see("csv", rows, [&] { return csv_rows(); });
    see("units of csv", rows / 5 * 2, [&] { return csv_units(); });
    see("arrow", rows, [] { return arrow_rows(); });
    see("numbers of arrow", rows, [] { return arrow_numbers(); });
    see("units of arrow", rows / 5 * 2, [] { return arrow_units(); });
  };
  each([](const char* name, std::size_t expected, const auto& read) {
    EXPECT_EQ(read(), expected) << name;
    {
      const CalledOff never{[] { return false; }};
      EXPECT_EQ(read(), expected) << name;
    }
    {
      const CalledOff always{[] { return true; }};
      const CalledOff nobody{{}};
      EXPECT_EQ(read(), expected) << name << ": the innermost one counts";
    }
    const CalledOff always{[] { return true; }};
    EXPECT_TRUE(refusal_of(read).says(ErrorCode::stopped, "called off")) << name;
  });
  EXPECT_EQ(testing::ArrowCount::live, 0);
}

TEST_F(CalledOffReading, IsAskedAtMostEveryTenMilliseconds) {
  int asked = 0;
  const CalledOff never{[&] {
    ++asked;
    return false;
  }};
  for (int k = 0; k < 100; ++k) require_not_called_off_now();
  EXPECT_EQ(asked, 1);
}

TEST_F(CalledOffReading, NowAndThenIsEvery256thCall) {
  const CalledOff always{[] { return true; }};
  int calls = 0;
  EXPECT_TRUE(refusal_of([&] {
                for (; calls < 1000; ++calls) require_not_called_off();
                return 0;
              }).refused);
  EXPECT_LT(calls, 256);
}

}  // namespace
}  // namespace surety::data::called_off_test
