#include <surety/jobs/run/promise_notes.h>

#include <fmt/format.h>

#include <cmath>

namespace surety::jobs {

std::vector<std::string> notes_of(const Target& promise, std::optional<std::uint64_t> records) {
  // Of such an epsilon an attacker who knows all other records is right in all but e^-20 of the cases.
  constexpr double most_epsilon = 20;
  constexpr double most_delta = 0.01;
  std::vector<std::string> notes;
  const double epsilon = promise.epsilon.value();
  const double delta = promise.delta.value();
  if (epsilon > most_epsilon) {
    notes.push_back(fmt::format("epsilon = {} protects little: choose at most 20, and about 1 where the records are sensitive", epsilon));
  }
  if (records && *records > 0 && delta >= 1 / static_cast<double>(*records)) {
    notes.push_back(
        fmt::format("delta = {} is at least 1/{}, one over the number of records: a release of whole records keeps such a promise; "
                    "choose a smaller delta",
                    delta, *records));
  } else if (!records && delta >= most_delta) {
    notes.push_back(
        fmt::format("delta = {} is large: choose less than one over the number of records, such as 1e-6 for 100,000 records", delta));
  }
  return notes;
}

}  // namespace surety::jobs
