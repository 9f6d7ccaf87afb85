// What the commands share that read records: how much may be known of them and how large a file may be, and lists of values in an option.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <surety/data/data_policy.h>

#include "options.h"

namespace surety::cli {

/// The options that say how a file of records is read.
struct DataOptions {
  bool form_is_public = false;
  bool no_limits = false;

  /// For commands that keep records private.
  void add_form_to(OptionTable& table);
  void add_limits_to(OptionTable& table);
  [[nodiscard]] data::DataLimits limits() const;
  [[nodiscard]] data::DataPolicy policy() const;
};

/// The values of "Rome,\"New York, NY\", 3": between commas, without blanks around them. A value with a comma or a quote in it, or with
/// blanks around it, stands in quotes; "" inside quotes is one quote. One value more than there are commas outside quotes.
/// \throws Error{invalid_argument} naming the option for a quote that is not closed, or one where none may be.
[[nodiscard]] std::vector<std::string> parse_values(std::string_view text, std::string_view option);

/// lower and upper of "18, 90". \throws Error{invalid_argument} naming the option.
struct Ends {
  double lower;
  double upper;
};
[[nodiscard]] Ends parse_ends(std::string_view text, std::string_view option);

}  // namespace surety::cli
