// A disk that does not hand out the ledger, or a part of it: that is the machine's, and no damage of the ledger. Who is told of damage restores a backup,
// which forgets charges. This program replaces pread, also for SQLite.
#include <surety/accounting/ledger/ledger.h>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace {

/// While armed, read number `fails_at` fails with `error`, and with `all_after` all later ones do.
struct Failing {
  bool is_armed = false;
  bool all_after = false;
  int error = EIO;
  long fails_at = 0;
  long reads = 0;
};
Failing failing;  // NOLINT: a function of the C library has no other way to know it

ssize_t read_or_fail(int file, void* bytes, std::size_t size, off_t offset) {
  if (failing.is_armed) {
    ++failing.reads;
    if (failing.reads == failing.fails_at || (failing.all_after && failing.reads > failing.fails_at)) {
      errno = failing.error;
      return -1;
    }
  }
  return ::syscall(SYS_pread64, file, bytes, size, offset);
}

}  // namespace

// Seen by the shared library of SQLite.
extern "C" {
__attribute__((visibility("default"))) ssize_t pread(int file, void* bytes, std::size_t size, off_t offset) {
  return read_or_fail(file, bytes, size, offset);
}
__attribute__((visibility("default"))) ssize_t pread64(int file, void* bytes, std::size_t size, off_t offset) {
  return read_or_fail(file, bytes, size, offset);
}
}

namespace surety::accounting::failing_disk_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;

class FailingDisk : public ::testing::Test {
 protected:
  FailingDisk() {
    Ledger ledger = Ledger::create(path_, adjacency);
    for (int run = 0; run < 3; ++run) {
      auto reservation = ledger.reserve({.event = gaussian(NoiseMultiplier{40}, adjacency)});
      reservation.spend(gaussian(NoiseMultiplier{40}, adjacency));
      reservation.settle(Stopping::data_independent);
    }
  }
  ~FailingDisk() override { failing = {}; }

  /// What refuses `use` of a ledger when this read fails; nothing where it goes well.
  [[nodiscard]] std::optional<Error> refusal(long fails_at, bool all_after, int error) const {
    failing = {.is_armed = true, .all_after = all_after, .error = error, .fails_at = fails_at};
    std::optional<Error> refused;
    try {
      static_cast<void>(Ledger::open(path_).entries());
    } catch (const Error& failure) {
      refused = failure;
    }
    failing.is_armed = false;
    return refused;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "run.db";
};

TEST_F(FailingDisk, IsNoDamageOfALedger) {
  ASSERT_FALSE(refusal(0, false, EIO));
  const long reads = failing.reads;
  ASSERT_GT(reads, 4);
  int refusals = 0;
  for (const int error : {EIO, ENXIO, ENOSPC, ESTALE}) {
    for (const bool all_after : {false, true}) {
      for (long n = 1; n <= reads; ++n) {
        const auto refused = refusal(n, all_after, error);
        if (!refused) continue;
        ++refusals;
        EXPECT_EQ(refused->code(), ErrorCode::environment) << "read " << n << " of " << reads << ", " << error << ": " << refused->what();
      }
    }
  }
  EXPECT_GT(refusals, reads);
  EXPECT_FALSE(refusal(0, false, EIO)) << "the ledger is what it was";
}

// And damage is still damage.
TEST_F(FailingDisk, HidesNoDamage) {
  const auto size = static_cast<long>(std::filesystem::file_size(path_));
  int found = 0;
  for (long place = 0; place < size; place += 97) {
    const std::string before = [&] {
      std::ifstream file{path_, std::ios::binary};
      return std::string{std::istreambuf_iterator<char>{file}, {}};
    }();
    std::string after = before;
    for (long k = place; k < std::min(place + 40, size); ++k)
      after[static_cast<std::size_t>(k)] = static_cast<char>(~after[static_cast<std::size_t>(k)]);
    std::ofstream{path_, std::ios::binary} << after;
    if (const auto refused = refusal(0, false, EIO)) {
      ++found;
      EXPECT_EQ(refused->code(), ErrorCode::damaged_ledger) << place << ": " << refused->what();
    }
    std::ofstream{path_, std::ios::binary} << before;
  }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace surety::accounting::failing_disk_test
