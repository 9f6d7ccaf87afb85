// A simulation as its fields say it: the instance, the algorithm, and the noise that the algorithm would need for people.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/jobs/plans/fields.h>
#include <surety/simulations/loss_simulation.h>
#include <surety/simulations/simulation.h>

namespace surety::simulations {

/// The most users that a factorized sum is made for.
inline constexpr std::uint64_t max_steps = std::uint64_t{1} << 24;

/// What every algorithm knows.
struct SimulationFields {
  std::string instance;
  std::uint64_t steps = 10'000;
  std::uint64_t dimension = 50;

  // Those with arms, with losses, and with noise.
  std::uint64_t arms = 2;
  std::optional<std::uint64_t> rank = {};
  bool without_noise = false;
  std::optional<mechanisms::Factorization> factorization = {};

  /// Whether the instance has loss functions in the place of arms.
  [[nodiscard]] bool has_losses() const;
};

/// What one algorithm is about to do: draw `noise`, which is to be charged before, for each seed.
struct SimulatedRun {
  struct Noise {
    Event event;
    Enclosure epsilon;
    std::variant<NoiseMultiplier, NoiseScale> amount;
  };

  std::variant<Simulation, LossSimulation> simulation;
  std::optional<Noise> noise = {};
  bool is_without_needed_noise = false;  ///< NOT PRIVATE
  std::optional<CalibratedLossNoise> noise_of_losses = {};

  /// The cumulative regret after each user of that seed. \throws as `private_regret` and `exact_regret`.
  [[nodiscard]] std::vector<double> exact_regret(std::uint64_t seed) const;
  /// \pre noise, which was charged
  [[nodiscard]] std::vector<double> private_regret(std::uint64_t seed, mechanisms::BitsRef bits) const;
};

/// One algorithm, and its own fields as they were said.
class SimulatedAlgorithm {
 public:
  SimulatedAlgorithm(std::string_view name, std::string_view summary) : name_{name}, summary_{summary} {}
  SimulatedAlgorithm(const SimulatedAlgorithm&) = delete;
  SimulatedAlgorithm& operator=(const SimulatedAlgorithm&) = delete;
  virtual ~SimulatedAlgorithm() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// One sentence.
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }

  /// The fields that it knows beside those of all; their values go into this algorithm and into `shared`.
  virtual void add_fields(jobs::FieldTable& table, SimulationFields& shared) = 0;
  /// Why it has no use for a field of others, in words that follow the field's name; where nothing is said, that it is for those.
  [[nodiscard]] virtual std::vector<jobs::RefusedField> refusals() const = 0;

  /// Whether it is for the instances with losses.
  [[nodiscard]] virtual bool is_for_losses() const { return false; }
  /// Whether it draws noise, unless it is told not to.
  [[nodiscard]] virtual bool draws_noise() const { return true; }
  /// Calibrates for `target`, where there is one. \pre there is one, where it draws noise \throws PlanError for what is missing or cannot be simulated.
  [[nodiscard]] virtual SimulatedRun prepare(const SimulationFields& shared, const std::optional<Target>& target) const = 0;

 private:
  std::string name_;
  std::string summary_;
};

/// All of them, in the order of the help.
[[nodiscard]] std::vector<std::unique_ptr<SimulatedAlgorithm>> all_simulated_algorithms();

}  // namespace surety::simulations
