// What a release is known by where nothing else is known of it.
#pragma once

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// `count` releases, each (epsilon, delta)-private given all earlier results.
struct Promise {
  Epsilon epsilon;
  Delta delta;
  Count count{1};
  friend bool operator==(const Promise&, const Promise&) = default;
};

}  // namespace surety::accounting
