// The registry's entry of a ledger: what it states is what the report states, and what the ledger does not know is a question.
#include <surety/jobs/report/registry.h>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/jobs/report/ledger_report.h>

#include <support/refusal.h>

namespace surety::registry_test {
namespace {

using accounting::FilterKind;
using accounting::Ledger;
using nlohmann::json;

constexpr Adjacency adjacency = Adjacency::add_or_remove_one;

/// Of a ledger with so many releases; `filter` with a budget of (2, 1e-6).
json report(int runs, std::optional<FilterKind> filter, double promised = 0.5, std::optional<Delta> delta = Delta{1e-6},
            bool is_replayed = false) {
  const Target target{.epsilon = Epsilon{2}, .delta = Delta{1e-6}, .adjacency = adjacency};
  auto ledger =
      Ledger::create(std::make_shared<accounting::MemoryStore>(), adjacency,
                     filter ? std::optional{accounting::Budget{.target = target, .filter = *filter}} : std::nullopt, {"nr", Count{8}});
  for (int k = 0; k < runs; ++k) {
    const auto event = laplace(NoiseScale{4}, adjacency);
    const Target promise{.epsilon = Epsilon{promised}, .delta = Delta{0}, .adjacency = adjacency};
    auto reservation = ledger.reserve({.event = event, .unit = ledger.unit(), .promise = promise, .note = "a", .not_private = is_replayed});
    reservation.spend(event);
    reservation.settle(accounting::Stopping::data_independent);
  }
  return jobs::report_of(ledger, {.delta = delta}, {.program = "surety 0.0.0", .command = "surety report LEDGER", .ledger_sha256 = {}});
}
std::string entry(const json& report, const json& facts = nullptr) { return jobs::registry_entry_of(report, facts).yaml; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Registry, StatesTheBudgetWhereThereIsOneAndOtherwiseWhatWasSpent) {
  const auto limited = entry(report(1, FilterKind::renyi, 0.5, std::nullopt));
  EXPECT_TRUE(has(limited, "      epsilon: 2\n      delta: 1.0e-06\n    privacy_parameters_details:")) << limited;
  EXPECT_TRUE(has(limited, "variant_name: \"Approximate DP\"")) << limited;
  EXPECT_TRUE(has(limited, "release_type_details: \"One release is recorded")) << limited;
  EXPECT_TRUE(has(limited, "# release_type:")) << "whether more will follow is not known: " << limited;
  // At another delta, a budget says nothing.
  EXPECT_TRUE(has(entry(report(1, FilterKind::renyi, 0.5, Delta{1e-9})), "      epsilon: 0.25\n      delta: 1.0e-09\n"));
  EXPECT_TRUE(has(entry(report(2, std::nullopt, 0.5, Delta{0})), "      epsilon: 0.5\n    privacy_parameters_details:"));
  const auto pure = entry(report(2, std::nullopt, 0.5, Delta{0}));
  EXPECT_TRUE(has(pure, "variant_name: \"Pure DP\"")) << pure;
  EXPECT_TRUE(has(pure, "release_type: \"Many releases\"")) << pure;
  const auto concentrated = entry(report(1, FilterKind::zcdp, 0.5, std::nullopt));
  EXPECT_TRUE(has(concentrated, "variant_name: \"Zero-concentrated DP\"")) << concentrated;
  EXPECT_TRUE(has(concentrated, "      delta: 1.0e-06\n      rho: 0.08815")) << concentrated;
}

TEST(Registry, OfABrokenPromiseStatesWhatWasSpent) {
  const auto broken = report(1, std::nullopt, 0.1);
  ASSERT_EQ(broken["verdict"], "broken");
  EXPECT_TRUE(has(entry(broken), "epsilon: 0.249998\n") || has(entry(broken), "epsilon: 0.25\n")) << entry(broken);
}

TEST(Registry, AsksEachFieldThatNobodyGave) {
  const auto begun = jobs::registry_entry_of(report(1, std::nullopt), nullptr);
  std::size_t questions = 0;
  std::size_t required = 0;
  for (auto at = begun.yaml.find(":  # "); at != std::string::npos; at = begun.yaml.find(":  # ", at + 1)) {
    ++questions;
    if (begun.yaml.compare(at, 15, ":  # required. ") == 0) ++required;
  }
  EXPECT_EQ(begun.questions, questions);
  EXPECT_EQ(begun.required, required);
  EXPECT_EQ(required, 9U);
  const json facts{{"deployment", {{"basic", {{"name", "Trips in Oslo, 2026"}}}, {"implementation", {{"mechanisms", "Laplace"}}}}}};
  const auto more = jobs::registry_entry_of(report(1, std::nullopt), facts);
  EXPECT_EQ(more.questions, questions - 2) << "the name also makes the address";
  EXPECT_TRUE(has(more.yaml, "url_slug: \"trips-in-oslo-2026\"\n")) << more.yaml;
  EXPECT_TRUE(has(more.yaml, "mechanisms: \"Laplace\"\n    # justification:")) << more.yaml;
}

TEST(Registry, NamesTheTierWhoseFieldsAllHaveValues) {
  const auto tier = [](const json& facts) { return entry(report(2, std::nullopt, 0.5, Delta{0}), facts).substr(0, 1000); };
  json facts{{"deployment",
              {{"basic",
                {{"name", "a"},
                 {"data_curators", {"b"}},
                 {"intended_use", "c"},
                 {"data_product_type", "Dataset"},
                 {"data_product_region", "d"},
                 {"description", "e"},
                 {"publication_date", "2024-02-29"},
                 {"data_product_sector", "Energy"}}},
               {"administrative", {{"sources", "f"}, {"notes", "g"}, {"registry_authors", {"h"}}}},
               {"deployment_model", {{"model_name", "Central"}, {"data_source_type", "Static"}}}}}};
  EXPECT_TRUE(has(tier(facts), "\ntier: 1\n")) << "how people use it is not given";
  facts["deployment"]["deployment_model"]["access_type"] = "Interactive";
  EXPECT_TRUE(has(tier(facts), "\ntier: 2\n")) << tier(facts);
  facts["deployment"]["deployment_model"].update(json{{"actors", "i"}, {"data_source_type_details", "j"}, {"access_type_details", "k"}});
  facts["deployment"]["dp_variant"] = {{"data_domain", "l"}, {"unprotected_quantities", "m"}};
  facts["deployment"]["accounting"]["post_processing"] = "n";
  facts["deployment"]["implementation"] = {{"preprocessing_and_hyperparameter_tuning", "o"}, {"justification", "p"}};
  EXPECT_TRUE(has(tier(facts), "\ntier: 3\n")) << tier(facts);
}

TEST(Registry, RefusesFactsThatItsSchemaDoesNotKnow) {
  const auto kept = report(1, std::nullopt);
  const auto message = [&](const char* text) { return refusal([&] { (void)jobs::registry_entry_of(kept, json::parse(text)); }); };
  EXPECT_EQ(message("[]"), "facts must be an object (got a list)");
  EXPECT_EQ(message(R"({"deployment": {"basic": {"colour": 1}}})"),
            "the registry's schema has no field 'deployment.basic.colour'; remove it, or move it to the field that is meant");
  EXPECT_EQ(message(R"({"deployment": {"basic": 3}})"), "deployment.basic must be an object (got a number)");
  EXPECT_EQ(message(R"({"deployment": {"basic": {"name": 3}}})"), "deployment.basic.name must be a text (got a number)");
  EXPECT_EQ(message(R"({"deployment": {"basic": {"name": ""}}})"),
            "deployment.basic.name is empty, must be a text; or leave the field out");
  EXPECT_EQ(message(R"({"deployment": {"basic": {"data_curators": []}}})"),
            "deployment.basic.data_curators is an empty list, must have a text");
  EXPECT_EQ(
      message(R"({"status": "Done"})"),
      "status is 'Done', must be one of: Converted, Draft, Pending, Changes Required, Approved, Approved (Update Requested), Approved (Pending)");
  for (const char* date : {"2026-2-3", "2026-02-30", "26-02-03", "2026/02/03", "2026-02-0x", "2026-00-01"}) {
    EXPECT_EQ(message((R"({"deployment": {"basic": {"publication_date": ")" + std::string{date} + R"("}}})").c_str()),
              "deployment.basic.publication_date must be a date in the form YYYY-MM-DD");
  }
  for (const char* own : {R"({"tier": 3})", R"({"deployment": {"privacy_loss": {"privacy_parameters": {"epsilon": 0.1}}}})"}) {
    EXPECT_TRUE(has(message(own), "must be left out: its value comes from the ledger")) << message(own);
  }
}

TEST(Registry, HasNoEntryForWhatIsNotPrivate) {
  for (const auto& [made, part] : {std::pair{report(0, FilterKind::renyi), "has no release"},
                                   std::pair{report(1, std::nullopt, 0.5, Delta{1e-6}, true), "replayed"}}) {
    EXPECT_TRUE(has(refusal([&, &made = made] { (void)jobs::registry_entry_of(made, nullptr); }), part));
  }
}

}  // namespace
}  // namespace surety::registry_test
