// A LIBSVM file by the private and by the public reading: no record stops the private one, and both see the same records.
#include <cmath>
#include <vector>

#include <fuzz/target.h>

#include <surety/data/libsvm.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

std::vector<bool> damage_of(const std::string& path, const data::FeatureMap& features, const data::DataPolicy& policy, bool& is_whole) {
  std::vector<bool> damage;
  is_whole = accepted([&] {
    data::LibsvmRecords records{path, features, policy};
    data::LibsvmRecords::Record record;
    for (;;) {
      try {
        if (!records.next(record)) break;
      } catch (const data::DamagedRecord&) {
        expect(policy.form == data::RecordForm::is_public, "a record stopped the private reading");
        damage.push_back(true);
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
  return damage;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  Input input{data, size};
  const data::FeatureMap features{
      .inputs = data::SparseFeatures{.count = 9}, .intercept = input.choice(2) == 1, .unit_norm = input.choice(2) == 1};
  data::DataPolicy policy;
  if (input.choice(4) == 3) policy.limits.record_bytes = 16;
  file.hold(input.rest());
  bool is_whole_in_private = false;
  bool is_whole_in_public = false;
  const auto in_private = damage_of(file.path(), features, policy, is_whole_in_private);
  policy.form = data::RecordForm::is_public;
  policy.limits.expansion = 1e300;
  const auto in_public = damage_of(file.path(), features, policy, is_whole_in_public);
  expect(is_whole_in_private == is_whole_in_public, "one reading alone opens the file");
  expect(!is_whole_in_private || in_private == in_public, "the readings see other records");
  return 0;
}
