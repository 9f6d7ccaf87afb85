// What an answer rests on, in words.
#pragma once

#include <string>
#include <vector>

#include <surety/accounting/accountants/best.h>

namespace surety::cli {

/// One sentence a line: the theorem behind the winning accountant, what the numbers in the event mean under its adjacency, and
/// what each kind of sampling in it assumes.
[[nodiscard]] std::vector<std::string> explanation(const Event& event, const accounting::BestAnswer& best);

}  // namespace surety::cli
