// A release of a table that lies in parts, for engines that distribute their work: each part is read where it lies, and what the parts add up to is
// released once, as if one process had read all of it.
//
//   // Where the query is planned. Asks the ledger, charges nothing.
//   const std::string ticket = jobs::begin_release(plan, 4, ledger, {.bits = bits});
//
//   // On each worker, in whatever order and as often as tasks are tried: the ticket and a part of the rows make some bytes.
//   std::string partial = jobs::partial_release(ticket, 2, "part-2.csv");
//
//   // Wherever two of them meet, in any order and any tree.
//   std::string both = jobs::merge_partials(partial, another);
//
//   // Where the answer is wanted, once: charges, then draws, then settles.
//   const jobs::ReleasedStatistics released = jobs::finish_release(ticket, all, ledger, {.bits = bits});
//
// *What a part is.* Parts are numbered 0, 1, ..., and each row of the table is in one of them. Where a unit is one row any split will do. Where owners have
// several rows, each bucket of owners is in one part: the bucket of an owner is the first three hexadecimal digits of the MD5 of its name, of 4,096.
// Spark, DuckDB and whoever knows MD5 split so:
//
//   part = hash(substr(md5(owner), 1, 3)) mod 4
//
// and rows of one owner keep their order. A row without a name has that of the empty text, d41; where each such row is a unit of its own
// (`EmptyUnit::each`), it may be in any part. A damaged record is a row without a name.
//
// *What is checked.* A partial holds the numbers of its parts and the buckets of their owners. A part that is merged twice, as by a task that was tried
// again, would count its people twice, and an owner in two parts would count for twice as many rows: both are refused, by `merge_partials`, and a missing
// part by `finish_release`. Two owners of one bucket in two parts are refused as well, though no harm is done: names are not kept.
// That a part is what its number says, and that no row is in two parts where a unit is one row, is for who splits the table.
//
// *The answer* is that of `jobs::run` on the whole table, to the last bit where the bits are a replay, for every split that is allowed, in parts that are all
// CSV or all Arrow streams where owners have several rows.
//
// *What is private.* The ticket holds the secret key by which rows of an owner are kept, and a partial is exact counts: both are as private as the table.
// Written down they are of mode 0600 (`write_private_file`). Neither is in a plan's JSON, in the ledger or in an error; of the ticket its number is public, and
// ends the note of the run in the ledger. What a merge refuses tells that owners were not split as said, and nothing else. Checksums are against accidents: who may change a
// partial may also change the table.
//
// *Once.* A ticket is finished once in a ledger: its number is looked for where the charge is written, so of several that finish at once one charges and
// releases. A process that dies between its charge and its answer has spent the budget, and may have drawn noise that somebody has seen: it is not repeated,
// and another release takes another ticket. Another ledger knows nothing of it and is charged for itself.
//
// Trainings are not in parts: their ranks (`jobs/run/team.h`) are for that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/run/run_context.h>

namespace surety::jobs {

/// Prepares a release in so many parts: calibrates, asks the ledger, and draws the key by which rows of a unit are kept, where it has several. The key is
/// the first that is drawn of `bits`, as `run` does; the ticket's number is drawn from the operating system, lest two replays have the same.
/// \return the ticket, private: whoever has it knows which rows are kept. All parts and the finish need it, in processes of this version of Surety.
/// \throws Error{invalid_argument} unless the number of parts is from 1 to 2^20; Error{unsupported} for a plan that no text says (`plan_text`); as
///         ReleaseJob and `Ledger::check`; Error{environment} when the bits or the operating system's fail.
[[nodiscard]] std::string begin_release(const ReleasePlan& plan, std::uint32_t parts, const accounting::Ledger& ledger, const Bits& bits,
                                        const RunContext& context = {});

/// What one part adds up to. Nothing is released, and no ledger is asked. It may be done again: the same part makes the same bytes.
/// \param part below the number of parts \param path a CSV file, which may have no records; its columns may stand in another order than in other parts
/// \return exact counts, private
/// \throws Error{bad_data} for what is no ticket; Error{invalid_argument} for a part that there is not; as `ReleaseJob::read`
/// \complexity that of `ReleaseJob::read`; some 16 bytes for each sum, 12 for each candidate of a quantile that a number is near to, 12 and the text for each key
[[nodiscard]] std::string partial_release(std::string_view ticket, std::uint32_t part, const std::filesystem::path& path,
                                          const RunContext& context = {});

/// The same of a table of another program.
[[nodiscard]] std::string partial_release(std::string_view ticket, std::uint32_t part, data::ArrowStream stream,
                                          const RunContext& context = {});

/// What the parts of both add up to. Associative and commutative in bytes.
/// \throws Error{bad_data} for what is no partial; Error{invalid_argument} for partials of two tickets or of two kinds of sources, for a part that is in
///         both, and for a bucket of owners that is in both, which it does not name. \complexity linear in both
[[nodiscard]] std::string merge_partials(std::string_view a, std::string_view b);

/// The same of any number of partials, from 1 on. Partials of equal bytes count once: a task that was retried made the same part again, and its bytes
/// are a function of the ticket, the part's number and the part's rows. Partials of one part with different bytes are refused.
/// \throws as the merge of two; Error{invalid_argument} for no partials. \complexity O(n log k) for k partials of n bytes together
[[nodiscard]] std::string merge_partials(std::span<const std::string_view> partials);

/// Puts a ticket or a partial into a new file of mode 0600, complete, durable and in one step, or not at all: for tasks that meet on a disk.
/// \throws Error{invalid_argument} where something has that name already; Error{environment} as `NewFile`.
void write_private_file(const std::filesystem::path& path, std::string_view bytes);

/// Charges, releases and settles what all parts add up to.
/// \throws Error{bad_data} for what is no ticket or no partial, and where no part has records and their number is public; Error{invalid_argument} for a
///         partial of another ticket or plan, a part that is missing, a ticket whose noise is not what its plan gives on this machine, and one that was finished
///         in this ledger, whether that came to its end or not; as `run`. What fails before the charge has cost nothing.
[[nodiscard]] ReleasedStatistics finish_release(std::string_view ticket, std::string_view partial, accounting::Ledger& ledger,
                                                const Bits& bits, const RunContext& context = {});

/// Refuses a charge that the ledger would refuse, and writes nothing: `Ledger::check`, of a ledger that need not exist yet.
using LedgerCheck = std::function<void(const accounting::Plan& charge)>;
/// Makes a charge durable, unless a run of the ledger has the mark already: `Ledger::reserve_once`, of a ledger that need not exist yet.
using LedgerCharge = std::function<accounting::Reservation(const accounting::Plan& charge, std::string_view mark)>;

/// `begin_release` of a job that is calibrated, with bits of the operating system, or of the seed. The ticket holds the seed, and its finish replays the bits
/// behind the key from it: it releases what `run` releases with this seed, in whatever process. \throws as `begin_release`
[[nodiscard]] std::string begin_release(const ReleaseJob& job, std::uint32_t parts, const std::optional<std::uint64_t>& replay_seed,
                                        const LedgerCheck& check);

/// `finish_release` with bits of the operating system, or of the ticket's seed. \throws as `finish_release`; Error{bad_data} where the seed does not give the
/// ticket's key.
[[nodiscard]] ReleasedStatistics finish_release(std::string_view ticket, std::string_view partial, const LedgerCharge& charge,
                                                const RunContext& context = {});

}  // namespace surety::jobs
