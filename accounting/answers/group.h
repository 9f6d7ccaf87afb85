// Group privacy: what releases that protect one record promise to k records at once.
//
// A group of k is a chain of k neighbours, D = D_0, D_1, ..., D_k = D'. Where the kind of release is known the chain is not
// needed: k records move a query by k times its sensitivity, so the group sees the same release with 1/k of the noise. Where only
// a promise is known (zcdp, approx) each step of the chain is paid for.
//
//   gaussian, generalized_gaussian, laplace, k_norm    noise / k        discrete_gaussian, discrete_laplace   sensitivity x k
//   randomized_response                               k answers        pure, exponential                     k epsilon
//   zcdp                                 k H_k xi and k^2 rho          approx   (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))
#pragma once

#include <cmath>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

/// An event for a group of `records`: whatever an accountant proves of it at one record holds for `event` at any group of that
/// many, chosen before the first release. k = 1 is the event itself.
///
/// Exact, but for one rounding of each parameter toward more cost (relative 2^-52), for noise added to a query and for randomized
/// response, also repeated and composed: a sum of records attains it. A bound for pure, exponential, zcdp and approx.
/// \throws Error{unsupported} naming a batch (a group falls into several batches), a parallel of anything but Gaussian or zcdp
///         releases (a group falls into several parts), or a release of which k records keep no promise (delta reaches 1).
/// \complexity O(size of the event). \source docs/proofs/composition.md#group.
[[nodiscard]] Event group(const Event& event, Count records);

/// The promise that an (epsilon, delta)-private release of any kind makes to a group: [0, upper], upper at most 1, of the delta
/// at k epsilon. \source [Vadhan 2017: The complexity of differential privacy], Lemma 2.2, docs/proofs/composition.md#group.
[[nodiscard]] Enclosure group_delta(Epsilon epsilon, double delta_of_one, Count records);

/// [0, upper] for delta(epsilon) of a group, from what `accountant` proves of one record at epsilon / records. Holds for every
/// event, sampled or not; `group` is tighter wherever it applies. \throws what `accountant` throws.
template <Accountant A>
[[nodiscard]] Enclosure group_delta(const A& accountant, const Event& event, Count records, Epsilon at_epsilon) {
  // Rounded down: k steps of this epsilon make at most the epsilon asked for.
  const double step = std::nextafter(at_epsilon.value() / static_cast<double>(records.value()), 0.0);
  return group_delta(Epsilon{step}, delta(accountant, event, Epsilon{step}).upper, records);
}

}  // namespace surety::accounting
