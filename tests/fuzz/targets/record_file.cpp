// A record file, as it is or with checksums that fit: what is one has as many records as it says, all finite or damaged, and says the same when its records
// are written again.
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <fuzz/target.h>

#include <surety/data/features/record_file.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

constexpr std::size_t word = 8;

std::uint64_t word_at(const std::string& bytes, std::size_t offset) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + offset, word);
  return number;
}
void put(std::string& bytes, std::size_t offset, std::uint64_t number) { std::memcpy(bytes.data() + offset, &number, word); }

/// The same with the checksums that its bytes have, where its lengths fit: what a hostile writer would write.
std::string with_checksums(std::string bytes) {
  constexpr std::size_t tail = 6 * word;
  if (bytes.size() < 7 * word + tail || bytes.size() % word != 0) return bytes;
  const std::uint64_t features = word_at(bytes, 4 * word);
  const std::uint64_t in_block = word_at(bytes, 5 * word);
  const std::uint64_t description = word_at(bytes, 6 * word);
  if (features > 1000 || in_block == 0 || in_block > 100'000 || description > bytes.size()) return bytes;
  const std::size_t head = (7 * word + static_cast<std::size_t>(description) + word - 1) / word * word;
  const std::uint64_t records = word_at(bytes, bytes.size() - tail);
  if (records > bytes.size()) return bytes;
  const std::uint64_t blocks = (records + in_block - 1) / in_block;
  const std::size_t end = head + static_cast<std::size_t>(records * (features + 1)) * word;
  if (end + static_cast<std::size_t>(blocks) * word + tail != bytes.size()) return bytes;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = head + block * static_cast<std::size_t>(in_block * (features + 1)) * word;
    const std::size_t size = std::min(static_cast<std::size_t>(in_block * (features + 1)) * word, end - begin);
    put(bytes, end + block * word, XXH3_64bits_withSeed(bytes.data() + begin, size, block));
  }
  const std::size_t at = bytes.size() - tail;
  put(bytes, at + word, XXH3_64bits_withSeed(bytes.data(), head, 0));
  put(bytes, at + 2 * word, XXH3_64bits_withSeed(bytes.data() + end, static_cast<std::size_t>(blocks) * word, 0));
  put(bytes, at + 3 * word, XXH3_64bits_withSeed(bytes.data() + at, 3 * word, 0));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  static const InputFile copy;
  Input input{data, size};
  const bool is_repaired = input.choice(4) != 0;
  file.hold(is_repaired ? with_checksums(std::string{input.rest()}) : std::string{input.rest()});
  accepted([&] {
    const auto opened = std::make_shared<const data::RecordFile>(file.path());
    data::RecordFileText text{opened->description()};
    data::StoredRecords records{opened, data::RecordForm::is_private};
    std::vector<double> row;
    double label = 0;
    std::size_t count = 0;
    std::size_t damaged = 0;
    for (; records.next(row, label); ++count) {
      expect(std::isfinite(label), "a label that is not finite");
      expect(records.is_damaged() ? row.empty() : row.size() == opened->features(), "a row of another length");
      for (const double value : row) expect(std::isfinite(value), "a number that is not finite");
      text.add(row, label, records.is_damaged());
      damaged += records.is_damaged() ? 1 : 0;
    }
    expect(count == opened->size(), "another number of records than the file says");
    text.finish();
    copy.hold(text.text());
    const data::RecordFile again{copy.path()};
    expect(again.size() == count && again.features() == opened->features(), "a record file does not come back from its records");
  });
  return 0;
}
