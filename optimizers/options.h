// What the sources share that check options: a refusal, and a visitor of variants made of one function for each alternative.
#pragma once

#include <string>

#include <surety/accounting/error.h>

namespace surety::optimizers {

/// \throws Error{invalid_argument} with `reason`, which names the value and its constraint.
[[noreturn]] inline void refuse(const std::string& reason) { throw Error{ErrorCode::invalid_argument, reason}; }

/// For std::visit: the overloads of several function objects.
template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace surety::optimizers
