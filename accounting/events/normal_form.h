// The normal form of an event: what every accountant makes of its spelling, before their mathematics differ. Releases (releases.h) is the
// multiset of its leaves; here are the other names of a leaf, the one Gaussian release that many are, and the parts of a parallel event
// that can cost most.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

/// The same releases under the names whose curves are known exactly: k_norm(l1, d, b), and any k_norm in one dimension, is laplace(b);
/// generalized_gaussian(2, d, z) is gaussian(z); cyclic(b, T, q, e) is ceil(T / b) times poisson(q, e), also of users; allocated(t, t, e) is
/// t times e; a curve of one point is approx, zcdp(xi, 0) is pure(xi), a law without losses, a mixture without shifts and
/// renyi with a divergence of 0 are pure(0); a last iterate of one step, or of Lipschitz
/// constant 0, is its last step; passes over one batch are steps on all data; users of what is repeated, composed or searched are so of each release, and users of one release are
/// the release that costs exactly as much, where there is one (event_of_group.h). Every other event is itself.
/// \source docs/proofs/composition.md#continual, docs/proofs/given.md, docs/proofs/users.md.
[[nodiscard]] Event plainest(const Event& event);

/// What a record's own report costs by itself, of shuffled reports: at least what they cost together. Nothing for other kinds.
[[nodiscard]] std::optional<Event> one_report(const Event& event);

/// mu^2 of the one Gaussian release that `event` costs, at `precision` bits; nothing when it is not that. Gaussian releases compose to
/// one of mu^2 = sum of mu_i^2 [DRS19, Corollary 3.3], a last iterate is one of f^2 times that of a step (last_iterate.h), of parallel parts the one of largest mu counts, and of a deterministic epoch one
/// batch: a record takes part in one of them, and the others are post-processing of what was known before.
/// \complexity O(size of the event).
[[nodiscard]] std::optional<Interval> gaussian_mu_squared(const Event& event, mpfr_prec_t precision);

/// The first part of `event` that keeps it from being one Gaussian release; nothing when it is one.
[[nodiscard]] std::optional<Event> first_not_gaussian(const Event& event);

/// The noise multiplier of that release, exactly where it is written so, else computed at 128 bits.
[[nodiscard]] std::optional<Enclosure> gaussian_multiplier(const Event& event);

/// The parts that remain when every part is dropped that provably costs at most as another one: an equal one, the same kind with
/// parameters of at least the noise, a batch of such, a part of its releases, Gaussian releases beside noisier ones. Parallel parts
/// within parts are taken apart. Never empty.
/// \throws Error{unsupported} when more than 256 different parts remain.
/// \source docs/proofs/pld.md#parallel.
[[nodiscard]] std::vector<Event> undominated(const Event::Parallel& parallel);

}  // namespace surety::accounting
