// A CSV file by the private and by the public reading: no record stops the private one, both see the same records, and a record is damaged for one where
// it is for the other.
#include <cmath>
#include <optional>
#include <vector>

#include <fuzz/target.h>

#include <surety/data/csv.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

struct Row {
  bool is_damaged;
  bool has_zero_byte;
};

/// \param reads_all whether the whole file is text, of which nothing can fail
std::optional<std::vector<Row>> rows_of(const std::string& path, const data::DataPolicy& policy) {
  std::vector<Row> rows;
  bool is_open = false;
  bool is_whole = true;
  accepted([&] {
    data::CsvReader reader{path, policy};
    is_open = true;
    const auto columns = reader.header().size();
    std::vector<std::string> cells;
    for (;;) {
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
      } catch (const Error&) {
        is_whole = false;  // a compressed stream
        throw;
      }
    }
  });
  if (!is_open || !is_whole) return std::nullopt;
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  Input input{data, size};
  data::DataPolicy policy{.csv = {.delimiter = ",;\t "[input.choice(4)], .quoted_lines = input.choice(4)}};
  if (input.choice(2) == 1) policy.csv.columns = {"a", "b"};
  if (input.choice(4) == 3) policy.limits.record_bytes = 16;
  file.hold(input.rest());
  const auto in_private = rows_of(file.path(), policy);
  policy.form = data::RecordForm::is_public;
  policy.limits.expansion = 1e300;
  const auto in_public = rows_of(file.path(), policy);
  expect(in_private.has_value() == in_public.has_value(), "one reading alone opens the file");
  if (!in_private) return 0;
  expect(in_private->size() == in_public->size(), "the readings see another number of records");
  for (std::size_t k = 0; k < in_private->size(); ++k) {
    const auto& seen = (*in_private)[k];
    expect((seen.is_damaged || seen.has_zero_byte) == (*in_public)[k].is_damaged, "a record is damaged for one reading alone");
  }
  return 0;
}
