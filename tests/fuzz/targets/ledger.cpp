// The entries of a ledger with the checksums that they have, as a store in memory holds them: what is a ledger charges what its runs planned and takes
// another run, what is none is damaged. Or the file of a ledger of which bytes are changed or cut off: it is damaged, or says what it said.
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/ledger/memory_store.h>

using namespace surety;
using namespace surety_fuzz;

namespace {

/// A folder in memory, where there is one.
class Folder {
 public:
  Folder() {
    const char* const base = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    path_ = std::string{base} + "/surety-fuzz-ledger-" + std::to_string(getpid());
    std::filesystem::remove_all(path_);
    expect(::mkdir(path_.c_str(), 0700) == 0, "no folder for a ledger");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What a ledger says of its runs.
std::string said_by(const accounting::Ledger& ledger) {
  std::string said{name(ledger.adjacency())};
  for (const auto& run : ledger.runs()) {
    said += "; " + describe(run.plan.event) + " " + run.plan.note;
    if (run.settlement && run.settlement->released) said += " released " + describe(*run.settlement->released);
  }
  return said;
}

void write(const std::string& path, std::string_view bytes) {
  auto* const file = std::fopen(path.c_str(), "wb");
  expect(file != nullptr, "no file for a ledger");
  expect(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fclose(file) == 0, "a file is not written");
}

/// The file of a small ledger.
class LedgerBytes {
 public:
  explicit LedgerBytes(const std::string& path) {
    {
      auto ledger = accounting::Ledger::create(path, Adjacency::replace_one);
      auto reservation = ledger.reserve({.event = gaussian(NoiseMultiplier{3}, Adjacency::replace_one), .note = "a note"});
      reservation.spend(gaussian(NoiseMultiplier{3}, Adjacency::replace_one));
      reservation.settle(accounting::Stopping::adaptive);
      said_ = said_by(ledger);
    }
    auto* const file = std::fopen(path.c_str(), "rb");
    expect(file != nullptr, "no file of a ledger");
    for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file)) bytes_ += static_cast<char>(byte);
    std::fclose(file);
  }
  [[nodiscard]] const std::string& said() const { return said_; }
  /// With other bytes: each three of `changes` are a place and what differs there; two alone say where the file ends.
  [[nodiscard]] std::string changed(std::string_view changes) const {
    std::string bytes = bytes_;
    const auto place = [&] {
      return (static_cast<unsigned char>(changes[0]) * 256U + static_cast<unsigned char>(changes[1])) % bytes_.size();
    };
    for (; changes.size() >= 3; changes.remove_prefix(3)) bytes[place()] = static_cast<char>(bytes[place()] ^ changes[2]);
    if (changes.size() == 2) bytes.resize(place());
    return bytes;
  }

 private:
  std::string bytes_;
  std::string said_;
};

/// With other refusals than of damage, and of what is no ledger, as a defect.
template <class Call>
bool is_ledger(const Call& call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged_ledger) fail(std::string{"a ledger is refused, and is not damaged: "} + error.what());
    if (std::string_view{error.what()}.find('\n') != std::string_view::npos) fail("a refusal of several lines");
  } catch (const std::exception& error) {
    fail(std::string{"another exception: "} + error.what());
  }
  return false;
}

void examine(accounting::Ledger ledger) {
  const auto runs = ledger.runs();
  for (const auto& run : runs) {
    expect(run.plan.event.adjacency() == ledger.adjacency(), "a run has another adjacency than its ledger");
    if (!run.settlement || !run.settlement->released) continue;
    expect(accounting::Releases::of(*run.settlement->released).is_part_of(accounting::Releases::of(run.plan.event)),
           "a run released more than it planned");
  }
  accepted([&] {
    const auto before = ledger.balance();
    static_cast<void>(before);
    auto reservation = ledger.reserve({.event = gaussian(NoiseMultiplier{3}, ledger.adjacency()), .unit = ledger.unit()});
    reservation.settle(accounting::Stopping::adaptive);
  });
  expect(ledger.runs().size() >= runs.size(), "a run is lost");
}

}  // namespace

SURETY_MUTATES_JSON(1)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  const auto kind = input.choice(16);
  if (kind == 0) {
    static const Folder folder;
    static const LedgerBytes kept{folder.path() + "/kept"};
    const auto path = folder.path() + "/changed";
    write(path, kept.changed(input.rest()));
    accepted([&] { expect(said_by(accounting::Ledger::open(path)) == kept.said(), "a changed file is another ledger"); });
    return 0;
  }
  // A list of entries; what is none is one entry.
  const auto list = nlohmann::json::parse(input.rest(), nullptr, false);
  std::vector<std::string> entries;
  if (list.is_array()) {
    for (const auto& entry : list) entries.push_back(entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    entries.emplace_back(input.rest());
  }
  const auto memory = std::make_shared<accounting::LedgerMemory>();
  accounting::StoredHead head{0, 0};
  for (auto& entry : entries) {
    memory->entries.push_back(accounting::entry_after(head, std::move(entry)));
    head = {memory->entries.back().number, memory->entries.back().checksum};
  }
  memory->head = head;
  is_ledger([&] { examine(accounting::Ledger::open(std::make_shared<accounting::MemoryStore>(memory))); });
  return 0;
}
