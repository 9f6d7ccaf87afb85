#include <surety/jobs/plans/train_plan.h>

#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

namespace {

constexpr const char* taken_already = "must be given anew: it was read already";

}  // namespace

GivenRows::Rows GivenRows::form() const {
  if (!rows_) refuse(taken_already);
  if (const auto* const stream = std::get_if<data::ArrowStream>(&*rows_)) return stream->without_rows();
  return std::get<data::SparseMatrix>(*rows_);
}

std::uint64_t GivenRows::count(data::RecordForm form) {
  if (!rows_) refuse(taken_already);
  if (auto* const stream = std::get_if<data::ArrowStream>(&*rows_)) return stream->count_rows(form);
  return std::get<data::SparseMatrix>(*rows_).rows();
}

GivenRows::Rows GivenRows::take() {
  if (!rows_) refuse(taken_already);
  auto taken = std::move(*rows_);
  rows_.reset();
  return taken;
}

void GivenRows::refuse(const FieldText& must) const {
  refuse_plan("the data are {} {}, {}", std::string_view{name_}.starts_with('A') ? "an" : "a", name_, must);
}

}  // namespace surety::jobs
