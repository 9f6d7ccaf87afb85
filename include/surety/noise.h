// Random bits, samplers that are exact, and mechanisms that know the event they are. Target: surety::mechanisms.
// A program that wants one of them includes its header alone.
#pragma once

#include <surety/mechanisms/additive/any_noise.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/allocation.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/choices/randomized_response.h>
#include <surety/mechanisms/choices/secret_runs.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/choices/sparse_vector.h>
#include <surety/mechanisms/prefix_sums/buffered_sum.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>
#include <surety/mechanisms/queries/bounded_sum.h>
#include <surety/mechanisms/queries/clipped_sum.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/mechanisms/samplers/draw_ahead.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/lattice_noise.h>
