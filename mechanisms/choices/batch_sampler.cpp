#include <surety/mechanisms/choices/batch_sampler.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {

namespace {

/// The first `wanted` different ones of independent uniform places: as many are drawn as are missing, until none is.
template <class Next>
std::vector<std::size_t> distinct_by_sorting(std::size_t records, std::size_t wanted, Next&& next_word) {
  const UniformBelow uniform{records};
  std::vector<std::size_t> places;
  places.reserve(wanted);
  while (places.size() < wanted) {
    while (places.size() < wanted) places.push_back(static_cast<std::size_t>(uniform(next_word)));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
  return places;
}

}  // namespace

void append_places(std::uint64_t joined, std::size_t first, std::size_t records, std::vector<std::size_t>& batch) {
  if (records - first < 64) joined &= (std::uint64_t{1} << (records - first)) - 1;
  for (; joined != 0; joined &= joined - 1) batch.push_back(first + static_cast<std::size_t>(std::countr_zero(joined)));
}

ExactRate::ExactRate(SamplingRate rate) : rate_{rate.value()}, minus_log_{-std::log1p(-rate_)}, whole_{rate_ == 1} {
  // q = fraction 2^exponent with a fraction in [1/2, 1) of 53 digits.
  int exponent = 0;
  const double fraction = std::frexp(rate_, &exponent);
  mantissa_ = checked_cast<std::uint64_t>(fraction * 0x1p53);
  last_place_ = 53 - exponent;
  const int zeros = std::countr_zero(mantissa_);
  mantissa_ >>= zeros;
  last_place_ -= zeros;
}

std::size_t ExactRate::gap_by_intervals(LazyUniform uniform, std::size_t limit, const NextWord& next_word) const {
  for (;;) {
    const auto precision = precision_for(uniform.words());
    const Interval gaps = noise(NoiseShape::exponential, uniform, precision) / -log1p(Interval{-rate_, precision});
    if (mpfr_cmp_ui(gaps.lower(), limit) >= 0) return limit;
    const std::size_t found = mpfr_get_ui(gaps.lower(), MPFR_RNDD);
    if (mpfr_cmp_ui(gaps.upper(), found + 1) < 0) return found;
    uniform.draw_another_word(next_word);
  }
}

std::vector<std::size_t> PoissonBatches::draw(std::size_t records, BitsRef bits) const {
  std::vector<std::size_t> batch;
  if (rate_.value() < least_rate_of_digits) {
    const auto next_word = [&bits] { return draw_word(bits); };
    for (std::size_t i = exact_.gap(records, next_word); i < records;) {
      batch.push_back(i++);
      i += exact_.gap(records - i, next_word);
    }
    return batch;
  }
  std::array<std::uint64_t, 64> words;
  std::size_t used = words.size();
  const auto next_word = [&] {
    if (used == words.size()) {
      draw_words(bits, std::span{words});
      used = 0;
    }
    return words[used++];
  };
  for (std::size_t first = 0; first < records; first += 64) append_places(exact_.join_64(next_word), first, records, batch);
  return batch;
}

std::vector<std::size_t> FixedSizeBatches::draw(std::size_t records, BitsRef bits) const {
  require_records(records);
  const auto size = static_cast<std::size_t>(batches_.size().value());
  const auto next_word = [&bits] { return draw_word(bits); };
  // The records left out of a uniform set are a uniform set.
  const bool is_complement = size > records / 2;
  const std::size_t wanted = is_complement ? records - size : size;
  if (size < records / 1024) return distinct_by_sorting(records, size, next_word);

  // Every record that is missing takes a word at least: so many are drawn together, and none that would not have been drawn.
  std::array<std::uint64_t, 64> words;
  std::size_t missing = wanted;
  std::size_t left = 0;
  std::size_t drawn_together = 0;
  const auto word_of_block = [&] {
    if (left == 0) {
      drawn_together = left = std::clamp<std::size_t>(missing, 1, words.size());
      draw_words(bits, std::span{words}.first(left));
    }
    return words[drawn_together - left--];
  };
  const UniformBelow uniform{records};
  std::vector<std::uint64_t> drawn((records + 63) / 64);
  while (missing > 0) {
    const std::uint64_t place = uniform(word_of_block);
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    if ((drawn[place / 64] & bit) == 0) --missing;
    drawn[place / 64] |= bit;
  }
  std::vector<std::size_t> batch;
  batch.reserve(size);
  for (std::size_t first = 0; first < records; first += 64) {
    append_places(is_complement ? ~drawn[first / 64] : drawn[first / 64], first, records, batch);
  }
  return batch;
}

void FixedSizeBatches::require_records(std::size_t records) const {
  if (records == batches_.records().value()) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the batches were made",
                                                       records, batches_.records().value())};
}

std::vector<std::size_t> TruncatedBatches::draw(std::size_t records, BitsRef bits) const {
  const std::uint64_t limit = batches_.records().value();
  if (adjacency_ == Adjacency::add_or_remove_one) {
    // How many there are is private.
    if (records > limit) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the data set has more than the {} records that the batches are for", limit)};
    }
  } else if (records != limit) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the data set has {} records, must have {}, for which the batches were made", records, limit)};
  }
  std::vector<std::size_t> batch = poisson_.draw(records, bits);
  if (batch.size() <= batches_.size().value()) return batch;
  const FixedSizeBatches stay{Batches{Count{batch.size()}, batches_.size()}};
  std::vector<std::size_t> kept = stay.draw(batch.size(), bits);
  for (std::size_t& place : kept) place = batch[place];
  return kept;
}

Event TruncatedBatches::event(const Event& release) const {
  if (release.adjacency() != adjacency_) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("adjacency is {}, must be {}, for which the batches were made", name(release.adjacency()), name(adjacency_))};
  }
  return truncated_poisson(poisson_.rate(), batches_.size(), batches_.records(), release);
}

}  // namespace surety::mechanisms
