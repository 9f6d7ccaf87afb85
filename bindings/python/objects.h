// Objects of Python as cells of an Arrow column: one by one, so that no object decides what others count as.
#pragma once

#include <nanobind/nanobind.h>

#include <surety/data/arrow/arrow_abi.h>

namespace surety::python {

/// The format of such a column: a union whose members hold every kind of cell.
void export_schema_of_objects(const char* name, ArrowSchema* out);

/// \param objects a list or a tuple. None, bool, int, float, str, bytes, decimal.Decimal and what derives of them are taken as they are.
/// \param convert makes one of these of any other object, or (member, units) of a time, as `_sources._cell_of`; None where the object is no cell. What it raises
///        makes it none.
/// \pre with the lock \throws nb::python_error for control-C; std::bad_alloc
void export_objects(nanobind::handle objects, nanobind::handle convert, ArrowArray* out);

}  // namespace surety::python
