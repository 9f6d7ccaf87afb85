#include <surety/base/numbers/checked_cast.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety {

void refuse_cast(long double value, int digits) {
  if (value > 0)
    throw Error{ErrorCode::memory, fmt::format("a number is {}, more than {} bits can count", static_cast<double>(value), digits)};
  throw Error{ErrorCode::internal, fmt::format("{} was to become an integer", static_cast<double>(value))};
}

}  // namespace surety
