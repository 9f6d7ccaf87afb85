// The last few of what takes long to make, by what they were made from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace surety {

/// So many different laws of one sort one question may have before any is made twice.
inline constexpr std::size_t laws_of_a_question = 96;

/// Copies of values; safe to be asked by several threads. A value is made without the lock, so that making one may ask for another.
/// `most` of laws that several kinds of release have each for itself is `laws_of_a_question`: a question goes through all of them again and again.
/// One that is static is made by `new` and never destroyed: a thread may ask while the process ends.
template <class Key, class Value, std::size_t most = 16>
class LastFew {
 public:
  /// That of `key`, made by `make()` unless it is kept. \throws what `make` throws; nothing is kept then. \complexity O(most) comparisons.
  template <class Make>
  [[nodiscard]] Value of(const Key& key, const Make& make) {
    {
      const std::scoped_lock lock{mutex_};
      const auto known = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == key; });
      if (known != all_.end()) return known->second;
    }
    Value made = make();
    const std::scoped_lock lock{mutex_};
    all_.emplace_front(key, made);
    if (all_.size() > most) all_.pop_back();
    return made;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<Key, Value>> all_;
};

}  // namespace surety
