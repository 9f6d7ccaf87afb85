// A schema: what is one says of each column what it said, and a schema that is made of its names is one.
#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/jobs/plans/schema.h>

using namespace surety;
using namespace surety_fuzz;

SURETY_MUTATES_JSON(0)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  static const InputFile made;
  file.hold({reinterpret_cast<const char*>(data), size});
  accepted([&] {
    const auto schema = jobs::read_schema(file.path());
    std::vector<std::string> names;
    for (const auto& column : schema.columns) {
      expect(schema.find(column.name) == &column, "a column is found by another name than its own");
      names.push_back(column.name);
    }
    if (names.empty()) return;
    made.hold(jobs::schema_text("data", schema.delimiter.value_or(","), schema.decimal.value_or(".").front(), schema.has_header, names));
    const auto again = jobs::read_schema(made.path());
    expect(again.columns.size() == names.size(), "a schema that was made has other columns");
    for (std::size_t k = 0; k < names.size(); ++k) expect(again.columns[k].name == names[k], "a name does not come back from a schema");
  });
  return 0;
}
