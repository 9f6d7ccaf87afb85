#include <surety/data/arrow/arrow_table.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>
#include <variant>

#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>

namespace surety::data {

struct ArrowTable::Column {
  std::string name;
  std::variant<Texts, Numbers> cells;

  // As the interface wants them: made by `lay_out`.
  std::int64_t nulls = 0;
  std::vector<std::uint8_t> bits = {};
  std::vector<std::int64_t> offsets = {};
  std::string letters = {};
  std::vector<double> values = {};

  [[nodiscard]] bool is_of_texts() const noexcept { return std::holds_alternative<Texts>(cells); }
  [[nodiscard]] const char* format() const noexcept { return is_of_texts() ? "U" : "g"; }  // offsets of 64 bits: as long as memory
  [[nodiscard]] std::size_t size() const {
    return std::visit([](const auto& all) { return all.size(); }, cells);
  }
  void lay_out();
  [[nodiscard]] std::vector<const void*> buffers() const {
    if (is_of_texts()) return {bits.data(), offsets.data(), letters.data()};
    return {bits.data(), values.data()};
  }
};

void ArrowTable::Column::lay_out() {
  bits.assign(size() / 8 + 1, 0);
  offsets.push_back(0);
  std::visit(
      [&](const auto& all) {
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (all[k]) {
            bits[k / 8] = static_cast<std::uint8_t>(bits[k / 8] | (1U << (k % 8)));
          } else {
            ++nulls;
          }
          if constexpr (std::is_same_v<std::decay_t<decltype(all)>, Texts>) {
            if (all[k]) letters += is_utf8(*all[k]) ? *all[k] : escaped(*all[k]);
            offsets.push_back(static_cast<std::int64_t>(letters.size()));
          } else {
            values.push_back(all[k].value_or(0));
          }
        }
      },
      cells);
}

namespace {

/// All that a stream, its schemas and its batch refer to: each of them holds a share.
template <class Columns>
struct Shared {
  Columns columns;
  bool is_told = false;  ///< the one batch
};

/// What an exported struct owns: its share, and what its pointers lead to.
template <class Struct, class Share>
struct Owned {
  std::shared_ptr<Share> share;
  std::vector<Struct> children = {};
  std::vector<Struct*> child_pointers = {};
  std::vector<std::vector<const void*>> buffers = {};
};

/// Children are released with their parent, or by whoever has moved them out: each holds a share of its own.
template <class Struct, class Holder>
void release_struct(Struct* one) {
  for (std::int64_t k = 0; k < one->n_children; ++k) {
    if (one->children[k]->release != nullptr) one->children[k]->release(one->children[k]);
  }
  delete static_cast<Holder*>(one->private_data);
  one->release = nullptr;
}

/// `make` of new memory; an error number where there is none.
template <class Make>
int without_throwing(const Make& make) noexcept {
  try {
    make();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

template <class Share>
void give_schema(const std::shared_ptr<Share>& share, ArrowSchema* out) {
  using Holder = Owned<ArrowSchema, Share>;
  auto root = std::make_unique<Holder>(Holder{.share = share});
  const auto& columns = *share->columns;
  root->children.resize(columns.size());
  for (auto& child : root->children) root->child_pointers.push_back(&child);
  std::vector<std::unique_ptr<Holder>> shares;
  for (std::size_t k = 0; k < columns.size(); ++k) shares.push_back(std::make_unique<Holder>(Holder{.share = share}));
  for (std::size_t k = 0; k < columns.size(); ++k) {
    root->children[k] = {.format = columns[k]->format(),
                         .name = columns[k]->name.c_str(),
                         .metadata = nullptr,
                         .flags = ARROW_FLAG_NULLABLE,
                         .n_children = 0,
                         .children = nullptr,
                         .dictionary = nullptr,
                         .release = release_struct<ArrowSchema, Holder>,
                         .private_data = shares[k].release()};
  }
  *out = {.format = "+s",
          .name = "",
          .metadata = nullptr,
          .flags = 0,
          .n_children = static_cast<std::int64_t>(columns.size()),
          .children = root->child_pointers.data(),
          .dictionary = nullptr,
          .release = release_struct<ArrowSchema, Holder>,
          .private_data = root.get()};
  static_cast<void>(root.release());
}

template <class Share>
void give_batch(const std::shared_ptr<Share>& share, ArrowArray* out) {
  using Holder = Owned<ArrowArray, Share>;
  auto root = std::make_unique<Holder>(Holder{.share = share});
  const auto& columns = *share->columns;
  const auto rows = static_cast<std::int64_t>(columns.empty() ? 0 : columns.front()->size());
  root->children.resize(columns.size());
  root->buffers.push_back({nullptr});
  for (auto& child : root->children) root->child_pointers.push_back(&child);
  std::vector<std::unique_ptr<Holder>> shares;
  for (const auto& column : columns) {
    shares.push_back(std::make_unique<Holder>(Holder{.share = share}));
    shares.back()->buffers.push_back(column->buffers());
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto& buffers = shares[k]->buffers.front();
    root->children[k] = {.length = rows,
                         .null_count = columns[k]->nulls,
                         .offset = 0,
                         .n_buffers = static_cast<std::int64_t>(buffers.size()),
                         .n_children = 0,
                         .buffers = buffers.data(),
                         .children = nullptr,
                         .dictionary = nullptr,
                         .release = release_struct<ArrowArray, Holder>,
                         .private_data = shares[k].release()};
  }
  *out = {.length = rows,
          .null_count = 0,
          .offset = 0,
          .n_buffers = 1,
          .n_children = static_cast<std::int64_t>(columns.size()),
          .buffers = root->buffers.front().data(),
          .children = root->child_pointers.data(),
          .dictionary = nullptr,
          .release = release_struct<ArrowArray, Holder>,
          .private_data = root.get()};
  static_cast<void>(root.release());
}

template <class Share>
std::shared_ptr<Share>& share_of(ArrowArrayStream* stream) {
  return *static_cast<std::shared_ptr<Share>*>(stream->private_data);
}

}  // namespace

ArrowTable::ArrowTable() : columns_{std::make_unique<std::vector<std::unique_ptr<Column>>>()} {}
ArrowTable::~ArrowTable() = default;
ArrowTable::ArrowTable(ArrowTable&& other) noexcept = default;
ArrowTable& ArrowTable::operator=(ArrowTable&& other) noexcept = default;

ArrowTable::Texts& ArrowTable::texts(const char* name) {
  columns_->push_back(std::make_unique<Column>(Column{.name = name, .cells = Texts{}}));
  return std::get<Texts>(columns_->back()->cells);
}

ArrowTable::Numbers& ArrowTable::numbers(const char* name) {
  columns_->push_back(std::make_unique<Column>(Column{.name = name, .cells = Numbers{}}));
  return std::get<Numbers>(columns_->back()->cells);
}

void ArrowTable::give(ArrowArrayStream* stream) && {
  using Share = Shared<std::unique_ptr<std::vector<std::unique_ptr<Column>>>>;
  for (auto& column : *columns_) column->lay_out();
  auto share = std::make_unique<std::shared_ptr<Share>>(std::make_shared<Share>(Share{.columns = std::move(columns_)}));
  *stream = {.get_schema = [](ArrowArrayStream* self,
                              ArrowSchema* out) { return without_throwing([&] { give_schema(share_of<Share>(self), out); }); },
             .get_next =
                 [](ArrowArrayStream* self, ArrowArray* out) {
                   auto& mine = share_of<Share>(self);
                   if (mine->is_told) {
                     *out = {};
                     return 0;
                   }
                   return without_throwing([&] {
                     give_batch(mine, out);
                     mine->is_told = true;
                   });
                 },
             .get_last_error = [](ArrowArrayStream* /*self*/) -> const char* { return "no memory is left"; },
             .release =
                 [](ArrowArrayStream* self) {
                   delete &share_of<Share>(self);
                   self->release = nullptr;
                 },
             .private_data = share.get()};
  static_cast<void>(share.release());
}

}  // namespace surety::data
