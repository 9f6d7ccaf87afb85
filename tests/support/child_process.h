// What a copy of the test's process does, made by fork.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace surety::reference {

/// The exit status of `action` in a child process; -1 when it did not exit by itself.
int in_child(auto&& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace surety::reference
