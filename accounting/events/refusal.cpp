#include <surety/accounting/events/refusal.h>

#include <string>

namespace surety::accounting {
namespace {

/// Knows the part, for those who ask why before they ask for numbers.
class Refused : public Error {
 public:
  Refused(const Event& part, const std::string& sentence) : Error{ErrorCode::unsupported, sentence}, part_{part} {}
  [[nodiscard]] const Event& part() const { return part_; }

 private:
  Event part_;
};

}  // namespace

void unsupported(const Event& event, std::string_view sentence) {
  std::string said{sentence};
  if (const auto place = said.find("{}"); place != std::string::npos) said.replace(place, 2, one_line(describe(event)));
  throw Refused{event, said};
}

std::optional<Refusal> refusal_of(const Event& event, const std::function<void()>& prepare) {
  try {
    prepare();
    return std::nullopt;
  } catch (const Refused& refused) {
    return Refusal{refused.part(), refused.what()};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return Refusal{event, error.what()};
  }
}

}  // namespace surety::accounting
