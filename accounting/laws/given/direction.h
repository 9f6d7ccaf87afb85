// The two directions in which neighbours are told apart.
#pragma once

namespace surety::accounting {

/// Which of two neighbours P is, where delta(epsilon) = sup over S of P(S) - e^epsilon Q(S).
///   remove  P has the record, Q does not: what is seen by whom a record leaves
///   add     the reverse
enum class Direction { remove, add };

}  // namespace surety::accounting
