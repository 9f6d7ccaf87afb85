// The keyed hash of bytes that come piece by piece.
#include <surety/data/reading/keyed_texts.h>
#include <surety/data/units/unit_selection.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace surety::data::keyed_texts_test {
namespace {

const UnitKey key = [] {
  UnitKey bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  return bytes;
}();

/// The bytes 0, 1, ..., of which there are so many.
std::vector<unsigned char> counted(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  return bytes;
}

TEST(KeyedHash, HasTheVectorsOfItsAuthors) {
  const KeyedHash hash{key};
  EXPECT_EQ(hash(std::span<const unsigned char>{counted(0)}), (Hash{0xe6a825ba047f81a3, 0x930255c71472f66d}));
  EXPECT_EQ(hash(std::span<const unsigned char>{counted(1)}), (Hash{0x44af996bd8c187da, 0x45fc229b11597634}));
}

TEST(KeyedHash, IsThatOfTheWholeInWhateverPiecesItComes) {
  const KeyedHash hash{key};
  std::mt19937_64 random{1};
  for (std::size_t size = 0; size < 70; ++size) {
    const auto bytes = counted(size);
    const Hash whole = hash(std::span<const unsigned char>{bytes});
    for (int split = 0; split < 50; ++split) {
      auto pieces = hash.start();
      for (std::span<const unsigned char> left{bytes}; !left.empty();) {
        std::size_t taken = 1;
        switch (random() % 3) {
          case 0: pieces.byte(left.front()); break;
          case 1: {
            if (left.size() < 8) continue;
            taken = 8;
            std::uint64_t word = 0;
            for (std::size_t k = taken; k-- > 0;) word = word << 8 | left[k];
            pieces.word(word);
            break;
          }
          default: taken = 1 + random() % left.size(); pieces.bytes(left.first(taken));
        }
        left = left.subspan(taken);
      }
      auto again = pieces;
      EXPECT_EQ(pieces.whole(), whole) << size;
      EXPECT_EQ(again.first_word(), whole[0]) << size;
    }
  }
}

}  // namespace
}  // namespace surety::data::keyed_texts_test
