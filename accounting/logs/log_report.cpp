#include <surety/accounting/logs/log_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <surety/accounting/events/format.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/report_lines.h>
#include <surety/base/text/safe_text.h>

namespace surety::accounting {
namespace {

std::string name_of(const Reading& reading) {
  const bool has_two = reading.adjacency == Adjacency::replace_one;
  return fmt::format("{} {}{}", reading.happened ? '*' : ' ', name(reading.sampler),
                     !has_two                                ? ""
                     : reading.noise_over == NoiseOver::clip ? ", z over C"
                                                             : ", z over 2C");
}

std::string batches_of(const RunLog& log) {
  if (!log.phases.empty()) return fmt::format(" in {} phase{}", log.phases.size(), log.phases.size() == 1 ? "" : "s");
  if (!log.records) return fmt::format(" at a sampling rate of {}", log.rate());
  return fmt::format(" of batches of {} of {} records{}", log.batch_size->value(), log.records->value(),
                     log.accumulates() ? fmt::format(", each in {} micro-batches", log.accumulation_steps->value()) : "");
}

std::string lines_of(const RunLog& log, Adjacency adjacency) {
  const auto steps = log.total_steps();
  auto lines = report_line("adjacency", name(adjacency)) +
               report_line("run", fmt::format("{} step{}{}", steps.value(), steps == Count{1} ? "" : "s", batches_of(log)));
  return lines + report_line("sampler", name(log.sampler));
}

std::string noise_of(const RunLog& log) {
  if (log.phases.empty()) return fmt::format("{}", *log.noise_multiplier);
  const auto by_noise = [](const RunLog& a, const RunLog& b) { return *a.noise_multiplier < *b.noise_multiplier; };
  const auto [least, most] = std::minmax_element(log.phases.begin(), log.phases.end(), by_noise);
  if (*least->noise_multiplier == *most->noise_multiplier) return fmt::format("{}", *least->noise_multiplier);
  return fmt::format("from {} to {}", *least->noise_multiplier, *most->noise_multiplier);
}

std::string noise_line(const RunLog& log) {
  return fmt::format("{}, over {}", noise_of(log), log.noise_over == NoiseOver::clip ? "the clip" : "twice the clip");
}

/// "poisson, allocated": of the noise that the log has.
std::string names_where(const LogAudit& audit, ClaimVerdict verdict) {
  std::string names;
  for (const auto& cost : audit.readings) {
    if (cost.claim != verdict || cost.reading.noise_over != audit.log.noise_over) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name(cost.reading.sampler));
  }
  return names;
}

std::string proved_line(const RunLog& log, const Reading* reading, const std::string& what) {
  if (reading != nullptr) return report_line("proved", fmt::format("{} if {}", what, reading->condition));
  if (log.sampler == LoggedSampler::unknown) {
    return report_line("proved", "nothing: the log does not say how batches were drawn, must have \"sampler\"");
  }
  return report_line("proved", fmt::format("nothing: nobody has a theorem for {} here", name(log.sampler)));
}

std::string verdict_of(const LogAudit& audit) {
  if (audit.kept()) return "the claim is kept";
  const auto* proved = audit.proved();
  std::string verdict = "the claim is not proved";
  if (proved != nullptr) {
    verdict = proved->claim == ClaimVerdict::too_low ? "the claim is BROKEN: some data sets cost more"
                                                     : "the claim is not proved: the bounds lie on both sides of it";
  }
  const auto holds = names_where(audit, ClaimVerdict::holds);
  const auto too_low = names_where(audit, ClaimVerdict::too_low);
  if (!holds.empty()) verdict += "; it would hold for " + holds;
  if (!too_low.empty()) verdict += "; it is too low for " + too_low;
  return verdict;
}

}  // namespace

std::string report_text(const LogAudit& audit) {
  std::string lines = lines_of(audit.log, audit.adjacency);
  lines += report_line("noise", noise_line(audit.log));
  if (audit.claim) {
    lines += report_line("claim", fmt::format("epsilon = {} at delta = {}{}", *audit.claim, audit.delta,
                                              audit.log.accountant.empty() ? "" : fmt::format(" by {}", one_line(audit.log.accountant))));
  }
  ReportTable table;
  std::vector<std::string> heads{"  reading", fmt::format("epsilon at delta = {}", audit.delta)};
  if (audit.claim) heads.emplace_back("claim");
  heads.emplace_back("event");
  table.add(std::move(heads));
  for (const auto& cost : audit.readings) {
    if (!cost.epsilon) {
      table.add({name_of(cost.reading), "no theorem: " + cost.refusal});
      continue;
    }
    std::vector<std::string> row{name_of(cost.reading), text(*cost.epsilon)};
    if (audit.claim) row.emplace_back(name(*cost.claim));
    row.push_back(describe(*cost.event));
    table.add(std::move(row));
  }
  const auto* const proved = audit.proved();
  lines += "\n" + table.text() + "\n" +
           proved_line(audit.log, proved == nullptr ? nullptr : &proved->reading,
                       proved == nullptr ? "" : fmt::format("epsilon <= {}", rounded_up(proved->epsilon->upper)));
  if (audit.claim) lines += report_line("verdict", verdict_of(audit));
  return lines;
}

std::string report_text(const LogRisk& risk, const RiskQuestions& questions) {
  ReportTable table;
  std::vector<std::string> heads{"  reading", "advantage"};
  for (const auto rate : questions.false_positive_rates) heads.push_back(fmt::format("true positives at {}", rate.value()));
  heads.push_back(fmt::format("accuracy at {}", questions.prior.value()));
  heads.emplace_back("event");
  table.add(std::move(heads));
  for (const auto& found : risk.readings) {
    if (!found.risk) {
      table.add({name_of(found.reading), "no theorem: " + found.refusal});
      continue;
    }
    std::vector<std::string> row{name_of(found.reading), text(found.risk->advantage)};
    for (const auto& rate : found.risk->rates) row.push_back(text(rate.true_positive_rate));
    row.push_back(text(found.risk->accuracy));
    row.push_back(describe(*found.event));
    table.add(std::move(row));
  }
  const auto* const proved = risk.proved();
  return lines_of(risk.log, risk.adjacency) + report_line("noise", noise_line(risk.log)) + "\n" + table.text() + "\n" +
         proved_line(risk.log, proved == nullptr ? nullptr : &proved->reading,
                     proved == nullptr ? "" : fmt::format("advantage <= {}", rounded_up(proved->risk->advantage.upper)));
}

std::string report_text(const LogCalibration& calibration) {
  const auto& target = calibration.target;
  ReportTable table;
  table.add({"  reading", "noise multiplier", "epsilon", "event"});
  for (const auto& noise : calibration.readings) {
    if (!noise.multiplier) {
      table.add({name_of(noise.reading), "none: " + noise.refusal});
    } else {
      table.add({name_of(noise.reading), fmt::format("{}", *noise.multiplier), text(*noise.epsilon), describe(*noise.event)});
    }
  }
  const auto* const proved = calibration.proved();
  const std::string open = proved != nullptr && !proved->is_tight() ? report_line("not tight", not_tight(proved->gap)) : "";
  return lines_of(calibration.log, target.adjacency) +
         report_line("target", fmt::format("epsilon = {} at delta = {}", target.epsilon, target.delta)) + "\n" + table.text() + "\n" +
         proved_line(calibration.log, proved == nullptr ? nullptr : &proved->reading,
                     proved == nullptr ? "" : fmt::format("a noise multiplier of {} is enough", *proved->multiplier)) +
         open;
}

}  // namespace surety::accounting
