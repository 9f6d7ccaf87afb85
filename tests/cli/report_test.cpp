// surety report: one page of a ledger, in three forms.
#include <support/surety_process.h>

namespace surety_test::report_test {
namespace {

class Report : public CommandTest {
 protected:
  Report() {
    EXPECT_EQ(surety({"ledger", "create", ledger_, "--adjacency", "replace-one", "--epsilon", "2", "--delta", "1e-6"}).code, 0);
    EXPECT_EQ(surety(release("count()", "0.5")).code, 0);
    EXPECT_EQ(surety(release("mean(x)", "0.25") + Words{"--bounds", "0,1"}).code, 0);
  }
  [[nodiscard]] Words release(const std::string& query, const std::string& epsilon) const {
    return {"release", data_, "--query", query, "--epsilon", epsilon, "--ledger", ledger_, "--where", "x>0"};
  }
  [[nodiscard]] Words report(const Words& more = {}) const { return Words{"report", ledger_} + more; }

  std::string ledger_ = path("run.db");
  std::string data_ = small_data();
};

TEST_F(Report, SaysWhatTheOtherCommandsSay) {
  const auto before = contents(ledger_);
  const auto json = surety(report({"--json"})).json();
  const auto audit = surety({"audit", ledger_, "--json"}).json();
  const auto shown = surety({"ledger", "show", ledger_, "--json"}).json();
  const auto risk = surety({"audit", ledger_, "--risk", "--json"}).json();
  EXPECT_EQ(json["verdict"], "kept");
  EXPECT_EQ(json["spent"]["epsilon"], audit["epsilon"]);
  EXPECT_EQ(json["spent"]["independent"], audit["independent"]);
  EXPECT_EQ(json["spent"]["event"], audit["event"]);
  EXPECT_EQ(json["remaining"]["counts"]["runs"], shown["left"]["counts"]["runs"]);
  EXPECT_EQ(json["remaining"]["like_the_last"]["runs"], shown["left"]["like_the_last"]["runs"]);
  for (const char* field : {"advantage", "accuracy", "true_positive_rates", "mu", "prior"})
    EXPECT_EQ(json["risk"][field], risk[field]) << field;
  ASSERT_EQ(json["runs"].size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    for (const char* field : {"run", "note", "created", "charged", "promise", "epsilon", "delta", "kept"}) {
      EXPECT_EQ(json["runs"][k][field], audit["runs"][k][field]) << field;
    }
  }
  EXPECT_EQ(contents(ledger_), before) << "nothing is charged";
  const auto prior = surety(report({"--json", "--prior", "0.25", "--delta", "1e-9"})).json();
  EXPECT_EQ(prior["risk"]["accuracy"], surety({"audit", ledger_, "--risk", "--prior", "0.25", "--json"}).json()["accuracy"]);
  EXPECT_EQ(prior["promise"]["delta"], 1e-9);
  EXPECT_EQ(prior["about"]["reproduce"], "surety report LEDGER --output REPORT --delta 1e-09 --prior 0.25");
}

TEST_F(Report, OfEqualLedgersHasEqualBytesInEachForm) {
  std::filesystem::copy_file(ledger_, path("copy.db"));
  for (const std::string form : {"html", "md", "json"}) {
    const auto said = surety(report({"-o", path("report." + form)}));
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_NE(said.out.find("verdict      kept"), std::string::npos) << said.out;
    EXPECT_EQ(surety({"report", path("copy.db"), "--output", path("copy." + form)}).code, 0);
    const auto text = contents(path("report." + form));
    EXPECT_EQ(contents(path("copy." + form)), text);
    EXPECT_EQ(surety(report({"--format", form})).out, text) << "standard output is the same";
    EXPECT_EQ(surety(report({"--format", form, "-o", path("other." + form + ".txt")})).code, 0) << "a format needs no ending";
    EXPECT_EQ(contents(path("other." + form + ".txt")), text);
    EXPECT_EQ(surety(report({"-o", path("report." + form)})).code, 0) << "a report takes the place of a report";
    EXPECT_EQ(text.find(path("")), std::string::npos) << "no name of a folder";
  }
  EXPECT_EQ(surety(report({"--json"})).out, contents(path("report.json")));
  EXPECT_EQ(surety(report()).out, contents(path("report.html")));
}

TEST_F(Report, IsAPageWithoutNetworkAndScript) {
  const auto page = surety(report()).out;
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_NE(page.find("content=\"default-src 'none'; style-src 'unsafe-inline'\""), std::string::npos);
  for (const char* none : {"<script", "<a ", "href", "src=", "url(", "<img", "<link", "<iframe", "@import"}) {
    EXPECT_EQ(page.find(none), std::string::npos) << none;
  }
  for (const char* part : {"What is promised, and to whom", "epsilon = 2 at delta = 1e-06 (renyi filter at order", "What has been spent",
                           "What remains", "What an attacker gains", "Right decisions after the release", "Epsilon at other deltas",
                           "Releases over time", "<bdi>mean(x) where x&gt;0</bdi>", "Data set</td><td>not recorded", "Assumptions",
                           "What is not covered", "How to reproduce", "surety report LEDGER", "<svg", "one row"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST_F(Report, AddsAChecklistOnRequest) {
  EXPECT_TRUE(surety(report({"--json"})).json()["checklist"].is_null());
  EXPECT_EQ(surety(report()).out.find("Checklist"), std::string::npos);
  const Words asked{"--checklist", "nist-800-226"};
  const auto json = surety(report({"--json"}) + asked).json();
  EXPECT_EQ(json["checklist"]["name"], "nist-800-226");
  EXPECT_EQ(json["about"]["reproduce"], "surety report LEDGER --output REPORT --checklist nist-800-226");
  const auto page = surety(report() + asked).out;
  for (const char* part : {"NIST SP 800-226", "What do all releases cost together?", "/spent/epsilon", "Ask the sender",
                           "Who sees the data before noise is added?"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST_F(Report, NamesTheFileByItsChecksum) {
  const auto checksum = surety(report({"--json"})).json()["about"]["ledger_sha256"].get<std::string>();
  EXPECT_EQ(checksum.size(), 64U);
  ASSERT_EQ(surety(release("count()", "0.1")).code, 0);
  EXPECT_NE(surety(report({"--json"})).json()["about"]["ledger_sha256"], checksum) << "another run, another ledger";
}

TEST_F(Report, OfABrokenPromiseIsWrittenWithExitCodeOne) {
  ASSERT_EQ(surety({"release", data_, "--query", "count()", "--where", "x>0", "--epsilon", "1", "--ledger", path("replayed.db"),
                    "--replay-seed", "7"})
                .code,
            0);
  const auto said = surety({"report", path("replayed.db"), "-o", path("replayed.html"), "--delta", "1e-6"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("not private"), std::string::npos);
  EXPECT_NE(contents(path("replayed.html")).find("NOT PRIVATE"), std::string::npos);
  EXPECT_EQ(surety({"report", path("replayed.db"), "--json", "--delta", "1e-6"}).json()["risk"], nlohmann::json{});
}

TEST_F(Report, RefusesWithOneLineAndWritesNothing) {
  const auto refused = [&](const Words& more, int code, const Words& words) { expect_refused_untouched(report(more), code, words); };
  refused({"-o", path("report.txt")}, 2, {"--output", "report.txt", "must end in .html, .md, .json or .yaml", "--format"});
  refused({"-o", path("report")}, 2, {"must end in"});
  refused({"-o", ""}, 2, {"--output"});
  refused({"-o", ledger_, "--format", "html"}, 2, {"--output", "run.db"});
  refused({"-o", data_, "--format", "html"}, 2, {"--output", "must"});
  refused({"-o", path("none/report.html")}, 5, {"none/report.html"});
  refused({"--format", "pdf"}, 2, {"'pdf'", "html or md or json"});
  refused({"--json", "--format", "md"}, 2, {"--json", "--format"});
  refused({"--delta", "2"}, 2, {"delta", "2"});
  refused({"--delta", "nan"}, 2, {"delta", "nan"});
  refused({"--checklist", "gdpr"}, 2, {"--checklist", "'gdpr'", "nist-800-226"});
  refused({"--prior", "0"}, 2, {"--prior is 0"});
  refused({"extra"}, 2, {"'extra' is not expected"});
  expect_refused_untouched({"report"}, 2, {"ledger"});
  expect_refused_untouched({"report", path("none.db")}, 5, {"none.db"});
  write(path("damaged.db"), "SQLite format 3");
  expect_refused_untouched({"report", path("damaged.db")}, 4, {"damaged.db"});
  auto cut = contents(ledger_);
  cut.resize(cut.size() / 2);
  write(path("cut.db"), cut);
  expect_refused_untouched({"report", path("cut.db")}, 4, {"cut.db"});
  ASSERT_EQ(surety({"ledger", "create", path("new.db"), "--adjacency", "replace-one"}).code, 0);
  expect_refused_untouched({"report", path("new.db")}, 2, {"delta is missing", "neither a budget nor a promise"});
  // A file of another kind is replaced on request alone.
  write(path("mine.html"), "<html>mine</html>");
  refused({"-o", path("mine.html")}, 2, {"mine.html"});
  EXPECT_EQ(surety(report({"-o", path("mine.html"), "--overwrite"})).code, 0);
  EXPECT_NE(contents(path("mine.html")).find("Privacy report"), std::string::npos);
}

TEST_F(Report, StopsAtItsLimit) { EXPECT_EQ(surety(report({"--limit-seconds", "0.000001"})).code, 6); }

}  // namespace
}  // namespace surety_test::report_test
