// Readers of records, Arrow streams, conditions on rows, and data sets. Target: surety::data.
#pragma once

#include <surety/data/arrow_records.h>
#include <surety/data/arrow_stream.h>
#include <surety/data/condition.h>
#include <surety/data/csv.h>
#include <surety/data/data_policy.h>
#include <surety/data/dataset.h>
#include <surety/data/features.h>
#include <surety/data/libsvm.h>
#include <surety/data/record_file.h>
#include <surety/data/row_condition.h>
#include <surety/data/row_reader.h>
#include <surety/data/unit_selection.h>
