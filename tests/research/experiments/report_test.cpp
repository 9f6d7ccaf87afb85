#include "report.h"

#include <gtest/gtest.h>

#include <cstdint>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/ledger/audit.h>

namespace surety::experiments::report_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

/// The audited epsilon of a run that plans two releases and makes `count` of them.
double audited(double multiplier, std::uint64_t count, std::uint64_t seed, double promise = 1, double delta = 1e-5) {
  const Event event = gaussian(NoiseMultiplier{multiplier}, adjacency);
  const Target target{.epsilon = Epsilon{promise}, .delta = Delta{delta}, .adjacency = adjacency};
  return charged(repeat(Count{2}, event), target, seed,
                 [&](accounting::Reservation& reservation, mechanisms::ReplayBits& /*bits*/) {
                   for (std::uint64_t k = 0; k < count; ++k) reservation.spend(event);
                   return 0;
                 })
      .second;
}

double cost(double multiplier, std::uint64_t count, double delta = 1e-5) {
  TemporaryLedger ledger{adjacency};
  const Event event = gaussian(NoiseMultiplier{multiplier}, adjacency);
  auto reservation = ledger.ledger().reserve({.event = repeat(Count{count}, event), .promise = {}, .not_private = true});
  for (std::uint64_t k = 0; k < count; ++k) reservation.spend(event);
  reservation.settle(accounting::Stopping::data_independent);
  return accounting::audit(ledger.ledger(), Delta{delta}).epsilon_of_fresh_noise.upper;
}

/// An audit that is made once for ledgers of equal charges serves no others.
TEST(AuditedEpsilon, IsThatOfWhatWasChargedThoughOtherLedgersWereAuditedBefore) {
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t seed : {1U, 2U}) {
      EXPECT_NEAR(audited(8, 2, seed), cost(8, 2), 1e-9);
      EXPECT_NEAR(audited(8, 1, seed), cost(8, 1), 1e-9) << "less than was planned";
      EXPECT_NEAR(audited(6, 2, seed), cost(6, 2), 1e-9);
      EXPECT_NEAR(audited(6, 2, seed, 2, 1e-7), cost(6, 2, 1e-7), 1e-9);
    }
    forget_audits();
  }
  EXPECT_GT(cost(8, 2), 1.2 * cost(8, 1));
}

}  // namespace
}  // namespace surety::experiments::report_test
