// surety convert, and train --format records: what stays in a file is what was in memory.
#include <chrono>
#include <thread>

#include <support/surety_process.h>

namespace surety_test::convert_test {
namespace {

class Convert : public CommandTest {
 protected:
  /// 300 rows of a number, a category and a label; three are damaged.
  [[nodiscard]] std::string data() const {
    std::string text = "x,town,label\n";
    for (int i = 0; i < 300; ++i) {
      const std::string x = i % 100 == 7 ? "?" : std::to_string((i * 37 % 100) / 10.0);
      text += x + "," + (i % 3 == 0 ? "rome" : "oslo") + "," + std::to_string(i * 37 % 100 > 50 + i % 9 ? 1 : 0) + "\n";
    }
    write(path("data.csv"), text);
    return path("data.csv");
  }
  const Words columns_{"--label", "label>0", "--bounds", "x=0,10", "--categories", "town=rome,oslo"};

  [[nodiscard]] std::string records() const {
    EXPECT_EQ(surety(Words{"convert", data(), path("data.records")} + columns_).code, 0);
    return path("data.records");
  }

  /// The report of a training with noise replayed, and in `model` the model.
  nlohmann::json trained(const Words& data, const Words& options, std::string& model) const {
    std::filesystem::remove(path("run.db"));
    const auto outcome = surety(Words{"train"} + data +
                                Words{"--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"), "--model", path("model.json"),
                                      "--replay-seed", "3", "--json"} +
                                options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    model = contents(path("model.json"));
    return outcome.json();
  }
};

TEST_F(Convert, TrainsTheSameModels) {
  const Words in_memory = Words{data()} + columns_;
  const Words in_file{records(), "--format", "records"};
  const std::vector<Words> algorithms{
      {},
      {"--algorithm", "shaped-descent", "--adjacency", "add-or-remove-one", "--public-count", "200"},
      {"--algorithm", "gradient-descent", "--steps", "5"},
      {"--algorithm", "accelerated-gradient-descent", "--steps", "5", "--threads", "2"},
      {"--algorithm", "mirror-descent", "--radius", "2", "--steps", "5"},
      {"--algorithm", "dp-sgd", "--records", "300", "--batch-size", "20", "--epochs", "1"},
      {"--algorithm", "sufficient-statistics", "--loss", "squared", "--label-bound", "1"},
      {"--algorithm", "constant"},
      {"--algorithm", "svrg", "--records", "300"},
      {"--algorithm", "private-ftrl", "--clip", "1", "--radius", "2", "--step-size", "0.1", "--steps", "300"},
      {"--algorithm", "shaped-descent", "--tune", "3", "--tune-by", "split", "--steps", "5"}};
  for (const auto& algorithm : algorithms) {
    std::string model;
    std::string other;
    const auto report = trained(in_memory, algorithm, model);
    EXPECT_EQ(trained(in_file, algorithm, other), report) << joined(algorithm);
    EXPECT_EQ(other, model) << joined(algorithm);
  }
}

TEST_F(Convert, TrainsTheSameModelOfSparseText) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += (i % 2 == 0 ? "+1 1:0.5 " : "-1 2:0.25 ") + std::to_string(3 + i % 4) + ":1\n";
  text += "1\n-1 9:1\n";  // nothing but the constant, and one with an index too large
  write(path("data.svm"), text);
  const Words sparse{path("data.svm"), "--format", "libsvm", "--features", "8"};
  EXPECT_EQ(surety(Words{"convert"} + sparse + Words{path("data.records"), "--json"}).json()["damaged_not_private"], 1);
  for (const auto* algorithm : {"shaped-descent", "gradient-descent"}) {
    std::string model;
    std::string other;
    const Words options{"--algorithm", algorithm, "--steps", "4"};
    EXPECT_EQ(trained({path("data.records"), "--format", "records"}, options, other), trained(sparse, options, model));
    EXPECT_EQ(other, model);
  }
}

TEST_F(Convert, SaysWhatItWrote) {
  const auto report = surety(Words{"convert", data(), path("a b"), "--json"} + columns_).json();
  EXPECT_EQ(report["records_not_private"], 300);
  EXPECT_EQ(report["damaged_not_private"], 3);
  EXPECT_EQ(report["features"], 3);
  EXPECT_EQ(report["label"], "label>0");
  // As private as the data, so nobody else may read it.
  EXPECT_EQ(std::filesystem::status(path("a b")).permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string first = contents(path("a b"));
  EXPECT_EQ(surety(Words{"convert", data(), path("a b")} + columns_).code, 0);
  EXPECT_EQ(contents(path("a b")), first);
}

TEST_F(Convert, RefusesWhatDoesNotFit) {
  const std::string file = records();
  const Words promise{"--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"), "--model", path("model.json")};
  const Words train = Words{"train", file, "--format", "records"} + promise;
  expect_refused_untouched(train + Words{"--label", "label>0"}, 2, {"were said when the record file was converted"});
  expect_refused_untouched(train + Words{"--bounds", "x=0,1"}, 2, {"were said when"});
  expect_refused_untouched(train + Words{"--unit", "town", "--most", "2"}, 2, {"--unit is for CSV files"});
  expect_refused_untouched(Words{"train", "-", "--format", "records"} + promise, 2, {"must be a file"});
  expect_refused_untouched(Words{"train", path("data.csv"), "--format", "records"} + promise, 3, {"no record file"});
  expect_refused_untouched({"convert", path("data.csv"), path("new")}, 2, {"--label is missing"});
  expect_refused_untouched({"convert", path("data.csv"), path("data.csv"), "--label", "label"}, 2, {"must be another file"});
  expect_refused_untouched(Words{"convert", path("data.csv"), path("new"), "--form-is-public"} + columns_, 3, {"row 8", "'?'"});
  // A damaged record is shown where the form is public alone.
  expect_refused_untouched(train + Words{"--algorithm", "gradient-descent", "--form-is-public"}, 3, {"record 8", "damaged when"});
  expect_refused_untouched(train + Words{"--algorithm", "svrg", "--records", "300", "--form-is-public"}, 3, {"record 8"});

  // A record file where text is read.
  expect_refused_untouched(Words{"train", file, "--label", "label>0"} + promise, 3, {"must be read with --format records"});
  expect_refused_untouched({"convert", file, path("new"), "--label", "label"}, 3, {"must be read with --format records"});
  ASSERT_EQ(surety(train + Words{"--algorithm", "constant"}).code, 0);
  expect_refused_untouched({"predict", path("model.json"), file}, 3, {"is a record file"});

  std::string damaged = contents(file);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 8);
  write(file, damaged);
  expect_refused_untouched(train, 3, {"damaged"});
}

TEST_F(Convert, RefusesToForgetOwners) {
  auto schema = nlohmann::json::parse(surety({"schema", data()}).out);
  schema["label"] = "label";
  schema["columns"][1]["categories"] = {"rome", "oslo"};
  write(path("rows.json"), schema.dump());
  EXPECT_EQ(surety({"convert", data(), path("by schema"), "--schema", path("rows.json")}).code, 0);
  schema["unit"] = "town";
  schema["most"] = 2;
  write(path("owners.json"), schema.dump());
  expect_refused_untouched({"convert", data(), path("new"), "--schema", path("owners.json")}, 2, {"--schema names a unit"});
}

TEST_F(Convert, ReadsStandardInputWhateverHasItsName) {
  std::filesystem::copy_file(records(), path("-"));
  const auto outcome =
      surety(Words{"convert", "-", path("new")} + columns_, {.standard_input = path("data.csv").c_str(), .folder = path("").c_str()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(contents(path("new")), contents(path("data.records")));
}

TEST_F(Convert, StaysChargedWhenTheFileChangesUnderneath) {
  const std::string file = records();
  Process training{{"train", file, "--format", "records", "--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"), "--model",
                    path("model.json"), "--algorithm", "gradient-descent", "--steps", "10000000", "--no-count-records"}};
  const auto is_charged = [&] {
    const auto listed = Process{{"ledger", "list", path("run.db"), "--json"}}.finish();
    return listed.code == 0 && !listed.json()["runs"].empty();
  };
  for (int k = 0; !is_charged(); ++k) {
    ASSERT_LT(k, 6000) << "the charge does not come";
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);  // a file that is mapped would end the process here
  const auto outcome = training.finish();
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
  EXPECT_NE(outcome.err.find("became shorter while it was read"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("model.json")));
  const auto run = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_NE(run["state"], "settled");
  EXPECT_EQ(run["charged"]["event"]["repeat"]["count"], 10000000);
}

}  // namespace
}  // namespace surety_test::convert_test
