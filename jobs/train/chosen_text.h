// Plans in JSON whose algorithm is "auto": what the rule of jobs/automatic says of them, written into the plan.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/plans/train_plan.h>

namespace surety::jobs {

inline constexpr std::string_view automatic_name = "auto";

struct ChosenText {
  std::string text;  ///< the plan with the chosen algorithm, and with the chosen values of fields that it did not have
  FieldText chosen;  ///< "shaped-descent steps 10 ridge 0.3: 3200 records, 5 features, nu = 0.1"
};

/// Reads the header of the records, and counts them where their number is public. Releases nothing.
/// \param text whose algorithm is "auto". \param rows in the place of the records that the plan names, or nullptr; they stay, also where they are counted
/// \throws as `choose` and `read_train_plan`; PlanError where no algorithm knows all fields, and for a plan without records.
[[nodiscard]] ChosenText chosen_text(std::string_view text, std::shared_ptr<GivenRows> rows);

/// The same for a plan whose algorithm is named: its fields that follow from public numbers (`ruled_fields`), where it does not have them. \throws as `read_train_plan`
[[nodiscard]] ChosenText ruled_text(std::string_view text, std::shared_ptr<GivenRows> rows);

/// Whether the text is a plan that asks for it. \throws PlanError{bad_data} for what is no plan of a training.
[[nodiscard]] bool is_automatic(std::string_view text);

}  // namespace surety::jobs
