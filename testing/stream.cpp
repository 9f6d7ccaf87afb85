#include <surety/testing/stream.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::testing {

namespace detail {

void require_answer(const std::vector<std::vector<double>>& script, std::size_t push, std::size_t size) {
  if (push == script.size()) invalid(fmt::format("the script ends after {} pushes", push));
  if (script[push].size() != size) {
    invalid(fmt::format("answer {} of the script has {} coordinates, the contribution has {}", push, script[push].size(), size));
  }
}

}  // namespace detail

}  // namespace surety::testing
