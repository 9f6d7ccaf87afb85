// Reservations and ledgers as the module hands them out.
#pragma once

#include <nanobind/nanobind.h>

namespace surety::python {

/// Adds ledgers, made, opened and in memory, and the reservations of their runs.
void add_ledgers(nanobind::module_& module);

}  // namespace surety::python
