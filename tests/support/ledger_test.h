// A ledger under replace-one in a folder of its own, for tests of what draws from it.
#pragma once

#include <gtest/gtest.h>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/temporary_folder.h>

namespace surety::testing {

class LedgerTest : public ::testing::Test {
 protected:
  accounting::Reservation reserve(const Event& event) { return ledger_.reserve({.event = event}); }

  TemporaryFolder folder_;
  accounting::Ledger ledger_ = accounting::Ledger::create(folder_ / "ledger", Adjacency::replace_one);
  mechanisms::ReplayBits bits_{1};
};

}  // namespace surety::testing
