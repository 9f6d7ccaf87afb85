// Records as algorithms see them: a data set and its rows, which are those of the readers.
#pragma once

#include <surety/data/features/dataset.h>

namespace surety::optimizers {

using data::Dataset;
using data::RowMap;
using data::RowView;

}  // namespace surety::optimizers
