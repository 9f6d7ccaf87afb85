#include <surety/accounting/ledger/store.h>

#include <cstring>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::accounting {

void damaged(const std::string& name, const std::string& reason) {
  throw Error{ErrorCode::damaged_ledger, fmt::format("'{}' is not an intact ledger: {}", one_line(name), reason)};
}

void refused_by_machine(const std::string& path, const std::string& action, int error_number) {
  throw Error{ErrorCode::environment, fmt::format("cannot {} '{}': {}", action, one_line(path), std::strerror(error_number))};
}

}  // namespace surety::accounting
