#include <surety/base/system/thread_key.h>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace surety::thread_key_test {
namespace {

std::atomic<int> destroyed{0};
/// Of the last one.
std::atomic<void*> pointer{nullptr};

void note(void* its) {
  ++destroyed;
  pointer = its;
}

class ThreadKeys : public ::testing::Test {
 protected:
  void SetUp() override {
    destroyed = 0;
    pointer = nullptr;
  }
};

TEST_F(ThreadKeys, HoldAPointerOfEachThreadUntilItEnds) {
  ThreadKey key{note};
  int of_this = 0;
  int of_other = 0;
  EXPECT_EQ(key.get(), nullptr);
  ASSERT_TRUE(key.set(&of_this));
  std::thread{[&] {
    EXPECT_EQ(key.get(), nullptr) << "of another thread";
    ASSERT_TRUE(key.set(&of_other));
    EXPECT_EQ(key.get(), &of_other);
    EXPECT_EQ(destroyed, 0);
  }}.join();
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(pointer, &of_other);
  EXPECT_EQ(key.get(), &of_this);
}

TEST_F(ThreadKeys, DestroyNothingOfAThreadThatHasSetNothing) {
  ThreadKey key{note};
  int one = 0;
  std::thread{[&] { EXPECT_EQ(key.get(), nullptr); }}.join();
  std::thread{[&] {
    ASSERT_TRUE(key.set(&one));
    ASSERT_TRUE(key.set(nullptr));
  }}.join();
  EXPECT_EQ(destroyed, 0);
}

// The thread that ends the process is none that ends before.
TEST_F(ThreadKeys, DestroyWithThemselvesWhatTheirThreadHasSet) {
  int one = 0;
  std::optional<ThreadKey> key{std::in_place, note};
  ASSERT_TRUE(key->set(&one));
  key.reset();
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(pointer, &one);
  key.emplace(note);
  EXPECT_EQ(key->get(), nullptr) << "another key, maybe in the same place";
  key.reset();
  EXPECT_EQ(destroyed, 1);
}

// A process has some 1,024 keys. Without one there is no pointer, and who sets one sees that.
TEST_F(ThreadKeys, SayThatThereIsNone) {
  std::vector<pthread_key_t> taken;
  for (pthread_key_t key{}; ::pthread_key_create(&key, nullptr) == 0;) taken.push_back(key);
  {
    ThreadKey none{note};
    int one = 0;
    EXPECT_FALSE(none.set(&one));
    EXPECT_EQ(none.get(), nullptr);
  }
  EXPECT_EQ(destroyed, 0);
  for (const auto key : taken) ::pthread_key_delete(key);
}

}  // namespace
}  // namespace surety::thread_key_test
