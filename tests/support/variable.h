// A variable of the environment for one test, seen by the commands that it starts.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace surety_test {

class Variable {
 public:
  /// \param value nothing to remove it
  Variable(const char* name, const std::optional<std::string>& value) : name_{name} {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace surety_test
