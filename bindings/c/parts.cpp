// Releases in parts from C. Tickets and partials are bytes, which their functions check.
#include <surety.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <surety/base/text/error.h>
#include <surety/jobs/parts/release_in_parts.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/written_release.h>

#include "calls.h"
#include "runs.h"

namespace surety::c {
namespace {

/// Bytes, whose end no zero tells: their length is wanted.
struct BytesWanted {
  BytesWanted(const char* of, char** into, std::size_t* into_length) : bytes{into}, length{into_length} {
    given(into, of);
    given(into_length, (std::string{"length of "} + of).c_str());
  }
  void give(const std::string& made) const { give_text(made, bytes, length); }

  char** bytes;
  std::size_t* length;
};

/// A plan of a release. Replays are of one process: the noise of a finish elsewhere would be another than the plan says.
jobs::ReleasePlan plan_in_parts(std::string_view json) {
  auto written = jobs::read_release_plan(json);
  if (written.replay_seed) invalid("the plan has a replay-seed, must have none for a release in parts");
  jobs::require_follows(written, jobs::ReleaseJob{written.plan}.cost());
  return std::move(written.plan);
}

}  // namespace
}  // namespace surety::c

using namespace surety;
using namespace surety::c;

SURETY_API surety_code surety_parts_begin(const char* json, size_t json_length, uint32_t parts, surety_ledger* ledger,
                                          const surety_run_options* options, char** ticket, size_t* ticket_length,
                                          surety_failure** failure) {
  return asked(failure, [&] {
    const BytesWanted wanted{"ticket", ticket, ticket_length};
    const auto text = text_of(json, json_length, "json");
    const auto& book = given(ledger, "ledger").ledger;
    const Listener listener{options_of(options)};
    const auto plan = plan_in_parts(text);
    BitsOfRun bits{listener.options.bits, {}};
    wanted.give(jobs::begin_release(plan, parts, book, {.bits = bits.bits().source()}, listener.context()));
  });
}

SURETY_API surety_code surety_parts_partial(const char* ticket, size_t ticket_length, uint32_t part, const char* path, char** partial,
                                            size_t* partial_length, surety_failure** failure) {
  return guarded(failure, [&] {
    const BytesWanted wanted{"partial", partial, partial_length};
    const auto known = text_of(ticket, ticket_length, "ticket");
    if (given(path, "path") == 0) invalid("path is empty, must name a file");
    wanted.give(jobs::partial_release(known, part, std::filesystem::path{path}));
  });
}
SURETY_API surety_code surety_parts_partial_arrow(const char* ticket, size_t ticket_length, uint32_t part, struct ArrowArrayStream* records,
                                                  char** partial, size_t* partial_length, surety_failure** failure) {
  ArrowTaken taken{records};
  return guarded(failure, [&] {
    auto rows = taken.stream("records");
    const BytesWanted wanted{"partial", partial, partial_length};
    wanted.give(jobs::partial_release(text_of(ticket, ticket_length, "ticket"), part, std::move(rows)));
  });
}

SURETY_API surety_code surety_parts_merge(const char* a, size_t a_length, const char* b, size_t b_length, char** merged,
                                          size_t* merged_length, surety_failure** failure) {
  return guarded(failure, [&] {
    const BytesWanted wanted{"merged", merged, merged_length};
    const auto first = text_of(a, a_length, "a");
    wanted.give(jobs::merge_partials(first, text_of(b, b_length, "b")));
  });
}

SURETY_API surety_code surety_parts_finish(const char* ticket, size_t ticket_length, const char* partial, size_t partial_length,
                                           surety_ledger* ledger, const surety_run_options* options, surety_result** result,
                                           surety_failure** failure) {
  return guarded(failure, [&] {
    given(result, "result");
    const auto known = text_of(ticket, ticket_length, "ticket");
    const auto whole = text_of(partial, partial_length, "partial");
    auto& book = given(ledger, "ledger").ledger;
    const Listener listener{options_of(options)};
    BitsOfRun bits{listener.options.bits, {}};
    *result = handed_over(
        new surety_result{AnyResult{jobs::finish_release(known, whole, book, {.bits = bits.bits().source()}, listener.context())}});
  });
}

SURETY_API surety_code surety_write_private_file(const char* path, const char* bytes, size_t length, surety_failure** failure) {
  return guarded(failure, [&] {
    const auto content = text_of(bytes, length, "bytes");
    if (given(path, "path") == 0) invalid("path is empty, must name a file");
    jobs::write_private_file(path, content);
  });
}
