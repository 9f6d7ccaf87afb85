// Filters: when may the next release still happen, if what is released next is chosen after seeing all earlier results?
//
// Definitions:
//   fully adaptive  the kind, the noise and the number of releases may all depend on earlier results, in any way.
//   filter          a rule, fixed before the first release, such that whatever an analyst releases while the rule admits the
//                   total, the whole transcript satisfies the target (epsilon, delta).
//
// Composition theorems for plans that are fixed in advance are not filters: adding up an accountant's curves and stopping at
// the target is wrong in general. Four rules are proved, and each costs the same as composition of a fixed plan:
//   renyi     sum of D_a(release i) <= d, for one order a, fixed with the budget, and d the largest divergence of that order whose
//             conversion meets (epsilon, delta); or, at order infinity, where delta is not needed, sum of epsilon_i <= epsilon
//   gaussian  sum of mu_i^2 <= mu*^2,  mu* the largest mu whose curve meets (epsilon, delta)
//   zcdp      sum of rho_i  <= rho*,   rho* the largest rho whose conversion meets (epsilon, delta)
//   basic     sum of epsilon_i <= epsilon and sum of delta_i <= delta
// Choose gaussian if all releases will be Gaussian, basic if some promise no more than (epsilon, delta), otherwise renyi: it admits secret
// batches, and by its own choice of order whatever zcdp admits.
//
// D_a is the larger of the divergences in both directions, so its sum is at least the sum of either: the limit holds for each.
// The order is never one that happens to fit: which one does would depend on earlier results, and the deltas of all of them would add up.
// Order infinity is the one that may be tried beside another, because its share of delta is nothing (docs/proofs/ledger.md#renyi-filter).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

enum class FilterKind { gaussian, zcdp, basic, renyi };

[[nodiscard]] std::string_view name(FilterKind kind);
/// The inverse of `name`. \throws Error{invalid_argument} listing the names.
[[nodiscard]] FilterKind parse_filter_kind(std::string_view text);

/// What may be spent in total, by fully adaptive releases, and the rule that proves it.
struct Budget {
  Target target;
  FilterKind filter = FilterKind::renyi;
  /// Of a renyi filter alone; nothing stands for `renyi_order(target)`.
  std::optional<RenyiOrder> order = std::nullopt;
};

/// The order at which the limit allows the most Gaussian releases, hence all that a zcdp filter allows. Any order is sound.
/// \pre epsilon and delta are above 0. \complexity some 500 evaluations of a logarithm.
[[nodiscard]] RenyiOrder renyi_order(const Target& target);
/// The order at which `planned` fits most often, from 1.05 to 2000. \throws as Filter::admits, and Error{invalid_argument} when the plan
/// costs nothing. \complexity some 150 evaluations of its curve.
[[nodiscard]] RenyiOrder renyi_order(const Target& target, const Event& planned);

/// The target that a budget of `rho` means at `delta`: with it a filter of kind zcdp admits every total of at most rho, and of the totals above rho
/// those alone that rounding cannot tell from it. Its epsilon is that of the zcdp accountant for rho at delta.
/// \throws Error{invalid_argument} when rho or delta is 0, or rho costs no epsilon at delta. \source docs/proofs/ledger.md#rho.
[[nodiscard]] Target target_of_rho(Rho rho, Delta delta, Adjacency adjacency);

class Filter {
 public:
  /// \throws Error{invalid_argument} when epsilon is 0, or delta under any kind but basic: no Gaussian release has delta = 0; when an order is
  ///         given to another kind than renyi, or is one at which the limit is 0.
  explicit Filter(const Budget& budget);

  /// Its order is the one that is used.
  [[nodiscard]] const Budget& budget() const noexcept { return budget_; }

  /// Whether `total`, everything released or promised so far and next, is within the budget: certainly so, by upper bounds.
  ///
  /// The rule is decided in its equivalent form "the delta of the total at epsilon is at most delta", with the same certified
  /// curve that `calibrate` uses, so noise calibrated to the budget's own target is admitted to the last bit. basic adds up exactly
  /// what doubles say, and 0.1 as a double is above a tenth: ten releases of pure(0.1) do not fit epsilon = 1.
  /// renyi adds up the certified upper ends of the divergences, in intervals.
  ///
  /// \throws Error{unsupported} naming a release for which this filter has no theorem; Error{invalid_argument} when the
  ///         adjacency of `total` is not the budget's.
  /// \source renyi: [FZ21] Feldman and Zrnic, "Individual privacy accounting via a Renyi filter", 2021; docs/proofs/ledger.md#renyi-filter.
  ///         gaussian: [ST22] Smith and Thakurta, "Fully adaptive composition for Gaussian differential privacy", 2022;
  ///         [KTH23] Koskela, Tobaben and Honkela, "Individual privacy accounting with Gaussian differential privacy", 2023.
  ///         zcdp: [FZ21], for every order at once;
  ///         [WRRW23] Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive composition in differential privacy", 2023.
  ///         basic: [RRUV16] Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters", 2016; docs/proofs/ledger.md#filters.
  [[nodiscard]] bool admits(const Releases& total) const;

  /// The largest number of runs of `event`, up to `most`, that `total` leaves room for when nothing else is released. \throws as `admits`.
  /// \complexity some 2 log2(most) decisions.
  [[nodiscard]] std::uint64_t room_for(const Releases& total, const Event& event, std::uint64_t most) const;

  /// What is compared, for people to read: "divergence", "mu^2", "rho" or "epsilon".
  [[nodiscard]] std::string_view unit() const;
  /// The cost of `total` in `unit()`: the exact sum is inside; of epsilons that are not doubles, such as 1/b, that of their values
  /// rounded up; of divergences, that of their certified upper ends. \throws as `admits`.
  [[nodiscard]] Enclosure spent(const Releases& total) const;
  /// The sum of deltas, which basic compares as well; 0 under the other kinds. \throws as `admits`.
  [[nodiscard]] Enclosure spent_delta(const Releases& total) const;
  /// The largest cost that the rule admits, in `unit()`: the exact limit is inside. \complexity some 100 curve evaluations.
  [[nodiscard]] Enclosure limit() const;

  /// The sum of epsilons, which renyi compares as well, where every release promises one; nothing otherwise, and under the other kinds.
  [[nodiscard]] std::optional<Enclosure> spent_epsilon(const Releases& total) const;

  /// What has surely been spent when `total` is released, however it was chosen: with probability at least 1 - delta the privacy loss of
  /// what was released is at most this at all times at once (an odometer, not a filter); nothing under the other kinds than renyi.
  /// [0, bound]: the least of the sum of epsilons and, at seven orders that follow from the budget, of the sum of divergences plus
  /// log(1 / share of delta) / (order - 1). \throws as `admits`. \source docs/proofs/ledger.md#odometer.
  [[nodiscard]] std::optional<Enclosure> odometer(const Releases& total) const;

 private:
  void require_rule_for(const Releases& total) const;

  Budget budget_;
};

}  // namespace surety::accounting
