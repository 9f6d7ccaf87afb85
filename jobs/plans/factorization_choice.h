// Factorizations of prefix sums, as plans and simulations write them.
#pragma once

#include <array>

#include <surety/jobs/plans/choices.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>

namespace surety::jobs {

template <>
struct Choices<mechanisms::Factorization> {
  static constexpr std::array all{
      Named{mechanisms::Factorization::tree, "tree"}, Named{mechanisms::Factorization::streaming_tree, "streaming-tree"},
      Named{mechanisms::Factorization::toeplitz, "toeplitz"}, Named{mechanisms::Factorization::buffered, "buffered"}};
};

}  // namespace surety::jobs
