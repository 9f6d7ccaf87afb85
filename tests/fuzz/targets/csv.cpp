// A CSV file by the private and by the public reading: no record stops the private one, both see the same records, and a record is damaged for one where
// it is for the other.
#include <cmath>
#include <optional>
#include <vector>

#include <fuzz/compressed.h>
#include <fuzz/target.h>

#include <surety/data/csv/csv.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

struct Row {
  bool is_damaged;
  bool has_zero_byte;
};

/// The rows of a file up to the last one that was looked at; nothing where the file itself cannot be read.
struct Rows {
  std::vector<Row> rows = {};
  bool is_cut = false;  ///< there are more
};

/// The public reading throws for each damaged record, which takes some 30 microseconds under sanitizers: a file of empty lines took as long as a thousand
/// others. So it looks at few of them.
constexpr int most_thrown = 4;
/// A compressed input of 4096 bytes can expand to millions of records. Both readings stop at the same number of them.
constexpr std::size_t most_rows = 20000;

std::optional<Rows> rows_of(const std::string& path, const data::DataPolicy& policy) {
  Rows found;
  auto& rows = found.rows;
  int thrown = 0;
  bool is_open = false;
  bool is_whole = true;
  accepted([&] {
    data::CsvReader reader{path, policy};
    is_open = true;
    const auto columns = reader.header().size();
    std::vector<std::string> cells;
    for (;;) {
      if (rows.size() == most_rows) {
        found.is_cut = true;
        break;
      }
      try {
        if (!reader.next(cells)) break;
        expect(cells.size() == columns, "a row of another number of cells than the header");
        rows.push_back({reader.is_damaged(), reader.record().find('\0') != std::string::npos});
        for (std::size_t k = 0; policy.form == data::RecordForm::is_private && k < columns; ++k) {
          expect(!reader.is_damaged() || cells[k].empty(), "a cell of a damaged record");
          const auto number = reader.number(cells, k);
          expect(!number || std::isfinite(*number), "a number that is not finite");
        }
      } catch (const data::DamagedRecord&) {
        expect(policy.form == data::RecordForm::is_public, "a record stopped the private reading");
        rows.push_back({true, reader.record().find('\0') != std::string::npos});
        if (++thrown == most_thrown) {
          found.is_cut = true;
          break;
        }
      } catch (const Error&) {
        is_whole = false;  // a compressed stream
        throw;
      }
    }
  });
  if (!is_open || !is_whole) return std::nullopt;
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  Input input{data, size};
  data::DataPolicy policy{.csv = {.delimiter = ",;\t "[input.choice(4)], .quoted_lines = input.choice(4)}};
  if (input.choice(2) == 1) policy.csv.columns = {"a", "b"};
  const auto how = input.choice(16);
  if (how % 4 == 3) policy.limits.record_bytes = 16;
  policy.csv.thousands = std::string_view{"\0,' ", 4}[how / 4];
  if (expands_too_far(input.rest())) return 0;
  file.hold(input.rest());
  const auto in_private = rows_of(file.path(), policy);
  policy.form = data::RecordForm::is_public;
  policy.limits.expansion = 1e300;
  const auto in_public = rows_of(file.path(), policy);
  // What comes behind the end of a reading that was cut may be a damaged stream.
  const bool is_cut = in_public && in_public->is_cut;
  expect(is_cut || in_private.has_value() == in_public.has_value(), "one reading alone opens the file");
  if (!in_private || !in_public) return 0;
  const auto count = in_public->rows.size();
  expect(is_cut ? in_private->rows.size() >= count : in_private->rows.size() == count, "the readings see another number of records");
  for (std::size_t k = 0; k < count; ++k) {
    const auto& seen = in_private->rows[k];
    expect((seen.is_damaged || seen.has_zero_byte) == in_public->rows[k].is_damaged, "a record is damaged for one reading alone");
  }
  return 0;
}
