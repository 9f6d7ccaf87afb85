// A record of sparse features, as its row of a file or of a matrix says it.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/data/features/features.h>

namespace surety::data {

struct SparseRecord {
  double label = 0;
  std::vector<std::uint32_t> indices = {};  ///< ascending, from 0
  std::vector<double> values = {};          ///< not zero
};

/// The count of a map of sparse features. \throws Error{invalid_argument} for a map that is not valid or is one of named columns
[[nodiscard]] std::uint32_t count_of_sparse(const FeatureMap& features);
/// What the map makes of a record whose values stand as they were written: with the intercept, and of its length. \pre a map of sparse features
void finish_record(const FeatureMap& features, SparseRecord& record);

}  // namespace surety::data
