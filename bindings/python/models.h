// Trained models as the module hands them out.
#pragma once

#include <nanobind/nanobind.h>

namespace surety::python {

/// Adds models: their texts and files, their weights, what they say of records.
void add_models(nanobind::module_& module);
/// Adds plans of trainings, their runs and results.
void add_trainings(nanobind::module_& module);

}  // namespace surety::python
