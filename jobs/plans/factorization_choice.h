// Factorizations of prefix sums, as plans and simulations write them.
#pragma once

#include <surety/jobs/plans/choices.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>

namespace surety::jobs {

template <>
struct Choices<mechanisms::Factorization> {
  static constexpr auto& all = mechanisms::all_factorizations;
};

}  // namespace surety::jobs
