// A lower end of what an event costs from one test, where no accountant has one: losses beyond every grid, and parts that no grid takes.
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting {

/// For two neighbours that the event allows there is a set of outcomes of probability at least `power` under the one, and at most
/// power e^-loss under the other. A loss of infinity is a set that the other never meets.
struct LossTest {
  Lower power;
  Lower loss;
};

/// What the proof of `tests_of` is made of. A test of it leaves one out and sees the truth escape.
struct LossTestTerms {
  bool spread = true;  ///< a set lies below the mean of the loss by its deviation
  bool odds = true;    ///< a batch that a record joins with probability q shows it q times as probably, and by log(1 / q) less
};

/// Tests of the event: of each of its parts alone, and of the losses of all that are known, added up. Parts that none is known of are left out.
/// \complexity some 100 tests a kind of release. \source docs/proofs/composition.md#from-below.
[[nodiscard]] std::vector<LossTest> tests_of(const Event& event, const LossTestTerms& terms = {});

/// The best lower end of epsilon(delta), or delta(epsilon), that these tests prove; 0 where they prove none.
[[nodiscard]] double lower_end(const std::vector<LossTest>& tests, const Question& question);

/// The first part that no test is known of; nothing where there is one for each.
[[nodiscard]] std::optional<Event> without_test(const Event& event);

}  // namespace surety::accounting
