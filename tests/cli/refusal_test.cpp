// What bad input gets from surety train: one line with name, value and constraint, the documented exit code, nothing written and
// nothing lost.
#include <zlib.h>

#include <support/surety_process.h>

namespace surety_test::refusal_test {
namespace {

/// A folder with good data and a ledger of one run, which every refusal must leave as they are.
class Refusal : public CommandTest {
 protected:
  Refusal() {
    EXPECT_EQ(surety(train(small_data()) + Words{"--model", path("other.json")}).code, 2) << "an option said twice is refused";
    auto first = train(small_data());
    first.back() = path("first.json");
    EXPECT_EQ(surety(first).code, 0);
  }

  /// The arguments of `train` with the value of `option` replaced.
  [[nodiscard]] Words with(const std::string& option, const std::string& value) const {
    auto words = train(path("small.csv"));
    *(std::find(words.begin(), words.end(), option) + 1) = value;
    return words;
  }

  void expect_bad_csv(const std::string& text, const Words& words, const std::string& label = "label>0") const {
    write(path("bad.csv"), text);
    expect_refused_untouched(train(path("bad.csv"), label) + Words{"--form-is-public"}, 3, Words{"bad.csv"} + words);
  }
};

TEST_F(Refusal, OfNumbersOutOfRange) {
  for (const std::string bad : {"nan", "inf", "-1", "0", "1e400", "abc", ""}) {
    expect_refused_untouched(with("--epsilon", bad), 2, {"epsilon", bad, "must be"});
    expect_refused_untouched(with("--steps", bad), 2, {"--steps is '" + bad + "', must be a whole number from 1"});
  }
  for (const std::string bad : {"nan", "inf", "-1", "1", "1e400", "abc", ""}) {
    expect_refused_untouched(with("--delta", bad), 2, {"delta", bad, "must be"});
  }
  expect_refused_untouched(with("--steps", "1.5"), 2, {"--steps is '1.5'"});
  expect_refused_untouched(with("--steps", "9007199254740993"), 2, {"--steps", "9007199254740992"});
  expect_refused_untouched(with("--delta", "0"), 6, {"delta is 0, must be greater than 0"});
}

TEST_F(Refusal, OfOptionsOutOfRange) {
  const auto train_with = [&](const std::string& option, const std::string& value) {
    return train(path("small.csv")) + Words{option, value};
  };
  for (const std::string bad : {"nan", "inf", "-1", "abc", "", "1e400"}) {
    for (const auto& [option, quantity] : {std::pair{"--held-out", "held-out"},
                                           {"--step-size", "step"},
                                           {"--regularization", "regularization"},
                                           {"--clip", "clip"},
                                           {"--radius", "radius"},
                                           {"--public-count", "public-count"},
                                           {"--split-seed", "split-seed"},
                                           {"--replay-seed", "replay-seed"}}) {
      expect_refused_untouched(train_with(option, bad), 2, {quantity, bad, "must be"});
    }
  }
  for (const char* option : {"--step-size", "--clip", "--radius", "--public-count"}) {
    expect_refused_untouched(train_with(option, "0"), 2, {"0", "must be"});
  }
  // Before anything is charged: no sum of such lengths has a grid.
  for (const char* option : {"--clip", "--radius"}) {
    for (const char* bad : {"1e300", "1e-300"}) {
      expect_refused_untouched(train_with(option, bad), 2, {option, "must be at least 2^-400 and at most 2^400"});
    }
  }
  const auto squared_with = [&](const Words& more) { return train(path("small.csv")) + Words{"--loss", "squared", "--clip", "1"} + more; };
  for (const char* bad : {"1e300", "1e-300"}) {
    expect_refused_untouched(squared_with({"--label-bound", bad}), 2, {"--label-bound is", "must be at least 2^-400 and at most 2^400"});
  }
  for (const char* bad : {"-1e308,1e308", "0,1e300", "-1e-300,1e-300"}) {
    expect_refused_untouched(squared_with({std::string{"--label-bounds="} + bad}), 2,
                             {"--label-bounds is " + std::string{bad}, "at least 2^-399 and at most 2^401 apart"});
  }
  expect_refused_untouched(train_with("--held-out", "1"), 2, {"--held-out is 1", "less than 1"});
  expect_refused_untouched(train_with("--adjacency", "replace"), 2, {"adjacency is 'replace'", "replace-one"});
  expect_refused_untouched(train_with("--loss", "poisson"), 2, {"--loss is 'poisson'", "smoothed-hinge", "hinge"});
  expect_refused_untouched(train(path("small.csv"), "label>0", "adam"), 2, {"--algorithm is 'adam'", "gradient-descent"});
  expect_refused_untouched(train_with("--format", "xml"), 2, {"--format is 'xml'", "csv or libsvm"});
  expect_refused_untouched(train_with("--features", "3"), 2, {"--features", "LIBSVM"});
  for (const char* bad : {"x", "x=1", "x=1,2,3", "x=2,1", "x=a,1", "x=nan,1", "=1,2"}) {
    expect_refused_untouched(train_with("--bounds", bad), 2, {"bounds", "must be"});
  }
  expect_refused_untouched(train_with("--bounds", "label=0,1"), 2, {"'label'", "two roles"});
  expect_refused_untouched(train_with("--drop", "z"), 3, {"'z'"});
  expect_refused_untouched(train(path("small.csv")) + Words{"--drop", "x", "--drop", "y"}, 2, {"no column"});
}

TEST_F(Refusal, OfWhatIsMissing) {
  for (const char* option : {"--epsilon", "--delta", "--ledger", "--model"}) {
    auto words = train(path("small.csv"));
    const auto position = std::find(words.begin(), words.end(), option);
    words.erase(position, position + 2);
    expect_refused_untouched(words, 2, {option});
  }
  expect_refused_untouched(
      {"train", path("small.csv"), "--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"), "--model", path("m")}, 2,
      {"--label is missing"});
}

TEST_F(Refusal, OfLabels) {
  expect_refused_untouched(train(path("small.csv"), "nope>0"), 3, {"'nope' is missing", "x, y, label"});
  expect_refused_untouched(train(path("small.csv"), "x>>1"), 2, {"'x>>1'"});
  expect_refused_untouched(train(path("small.csv"), "x>one"), 2, {"'one'", "number"});
  expect_refused_untouched(train(path("small.csv"), "x") + Words{"--form-is-public"}, 2, {"--label is x, a column without a comparison"});
}

TEST_F(Refusal, OfBadCsv) {
  expect_bad_csv("", {"is empty"});
  expect_bad_csv("x,label\n", {"has no records"});
  expect_bad_csv("x,label\n1,0\n2\n", {"row 2", "1 cells", "must have 2"});
  expect_bad_csv("x,label\n1,0\n2,1,5\n", {"row 2", "3 cells", "must have 2"});
  expect_bad_csv("x,label\n1,0\nred,1\n", {"row 2", "column 'x'", "'red'"});
  expect_bad_csv("x,label\n1,0\n,1\n", {"row 2", "column 'x'", "empty"});
  expect_bad_csv("x,label\n1,0\nnan,1\n", {"row 2", "column 'x'", "nan"});
  expect_bad_csv("x,label\n1,0\n1e999,1\n", {"row 2", "column 'x'", "1e999"});
  expect_bad_csv("x,label\n1,0\n3,yes\n", {"row 2", "column 'label'", "'yes'"});
  expect_bad_csv("x,x,label\n1,1,0\n", {"'x'", "twice"});
  expect_bad_csv("x,label\n\"1,0\n", {"never closed"});
  expect_bad_csv(std::string("x,label\n1,\0\n", 12), {"zero byte"});
  expect_refused_untouched(train(path("missing.csv")), 3, {"missing.csv", "No such file"});
  expect_refused_untouched(train("/tmp"), 3, {"/tmp", "directory"});
}

TEST_F(Refusal, OfAPublicFormForAStream) {
  expect_refused_untouched(train(path("small.csv"), "label>0", "online-frank-wolfe") + Words{"--radius", "1", "--form-is-public"}, 2,
                           {"--form-is-public is for shaped-descent, gradient-descent, ", "not for online-frank-wolfe"});
}

TEST_F(Refusal, OfHeadersAndModelsWithoutEnd) {
  const auto compressed = [&](const std::string& name, const std::string& begin, std::size_t length) {
    gzFile file = gzopen(path(name).c_str(), "wb1");
    const std::string block(std::size_t{1} << 20, ' ');
    gzputs(file, begin.c_str());
    for (std::size_t written = 0; written < length; written += block.size()) {
      gzwrite(file, block.data(), static_cast<unsigned>(block.size()));
    }
    gzclose(file);
    return path(name);
  };
  const auto header = compressed("header.csv", "x,label,", 17U << 20);
  expect_refused_untouched(train(header), 3, {"header (line 1) has more than 16777216 bytes, must have fewer unless --no-limits is given"});
  const auto data = compressed("data.csv", "x,y\n1,1\n", 17U << 20);
  expect_refused_untouched({"predict", path("first.json"), data}, 3, {"decompresses to more than 200 times its size", "--no-limits"});
  const auto model = compressed("model.json.gz", "{", 129U << 20);
  expect_refused_untouched({"predict", model, path("small.csv")}, 3, {"has more than 134217728 bytes", "for a model", "--no-limits"});
}

TEST_F(Refusal, OfATruncatedGzipStream) {
  gzFile file = gzopen(path("whole.gz").c_str(), "wb");
  const auto text = contents(small_data(2000));
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  const auto whole = contents(path("whole.gz"));
  ASSERT_EQ(surety(train(path("whole.gz"))).code, 0);
  for (const std::size_t length : {whole.size() - 1, whole.size() - 9, whole.size() / 2, std::size_t{11}}) {
    expect_bad_csv(whole.substr(0, length), {"gzip stream is truncated"});
    expect_refused_untouched(train(path("bad.csv")), 3, {"gzip stream is truncated"});
  }
  auto damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);  // in the checksum
  expect_bad_csv(damaged, {"gzip stream is damaged"});
}

// What stands for a disk that fails is the memory of the process at 0, which is not mapped: a regular file whose bytes cannot be read.
TEST_F(Refusal, OfWhatTheMachineDoesNotHandOut) {
  const auto data = small_data();
  const std::string unreadable = "/proc/self/mem";
  const Words promise{"--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db")};
  const Words query{"--query", "sum(x)", "--bounds", "0,1"};
  ASSERT_EQ(surety(train(data)).code, 0);
  for (const Words& words : std::vector<Words>{
           train(unreadable),
           train(data, "label>0", "one-pass-sgd") + Words{"--radius", "1", "--schema", unreadable},
           Words{"release", unreadable} + query + promise,
           Words{"release", unreadable, "--unit", "x", "--most", "1"} + query + Words{"--epsilon", "1", "--ledger", path("units.db")},
           Words{"release", data, "--queries", unreadable} + promise,
           Words{"release", "--plan", unreadable},
           {"convert", unreadable, path("data.records"), "--label", "label"},
           {"predict", path("model.json"), unreadable},
           {"predict", unreadable, data},
           {"schema", unreadable},
           {"audit", "--log", unreadable, "--epsilon", "1", "--delta", "1e-5"}}) {
    expect_refused_untouched(words, 5, {unreadable, "cannot be read"});
  }
}

TEST_F(Refusal, OfBadLibsvm) {
  const Words libsvm{"train",    path("bad.svm"), "--format", "libsvm",           "--features",
                     "3",        "--epsilon",     "1",        "--delta",          "1e-5",
                     "--ledger", path("run.db"),  "--model",  path("model.json"), "--form-is-public"};
  const auto expect_bad = [&](const std::string& text, const Words& words) {
    write(path("bad.svm"), text);
    expect_refused_untouched(libsvm, 3, Words{"bad.svm"} + words);
  };
  expect_bad("", {"has no records"});
  expect_bad("1 1:1\n1 0:1\n", {"line 2", "index is 0", "at least 1"});
  expect_bad("1 1:1\n1 2:1 1:1\n", {"line 2", "index 1 comes after index 2"});
  expect_bad("1 1:1\n1 2:1 2:1\n", {"line 2", "index 2 comes after index 2"});
  expect_bad("1 4:1\n", {"line 1", "'4'", "3"});
  expect_bad("1 -1:1\n", {"line 1", "'-1'"});
  expect_bad("1 1:x\n", {"line 1", "'x'"});
  expect_bad("1 1\n", {"line 1", "'1'"});
  expect_bad("yes 1:1\n", {"line 1", "'yes'"});
  expect_bad("1 1:1\n\n", {"line 2 holds no record"});
  expect_bad("1 1:1\n7 1:1\n", {"line 2: label is 7, must be -1, 0 or 1 for logistic loss"});
  write(path("bad.svm"), "1 1:1\n");
  expect_refused_untouched({"train", path("bad.svm"), "--format", "libsvm", "--epsilon", "1", "--delta", "1e-5", "--ledger", path("run.db"),
                            "--model", path("model.json")},
                           2, {"--features is missing"});
  for (const std::string bad : {"0", "-1", "abc", "", "16777217"}) {
    auto words = libsvm;
    words[5] = bad;
    expect_refused_untouched(words, 2, {"--features is '" + bad + "'", "whole number from 1"});
  }
  auto wide = libsvm;
  wide[5] = "4194305";
  expect_refused_untouched(wide, 2, {"--features is 4194305, must be at most 4194304 unless --no-limits is given"});
}

TEST_F(Refusal, OfFilesThatAreNotDistinct) {
  expect_refused_untouched(with("--model", path("run.db")), 2, {"--model", "run.db", "ledger"});
  expect_refused_untouched(with("--model", path("./run.db")), 2, {"--model", "ledger"});
  for (const char* beside : {"run.db-journal", "run.db-wal", "run.db-shm"})
    expect_refused_untouched(with("--model", path(beside)), 2, {beside, "SQLite"});
  expect_refused_untouched(with("--model", path("small.csv")), 2, {"--model", "small.csv", "data"});
  std::filesystem::create_hard_link(path("small.csv"), path("linked.csv"));
  expect_refused_untouched(with("--model", path("linked.csv")), 2, {"--model", "data"});
  expect_refused_untouched(with("--ledger", path("small.csv")), 2, {"small.csv", "ledger"});
  expect_refused_untouched(with("--ledger", path("first.json")), 4, {"first.json", "not an intact ledger"});
}

TEST_F(Refusal, OfPlacesThatCannotBeWritten) {
  expect_refused_untouched(with("--model", path("missing/model.json")), 5, {"missing/model.json", "No such file"});
  expect_refused_untouched(with("--ledger", path("missing/run.db")), 5, {"missing/run.db", "No such file"});
  std::filesystem::create_directory(path("folder"));
  expect_refused_untouched(with("--model", path("folder")), 2, {"folder", "regular file"});
  expect_refused_untouched(with("--ledger", path("folder")), 2, {"folder", "regular file"});
}

}  // namespace
}  // namespace surety_test::refusal_test
