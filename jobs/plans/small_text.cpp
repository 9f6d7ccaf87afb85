#include <surety/jobs/plans/small_text.h>

#include <fmt/format.h>

#include <surety/data/reading/text_reader.h>

namespace surety::jobs {

std::string read_text(const std::string& file, std::size_t most, std::string_view what) {
  data::TextReader reader{file};
  std::string text;
  for (auto bytes = reader.available(); !bytes.empty(); bytes = reader.available()) {
    if (bytes.size() > most - text.size()) reader.refuse_file(fmt::format("has more than {} bytes, must have fewer for {}", most, what));
    text += bytes;
    reader.skip(bytes.size());
  }
  return text;
}

}  // namespace surety::jobs
