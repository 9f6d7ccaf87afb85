// What an algorithm of trainings needs to be told, whatever the data are.
#pragma once

#include <cstddef>
#include <string>

#include <surety/jobs/plans/fields.h>

namespace surety::testing {

/// Says `text` of a field of the plan, if its algorithm knows that.
inline void say(jobs::FieldTable& fields, const char* field, const std::string& text) {
  if (const auto* found = fields.find(field)) found->set(text);
}

/// Says the fields that have no default, but for a radius, and a few learners where there are some.
inline void say_what_is_needed(jobs::FieldTable& fields, std::size_t people) {
  const auto if_needed = [&](const char* field, const std::string& text) {
    const auto* found = fields.find(field);
    if (found != nullptr && found->standard() == "needed") found->set(text);
  };
  for (const char* field : {"records", "steps"}) if_needed(field, std::to_string(people));
  if_needed("step-size", "0.1");
  say(fields, "learners", "4");
}

}  // namespace surety::testing
