// What an accountant's answer about an event rests on: the computations behind it, beside what all share (the event and its plainest form,
// intervals, roots, convolution). Two answers are independent where they have none in common.
//
//   closed-form      Gaussian and Laplace curves in intervals
//   choice-game      the adaptive game of bounded ranges
//   contour          integrals of characteristic functions
//   grid             cells of a law of losses, and their sums
//   participation    in how many batches a record is
//   renyi            moments of a pair's ratio
//   zcdp             the divergence of every order at once
//   search-bounds    what the best of several runs costs, from the curve of one
//   promises         (epsilon, delta) of each release, composed
//   truncated-batch  how probably a record joins a batch with room for so many
#pragma once

#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// The names of them, each once, for the accountant of this name.
/// \throws Error{internal} for one that is not asked: a new accountant has its line here.
[[nodiscard]] std::vector<std::string_view> rests_on(std::string_view accountant, const Event& event);

}  // namespace surety::accounting
