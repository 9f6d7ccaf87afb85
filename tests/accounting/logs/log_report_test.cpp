#include <surety/accounting/logs/log_report.h>

#include <gtest/gtest.h>

#include <string>

#include <surety/accounting/logs/run_log.h>

namespace surety::accounting::log_report_test {
namespace {

RunLog log_of(const std::string& more) {
  return run_log_from_json(
      R"({"version": 1, "noise_multiplier": 1, "batch_size": 600, "records": 60000, "epochs": 10, "adjacency": "zero-out", )"
      R"("delta": 1e-5)" +
      more + "}");
}

std::string report_of(const std::string& more) {
  return report_text(audit_log(log_of(more), {.only = {LoggedSampler::poisson, LoggedSampler::deterministic}}));
}

void expect_holds(const std::string& report, const std::string& words) {
  EXPECT_NE(report.find(words), std::string::npos) << words << "\nin\n" << report;
}

TEST(LogReport, SaysWhichReadingHappenedAndWhatIsProved) {
  const auto report = report_of(R"(, "epsilon": 1.83, "sampler": "poisson")");
  expect_holds(report, "adjacency    zero-out\nrun          1000 steps of batches of 600 of 60000 records\nsampler      poisson\n");
  expect_holds(report, "claim        epsilon = 1.83 at delta = 1e-05\n\n  reading        epsilon at delta = 1e-05    claim    event\n");
  expect_holds(report, "\n* poisson        [1.828236666, 1.828236667]  holds    repeat(1000, poisson(0.01, gaussian(1)))\n");
  expect_holds(report, "\n  deterministic  [17.85658683, 17.85658684]  too low  ");
  expect_holds(report, "\nproved       epsilon <= 1.828236667 if ");
  expect_holds(report, "\nverdict      the claim is kept\n");
}

TEST(LogReport, NeverSaysThatMoreIsProvedThanIs) {
  const auto broken = report_of(R"(, "epsilon": 1.83, "sampler": "deterministic")");
  expect_holds(broken,
               "verdict      the claim is BROKEN: some data sets cost more; it would hold for poisson; it is too low for deterministic\n");
  const auto unknown = report_of(R"(, "epsilon": 1.83)");
  expect_holds(unknown, "proved       nothing: the log does not say how batches were drawn, must have \"sampler\"\n");
  expect_holds(unknown, "verdict      the claim is not proved; it would hold for poisson; it is too low for deterministic\n");
  const auto without = report_text(audit_log(log_of(R"(, "sampler": "fixed_size")"), {.only = {LoggedSampler::fixed_size}}));
  expect_holds(without, "\n* fixed_size  no theorem: adjacency is zero-out");
  expect_holds(without, "proved       nothing: nobody has a theorem for fixed_size here\n");
  EXPECT_EQ(without.find("verdict"), std::string::npos) << "nothing was claimed";
}

TEST(LogReport, HoldsNothingThatEndsALine) {
  expect_holds(report_of(R"(, "epsilon": 1.83, "sampler": "poisson", "accountant": "rdp\u001b[2J\nverdict      kept")"),
               "claim        epsilon = 1.83 at delta = 1e-05 by rdp [2J verdict      kept\n");
}

TEST(LogReport, OfACalibrationSaysTheNoise) {
  const auto report =
      report_text(calibrate_log(log_of(R"(, "sampler": "poisson")"), {.epsilon = Epsilon{2}, .only = {LoggedSampler::poisson}}));
  expect_holds(report, "target       epsilon = 2 at delta = 1e-05\n\n  reading  noise multiplier");
  expect_holds(report, "\n* poisson  0.9");
  expect_holds(report, " is enough if ");
  const auto none =
      report_text(calibrate_log(log_of(R"(, "sampler": "fixed_size")"), {.epsilon = Epsilon{2}, .only = {LoggedSampler::fixed_size}}));
  expect_holds(none, "\n* fixed_size  none: ");
  expect_holds(none, "proved       nothing: nobody has a theorem for fixed_size here\n");
}

}  // namespace
}  // namespace surety::accounting::log_report_test
