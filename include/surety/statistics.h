// Private counts, sums, means, histograms, quantiles and keys, query by query; whole releases are jobs (jobs.h). Target: surety::statistics.
#pragma once

#include <surety/statistics/exact.h>
#include <surety/statistics/ratio.h>
#include <surety/statistics/statistics.h>
