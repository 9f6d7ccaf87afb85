// What version 0.1.0 has written is read for ever: ledgers, models and the JSON of events, in tests/data/0.1.0.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/problem/loss.h>

#include <support/temporary_folder.h>

namespace surety::optimizers::files_of_0_1_0_test {
namespace {

namespace fs = std::filesystem;
using accounting::Ledger;
using accounting::Stopping;

const fs::path kept = SURETY_TEST_DATA "/0.1.0";

std::string bytes_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Ledgers are opened as copies: a journal beside the kept ones would be a change of the sources.
class FilesOf010 : public ::testing::Test {
 protected:
  Ledger open(const std::string& name) {
    fs::copy_file(kept / name, folder_ / name);
    return Ledger::open(folder_ / name);
  }
  TemporaryFolder folder_;
};

std::string charged(const accounting::Run& run) { return run.charged() ? describe(*run.charged()) : "nothing"; }

TEST_F(FilesOf010, EveryLedgerIsReadAndIsAboutRows) {
  const std::map<std::string, std::size_t> runs{{"plain.db", 0},  {"budget.db", 1},   {"runs.db", 3},
                                                {"killed.db", 1}, {"replayed.db", 1}, {"models.db", 3}};
  std::size_t found = 0;
  for (const auto& file : fs::directory_iterator{kept}) {
    if (file.path().extension() != ".db") continue;
    const std::string name = file.path().filename().string();
    ASSERT_TRUE(runs.contains(name)) << name;
    ++found;
    const auto ledger = open(name);
    EXPECT_EQ(ledger.runs().size(), runs.at(name)) << name;
    EXPECT_EQ(ledger.unit(), UnitOfPrivacy{}) << name;
    for (const auto& run : ledger.runs()) EXPECT_EQ(run.plan.unit, UnitOfPrivacy{}) << name;
  }
  EXPECT_EQ(found, runs.size());
}

TEST_F(FilesOf010, ALedgerSaysWhatItSaid) {
  const auto plain = open("plain.db");
  EXPECT_EQ(plain.adjacency(), Adjacency::zero_out);
  EXPECT_FALSE(plain.event().has_value());

  const auto runs = open("runs.db").runs();
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].plan.note, "first \"quoted\" \xc3\xa9");
  EXPECT_EQ(runs[0].created, "2026-11-22T02:55:57Z");
  EXPECT_EQ(charged(runs[0]), "laplace(2.0000000000000004)");
  EXPECT_EQ(charged(runs[2]), "repeat(3, gaussian(6.46164353582496))");
  EXPECT_EQ(runs[1].plan.promise->epsilon, Epsilon{0.25});
  EXPECT_EQ(runs[1].plan.promise->delta, Delta{1e-6});
  for (const auto& run : runs) {
    EXPECT_FALSE(run.plan.not_private);
    EXPECT_EQ(run.settlement->stopping, Stopping::data_independent);
  }

  const auto killed = open("killed.db").runs().at(0);
  EXPECT_FALSE(killed.settlement.has_value());
  EXPECT_EQ(charged(killed), "gaussian(3.730631634815945)") << "counts in full";
  EXPECT_TRUE(open("replayed.db").runs().at(0).plan.not_private);

  const auto balance = open("budget.db").balance();
  EXPECT_EQ(balance->budget.target.epsilon, Epsilon{2});
  EXPECT_EQ(balance->budget.filter, accounting::FilterKind::zcdp);
  EXPECT_TRUE(balance->spent.contains(1 / (2 * 8.057618480725054 * 8.057618480725054)));
}

// A run that is added to such a file leaves it one that 0.1.0 reads: its version is at byte 63.
TEST_F(FilesOf010, ALedgerGoesOnAsItIs) {
  auto ledger = open("killed.db");
  ledger.settle({1}, std::nullopt, Stopping::data_independent);
  EXPECT_EQ(ledger.runs().at(0).settlement->time, ledger.runs().at(0).created) << "no later time is written";
  const auto event = gaussian(NoiseMultiplier{3}, Adjacency::replace_one);
  auto run = ledger.reserve({.event = event, .note = "later"});
  run.spend(event);
  run.settle(Stopping::adaptive);
  EXPECT_EQ(bytes_of(folder_ / "killed.db").at(63), 1);
  const auto again = Ledger::open(folder_ / "killed.db");
  EXPECT_EQ(describe(*again.event()), "gaussian(3)");
  EXPECT_THROW(static_cast<void>(ledger.reserve({.event = event, .unit = {"patient", Count{2}}})), Error) << "its unit is a row";
}

TEST_F(FilesOf010, EveryModelIsReadAndWrittenAsItWas) {
  const std::map<std::string, std::string_view> losses{{"logistic.json", LogisticLoss::name},
                                                       {"squared.json", SquaredLoss::name},
                                                       {"hinge-libsvm.json", HingeLoss::name},
                                                       {"smoothed-hinge-libsvm.json", SmoothedHingeLoss::name}};
  for (const auto& [name, loss] : losses) {
    const Model model = read_model(kept / name);
    EXPECT_EQ(model.loss, loss);
    EXPECT_EQ(model.label.has_value(), name.find("libsvm") == std::string::npos) << name;
    EXPECT_EQ(model.weights.size(), 4U) << name;
    EXPECT_EQ(describe(model.guarantee.event), "repeat(3, gaussian(6.46164353582496))") << name;
    EXPECT_EQ(model.guarantee.not_private, name.starts_with("smoothed")) << name;
    // What another version adds to a model, this one still says the same of what was there.
    const auto before = nlohmann::json::parse(bytes_of(kept / name));
    const auto after = nlohmann::json::parse(write_model(model));
    for (const auto& [field, value] : before.items()) {
      if (field != "surety_model") {
        EXPECT_EQ(after.at(field), value) << name << " " << field;
      }
    }
  }
}

TEST_F(FilesOf010, EveryKindOfEventIsReadAndWrittenAsItWas) {
  const auto events = nlohmann::json::parse(bytes_of(kept / "events.json"));
  EXPECT_EQ(events.size(), 19U);
  for (const auto& event : events) {
    const auto json = event.at("json");
    const Event read = event_from_json(json.dump());
    EXPECT_EQ(describe(read), event.at("text").get<std::string>());
    EXPECT_EQ(to_json(read), json);
    EXPECT_EQ(name(read.adjacency()), json.at("adjacency").get<std::string>());
  }
}

}  // namespace
}  // namespace surety::optimizers::files_of_0_1_0_test
