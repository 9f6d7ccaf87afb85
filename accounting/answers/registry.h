// The accountants that are asked: the one list of them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/grid/grid.h>
#include <surety/accounting/accountants/participation/participation.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/accountants/tuning/tuning.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting {

/// All accountants that are asked, in the order in which they are told of. Each has its theorem in explanation.cpp.
using AskedAccountants = std::tuple<ClosedForm, Choices, Contour, PrivacyLoss, Participation, Renyi, Zcdp, Tuning, Composition::Optimal,
                                    Composition::Advanced, Composition::Basic>;
inline constexpr std::size_t accountants_asked = std::tuple_size_v<AskedAccountants>;

/// An accountant's place in that list: 0, 1, ...
using AccountantPlace = std::size_t;
template <class A, AccountantPlace i = 0>
inline constexpr AccountantPlace place_of = std::is_same_v<A, std::tuple_element_t<i, AskedAccountants>> ? i : place_of<A, i + 1>;
template <class A>
inline constexpr AccountantPlace place_of<A, accountants_asked> = accountants_asked;

/// Their names, by their places.
template <class>
inline constexpr std::array<std::string_view, accountants_asked> names_of{};
template <class... A>
inline constexpr std::array<std::string_view, accountants_asked> names_of<std::tuple<A...>>{A::name...};
inline constexpr std::array<std::string_view, accountants_asked> asked_names = names_of<AskedAccountants>;

}  // namespace surety::accounting
