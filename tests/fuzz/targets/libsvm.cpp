// A LIBSVM file by the private and by the public reading: no record stops the private one, and both see the same records.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fuzz/compressed.h>
#include <fuzz/target.h>

#include <surety/data/csv/libsvm.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

/// The public reading throws for each damaged record, which takes some 30 microseconds under sanitizers, so it looks at few of them.
constexpr int most_thrown = 4;
/// A compressed input of 4096 bytes can expand to millions of records. Both readings stop at the same number of them.
constexpr std::size_t most_records = 20000;

struct Damage {
  std::vector<bool> of_records = {};
  bool is_whole = false;
  bool is_cut = false;  ///< there are more records
};

Damage damage_of(const std::string& path, const data::FeatureMap& features, const data::DataPolicy& policy) {
  Damage found;
  auto& damage = found.of_records;
  int thrown = 0;
  found.is_whole = accepted([&] {
    data::LibsvmRecords records{path, features, policy};
    data::LibsvmRecords::Record record;
    for (;;) {
      if (damage.size() == most_records) {
        found.is_cut = true;
        break;
      }
      try {
        if (!records.next(record)) break;
      } catch (const data::DamagedRecord&) {
        expect(policy.form == data::RecordForm::is_public, "a record stopped the private reading");
        damage.push_back(true);
        if (++thrown == most_thrown) {
          found.is_cut = true;
          break;
        }
        continue;
      }
      damage.push_back(records.is_damaged());
      expect(record.indices.size() == record.values.size() && std::isfinite(record.label), "a record that is none");
      double squares = 0;
      for (std::size_t k = 0; k < record.indices.size(); ++k) {
        expect(record.indices[k] < features.features() && (k == 0 || record.indices[k - 1] < record.indices[k]),
               "indices do not ascend within the features");
        expect(std::isfinite(record.values[k]), "a value that is not finite");
        squares += record.values[k] * record.values[k];
      }
      expect(!features.unit_norm || squares <= 1 + 1e-9, "a row longer than 1");
    }
  });
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  Input input{data, size};
  const data::FeatureMap features{
      .inputs = data::SparseFeatures{.count = 9}, .intercept = input.choice(2) == 1, .unit_norm = input.choice(2) == 1};
  data::DataPolicy policy;
  if (input.choice(4) == 3) policy.limits.record_bytes = 16;
  if (expands_too_far(input.rest())) return 0;
  file.hold(input.rest());
  const auto in_private = damage_of(file.path(), features, policy);
  policy.form = data::RecordForm::is_public;
  policy.limits.expansion = 1e300;
  const auto in_public = damage_of(file.path(), features, policy);
  // What comes behind the end of a reading that was cut may be a damaged stream.
  expect(in_public.is_cut || in_private.is_whole == in_public.is_whole, "one reading alone opens the file");
  if (!in_private.is_whole) return 0;
  const auto& seen = in_private.of_records;
  const auto count = in_public.of_records.size();
  expect(in_public.is_cut ? seen.size() >= count : seen.size() == count, "the readings see another number of records");
  expect(std::equal(in_public.of_records.begin(), in_public.of_records.end(), seen.begin()), "the readings see other records");
  return 0;
}
