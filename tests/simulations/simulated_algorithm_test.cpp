// A simulation as its fields say it: what each algorithm knows, what it draws, and that the noise is that of the functions below.
#include <surety/simulations/runs/simulated_algorithm.h>

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <support/refusal.h>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::simulations::simulated_algorithm_test {
namespace {

const Target target{.epsilon = Epsilon{1.5}, .delta = Delta{1e-4}, .adjacency = Adjacency::replace_one};

SimulationFields fields_for(const SimulatedAlgorithm& algorithm) {
  SimulationFields fields;
  fields.instance = algorithm.is_for_losses() ? "simplex" : "sparse";
  fields.steps = 600;
  fields.dimension = 15;
  return fields;
}

TEST(SimulatedAlgorithms, AreExactWithoutATargetAndSaySoWhereNoiseIsNeeded) {
  for (const auto& algorithm : all_simulated_algorithms()) {
    const auto run = algorithm->prepare(fields_for(*algorithm), std::nullopt);
    EXPECT_FALSE(run.noise) << algorithm->name();
    EXPECT_EQ(run.is_without_needed_noise, algorithm->draws_noise()) << algorithm->name();
    EXPECT_EQ(run.exact_regret(3).size(), 600U) << algorithm->name();
  }
}

TEST(SimulatedAlgorithms, DrawTheNoiseThatIsToBeCharged) {
  for (const auto& algorithm : all_simulated_algorithms()) {
    if (!algorithm->draws_noise()) continue;
    const auto run = algorithm->prepare(fields_for(*algorithm), target);
    ASSERT_TRUE(run.noise) << algorithm->name();
    EXPECT_LE(run.noise->epsilon.upper, target.epsilon.value()) << algorithm->name();
    EXPECT_EQ(run.noise->event.adjacency(), target.adjacency);
    mechanisms::ReplayBits first{11};
    mechanisms::ReplayBits second{11};
    const auto regret = run.private_regret(3, first);
    const auto below = run.noise_of_losses
                           ? private_regret(std::get<LossSimulation>(run.simulation), *run.noise_of_losses, 3, second)
                           : private_regret(std::get<Simulation>(run.simulation), std::get<NoiseMultiplier>(run.noise->amount), 3, second);
    EXPECT_EQ(regret, below) << algorithm->name();
    EXPECT_NE(regret, run.exact_regret(3)) << algorithm->name();
  }
}

TEST(SimulatedAlgorithms, TakeTheirFieldsAsTheyAreSaid) {
  const auto algorithms = all_simulated_algorithms();
  const auto& hdb = *algorithms.front();
  SimulationFields shared = fields_for(hdb);
  jobs::FieldTable table;
  algorithms.front()->add_fields(table, shared);
  table.find("arms")->set("5");
  table.find("warm-up")->set("3");
  table.find("factorization")->set("tree");
  const auto run = hdb.prepare(shared, target);
  const auto& simulation = std::get<Simulation>(run.simulation);
  EXPECT_EQ(simulation.arms, Count{5});
  EXPECT_EQ(simulation.warm_up, Count{3});
  EXPECT_EQ(simulation.factorization, mechanisms::Factorization::tree);
  EXPECT_EQ(simulation.adjacency, target.adjacency);
}

// A refusal of a field that an algorithm has would hide it.
TEST(SimulatedAlgorithms, RefuseNoFieldThatTheyKnow) {
  for (const auto& algorithm : all_simulated_algorithms()) {
    SimulationFields shared;
    jobs::FieldTable table;
    algorithm->add_fields(table, shared);
    for (const auto& [field, reason] : algorithm->refusals()) EXPECT_EQ(table.find(field), nullptr) << algorithm->name() << " " << field;
  }
}

TEST(SimulatedAlgorithms, OfLossesNameTheRankThatIsMissingOrTooMuch) {
  const auto all = all_simulated_algorithms();
  const auto& algorithm = *all.back();
  auto fields = fields_for(algorithm);
  fields.rank = 2;
  EXPECT_EQ(::refusal([&] { static_cast<void>(algorithm.prepare(fields, target)); }), "rank is for uniform-matroid, a simplex has none");
  fields.instance = "uniform-matroid";
  EXPECT_EQ(std::get<LossSimulation>(algorithm.prepare(fields, target).simulation).rank, Count{2});
  fields.rank.reset();
  EXPECT_EQ(::refusal([&] { static_cast<void>(algorithm.prepare(fields, target)); }), "rank is missing, uniform-matroid needs it");
}

}  // namespace
}  // namespace surety::simulations::simulated_algorithm_test
