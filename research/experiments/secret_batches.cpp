// DP-SGD with allocated batches against Poisson batches at the same guarantee: what noise each needs, and what that does to the gap.
//
//     experiment_secret_batches [SEEDS [DATA...]]      default: 10 seeds, a9a and covtype.20k
//
// (epsilon, 1e-5)-DP under zero-out; add-or-remove-one costs the same. Equal epochs, equal expected size of a batch, n / t: Poisson batches
// have rate 1 / t and E t steps, allocated ones E epochs of t rounds. Logistic loss of rows of unit l2 norm, lambda = 0.01.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>
#include <surety/optimizers/problem/loss.h>

#include "classification_data.h"
#include "page_check.h"
#include "report.h"

namespace surety::experiments {
namespace {

using namespace optimizers;
using namespace data;
using mechanisms::Allocation;
using mechanisms::PoissonBatches;
using mechanisms::ReplayBits;

constexpr auto adjacency = Adjacency::zero_out;
constexpr std::array<double, 3> epsilons{0.5, 1, 2};
const Regularization lambda{0.01};

Target target(double epsilon) { return {.epsilon = Epsilon{epsilon}, .delta = Delta{1e-5}, .adjacency = adjacency}; }

/// E epochs of batches of n / t.
struct Passes {
  std::uint64_t rounds;
  std::uint64_t epochs;

  [[nodiscard]] std::string said() const { return fmt::format("t = {}, {} epoch{}", rounds, epochs, epochs == 1 ? "" : "s"); }
};

SampledSgdOptions options_of(const AnySampler& sampler, const Passes& passes, NoiseMultiplier z) {
  return {.noise_multiplier = z, .sampler = sampler, .steps = Count{passes.rounds * passes.epochs}, .adjacency = adjacency};
}
AnySampler allocated(const Passes& passes) { return Allocation{Count{passes.rounds}}; }
AnySampler poisson(const Passes& passes) { return PoissonBatches{SamplingRate{1 / static_cast<double>(passes.rounds)}}; }

/// The least noise, which depends on no data.
NoiseMultiplier noise_of(const AnySampler& sampler, const Passes& passes, double epsilon) {
  static std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t, double>, NoiseMultiplier> known;
  const auto key = std::tuple{sampler.index(), passes.rounds, passes.epochs, epsilon};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const auto found = calibrate([&](NoiseMultiplier z) { return plan(options_of(sampler, passes, z)); }, target(epsilon)).value;
  return known.emplace(key, found).first->second;
}

struct Gap {
  MeanAndDeviation gap;
  double audited;  ///< epsilon of one run's ledger
};

Gap gap_of(const Dataset& data, double optimum, const AnySampler& sampler, const Passes& passes, double epsilon, std::uint64_t seeds) {
  const SampledSgdOptions options = options_of(sampler, passes, noise_of(sampler, passes, epsilon));
  const auto run = [&](auto& reservation, auto& bits) {
    const auto with = [&](auto releaser) { return sampled_sgd(data, LogisticLoss{}, L2Regularizer{lambda}, options, releaser); };
    if (const auto* const allocation = std::get_if<Allocation>(&sampler)) return with(NoisyEpochReleaser{reservation, bits, *allocation});
    return with(NoisySamplingReleaser{reservation, bits, std::get<PoissonBatches>(sampler)});
  };
  std::vector<double> gaps;
  double audited = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto loss_of = [&](const std::vector<double>& weights) {
      return regularized_loss(LogisticLoss{}, data, weights, lambda) - optimum;
    };
    if (seed == 1) {
      const auto [weights, spent] = charged(plan(options), target(epsilon), seed, run);
      audited = spent;
      gaps.push_back(loss_of(weights));
      continue;
    }
    // An audit takes longer than the run; of one event all are the same.
    TemporaryLedger ledger{adjacency};
    auto reservation = ledger.ledger().reserve({.event = plan(options), .promise = target(epsilon), .not_private = true});
    ReplayBits bits{seed};
    gaps.push_back(loss_of(run(reservation, bits)));
    reservation.settle(accounting::Stopping::data_independent);
  }
  return {mean_and_deviation(gaps), audited};
}

constexpr std::array<Passes, 4> all_passes{{{200, 5}, {200, 1}, {20, 5}, {20, 1}}};

/// "1.2162, 1.3646 (10.9 % less)".
std::string noise_cell(const Passes& passes, double epsilon) {
  const double dealt = noise_of(allocated(passes), passes, epsilon).value();
  const double coins = noise_of(poisson(passes), passes, epsilon).value();
  return fmt::format("{:.4f}, {:.4f} ({:.1f} % less)", dealt, coins, 100 * (1 - dealt / coins));
}

int run(std::uint64_t seeds, const std::vector<std::string>& names) {
  fmt::print("{}", heading("Allocated batches against Poisson batches", "research/scripts/experiment secret_batches"));
  fmt::print(
      "DP-SGD, (epsilon, 1e-5)-DP under zero-out, with batches of expected size n / t (`research/experiments/secret_batches.cpp`).\n"
      "*allocated*: each record is assigned to one random batch of the t batches of an epoch; *Poisson*: it joins each batch with probability 1 / t.\n\n"
      "## Least noise multiplier\n\n");
  Table noise{{"passes", "epsilon = 0.5", "1", "2"}};
  for (const Passes& passes : all_passes) {
    std::vector<std::string> row{passes.said()};
    for (const double epsilon : epsilons) row.push_back(noise_cell(passes, epsilon));
    noise.add(row);
  }
  fmt::print("{}\n", noise.markdown());
  const char* const folder = std::getenv("SURETY_DATA_DIR");
  if (folder == nullptr) {
    fmt::print("Skipped: SURETY_DATA_DIR does not name the folder of the data.\n");
    return 0;
  }
  for (const auto& name : names) {
    const Dataset data = classification_data(name, folder);
    const double optimum = logistic_optimum(data, lambda);
    fmt::print("## {}\n\n{} records, {} features, logistic loss with lambda = {}. Gap F(w) - F(w*): mean (deviation) of {} seeds.\n\n",
               name, data.size(), data.features(), lambda.value(), seeds);
    Table table{{"passes", "batches", "gap at epsilon = 0.5", "1", "2", "audited epsilon"}};
    for (const Passes& passes : all_passes) {
      for (const auto& [said, sampler] : {std::pair{"allocated", allocated(passes)}, {"Poisson", poisson(passes)}}) {
        std::vector<std::string> row{passes.said(), said};
        std::string audited;
        for (const double epsilon : epsilons) {
          const Gap found = gap_of(data, optimum, sampler, passes, epsilon, seeds);
          row.push_back(text(found.gap));
          audited += fmt::format("{}{:.4g}", audited.empty() ? "" : ", ", found.audited);
        }
        row.push_back(audited);
        table.add(row);
      }
    }
    fmt::print("{}\n", table.markdown({.file = "secret-batches",
                                       .labels = {{"data", name}},
                                       .keep = R"(, 5 epochs \|)",
                                       .columns = {"passes", "batches", "gap at epsilon = 0.5", "1", "2"}}));
  }
  return 0;
}

/// On randhie, which is in the tree: one run of either kind at epsilon = 1, and the noise that they need. How a row of each table of other
/// data begins, where SURETY_DATA_DIR names their folder.
void make_fixed_part(FixedPart& part) {
  const Passes passes{20, 5};
  const Dataset data = classification_data("randhie", SURETY_EXAMPLES);
  for (const auto& [said, sampler] : {std::pair{"allocated", allocated(passes)}, {"Poisson", poisson(passes)}}) {
    const std::string name = said;
    const Gap found = gap_of(data, 0, sampler, passes, 1, 1);
    part.add(name + ": noise multiplier", noise_of(sampler, passes, 1).value());
    part.add(name + ": loss", found.gap.mean);
    part.add(name + ": audited epsilon", found.audited);
  }
  part.show(noise_cell(passes, 1));
  const char* const folder = std::getenv("SURETY_DATA_DIR");
  if (folder == nullptr) return;
  for (const char* const name : {"a9a", "covtype.20k"}) {
    const Dataset other = classification_data(name, folder);
    const Passes shortest{20, 1};
    const Gap found = gap_of(other, logistic_optimum(other, lambda), allocated(shortest), shortest, 0.5, 10);
    part.show(Table::line({shortest.said(), "allocated", text(found.gap)}));
  }
}

int page(std::span<char* const> arguments) {
  const std::uint64_t seeds = number_at(arguments, 1, 10);
  std::vector<std::string> names;
  for (std::size_t i = 2; i < arguments.size(); ++i) names.emplace_back(arguments[i]);
  if (names.empty()) names = {"a9a", "covtype.20k"};
  return run(seeds == 0 ? 1 : seeds, names);
}

}  // namespace
}  // namespace surety::experiments

int main(int count, char** arguments) {
  using namespace surety::experiments;
  return main_of_page({arguments, static_cast<std::size_t>(count)}, page, make_fixed_part);
}
