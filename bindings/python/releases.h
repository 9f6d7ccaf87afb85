// Releases of statistics as the module hands them out.
#pragma once

#include <nanobind/nanobind.h>

namespace surety::python {

/// Adds plans, sources of records, runs and results.
void add_releases(nanobind::module_& module);

}  // namespace surety::python
