#include <surety/mechanisms/additive/truncated_geometric.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

std::int64_t checked_largest(std::int64_t largest) {
  if (!(largest >= 1 && largest <= std::int64_t{1} << 62)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the largest value is {}, must be from 1 to 2^62", largest)};
  }
  return largest;
}

}  // namespace

IntegerRange::IntegerRange(std::int64_t lowest, std::int64_t highest) : lowest_{lowest}, highest_{highest} {
  if (!(lowest >= -limit && lowest < highest && highest <= limit)) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format("the range is from {} to {}, must be from at least -2^61 to at most 2^61, and not empty or a point", lowest, highest)};
  }
}

TruncatedGeometric::TruncatedGeometric(Options options)
    : options_{options}, untruncated_{{.scale = options.scale, .sensitivity = options.sensitivity, .adjacency = options.adjacency}} {}

TruncatedGeometricNoise::TruncatedGeometricNoise(Rational scale, std::int64_t largest)
    : geometric_{scale},
      largest_{checked_largest(largest)},
      reciprocal_{static_cast<std::uint64_t>((UnsignedWide{1} << 64) / static_cast<std::uint64_t>(largest_ + 1))},
      whole_periods_{LatticeNoise::saturation - LatticeNoise::saturation % (largest_ + 1)} {}

std::vector<std::int64_t> TruncatedGeometric::release(std::span<const std::int64_t> query, BitsRef bits) const {
  std::vector<std::int64_t> noisy(query.begin(), query.end());
  release_in_place(noisy, bits);
  return noisy;
}

void TruncatedGeometric::release_in_place(std::span<std::int64_t> query, BitsRef bits) const {
  for (auto& value : query) value = options_.range.nearest(value);
  untruncated_.release_in_place(query, bits);
  for (auto& value : query) value = options_.range.nearest(value);
}

void TruncatedGeometricNoise::fill(std::span<std::int64_t> noise, BitsRef bits) const {
  geometric_.fill(noise, bits);
  for (auto& sample : noise) sample = remainder(sample, bits);
}

}  // namespace surety::mechanisms
