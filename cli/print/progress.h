// Progress on standard error, for what takes more than two seconds: what is public of a run, and how long it has taken.
#pragma once

#include <string_view>

namespace surety::cli {

/// Begins to count the time of a command. Shows nothing unless standard error is a terminal, or `is_asked`; without `is_asked` nothing in the first
/// two seconds. On a terminal one line is written over again, and removed at the end; elsewhere there is a line every ten seconds.
void begin_progress(bool is_asked);
/// Whether anything would ever be shown.
[[nodiscard]] bool shows_progress();
/// What is being done, such as "step 5 of 100": public, since it is shown. Shown at once, on a terminal alone. Never throws.
void say_progress(std::string_view state) noexcept;
/// Stops lines that depend on the time. Only `say_progress` prints after this call. The time of a run after its charge may be private (docs/trust.md#time),
/// and the number of lines in a log would reveal it.
void stop_progress_clock() noexcept;
/// Removes the line from the terminal, and shows no more until `begin_progress`. Whatever is printed calls it first.
void end_progress() noexcept;
/// Removes the line from the terminal for a message.
void wipe_progress() noexcept;

}  // namespace surety::cli
