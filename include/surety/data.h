// Readers of records, Arrow streams, conditions on rows, and data sets. Target: surety::data.
#pragma once

#include <surety/data/arrow/arrow_records.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/csv/csv.h>
#include <surety/data/csv/libsvm.h>
#include <surety/data/features/dataset.h>
#include <surety/data/features/features.h>
#include <surety/data/features/record_file.h>
#include <surety/data/features/row_reader.h>
#include <surety/data/reading/condition.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/reading/row_condition.h>
#include <surety/data/units/unit_selection.h>
