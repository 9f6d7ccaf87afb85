// What an answer rests on: in words, and as JSON for the command and for other languages. For use inside Surety.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/risk.h>

namespace surety::accounting {

/// One sentence a line: the theorem behind the winning accountant, what the numbers in the event mean under its adjacency, and
/// what each kind of sampling in it assumes.
[[nodiscard]] std::vector<std::string> explanation(const Event& event, const BestAnswer& best);

/// What best_epsilon answers at a delta, or best_delta at an epsilon. \throws as they do.
[[nodiscard]] BestAnswer best_answer(const Event& event, const Question& question, const Effort& effort = {});

/// Where an accountant was left out because the others had answered, it is asked now: its opinion is one more of the same number, and the answer stays what
/// it was. For who asks for explanations. \throws as best_epsilon, also where what it says is no part of what was known.
[[nodiscard]] BestAnswer with_all_asked(const Event& event, const Question& question, const Effort& effort, BestAnswer best);

/// Why there is no second opinion on what `event` costs, in some words. \pre there is none.
[[nodiscard]] std::string why_no_second_opinion(const Event& event, const BestAnswer& best);

/// Whether nothing is known from below of a cost that may not be 0, and why, in some words with the part that has no test.
[[nodiscard]] bool lacks_lower_end(const Enclosure& value);
[[nodiscard]] std::string why_no_lower_end(const Event& event);

/// {"epsilon" or "delta": the enclosure, the other: what was given, "adjacency", "accountant", "event", "accountants": what each says,
/// "independent": the second opinion where there is one, "from_below": where the lower end is 0 and the upper one is not, why}.
[[nodiscard]] nlohmann::json to_json(const Event& event, const Question& question, const BestAnswer& best);

/// {"advantage", "true_positive_rates", "accuracy", "prior", "mu", "mu_above_floor", "floor"}.
[[nodiscard]] nlohmann::json to_json(const Risk& risk, const RiskQuestions& questions);

/// The best answer with its explanation, on one line, with its version. \throws as best_epsilon and best_delta.
[[nodiscard]] std::string explained_json_text(const Event& event, const Question& question, const Effort& effort = {});

}  // namespace surety::accounting
