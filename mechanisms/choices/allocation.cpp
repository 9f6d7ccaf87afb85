#include <surety/mechanisms/choices/allocation.h>

#include <algorithm>
#include <array>

#include <surety/mechanisms/choices/batch_sampler.h>

namespace surety::mechanisms {

DealtEpoch::DealtEpoch(std::span<const std::uint64_t> round_of, std::uint64_t rounds)
    : places_(round_of.size()), ends_(static_cast<std::size_t>(rounds)) {
  for (const std::uint64_t round : round_of) ++ends_[round];
  // Where each round begins; it is where it ends when all of its records are in.
  std::size_t first = 0;
  for (std::size_t& end : ends_) first += std::exchange(end, first);
  for (std::size_t i = 0; i < round_of.size(); ++i) places_[ends_[round_of[i]]++] = i;
}

DealtEpoch Allocation::deal(std::size_t records, BitsRef bits) const {
  const UniformBelow uniform{rounds_.value()};
  // Every record that is left takes a word at least: so many are drawn together, and none that would not have been drawn.
  std::array<std::uint64_t, 64> words;
  std::size_t drawn_together = 0;
  std::size_t left = 0;
  std::vector<std::uint64_t> round_of;
  round_of.reserve(records);
  const auto next_word = [&] {
    if (left == 0) {
      drawn_together = left = std::min(records - round_of.size(), words.size());
      draw_words(bits, std::span{words}.first(left));
    }
    return words[drawn_together - left--];
  };
  while (round_of.size() < records) round_of.push_back(uniform(next_word));
  return {round_of, rounds_.value()};
}

}  // namespace surety::mechanisms
