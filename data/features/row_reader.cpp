#include <surety/data/features/row_reader.h>

#include <algorithm>

#include <surety/mechanisms/queries/record_sum.h>

namespace surety::data {

void RowReader::copy(std::span<const std::size_t> places, std::span<RowView> rows) {
  const RecordFile& file = *data_.file();
  const std::size_t d = file.features();
  copies_.resize(places.size() * d);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto values = std::span{copies_}.subspan(i * d, d);
    double norm = 0;
    if (data_.norm(places[i]) > 0) {
      const std::size_t record = data_.place_in_file(places[i]);
      const std::size_t block = record / file.records_in_block();
      if (block != in_hand_) {
        in_hand_ = static_cast<std::size_t>(-1);  // until it is read whole
        file.read_block(block, block_);
        in_hand_ = block;
      }
      const auto stored = std::span{block_}.subspan(record % file.records_in_block() * (d + 1), d);
      std::copy(stored.begin(), stored.end(), values.begin());
      norm = mechanisms::l2_norm(values);  // a clip rests on the numbers in hand alone
    } else {
      std::fill(values.begin(), values.end(), 0.0);  // also of a record whose label nobody knows
    }
    rows[i] = {.indices = {}, .values = values, .norm = norm};
  }
}

}  // namespace surety::data
