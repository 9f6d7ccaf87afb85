// What `Reservation::spend` throws: whoever made both the plan and the release has a defect, and knows it by this type.
#pragma once

#include <string>

#include <surety/base/text/error.h>

namespace surety::accounting {

/// An Error{budget_exceeded}: a release that the rest of its reservation does not hold.
class __attribute__((visibility("default"))) BeyondReservation : public Error {
 public:
  explicit BeyondReservation(const std::string& message) : Error{ErrorCode::budget_exceeded, message} {}
};

}  // namespace surety::accounting
