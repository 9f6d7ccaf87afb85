// Events and what they cost, as the module hands them out.
#pragma once

#include <nanobind/nanobind.h>

namespace surety::python {

/// Adds events, their cost, curves, risk, calibration and logs.
void add_answers(nanobind::module_& module);

}  // namespace surety::python
