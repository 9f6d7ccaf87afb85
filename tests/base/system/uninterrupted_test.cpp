#include <surety/base/system/uninterrupted.h>

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace surety::uninterrupted_test {
namespace {

TEST(Uninterrupted, CallsAgainAsLongAsASignalInterrupts) {
  int calls = 0;
  const int result = uninterrupted([&] {
    errno = EINTR;
    return ++calls < 4 ? -1 : 7;
  });
  EXPECT_EQ(result, 7);
  EXPECT_EQ(calls, 4);
}

TEST(Uninterrupted, ReturnsOtherErrorsAtOnce) {
  int calls = 0;
  const int result = uninterrupted([&] {
    errno = ++calls < 3 ? EINTR : EIO;
    return -1;
  });
  EXPECT_EQ(result, -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(calls, 3);
}

// An errno of an earlier call is no interruption.
TEST(Uninterrupted, CallsOnceWhatReturnsANumber) {
  for (const ssize_t number : {ssize_t{0}, ssize_t{5}}) {
    int calls = 0;
    errno = EINTR;
    EXPECT_EQ(uninterrupted([&] { return ++calls, number; }), number);
    EXPECT_EQ(calls, 1);
  }
}

// The system's own: a read of an empty pipe is interrupted until the signal has come, and made again.
TEST(Uninterrupted, ReadsThroughASignal) {
  static volatile std::sig_atomic_t signals;
  signals = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { signals = signals + 1; };  // without SA_RESTART
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pthread_t reader = pthread_self();
  std::thread other{[&] {
    // The reader may not be in its call yet: a signal is sent until one has come, and some more.
    for (int k = 0; k < 20 || signals == 0; ++k) {
      pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  }};
  char byte = 0;
  EXPECT_EQ(uninterrupted([&] { return read(ends[0], &byte, 1); }), 1);
  other.join();
  EXPECT_EQ(byte, 'x');
  EXPECT_GE(signals, 1);
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace surety::uninterrupted_test
