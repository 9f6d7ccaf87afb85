// What algorithms on secret batches share: how batches are drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include <surety/jobs/algorithms/algorithm.h>

namespace surety::jobs {

void add_sampling(FieldTable& table, std::optional<Sampling>& sampling, FieldText standard);
void add_batch_size(FieldTable& table, std::optional<std::uint64_t>& size, FieldText standard);

/// Of batches that do not depend on each other.
using IndependentSampler = std::variant<mechanisms::PoissonBatches, mechanisms::FixedSizeBatches>;

/// Batches of `size` of `units`: "fixed", or else Poisson. \throws Error{invalid_argument} for fixed ones under another adjacency than
/// replace-one.
[[nodiscard]] IndependentSampler sampler_of(Sampling sampling, Adjacency adjacency, Count units, std::uint64_t size);
[[nodiscard]] optimizers::AnySampler any(const IndependentSampler& sampler);

/// Rounds of about `size` of `units` each, dealt anew each epoch.
[[nodiscard]] mechanisms::Allocation allocation_of(Count units, std::uint64_t size);
/// Poisson batches of at most `largest`. \throws Error{invalid_argument} under add-or-remove-one, where it would have to be known that no
/// more records can be than the public number, and for a size that cuts nothing.
[[nodiscard]] mechanisms::TruncatedBatches truncated_of(Adjacency adjacency, Count units, std::uint64_t size, std::uint64_t largest);

/// --batch-size, or a share of the records. \throws Error{invalid_argument} for more than those.
[[nodiscard]] std::uint64_t batch_size_of(const std::optional<std::uint64_t>& said, Count training, std::uint64_t share);

}  // namespace surety::jobs
