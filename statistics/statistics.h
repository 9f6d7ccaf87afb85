// Private statistics: counts, sums, means and histograms of a file, released with noise and charged to a ledger.
#pragma once

#include <surety/statistics/cells.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/integer_sum.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/parts.h>
#include <surety/statistics/query.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/release.h>
