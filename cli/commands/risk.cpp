#include <surety/cli/commands/risk.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/cli/print/output.h>

namespace surety::cli {

accounting::RiskQuestions risk_questions(const std::optional<double>& prior) {
  accounting::RiskQuestions questions;
  if (!prior) return questions;
  if (!(*prior > 0 && *prior < 1)) invalid(fmt::format("--prior is {}, must be greater than 0 and less than 1", *prior));
  questions.prior = Probability{*prior};
  return questions;
}

void say_risk(const accounting::Risk& risk, const accounting::RiskQuestions& questions) {
  say("{:<14} in {} of true over false positives\n", "advantage", text(risk.advantage));
  for (const auto& [at, rate] : risk.rates) {
    say("{:<14} in {} at a false-positive rate of {}\n", "true positives", text(rate), at.value());
  }
  say("{:<14} in {} at a prior of {}\n", "accuracy", text(risk.accuracy), questions.prior.value());
  say("{:<14} in {} covers every epsilon\n", "mu", text(risk.mu));
  say("{:<14} in {} covers those with delta >= {}\n", "mu", text(risk.mu_above_floor), questions.floor.value());
}

}  // namespace surety::cli
