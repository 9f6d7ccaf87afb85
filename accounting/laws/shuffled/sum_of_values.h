// Sums of independent values, one for each report: by how much they exceed 0 in the mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <surety/accounting/laws/shuffled/binomial.h>
#include <surety/base/numbers/ball.h>

namespace surety::accounting::laws {

/// An outcome of a reference: its probability there, and that of the report at either input over it.
struct Outcome {
  LongBall probability;
  LongBall first;
  LongBall second;

  /// first - e^epsilon second.
  [[nodiscard]] LongBall value(const LongBall& e) const { return first - e * second; }
};

/// An outcome of the reference that is as likely at one input as at the other: `ratio` times as likely as in the reference.
struct Neutral {
  LongBall probability;
  LongBall ratio;
};

/// (1/n) E max(Z_1 + ... + Z_n, 0) of independent values, that of `likely` >= 0, that of `unlikely` < 0, and that of every other outcome <= 0.
class SumOfValues {
 public:
  /// \param rest_ratio of all other outcomes but `third`; there are none without `has_rest`
  /// \param blocks of the number of reports that are likely or unlikely, at most; fewer are faster and wider; 0 for as many as suit `reports`
  /// \complexity O(standard deviation of that number).
  SumOfValues(std::uint64_t reports, const Outcome& likely, const Outcome& unlikely, const LongBall& rest_ratio, bool has_rest,
              const std::optional<Neutral>& third = std::nullopt, std::uint64_t blocks = 0);

  /// At e^epsilon >= 1. \complexity some ms. \source docs/proofs/shuffled-reports.md#sums
  [[nodiscard]] LongUpper upper(const LongBall& e) const;
  /// \pre there is no third value.
  [[nodiscard]] LongLower lower(const LongBall& e) const;

 private:
  struct Values {
    LongBall likely;
    LongBall unlikely;
    LongBall mean;  ///< of the two
    LongBall rest;
    LongBall third;
  };
  struct Thirds {
    std::vector<long double> first;
    std::vector<long double> weight;  ///< at least
  };

  [[nodiscard]] Values at(const LongBall& e) const;
  [[nodiscard]] LongBall level_of(std::uint64_t active, const Values& values) const;
  /// Calls add(block, at least the probability of all blocks that are left) from the middle outward until it returns true.
  template <class Add>
  void outward(const Add& add) const;
  const Thirds& thirds_of(std::size_t block) const;

  std::uint64_t reports_;
  Outcome likely_;
  Outcome unlikely_;
  LongBall rest_ratio_;
  std::optional<Neutral> third_;
  LongBall share_ = 0;              ///< the probability of the likely outcome given that a report is active, which means likely or unlikely
  LongBall third_share_ = 0;        ///< of the third value among the others
  std::vector<CountBlock> blocks_;  ///< of the number of active reports
  std::vector<LongUpper> up_to_;
  std::vector<LongUpper> from_;
  std::size_t middle_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<Thirds> thirds_;
};

}  // namespace surety::accounting::laws
