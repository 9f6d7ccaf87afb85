// What the commands share that charge a ledger: their promise, where it is written, their random bits, and texts with several values.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/ledger.h>
#include <surety/mechanisms/random_bits.h>

namespace surety::cli {

[[nodiscard]] Error usage(const std::string& message);

/// The number that is all of `text`. \throws Error{invalid_argument} naming the option.
[[nodiscard]] double parse_double(std::string_view text, std::string_view option);
/// What stands between the commas of `text`: one text more than there are commas.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

/// A file that a command reads or writes beside its ledger; `name` is for messages: "--model", "the data file".
struct NamedFile {
  std::string_view name;
  const std::string& path;
};
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);
/// \throws Error{invalid_argument} when a file is the ledger or what SQLite keeps beside it, which is its own to overwrite and to delete.
void require_not_the_ledger(const std::string& ledger, const std::vector<NamedFile>& files);

/// The options by which a command promises and charges.
struct PrivateRunOptions {
  double epsilon = 0;
  double delta = 0;
  std::string adjacency = "replace-one";
  std::string ledger;
  std::string note;
  std::optional<std::uint64_t> replay_seed;

  void add_promise_to(CLI::App& group, bool delta_is_required);
  void add_ledger_to(CLI::App& group);
  [[nodiscard]] Target target() const;
  /// \param note what the run is, where the user does not say it.
  [[nodiscard]] accounting::Plan plan(const Event& event, const std::string& note) const;
  /// Refuses what the ledger would refuse at this moment, where there is one already. Writes nothing.
  void check(const accounting::Plan& plan) const;
  /// Makes the charge durable.
  [[nodiscard]] accounting::Reservation reserve(const accounting::Plan& plan) const;
};

/// Events as a ledger writes them, so that one release is one text everywhere: gaussian(2), not repeat(1, gaussian(2)).
[[nodiscard]] std::string as_charged(const Event& event);

/// What a run released of its plan, and what that costs.
struct Released {
  std::string planned;
  std::string event;  ///< "nothing", or as charged
  Enclosure epsilon;  ///< at the promise's delta
};
/// \param plan, epsilon what was planned, and its cost
[[nodiscard]] Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta);

/// Bits from the operating system, or replayed from a seed. Entropy fails here, before private data is read.
class RunBits {
 public:
  explicit RunBits(const std::optional<std::uint64_t>& replay_seed);
  /// `draw` with a reference to the bits, whose type says what they are.
  template <class Draw>
  auto with(Draw draw) {
    return replay_ ? draw(*replay_) : draw(*system_);
  }

 private:
  std::optional<mechanisms::SystemBits> system_;
  std::optional<mechanisms::ReplayBits> replay_;
};

}  // namespace surety::cli
