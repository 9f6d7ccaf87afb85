// surety train on streams: every algorithm end to end, what is shown while records arrive, and what is refused.
#include <sys/stat.h>

#include <support/surety_process.h>

namespace surety_test::train_stream_test {
namespace {

class TrainOnStream : public CommandTest {
 protected:
  /// The words of a run that fits `algorithm`.
  [[nodiscard]] Words words(const std::string& data, const std::string& algorithm, const std::string& steps = "500") const {
    Words all{"train", data,        "--label", "label>0", "--algorithm", algorithm,  "--steps",      steps,     "--radius",
              "2",     "--epsilon", "1",       "--delta", "1e-5",        "--ledger", path("run.db"), "--model", path("model.json")};
    if (algorithm == "snowball-sgd") *(std::find(all.begin(), all.end(), "--steps") + 1) = "30";
    if (algorithm == "noisy-frank-wolfe") *(std::find(all.begin(), all.end(), "--steps") + 1) = "10";
    if (algorithm == "noisy-sgd") all.erase(std::find(all.begin(), all.end(), "--steps"), std::find(all.begin(), all.end(), "--radius"));
    if (algorithm == "private-ftrl") all = all + Words{"--step-size", "0.1"};
    return all;
  }
};

TEST_F(TrainOnStream, TrainsChargesAndWritesAModelByEveryAlgorithm) {
  const auto data = small_data(300);
  std::size_t run = 0;
  for (const Words& extra : std::vector<Words>{{"online-frank-wolfe"},
                                               {"online-frank-wolfe", "--norm", "1.5", "--factorization", "tree"},
                                               {"online-frank-wolfe", "--factorization", "streaming-tree", "--adjacency", "replace-one"},
                                               {"online-frank-wolfe", "--noise", "paper"},
                                               {"polyhedral-frank-wolfe"},
                                               {"polyhedral-frank-wolfe", "--noise", "laplace"},
                                               {"online-to-batch"},
                                               {"online-to-batch", "--learner", "dual-averaging", "--factorization", "toeplitz"},
                                               {"online-to-batch", "--learner", "optimistic"},
                                               {"online-to-batch", "--learner", "strongly-convex"},
                                               {"online-to-batch", "--learner", "strongly-convex", "--regularization", "0.01"},
                                               {"online-to-batch", "--learner", "coin-betting"},
                                               {"private-ftrl"},
                                               {"one-pass-sgd", "--batch-size", "20"},
                                               {"noisy-sgd", "--records", "300", "--batch-size", "50", "--passes", "2"},
                                               {"noisy-sgd", "--records", "300", "--passes", "9", "--publish", "last"},
                                               {"snowball-sgd", "--records", "300"},
                                               {"noisy-frank-wolfe", "--norm", "1.5"}}) {
    const auto arguments = words(data, extra[0]) + Words{extra.begin() + 1, extra.end()} + Words{"--json"};
    const auto trained = surety(arguments);
    ASSERT_EQ(trained.code, 0) << joined(arguments) << trained.err;
    const auto report = trained.json();
    EXPECT_EQ(report["run"], ++run);
    EXPECT_EQ(report["records"], 300);
    EXPECT_EQ(report["damaged_records_not_private"], 0);
    EXPECT_LE(report["epsilon"]["upper"].get<double>(), 1) << joined(arguments);
    const auto shown = surety({"ledger", "show", path("run.db"), std::to_string(run), "--json"}).json();
    EXPECT_EQ(shown["state"], "settled");
    EXPECT_EQ(shown["charged"], shown["settled"]["released"]);
    EXPECT_EQ(surety({"predict", path("model.json"), data}).code, 0);
  }
  const auto audited = surety({"audit", path("run.db"), "--delta", "1e-3", "--json"});
  EXPECT_EQ(audited.code, 0) << audited.err;
  EXPECT_EQ(audited.json()["kept"], true);
}

TEST_F(TrainOnStream, TellsWhatWasReleasedFromWhatWasPlanned) {
  const auto text = surety(words(small_data(3), "polyhedral-frank-wolfe", "9")).out;
  const auto line = [&](const std::string& field) {
    const auto at = text.find("\n" + field);
    return at == std::string::npos ? std::string{} : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  const auto charged = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
  EXPECT_NE(line("planned"), "") << text;
  EXPECT_NE(line("planned").substr(13), line("released").substr(13)) << text;
  EXPECT_EQ(surety({"audit", path("run.db"), "--delta", "1e-5", "--json"}).json()["event"], line("released").substr(13)) << charged;
}

TEST_F(TrainOnStream, WritesJsonLinesWhereItIsAskedForMoreThanOne) {
  std::istringstream lines{surety(words(small_data(20), "online-frank-wolfe", "20") + Words{"--every", "7", "--json"}).out};
  std::string line;
  std::size_t count = 0;
  nlohmann::json last;
  for (; std::getline(lines, line); ++count) last = nlohmann::json::parse(line);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(last["records"], 20);
}

TEST_F(TrainOnStream, OneReleaseIsOneTextEverywhere) {
  const auto report = surety(words(small_data(60), "noisy-sgd") + Words{"--records", "60", "--batch-size", "60", "--json"}).json();
  EXPECT_EQ(report["event"], surety({"audit", path("run.db"), "--delta", "1e-5", "--json"}).json()["event"]);
}

TEST_F(TrainOnStream, SaysWhatThePrintedNoiseReallyCosts) {
  const auto report = surety(words(small_data(50), "online-frank-wolfe", "1000") + Words{"--noise", "paper", "--json"}).json();
  EXPECT_GT(report["epsilon"]["upper"].get<double>(), 0.1);
  EXPECT_LT(report["epsilon"]["upper"].get<double>(), 0.2);
}

// The reader of a stream sees weights while the writer still writes.
TEST_F(TrainOnStream, ShowsWeightsAsRecordsArrive) {
  const std::string pipe = path("records");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string shown = path("shown");
  ASSERT_EQ(mkfifo(shown.c_str(), 0600), 0);
  const int to_command = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  const int from_command = open(shown.c_str(), O_RDWR | O_CLOEXEC);
  const auto send = [&](const std::string& text) { ASSERT_EQ(::write(to_command, text.data(), text.size()), std::ssize(text)); };
  send("1 1:0.5 2:1\n");
  Process process{{"train",       pipe,
                   "--format",    "libsvm",
                   "--features",  "2",
                   "--algorithm", "online-frank-wolfe",
                   "--steps",     "2",
                   "--radius",    "1",
                   "--epsilon",   "1",
                   "--delta",     "1e-5",
                   "--every",     "1",
                   "--ledger",    path("run.db"),
                   "--model",     path("model.json")},
                  {.standard_output = shown.c_str()}};
  const auto line = [&] {
    std::string text;
    for (char c = 0; c != '\n';) {
      pollfd ready{.fd = from_command, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 60'000) != 1 || read(from_command, &c, 1) != 1) return nlohmann::json{};
      text += c;
    }
    return nlohmann::json::parse(text);
  };
  EXPECT_EQ(line()["step"], 1);
  send("-1 1:0.25\n");
  const auto second = line();
  EXPECT_EQ(second["step"], 2);
  EXPECT_EQ(second["weights"].size(), 3U);  // with the constant
  EXPECT_EQ(process.finish().code, 0);
  close(to_command);
  close(from_command);
}

TEST_F(TrainOnStream, ReadsStandardInputAndStopsAtTheHorizon) {
  const auto data = small_data(40);
  std::string command = "cat '" + data + "' | '" SURETY_COMMAND "'";
  for (const auto& word : words("-", "online-to-batch", "25") + Words{"--json"}) command += word == "train" ? " train" : " '" + word + "'";
  std::FILE* const output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(output)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(output), 0);
  EXPECT_EQ(nlohmann::json::parse(text)["records"], 25);
}

TEST_F(TrainOnStream, ADamagedRecordStopsNothingAndIsCounted) {
  const std::string data = path("damaged.csv");
  write(data, "x,label\n1,1\nnonsense\n2,0\n,\n3,1\n");
  const auto trained = surety(words(data, "online-frank-wolfe"));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("5 records"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("2 records were damaged"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("do not publish"), std::string::npos) << trained.out;
}

TEST_F(TrainOnStream, AQuotedLineEndMakesOneRecordNotMany) {
  const std::string data = path("notes.csv");
  write(data, "x,label,note\n1,1,\"well\nthen ill\"\n2,0,\"a\n\nb\n\"\n3,1,\n");
  const auto trained = surety(words(data, "polyhedral-frank-wolfe") + Words{"--drop", "note", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.json()["records"], 3);
  EXPECT_EQ(trained.json()["damaged_records_not_private"], 0);
}

TEST_F(TrainOnStream, RefusesWhatItCannotPromiseOrDoesNotKnow) {
  const auto data = small_data(20);
  const auto fits = words(data, "online-frank-wolfe");
  const auto without = [&](const std::string& option) {
    auto left = fits;
    const auto at = std::find(left.begin(), left.end(), option);
    left.erase(at, at + 2);
    return left;
  };
  expect_refused(without("--steps"), 2, {"--steps is missing"});
  // Of a pipe nothing can be known beforehand: no radius follows from public numbers.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  auto of_pipe = without("--radius");
  of_pipe[1] = path("pipe");
  expect_refused(of_pipe, 2, {"--radius is missing"});
  expect_refused(fits + Words{"--adjacency", "add-or-remove-one"}, 2, {"adjacency is add-or-remove-one", "public places"});
  expect_refused(fits + Words{"--held-out", "0.2"}, 2,
                 {"--held-out is for auto, shaped-descent, gradient-descent, ", "not for online-frank-wolfe"});
  expect_refused(words(data, "online-to-batch") + Words{"--learner", "strongly-convex", "--regularization", "0"}, 2,
                 {"--regularization is 0, must be greater than 0 for --learner strongly-convex"});
  expect_refused(fits + Words{"--learner", "optimistic"}, 2, {"--learner is for online-to-batch"});
  expect_refused(fits + Words{"--noise", "gumbel"}, 2, {"--noise is 'gumbel'"});
  expect_refused(fits + Words{"--step-scale", "3"}, 2, {"step scale is 3", "at most 2"});
  expect_refused(fits + Words{"--norm", "0.5"}, 2, {"0.5", "at least 1"});
  expect_refused(fits + Words{"--noise", "paper", "--factorization", "tree"}, 2, {"--factorization is for calibrated noise"});
  expect_refused(words(data, "noisy-sgd"), 2, {"--records is missing"});
  expect_refused(words(data, "noisy-sgd") + Words{"--records", "21"}, 3, {"has 20 records", "21 of --records"});
  auto many = words(data, "noisy-frank-wolfe");
  *(std::find(many.begin(), many.end(), "--steps") + 1) = "12";
  expect_refused(many, 2, {"--steps is 12", "at most 11"});
  expect_refused(words(path("nothing.csv"), "online-frank-wolfe"), 3, {"cannot be opened"});
  EXPECT_FALSE(std::filesystem::exists(path("run.db"))) << "nothing was charged";
}

}  // namespace
}  // namespace surety_test::train_stream_test
