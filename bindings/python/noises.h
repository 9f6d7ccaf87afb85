// Noise as the module hands it out.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>

#include <surety/mechanisms/additive/any_noise.h>

#include "calls.h"

namespace surety::python {

using Noise = mechanisms::AnyNoise;
/// What is said of a release before its noise is drawn.
using Spend = std::function<void(const Noise&)>;

/// One release, in place. Whatever can be refused is, before `spend` is asked.
void release_in_place(const Noise& noise, nb::handle array, const Spend& spend);

/// One release of the sum of rows, which becomes `into`, in the same order.
void release_sum(const Noise& noise, nb::handle rows, double clip, nb::handle into, const Spend& spend);

/// Adds noise of each law, releases that nobody is charged for, and bits for NumPy.
void add_noises(nb::module_& module);

}  // namespace surety::python
