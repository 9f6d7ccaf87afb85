#include <surety/jobs/algorithms/secret_batches.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include <surety/jobs/plans/choice_text.h>

namespace surety::jobs {

using mechanisms::Allocation;
using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;
using mechanisms::TruncatedBatches;

void add_sampling(FieldTable& table, std::optional<Sampling>& sampling, FieldText standard) {
  table
      .add("sampling", sampling, "How batches are drawn: poisson, or fixed (without replacement, under replace-one alone)",
           {Sampling::poisson, Sampling::fixed})
      .standard(std::move(standard));
}

void add_batch_size(FieldTable& table, std::optional<std::uint64_t>& size, FieldText standard) {
  table.add("batch-size", size, "Records of a batch", WholeNumber{1, max_count}).standard(std::move(standard));
}

IndependentSampler sampler_of(Sampling sampling, Adjacency adjacency, Count units, std::uint64_t size) {
  if (sampling == Sampling::fixed) {
    if (adjacency != Adjacency::replace_one) {
      refuse_plan("{} is fixed, must be poisson under {}", "sampling"_field, surety::name(adjacency));
    }
    return FixedSizeBatches{Batches{units, Count{size}}};
  }
  if (sampling != Sampling::poisson) refuse_plan("{} is {}, must be poisson or fixed", "sampling"_field, sampling);
  return PoissonBatches{SamplingRate{static_cast<double>(size) / static_cast<double>(units.value())}};
}

optimizers::AnySampler any(const IndependentSampler& sampler) {
  return std::visit([](const auto& its) -> optimizers::AnySampler { return its; }, sampler);
}

Allocation allocation_of(Count units, std::uint64_t size) {
  return Allocation{Count{
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(static_cast<double>(units.value()) / static_cast<double>(size))))}};
}

TruncatedBatches truncated_of(Adjacency adjacency, Count units, std::uint64_t size, std::uint64_t largest) {
  if (adjacency == Adjacency::add_or_remove_one) {
    refuse_plan("{} is truncated, must be poisson or allocated under add-or-remove-one: {} is no bound on their number", "sampling"_field,
                "records"_field);
  }
  if (largest >= units.value()) {
    refuse_plan("{} is {}, must be less than the {} that are trained on: poisson drops none", "largest-batch"_field, largest,
                units.value());
  }
  const SamplingRate rate{static_cast<double>(size) / static_cast<double>(units.value())};
  return TruncatedBatches{rate, Batches{units, Count{largest}}, adjacency};
}

std::uint64_t batch_size_of(const std::optional<std::uint64_t>& said, Count training, std::uint64_t share) {
  const std::uint64_t size = said.value_or(std::max<std::uint64_t>(1, training.value() / share));
  if (size > training.value()) {
    refuse_plan("{} is {}, must be at most the {} records that are trained on", "batch-size"_field, size, training.value());
  }
  return size;
}

}  // namespace surety::jobs
