#include "output.h"

#include <fmt/core.h>
#include <mpfr.h>

#include <array>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>

namespace surety::cli {
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

void print_indented(nlohmann::json object, int indent) {
  constexpr int output_version = 1;
  object.emplace("version", output_version);
  // A path need not be UTF-8; JSON must.
  fmt::print("{}\n", object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::string rounded_down(double value, int digits) { return rounded(value, digits, "%.*RDg"); }
std::string rounded_up(double value, int digits) { return rounded(value, digits, "%.*RUg"); }

std::string text(const Enclosure& enclosure) { return fmt::format("[{}, {}]", rounded_down(enclosure.lower), rounded_up(enclosure.upper)); }

nlohmann::json json(const Enclosure& enclosure) { return accounting::to_json(enclosure); }

void print(const nlohmann::json& object) { print_indented(object, 2); }

void print_line(const nlohmann::json& object) { print_indented(object, -1); }

void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error{ErrorCode::environment, "standard output could not be written, must accept what the command prints"};
  }
}

}  // namespace surety::cli
