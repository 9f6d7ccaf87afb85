#include <surety/accounting/events/refusal.h>

#include <string>

#include <surety/accounting/events/kept_with_event.h>

namespace surety::accounting {
namespace {

/// A refusal on its way through code that returns no refusals.
class Refused : public Error {
 public:
  explicit Refused(const Refusal& refusal) : Error{ErrorCode::unsupported, refusal.sentence()}, refusal_{refusal} {}
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  Refusal refusal_;
};

}  // namespace

std::string Refusal::sentence() const {
  auto sentence = reason_;
  if (const auto place = sentence.find("{}"); place != std::string::npos) sentence.replace(place, 2, one_line(KeptWithEvent::text(part_)));
  return sentence;
}

void unsupported(const Refusal& refusal) { throw Refused{refusal}; }

std::optional<Refusal> refusal_thrown_by(const Event& event, const std::function<void()>& prepare) {
  try {
    prepare();
    return std::nullopt;
  } catch (const Refused& refused) {
    return refused.refusal();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return Refusal{event, error.what()};
  }
}

}  // namespace surety::accounting
