// The surety command as a function of this process, of which everything is kept that it says.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace surety_test {

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs it to its end. \param folder holds what is printed meanwhile
[[nodiscard]] Said command_in_process(const std::vector<std::string>& words, const std::string& folder);

/// Without what is labelled as not private, and what lies in such fields.
[[nodiscard]] nlohmann::json without_what_is_not_private(const nlohmann::json& json);

}  // namespace surety_test
