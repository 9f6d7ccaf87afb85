#include "validators.h"

#include <utility>

#include <surety/jobs/plans/fields.h>

namespace surety::cli {
namespace {

Check check_by(jobs::Constraint constraint) {
  return [constraint = std::move(constraint)](const std::string& text) { return jobs::fault_of(constraint, text); };
}

}  // namespace

Check number() { return check_by(jobs::AnyNumber{}); }
Check whole_number(std::uint64_t least, std::uint64_t most) { return check_by(jobs::WholeNumber{least, most}); }
Check one_of(std::vector<std::string> words) { return check_by(jobs::OneOfWords{std::move(words)}); }

}  // namespace surety::cli
