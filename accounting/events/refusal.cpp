#include <surety/accounting/events/refusal.h>

#include <string>

namespace surety::accounting {

void unsupported(const Event& event, std::string_view sentence) {
  std::string said{sentence};
  if (const auto place = said.find("{}"); place != std::string::npos) said.replace(place, 2, describe(event));
  throw Error{ErrorCode::unsupported, said};
}

}  // namespace surety::accounting
