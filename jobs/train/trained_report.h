// What came of a training, for people.
#pragma once

#include <string>
#include <string_view>

#include <surety/jobs/train/train_job.h>

namespace surety::jobs {

/// Where things of a run are, and who chose it: what a training does not know of itself.
struct TrainedPlaces {
  std::string_view ledger;       ///< "run.db, run 2"
  std::string_view model;        ///< a file
  std::string_view chosen = {};  ///< by the automatic rule: its fields, and why; empty where nobody chose
};

/// Lines as `surety train` prints them: what was trained, promised, charged and written, and the scores on a part that was held out, which are not private.
/// No text ends a line or moves a terminal.
[[nodiscard]] std::string report_text(const TrainedModel& trained, const TrainedPlaces& places);

}  // namespace surety::jobs
