#include <surety/base/numbers/rounded_text.h>

#include <fmt/format.h>
#include <mpfr.h>

#include <array>
#include <cmath>

namespace surety {
namespace {

std::string rounded(double value, int digits, const char* pattern) {
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  std::array<char, 64> buffer{};
  mpfr_t exact;
  mpfr_init2(exact, 53);
  mpfr_set_d(exact, value, MPFR_RNDN);
  mpfr_snprintf(buffer.data(), buffer.size(), pattern, digits, exact);
  mpfr_clear(exact);
  return buffer.data();
}

}  // namespace

std::string rounded_down(double value, int digits) { return rounded(value, digits, "%.*RDg"); }
std::string rounded_up(double value, int digits) { return rounded(value, digits, "%.*RUg"); }

std::string text(const Enclosure& enclosure) { return fmt::format("[{}, {}]", rounded_down(enclosure.lower), rounded_up(enclosure.upper)); }

}  // namespace surety
