// How fast releases read a table of Arrow columns, beside a plain loop over the same column in the same run, and how much memory they take beside it. One
// thread. Usage: surety_columns [rows [bytes for rows of owners]]
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/statistics/parts.h>

using namespace surety;
using namespace surety::statistics;

namespace {

/// One batch of two columns: numbers, and owners of ten rows each, scattered.
struct Table {
  std::vector<double> numbers;
  std::vector<std::int64_t> owners;
};
const Table* table = nullptr;
bool is_given = false;

void release_nothing(ArrowSchema* schema) { schema->release = nullptr; }
void release_nothing(ArrowArray* array) { array->release = nullptr; }

int get_schema(ArrowArrayStream* /*stream*/, ArrowSchema* out) {
  static ArrowSchema x{};
  static ArrowSchema who{};
  static ArrowSchema* columns[] = {&x, &who};
  const auto of = [](const char* format, const char* name) {
    ArrowSchema schema{};
    schema.format = format;
    schema.name = name;
    schema.release = release_nothing;
    return schema;
  };
  x = of("g", "x");
  who = of("l", "who");
  *out = of("+s", "");
  out->n_children = 2;
  out->children = columns;
  return 0;
}

int get_next(ArrowArrayStream* /*stream*/, ArrowArray* out) {
  static ArrowArray x{};
  static ArrowArray who{};
  static ArrowArray* columns[] = {&x, &who};
  static const void* x_buffers[] = {nullptr, nullptr};
  static const void* who_buffers[] = {nullptr, nullptr};
  static const void* no_buffer[] = {nullptr};
  *out = {};
  if (std::exchange(is_given, true)) return 0;
  const auto of = [](const void** buffers, std::int64_t count) {
    ArrowArray array{};
    array.length = static_cast<std::int64_t>(table->numbers.size());
    array.n_buffers = count;
    array.buffers = buffers;
    array.release = release_nothing;
    return array;
  };
  x_buffers[1] = table->numbers.data();
  who_buffers[1] = table->owners.data();
  x = of(x_buffers, 2);
  who = of(who_buffers, 2);
  *out = of(no_buffer, 1);
  out->n_children = 2;
  out->children = columns;
  return 0;
}

data::ArrowReader reader() {
  is_given = false;
  ArrowArrayStream stream{.get_schema = get_schema,
                          .get_next = get_next,
                          .get_last_error = nullptr,
                          .release = [](ArrowArrayStream* it) { it->release = nullptr; },
                          .private_data = nullptr};
  return {data::ArrowStream{&stream}, {}};
}

/// Of all that is taken by now, and the most since `start`.
struct Memory {
  std::atomic<std::size_t> taken = 0;
  std::atomic<std::size_t> most = 0;

  void take(std::size_t bytes) noexcept {
    const std::size_t now = taken += bytes;
    if (now > most) most = now;
  }
};
Memory memory;

/// Of the processor: others may use the machine, too.
double seconds(const auto& action) {
  const auto start = std::clock();
  action();
  return static_cast<double>(std::max<std::clock_t>(1, std::clock() - start)) / CLOCKS_PER_SEC;
}

}  // namespace

// What is taken is what the allocator has for it.
void* operator new(std::size_t bytes) {
  void* const found = std::malloc(bytes);
  if (found == nullptr) throw std::bad_alloc{};
  memory.take(malloc_usable_size(found));
  return found;
}
void operator delete(void* place) noexcept {
  if (place != nullptr) memory.taken -= malloc_usable_size(place);
  std::free(place);
}
void operator delete(void* place, std::size_t /*bytes*/) noexcept { operator delete(place); }

int main(int argc, char** argv) {
  const auto rows = static_cast<std::size_t>(argc > 1 ? std::atoll(argv[1]) : 100'000'000);
  data::UnitSelectionOptions options;
  if (argc > 2) options.memory = static_cast<std::size_t>(std::atoll(argv[2]));
  Table made{.numbers = std::vector<double>(rows), .owners = std::vector<std::int64_t>(rows)};
  std::uint64_t word = 1;
  for (std::size_t k = 0; k < rows; ++k) {
    word = word * 6364136223846793005 + 1442695040888963407;
    made.numbers[k] = static_cast<double>(word >> 40) / 65536;
    made.owners[k] = static_cast<std::int64_t>((word >> 20) % std::max<std::size_t>(1, rows / 10));
  }
  table = &made;

  double plain = 0;
  const double loop = seconds([&] {
    for (const double number : made.numbers) plain += number;
  });
  fmt::print("{:<40} {:8.1f} M rows/s  (sum {})\n", "a plain loop", static_cast<double>(rows) / loop / 1e6, plain);
  const auto report = [&](const char* what, std::vector<Statistic> statistics, const UnitOfPrivacy& unit) {
    std::vector<WeightedStatistic> queries;
    for (auto& statistic : statistics) {
      statistic.unit = unit;
      queries.push_back({.statistic = std::move(statistic)});
    }
    const auto parts = parts_of(queries, NoiseFamily::laplace, 1, 0.95);
    std::optional<data::ArrowUnits> units;
    if (!unit.is_row()) units = {.rule = {.column = "who", .most = unit.most()}, .key = {1, 2, 3}, .options = options};
    const std::size_t before = memory.taken;
    memory.most = before;
    const double taken = seconds([&] { static_cast<void>(read_parts(reader(), parts, true, units)); });
    fmt::print("{:<40} {:8.1f} M rows/s, {:.3f} of the plain loop, {:.2f} bytes a row\n", what, static_cast<double>(rows) / taken / 1e6,
               loop / taken, static_cast<double>(memory.most - before) / static_cast<double>(rows));
  };
  constexpr auto adjacency = Adjacency::add_or_remove_one;
  const data::Bounds bounds{0, 256};
  const Statistic count{.of = CountOf{}, .adjacency = adjacency};
  const Statistic sum{.of = SumOf{"x", bounds}, .adjacency = adjacency};
  const Statistic mean{.of = MeanOf{"x", bounds}, .adjacency = adjacency};
  report("count", {count}, {});
  report("sum", {sum}, {});
  report("mean", {mean}, {});
  report("count, sum and mean in one pass", {count, sum, mean}, {});
  report("histogram of 20 equal bins", {{.of = HistogramOf{"x", Bins{bounds, 20}}, .adjacency = adjacency}}, {});
  report("sum, int64 owners of ten rows, K = 3", {sum}, UnitOfPrivacy{"who", Count{3}});
  return 0;
}
