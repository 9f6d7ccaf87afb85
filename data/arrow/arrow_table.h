// A table of texts and numbers that goes out as an Arrow stream of one batch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <surety/data/arrow/arrow_abi.h>

namespace surety::data {

class ArrowTable {
 public:
  using Texts = std::vector<std::optional<std::string>>;
  using Numbers = std::vector<std::optional<double>>;

  ArrowTable();
  ~ArrowTable();
  ArrowTable(ArrowTable&& other) noexcept;
  ArrowTable& operator=(ArrowTable&& other) noexcept;

  /// A new column, which stays where it is. What is not UTF-8 goes out as JSON spells it.
  Texts& texts(const char* name);
  Numbers& numbers(const char* name);

  /// \pre all columns have one length. Whatever `stream` holds is overwritten; who takes it releases it, and it lasts as long as anything of it.
  /// \throws std::bad_alloc, and then nothing is given.
  void give(ArrowArrayStream* stream) &&;

 private:
  struct Column;
  std::unique_ptr<std::vector<std::unique_ptr<Column>>> columns_;
};

}  // namespace surety::data
