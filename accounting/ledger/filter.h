// Filters: when may the next release still happen, if what is released next is chosen after seeing all earlier results?
//
// Definitions:
//   fully adaptive  the kind, the noise and the number of releases may all depend on earlier results, in any way.
//   filter          a rule, fixed before the first release, such that whatever an analyst releases while the rule admits the
//                   total, the whole transcript satisfies the target (epsilon, delta).
//
// Composition theorems for plans that are fixed in advance are not filters: adding up an accountant's curves and stopping at
// the target is wrong in general. Three rules are proved, and each costs the same as composition of a fixed plan:
//   gaussian  sum of mu_i^2 <= mu*^2,  mu* the largest mu whose curve meets (epsilon, delta)
//   zcdp      sum of rho_i  <= rho*,   rho* the largest rho whose conversion meets (epsilon, delta)
//   basic     sum of epsilon_i <= epsilon and sum of delta_i <= delta
// Choose gaussian if all releases will be Gaussian, zcdp if each has a rho, otherwise basic.
#pragma once

#include <string_view>

#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/enclosure.h>

namespace surety::accounting {

enum class FilterKind { gaussian, zcdp, basic };

[[nodiscard]] std::string_view name(FilterKind kind);
/// The inverse of `name`. \throws Error{invalid_argument} listing the names.
[[nodiscard]] FilterKind parse_filter_kind(std::string_view text);

/// What may be spent in total, by fully adaptive releases, and the rule that proves it.
struct Budget {
  Target target;
  FilterKind filter = FilterKind::gaussian;
};

class Filter {
 public:
  /// \throws Error{invalid_argument} when epsilon is 0, or delta under gaussian and zcdp: no Gaussian release has delta = 0.
  explicit Filter(const Budget& budget);

  [[nodiscard]] const Budget& budget() const noexcept { return budget_; }

  /// Whether `total`, everything released or promised so far and next, is within the budget: certainly so, by upper bounds.
  ///
  /// The rule is decided in its equivalent form "the delta of the total at epsilon is at most delta", with the same certified
  /// curve that `calibrate` uses, so noise calibrated to the budget's own target is admitted to the last bit. basic adds up exactly
  /// what doubles say, and 0.1 as a double is above a tenth: ten releases of pure(0.1) do not fit epsilon = 1.
  ///
  /// \throws Error{unsupported} naming a release for which this filter has no theorem; Error{invalid_argument} when the
  ///         adjacency of `total` is not the budget's.
  /// \source gaussian: [ST22] Smith and Thakurta, "Fully adaptive composition for Gaussian differential privacy", 2022;
  ///         [KTH23] Koskela, Tobaben and Honkela, "Individual privacy accounting with Gaussian differential privacy", 2023.
  ///         zcdp: [FZ21] Feldman and Zrnic, "Individual privacy accounting via a Renyi filter", 2021, for every order at once;
  ///         [WRRW23] Whitehouse, Ramdas, Rogers and Wu, "Fully-adaptive composition in differential privacy", 2023.
  ///         basic: [RRUV16] Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters", 2016; docs/proofs/ledger.md#filters.
  [[nodiscard]] bool admits(const Releases& total) const;

  /// What is compared, for people to read: "mu^2", "rho" or "epsilon".
  [[nodiscard]] std::string_view unit() const;
  /// The cost of `total` in `unit()`: the exact sum is inside; of epsilons that are not doubles, such as 1/b, that of their values
  /// rounded up. \throws as `admits`.
  [[nodiscard]] Enclosure spent(const Releases& total) const;
  /// The sum of deltas, which basic compares as well; 0 under the other kinds. \throws as `admits`.
  [[nodiscard]] Enclosure spent_delta(const Releases& total) const;
  /// The largest cost that the rule admits, in `unit()`: the exact limit is inside. \complexity some 100 curve evaluations.
  [[nodiscard]] Enclosure limit() const;

 private:
  void require_rule_for(const Releases& total) const;

  Budget budget_;
};

}  // namespace surety::accounting
