#include <surety/data/features/sparse_record.h>

#include <variant>

#include <surety/base/text/error.h>

namespace surety::data {

std::uint32_t count_of_sparse(const FeatureMap& features) {
  features.validate();
  const auto* const sparse = std::get_if<SparseFeatures>(&features.inputs);
  if (sparse == nullptr) invalid("the features are named columns, so they cannot be read from LIBSVM text or a sparse matrix");
  return sparse->count;
}

void finish_record(const FeatureMap& features, SparseRecord& record) {
  if (features.intercept) {
    record.indices.push_back(std::get<SparseFeatures>(features.inputs).count);
    record.values.push_back(1);
  }
  scale_row(features, record.values);
}

}  // namespace surety::data
