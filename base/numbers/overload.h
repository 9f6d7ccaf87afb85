// A visitor of variants made of one function for each alternative.
#pragma once

namespace surety {

/// For std::visit: the overloads of several function objects.
template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

}  // namespace surety
