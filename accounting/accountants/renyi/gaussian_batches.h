// Divergences of Gaussian releases on batches: of each record by a coin of its own, and of a fixed size. docs/proofs/renyi.md#poisson derives every
// error term.
#pragma once

#include <surety/accounting/accountants/renyi/order_bound.h>

namespace surety::accounting::renyi {

/// The bound that Minkowski's inequality gives for a mixture: || 1 - q + q l ||_a <= 1 - q + q || l ||_a, with || l ||_a =
/// e^((a-1) D_a / a).
[[nodiscard]] double mixture_bound(double q, double order, double divergence);

/// With probability q a release of this divergence, else nothing that differs, and both know which: the moment is a mixture of moments.
[[nodiscard]] double revealed_bound(double q, double order, double divergence);

/// order mu^2 / 2, rounded up.
[[nodiscard]] double squared_mu_divergence(double mu, double order);

/// Of (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), the larger of both directions; exact where the quadrature is not too long. \pre 0 < q < 1, mu > 0.
/// \complexity some 60 nodes; at most 8192.
[[nodiscard]] OrderBound poisson_gaussian(double q, double mu, At at);

/// Of a batch that a record is exchanged in, with probability q: never labelled exact. \pre 0 < q < 1, mu > 0. \complexity at most 2000 panels of 20 nodes.
[[nodiscard]] OrderBound fixed_gaussian(double q, double mu, At at);

}  // namespace surety::accounting::renyi
