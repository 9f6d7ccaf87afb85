#include <surety/accounting/accountants/pld/task.h>

#include <gtest/gtest.h>

namespace surety::accounting::pld::task_test {
namespace {

/// A task whose last look was at a step of 1 and left a width of 1, which falls with the square of the step. The one before the step needed, .2 / 1.9, is 1 / 8.
Task looked_at(double wanted) {
  Task task;
  task.last.step = 1;
  task.last.width = 1;
  task.wanted = wanted;
  task.steps.needed = 0.1 / 0.95;
  return task;
}

TEST(StepAfterHalvings, IsTheLastOneWhereTheOneBeforeIsTooWide) {
  EXPECT_NEAR(step_after_halvings(looked_at(0.9 / 64 / 1.2)), 0.05, 1e-15);
  EXPECT_EQ(step_after_halvings(looked_at(1.1 / 64 / 1.2)), 0);
}

TEST(StepAfterHalvings, IsNotLookedForNextToTheStepNeeded) {
  Task task = looked_at(1e-9);
  task.last.step = 0.19;
  EXPECT_EQ(step_after_halvings(task), 0);
}

}  // namespace
}  // namespace surety::accounting::pld::task_test
