// The schema of plans is the published one. That it takes plans and refuses others, a validator says: tests/jobs/plan_schema.
#include <surety/jobs/written/plan_schema.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include <surety/jobs/algorithms/algorithms.h>

namespace surety::plan_schema_test {
namespace {

TEST(PlanSchema, IsThePublishedOne) {
  std::ifstream file{SURETY_PLAN_SCHEMA};
  const std::string published{std::istreambuf_iterator<char>{file}, {}};
  const auto made = jobs::plan_schema();
  if (published == made) return;
  const auto written = ::testing::TempDir() + "plan.schema.json";
  std::ofstream{written} << made;
  FAIL() << SURETY_PLAN_SCHEMA << " is not what the fields of plans say; " << written << " is";
}

TEST(PlanSchema, HasAnAlternativeForEachAlgorithmAndTheRelease) {
  const auto schema = nlohmann::json::parse(jobs::plan_schema());
  EXPECT_EQ(schema["oneOf"].size(), jobs::all_algorithms().size() + 2) << "releases have two versions";
  EXPECT_GT(schema["$defs"]["training"]["properties"].size(), 20U) << "said once";
}

}  // namespace
}  // namespace surety::plan_schema_test
