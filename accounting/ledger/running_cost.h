// What the runs of a ledger have cost under its filter, kept up as runs come and go. For use by the ledger.
//
// A filter prices all that a ledger counts each time that it is asked, which takes a time that grows with the number of different releases. Here each
// kind of release is priced once, and each run changes the sum once.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <surety/accounting/events/releases.h>
#include <surety/accounting/ledger/filter.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

/// Upper bounds of the sums that a filter compares with its limits: sums of certified upper bounds, in intervals of 256 bits.
class RunningCost {
 public:
  /// The cost of `counted`. \throws as Filter::spent. \complexity one curve evaluation for each kind of release.
  RunningCost(const Budget& budget, const Releases& counted);

  /// \throws as Filter::spent; then the sum is of no more use.
  void add(const Releases& releases);
  /// \pre they are part of what was added. \throws as `add`.
  void subtract(const Releases& releases);

  /// Whether the filter certainly admits what was added together with `more`: its sum lies below the limit by more than a millionth of it. False
  /// says nothing. \throws as Filter::spent.
  [[nodiscard]] bool surely_admits(const Releases& more);

  /// How many kinds of release were priced.
  [[nodiscard]] std::size_t kinds() const { return prices_.size(); }

 private:
  /// Upper bounds for one release.
  struct Price {
    double cost;     ///< in the unit of the filter; infinity where it has no bound
    double epsilon;  ///< of a promise at delta = 0, for a renyi filter; infinity where there is none
    double delta;    ///< for a basic filter
  };
  /// The sums of finite prices, and how many releases have no finite one.
  struct Sum {
    Interval finite;
    Interval infinite;
    void add(double count, double price);
    [[nodiscard]] bool is_at_most(double limit) const;
  };
  struct Sums {
    Sum cost, epsilon, delta;
  };

  [[nodiscard]] const Price& price_of(const Event& leaf);
  void add(Sums& sums, const Releases& releases, double sign);

  Filter filter_;
  double limit_;          ///< a lower bound of what the filter admits, less a millionth
  double epsilon_limit_;  ///< of a renyi filter's sum of epsilons, less a millionth
  std::map<std::string, Price> prices_;
  Sums sums_;
};

}  // namespace surety::accounting
