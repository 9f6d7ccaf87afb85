#include "secret_batches.h"

#include <algorithm>
#include <variant>

#include "../validators.h"

namespace surety::cli {

using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;

void add_sampling(OptionTable& table, std::optional<std::string>& sampling, std::string standard) {
  table
      .add("--sampling", sampling, "How batches are drawn: poisson, or fixed (without replacement, under replace-one alone)",
           one_of({"poisson", "fixed"}))
      .standard(std::move(standard));
}

void add_batch_size(OptionTable& table, std::optional<std::uint64_t>& size, std::string standard) {
  table.add("--batch-size", size, "Records of a batch", whole_number(1, max_count)).standard(std::move(standard));
}

optimizers::AnySampler sampler_of(const std::string& sampling, const TrainOptions& shared, Count units, std::uint64_t size) {
  if (sampling == "fixed") {
    if (shared.run.target().adjacency != Adjacency::replace_one) {
      invalid(fmt::format("--sampling is fixed, must be poisson under {}", shared.run.adjacency));
    }
    return FixedSizeBatches{Batches{units, Count{size}}};
  }
  return PoissonBatches{SamplingRate{static_cast<double>(size) / static_cast<double>(units.value())}};
}

std::uint64_t batch_size_of(const std::optional<std::uint64_t>& said, Count training, std::uint64_t share) {
  const std::uint64_t size = said.value_or(std::max<std::uint64_t>(1, training.value() / share));
  if (size > training.value()) {
    invalid(fmt::format("--batch-size is {}, must be at most the {} records that are trained on", size, training.value()));
  }
  return size;
}

std::vector<double> with_sampler(const optimizers::AnySampler& sampler, accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                 const std::function<std::vector<double>(optimizers::SamplingReleaserRef releaser)>& run) {
  return std::visit(
      [&](const auto& its) {
        optimizers::NoisySamplingReleaser releaser{reservation, bits, its};
        return run(releaser);
      },
      sampler);
}

}  // namespace surety::cli
