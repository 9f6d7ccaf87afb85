#include <surety/accounting/answers/asked.h>

namespace surety::accounting {

Enclosure delta(const Participation& accountant, const Event& event, Epsilon epsilon) {
  return delta(accountant, event, epsilon, curves_of_all().gaussian);
}
Enclosure epsilon(const Participation& accountant, const Event& event, Delta delta) {
  return epsilon(accountant, event, delta, curves_of_all().gaussian);
}

Enclosure delta(const Pld& accountant, const Event& event, Epsilon epsilon) {
  return delta(accountant, event, epsilon, curves_of_all().leaves);
}
Enclosure epsilon(const Pld& accountant, const Event& event, Delta delta) {
  return epsilon(accountant, event, delta, curves_of_all().leaves);
}
std::optional<Refusal> why_not(const Pld& accountant, const Event& event) { return why_not(accountant, event, curves_of_all().leaves); }

Enclosure delta(const Tuning& accountant, const Event& event, Epsilon epsilon) {
  return delta(accountant, event, epsilon, curves_of_all().runs, curves_of_all().gaussian);
}
Enclosure epsilon(const Tuning& accountant, const Event& event, Delta delta) {
  return epsilon(accountant, event, delta, curves_of_all().runs, curves_of_all().gaussian);
}
std::optional<Refusal> why_not(const Tuning& accountant, const Event& event) { return why_not(accountant, event, curves_of_all().runs); }
std::vector<CurvePoint> tuning_curve(const Event& event, std::size_t points) { return tuning_curve(event, points, curves_of_all().runs); }

Opinion opinion_of(AccountantPlace accountant, const Event& event, const Question& question, const Effort& effort,
                   const PldRequest& request) {
  return opinion_of(accountant, event, question, effort, curves_of_all(), request);
}

}  // namespace surety::accounting
