#include <surety/jobs/report/report_values.h>

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include <surety/accounting/events/json_values.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/error.h>

namespace surety::jobs::report_values {
namespace {

using nlohmann::json;

constexpr std::string_view what = "report";
constexpr int digits = 6;
constexpr double infinity = std::numeric_limits<double>::infinity();

double end_at(const json& enclosure, const char* field) {
  const auto& end = at(enclosure, field);
  if (!end.is_string()) return accounting::number_of(end, field);
  const auto text = accounting::text_of(end, field);
  if (text == "infinity") return infinity;
  invalid(fmt::format("{} of a report is a text, must be a number or infinity", field));
}
/// The point of a decimal moves two places, which is exact.
std::string percent_of_text(const std::string& text) {
  if (text == "0") return "0 %";
  if (text == "1") return "100 %";
  if (!text.starts_with("0.") || text.find('e') != std::string::npos) return text + " (as a share of 1)";
  auto decimals = text.substr(2);
  if (decimals.size() < 2) decimals.resize(2, '0');
  auto whole = decimals.substr(0, 2);
  if (whole.front() == '0') whole.erase(0, 1);
  return decimals.size() == 2 ? whole + " %" : fmt::format("{}.{} %", whole, decimals.substr(2));
}

}  // namespace

const json& at(const json& object, const char* field) { return accounting::field_of(object, field, what); }
std::string text_at(const json& object, const char* field) { return accounting::text_of(at(object, field), field); }
double number_at(const json& object, const char* field) { return accounting::number_of(at(object, field), field); }
bool is_true_at(const json& object, const char* field) { return accounting::truth_of(at(object, field), field); }
std::uint64_t count_at(const json& object, const char* field) { return accounting::whole_number_of(at(object, field), field); }
const json& list_at(const json& object, const char* field) { return accounting::list_of(at(object, field), field); }

Enclosure enclosure_at(const json& object, const char* field) {
  const auto& enclosure = at(object, field);
  return {end_at(enclosure, "lower"), end_at(enclosure, "upper")};
}

std::string plain(double value) { return fmt::format("{}", value); }

std::string upper_words(const Enclosure& value) {
  return value.upper == infinity ? "without a limit" : "at most " + rounded_up(value.upper, digits);
}

/// "between 0.9999 and 1.0001", rounded outward.
std::string words_of(const Enclosure& value) {
  if (value.upper == infinity) return "without a limit";
  if (value.lower == value.upper && value.upper == 0) return "0";
  return fmt::format("between {} and {}", rounded_down(value.lower, digits), rounded_up(value.upper, digits));
}

std::string target_words(const json& target) {
  return fmt::format("epsilon = {} at delta = {}", plain(number_at(target, "epsilon")), plain(number_at(target, "delta")));
}

std::string adjacency_words(const std::string& adjacency) {
  if (adjacency == "replace-one") return "replace-one: neighbours differ in the data of one unit. The number of units is public.";
  if (adjacency == "add-or-remove-one") return "add-or-remove-one: one unit is in the data or not. The number of units is protected too.";
  if (adjacency == "zero-out") return "zero-out: one unit counts or not, as if its cells were empty. The number of units is public.";
  invalid("adjacency of a report must be replace-one, add-or-remove-one or zero-out");
}

std::string percent_at_most(double value, int significant) { return percent_of_text(rounded_up(value, significant)); }

std::string percent_of(double value) { return percent_of_text(plain(value)); }

}  // namespace surety::jobs::report_values
