// The accountants that are asked: the one list of them, and what is to be known of each.
//
// An answer rests on computations with an error bound, beside what all share: definitions (an event's plainest form and its parameters, tiny
// releases told apart, densities) and `base/numbers` (intervals, roots, convolution). Two answers are independent where they rest on nothing in common:
//
//   closed-form      Gaussian and Laplace curves in intervals
//   choice-game      the adaptive game of bounded ranges (laws/choices)
//   contour          integrals of characteristic functions
//   grid             cells of a law of losses, and their sums (laws/losses, gaussian, finite, vectors, epochs, cells, rounds, batches, pairs)
//   participation    in how many batches a record is
//   renyi            moments of a pair's ratio
//   zcdp             the divergence of every order at once
//   search-bounds    what the best of several runs costs, from the curve of one
//   promises         (epsilon, delta) of each release, composed
//   shuffled-sums    binomial sums of the values of reports (laws/shuffled)
//   truncated-batch  how probably a record joins a batch with room for so many (laws/truncated)
//
// scripts/check holds the lists to the USES of each accountant's room: a law that it uses is one that it rests on.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/participation/participation.h>
#include <surety/accounting/accountants/pld/pld.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/tuning/tuning.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting {

/// All accountants that are asked, in the order in which they are told of. Each has its row in registry.cpp: the compiler asks.
using AskedAccountants = std::tuple<ClosedForm, Choices, Contour, Pld, Participation, Renyi, Zcdp, Tuning, Composition::Optimal,
                                    Composition::Advanced, Composition::Basic>;
inline constexpr std::size_t accountants_asked = std::tuple_size_v<AskedAccountants>;

/// An accountant's place in that list: 0, 1, ...
using AccountantPlace = std::size_t;
template <class A, AccountantPlace i = 0>
inline constexpr AccountantPlace place_of = std::is_same_v<A, std::tuple_element_t<i, AskedAccountants>> ? i : place_of<A, i + 1>;
template <class A>
inline constexpr AccountantPlace place_of<A, accountants_asked> = accountants_asked;

/// When it is asked while others may still add something: at its place, but for privacy-loss, which takes longest. The bounds of participation on
/// either side often settle what is asked.
template <class A>
inline constexpr AccountantPlace turn_of = 2 * place_of<A>;
template <>
inline constexpr AccountantPlace turn_of<Pld> = 2 * place_of<Participation> + 1;

template <class>
inline constexpr std::array<AccountantPlace, accountants_asked> turns_of{};
template <class... A>
inline constexpr std::array<AccountantPlace, accountants_asked> turns_of<std::tuple<A...>>{turn_of<A>...};
inline constexpr std::array<AccountantPlace, accountants_asked> asked_turns = turns_of<AskedAccountants>;

/// Their names, by their places.
template <class>
inline constexpr std::array<std::string_view, accountants_asked> names_of{};
template <class... A>
inline constexpr std::array<std::string_view, accountants_asked> names_of<std::tuple<A...>>{A::name...};
inline constexpr std::array<std::string_view, accountants_asked> asked_names = names_of<AskedAccountants>;

/// A computation, and whether the accountant's answer about an event rests on it.
struct Basis {
  std::string_view name;
  bool (*of)(const Event& event);
  std::string_view kinds = {};  ///< in words, where it is not all events
};

struct AccountantRow {
  std::string_view name;
  std::string_view theorem;  ///< in a sentence
  std::span<const Basis> rests_on;
  std::string_view cost;  ///< of an answer
};

/// All of them, by their places.
[[nodiscard]] std::span<const AccountantRow> accountant_rows();
/// \throws Error{internal} for a name that is not in the list.
[[nodiscard]] const AccountantRow& row_of_accountant(std::string_view name);

/// What the answer of the accountant of this name rests on, each once. One that holds a search rests on all that may be asked about its run.
/// \throws as row_of_accountant.
[[nodiscard]] std::vector<std::string_view> rests_on(std::string_view accountant, const Event& event);

}  // namespace surety::accounting
