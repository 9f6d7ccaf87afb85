#include <surety/jobs/parts/partial.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <variant>

#include <surety/base/text/error.h>
#include <surety/jobs/parts/sealed_bytes.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/quantile.h>
#include <surety/statistics/query.h>

namespace surety::jobs {
namespace {

using namespace statistics;

// Written as a ticket is (ticket.cpp).
//     magic, version                                                          8, 4
//     the ticket's public number and number of parts                          16, 4
//     the numbers of the parts in it, ascending, how many before              4, 4 each
//     the source: 0 where a unit is one row, 1 CSV, 2 Arrow                   1
//     the buckets of owners, bucket k at bit k mod 8 of byte k / 8            512, or 0 for source 0
//     the number of records; the number of queries                            8, 4
//     of each query its kind, how many entries, and these
//       0: sums in grid steps, each in two's complement                       1, 4, 16 each
//       1: places of a quantile's numbers, ascending, with counts             1, 4, 4 and 8 each
//       2: keys, ascending, each behind its length, with counts               1, 8, 4 and its length and 8 each
//       3: groups that nobody listed, ascending, each behind its length,
//          with its units and their sum in grid steps                         1, 8, 4 and its length and 8 and 16 each
constexpr SealedKind partial_kind{.magic = "SURETYPT", .version = 2, .name = "partial"};

// What one record adds to a coordinate is below (integer_sum.h), and coordinates of a group are at most three, or one a cell.
constexpr ExactInteger most_steps_of_a_record = ExactInteger{1} << 42;
constexpr std::uint64_t most_coordinates = 3 * Statistic::most_numbers;
constexpr std::uint64_t most_places = RankTotal::places_each * Candidates::most;  // of all groups

enum class TotalKind : std::uint8_t { steps, ranks, keys, groups };

void put(SealedWriter& out, const StepTotal& total) {
  out.put(static_cast<std::uint64_t>(TotalKind::steps), one_byte);
  out.put(total.steps.size(), four_bytes);
  for (const auto steps : total.steps) out.put(steps);
}
void put(SealedWriter& out, const RankTotal& total) {
  out.put(static_cast<std::uint64_t>(TotalKind::ranks), one_byte);
  out.put(total.counts.size(), four_bytes);
  for (const auto& [place, count] : total.counts) {
    out.put(place, four_bytes);
    out.put(count, eight_bytes);
  }
}
void put(SealedWriter& out, const KeyTotal& total) {
  out.put(static_cast<std::uint64_t>(TotalKind::keys), one_byte);
  out.put(total.counts.size(), eight_bytes);
  for (const auto& [key, count] : total.counts) {
    out.put(key.size(), four_bytes);
    out.put(key);
    out.put(count, eight_bytes);
  }
}

void put(SealedWriter& out, const GroupTotal& total) {
  out.put(static_cast<std::uint64_t>(TotalKind::groups), one_byte);
  out.put(total.counts.size(), eight_bytes);
  for (const auto& [key, sum] : total.counts) {
    out.put(key.size(), four_bytes);
    out.put(key);
    out.put(sum.units, eight_bytes);
    out.put(sum.steps);
  }
}

StepTotal read_steps(SealedReader& in, std::uint64_t records) {
  const auto size = in.number(four_bytes);
  in.require(size >= 1 && size <= most_coordinates);
  in.require_room(size, sizeof(ExactInteger));
  StepTotal total;
  total.steps.reserve(static_cast<std::size_t>(size));
  const ExactInteger most = most_steps_of_a_record * records;
  for (std::uint64_t k = 0; k < size; ++k) {
    total.steps.push_back(in.exact());
    in.require(total.steps.back() >= -most && total.steps.back() <= most);
  }
  return total;
}
/// The next count of records, of which so many are left.
std::uint64_t read_count(SealedReader& in, std::uint64_t& left) {
  const auto count = in.number(eight_bytes);
  in.require(count >= 1 && count <= left);
  left -= count;
  return count;
}
RankTotal read_ranks(SealedReader& in, std::uint64_t records) {
  const auto size = in.number(four_bytes);
  in.require(size <= most_places);
  in.require_room(size, four_bytes + eight_bytes);
  RankTotal total;
  total.counts.reserve(static_cast<std::size_t>(size));
  for (std::uint64_t k = 0; k < size; ++k) {
    const auto place = static_cast<std::uint32_t>(in.number(four_bytes));
    in.require(place < most_places && (k == 0 || total.counts.back().first < place));
    total.counts.emplace_back(place, read_count(in, records));
  }
  return total;
}
/// A total by texts, which rise. \param value of one of them, of at least so many bytes
template <class Total, class Value>
Total read_by_key(SealedReader& in, std::size_t bytes_of_value, Value&& value) {
  const auto size = in.number(eight_bytes);
  in.require_room(size, four_bytes + 1 + bytes_of_value);
  Total total;
  total.counts.reserve(static_cast<std::size_t>(size));
  for (std::uint64_t k = 0; k < size; ++k) {
    const auto length = in.number(four_bytes);
    in.require(length >= 1 && length <= KeyCounts::longest_key);
    std::string key{in.text(static_cast<std::size_t>(length))};
    in.require(k == 0 || total.counts.back().first < key);
    total.counts.emplace_back(std::move(key), value());
  }
  return total;
}
KeyTotal read_keys(SealedReader& in, std::uint64_t records) {
  return read_by_key<KeyTotal>(in, eight_bytes, [&] { return read_count(in, records); });
}
GroupTotal read_groups(SealedReader& in, std::uint64_t records) {
  return read_by_key<GroupTotal>(in, eight_bytes + sizeof(ExactInteger), [&] {
    const GroupSum sum{.units = read_count(in, records), .steps = in.exact()};
    const ExactInteger most = most_steps_of_a_record * sum.units;
    in.require(sum.steps >= -most && sum.steps <= most);
    return sum;
  });
}

QueryTotal read_total(SealedReader& in, std::uint64_t records) {
  switch (static_cast<TotalKind>(in.number(one_byte))) {
    case TotalKind::steps: return read_steps(in, records);
    case TotalKind::ranks: return read_ranks(in, records);
    case TotalKind::keys: return read_keys(in, records);
    case TotalKind::groups: return read_groups(in, records);
  }
  in.refuse("holds what cannot be");
}

data::OwnerBuckets read_buckets(std::string_view bytes) {
  data::OwnerBuckets buckets;
  for (std::size_t k = 0; k < data::owner_buckets; ++k) buckets[k] = (static_cast<unsigned char>(bytes[k / 8]) >> (k % 8) & 1) != 0;
  return buckets;
}

}  // namespace

std::string partial_bytes(const Partial& partial) {
  SealedWriter out{partial_kind};
  out.put({reinterpret_cast<const char*>(partial.ticket.data()), partial.ticket.size()});
  out.put(partial.parts, four_bytes);
  out.put(partial.numbers.size(), four_bytes);
  for (const auto number : partial.numbers) out.put(number, four_bytes);
  out.put(static_cast<std::uint64_t>(partial.source), one_byte);
  if (partial.source != PartSource::any) {
    for (std::size_t k = 0; k < data::owner_buckets; k += 8) {
      std::uint64_t byte = 0;
      for (std::size_t bit = 0; bit < 8; ++bit) byte |= std::uint64_t{partial.buckets[k + bit]} << bit;
      out.put(byte, one_byte);
    }
  }
  out.put(partial.records, eight_bytes);
  out.put(partial.totals.size(), four_bytes);
  for (const auto& total : partial.totals) {
    std::visit([&](const auto& one) { put(out, one); }, total);
  }
  return std::move(out).sealed();
}

Partial read_partial(std::string_view bytes) {
  SealedReader in{bytes, partial_kind};
  Partial partial{};
  const auto ticket = in.text(partial.ticket.size());
  std::copy(ticket.begin(), ticket.end(), partial.ticket.begin());
  partial.parts = static_cast<std::uint32_t>(in.number(four_bytes));
  in.require(partial.parts >= 1 && partial.parts <= most_parts);
  const auto numbers = in.number(four_bytes);
  in.require(numbers >= 1 && numbers <= partial.parts);
  in.require_room(numbers, four_bytes);
  for (std::uint64_t k = 0; k < numbers; ++k) {
    const auto number = static_cast<std::uint32_t>(in.number(four_bytes));
    in.require(number < partial.parts && (k == 0 || partial.numbers.back() < number));
    partial.numbers.push_back(number);
  }
  const auto source = in.number(one_byte);
  in.require(source <= static_cast<std::uint64_t>(PartSource::arrow));
  partial.source = static_cast<PartSource>(source);
  if (partial.source != PartSource::any) partial.buckets = read_buckets(in.text(data::owner_buckets / 8));
  partial.records = in.number(eight_bytes);
  in.require(partial.buckets.count() <= partial.records);  // a row of every owner is kept
  const auto totals = in.number(four_bytes);
  in.require(totals >= 1 && totals <= ReleasePlan::most_queries);
  for (std::uint64_t k = 0; k < totals; ++k) partial.totals.push_back(read_total(in, partial.records));
  in.finish();
  return partial;
}

Partial merged(Partial a, const Partial& b) {
  if (a.ticket != b.ticket) invalid("partials are of two tickets, must be of one");
  if (a.parts != b.parts || a.totals.size() != b.totals.size()) invalid("partials of one ticket differ in what they are parts of");
  if (a.source != b.source) {
    invalid(
        "one partial was read from CSV and one from Arrow, must be from one kind: which rows of an owner are kept follows from their bytes there");
  }
  std::vector<std::uint32_t> both;
  std::set_intersection(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(), std::back_inserter(both));
  if (!both.empty())
    invalid(fmt::format("part {} is in both partials, must be merged once: twice it would count its rows twice", both.front()));
  if ((a.buckets & b.buckets).any()) {
    invalid(
        "rows of one bucket of owners are in both partials, must be in one part: an owner in two parts would count for twice as many rows");
  }
  std::vector<std::uint32_t> numbers;
  std::merge(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(), std::back_inserter(numbers));
  a.numbers = std::move(numbers);
  a.buckets |= b.buckets;
  if (__builtin_add_overflow(a.records, b.records, &a.records)) invalid("partials have more records together than any table");
  for (std::size_t k = 0; k < a.totals.size(); ++k) add(a.totals[k], b.totals[k]);
  return a;
}

}  // namespace surety::jobs
