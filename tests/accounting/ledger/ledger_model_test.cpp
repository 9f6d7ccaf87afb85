// The ledger against a model of it, which knows of a run no more than who may do what to it: histories of two processes with two handles
// each, on real ledger files. The second process is a real one, which is told what to do.
//
//   exhaustive  every history of six steps that change something (reserve, spend, settle, drop, settle by another handle, by another
//               process); between them, whatever the model refuses must be refused as it says: everything in each of the model's states
//               for the first times that it is reached, and one thing, in turn, at every other step; in between files are opened again
//   random      longer histories of accepted and refused steps, in which the second process is also killed; without a budget, and under
//               one of a renyi filter that has room for three releases at a time
//
// After each step the ledger must charge what the model says, which is never less than what was spent. Where the first process has a
// reservation, a copy of it made by fork tries everything as well.
#include <surety/accounting/ledger/ledger.h>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <support/sanitized.h>

namespace surety::accounting::ledger_model_test {
namespace {

namespace fs = std::filesystem;

constexpr auto adjacency = Adjacency::replace_one;
constexpr int fine = 0;
constexpr int refused_as(ErrorCode code) { return 50 + static_cast<int>(code); }

const int thinned = surety_test::sanitized ? 8 : 1;

const Event leaf = gaussian(NoiseMultiplier{40}, adjacency);
Event times(std::uint64_t count) { return repeat(Count{count}, leaf); }
std::optional<Event> released(std::uint64_t count) { return count == 0 ? std::nullopt : std::optional{times(count)}; }
/// Room for three of `leaf`, whose divergence of order 4 is 1/800: the limit is epsilon + log(4/3) + log(4 delta) / 3, which is 3.5/800 here.
constexpr std::uint64_t allowed_releases = 3;
const Budget budget{.target = {.epsilon = Epsilon{1.55718}, .delta = Delta{1e-3}, .adjacency = adjacency}, .order = RenyiOrder{4}};

std::uint64_t releases_in(const std::optional<Event>& event) { return event ? Releases::of(*event).count(leaf) : 0; }

// ------------------------------------------------------------------------------------------------------------------ the real one

enum class Order { open, reserve, spend, settle, drop, settle_other, charged };

struct Request {
  Order order;
  std::uint64_t run = 0;    ///< of settle_other and charged; the file's number for open
  std::uint64_t count = 0;  ///< of reserve and settle_other
  bool has_budget = false;  ///< of open, where the file is made
};

struct Answer {
  int code = fine;
  std::uint64_t value = 0;
};

/// What one process has: two handles and at most one reservation.
class Party {
 public:
  explicit Party(fs::path folder) : folder_{std::move(folder)} {}

  [[nodiscard]] fs::path file(std::uint64_t number) const { return folder_ / (std::to_string(number) + ".db"); }

  Answer answer(const Request& request) {
    try {
      return {.code = fine, .value = obey(request)};
    } catch (const Error& error) {
      return {.code = refused_as(error.code())};
    }
  }

  /// In a copy of the process nothing of what it inherited works, and to destroy it harms nobody. `run` is alive.
  int try_everything_in_a_copy(std::uint64_t run, bool is_alive) {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr int refused = refused_as(ErrorCode::invalid_argument);
      int wrong = 0;
      for (const Request& request :
           {Request{.order = Order::spend}, Request{.order = Order::settle}, Request{.order = Order::reserve, .count = 1},
            Request{.order = Order::settle_other, .run = run}, Request{.order = Order::charged, .run = run}}) {
        if (answer(request).code != refused) ++wrong;
      }
      const auto path = first_->path();
      reservation_.reset();
      first_.reset();
      second_.reset();
      try {
        auto anew = Ledger::open(path);
        if (is_alive) anew.settle({run}, std::nullopt, Stopping::data_independent);
      } catch (const Error& error) {
        if (!is_alive || refused_as(error.code()) != refused) wrong += 10;
      } catch (...) {
        wrong += 20;
      }
      ::_exit(wrong);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  }

 private:
  std::uint64_t obey(const Request& request) {
    switch (request.order) {
      case Order::open:
        first_.reset();
        second_.reset();
        if (request.has_budget && !fs::exists(file(request.run))) static_cast<void>(Ledger::create(file(request.run), adjacency, budget));
        first_ = Ledger::open_or_create(file(request.run), adjacency);
        second_ = Ledger::open(file(request.run));
        return 0;
      case Order::reserve: reservation_ = first_->reserve({.event = times(request.count)}); return reservation_->id().value;
      case Order::spend: reservation_->spend(times(1)); return 0;
      case Order::settle: reservation_->settle(Stopping::data_independent); return 0;
      case Order::drop: reservation_.reset(); return 0;
      case Order::settle_other: second_->settle({request.run}, released(request.count), Stopping::data_independent); return 0;
      case Order::charged: return releases_in(second_->runs().at(request.run - 1).charged());
    }
    return 0;
  }

  fs::path folder_;
  std::optional<Ledger> first_;
  std::optional<Ledger> second_;
  std::optional<Reservation> reservation_;
};

/// A party in a process of its own.
class OtherProcess {
 public:
  explicit OtherProcess(const fs::path& folder) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw std::runtime_error{"no socket"};
    id_ = ::fork();
    if (id_ == 0) {
      ::close(ends[0]);
      Party party{folder};
      Request request{};
      while (::read(ends[1], &request, sizeof request) == static_cast<ssize_t>(sizeof request)) {
        const Answer answer = party.answer(request);
        if (::write(ends[1], &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) break;
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    end_ = ends[0];
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    ::close(end_);
  }

  Answer answer(const Request& request) {
    Answer answer{.code = -1};
    if (::write(end_, &request, sizeof request) < 0 || ::read(end_, &answer, sizeof answer) < 0) answer.code = -2;
    return answer;
  }

 private:
  pid_t id_ = -1;
  int end_ = -1;
};

// ---------------------------------------------------------------------------------------------------------------------- the model

enum class Step { reserve, spend, settle, drop, settle_by_other_handle, settle_by_other_process, open_again, kill };

struct Action {
  Step step;
  int party;  ///< who does it; for settlements from elsewhere, whose run is settled
};

enum class State { open, gone, settled };

struct ModelRun {
  State state = State::open;
  std::uint64_t id = 0;
  std::uint64_t planned = 0;
  std::uint64_t spent = 0;
  [[nodiscard]] std::uint64_t charged() const { return state == State::settled ? spent : planned; }
};

struct ModelParty {
  bool has_reservation = false;
  std::optional<std::size_t> latest = {};
};

struct Model {
  std::vector<ModelRun> runs;
  std::array<ModelParty, 2> parties;
  bool has_budget = false;

  [[nodiscard]] const ModelRun* latest(int party) const {
    const auto& place = parties[static_cast<std::size_t>(party)].latest;
    return place ? &runs[*place] : nullptr;
  }
  [[nodiscard]] bool has_reservation(int party) const { return parties[static_cast<std::size_t>(party)].has_reservation; }
  [[nodiscard]] bool is_open(int party) const { return has_reservation(party) && latest(party)->state == State::open; }

  /// Whether the action can be tried at all.
  [[nodiscard]] bool is_possible(const Action& action) const {
    switch (action.step) {
      case Step::spend:
      case Step::settle:
      case Step::drop: return has_reservation(action.party);
      case Step::settle_by_other_handle:
      case Step::settle_by_other_process: return latest(action.party) != nullptr;
      default: return true;
    }
  }

  [[nodiscard]] int expected(const Action& action, std::uint64_t planned = 2) const {
    const ModelRun* const run = latest(action.party);
    constexpr int refused = refused_as(ErrorCode::invalid_argument);
    switch (action.step) {
      case Step::reserve: {
        // What was settled counts as it was spent, everything else as it was planned.
        std::uint64_t counted = planned;
        for (const auto& each : runs) counted += each.charged();
        return has_budget && counted > allowed_releases ? refused_as(ErrorCode::budget_exceeded) : fine;
      }
      case Step::spend:
        if (run->state == State::settled) return refused;
        return run->spent < run->planned ? fine : refused_as(ErrorCode::budget_exceeded);
      case Step::settle: return run->state == State::open ? fine : refused;
      case Step::settle_by_other_handle:
      case Step::settle_by_other_process: return run->state == State::gone ? fine : refused;
      default: return fine;
    }
  }

  /// \pre expected(action) is fine.
  void apply(const Action& action, std::uint64_t new_run, std::uint64_t planned) {
    auto& party = parties[static_cast<std::size_t>(action.party)];
    ModelRun* const run = party.latest ? &runs[*party.latest] : nullptr;
    const auto end = [&] {
      if (party.has_reservation && run->state == State::open) run->state = State::gone;
      party.has_reservation = false;
    };
    switch (action.step) {
      case Step::reserve:
        end();
        runs.push_back({.id = new_run, .planned = planned});
        party = {.has_reservation = true, .latest = runs.size() - 1};
        break;
      case Step::spend: ++run->spent; break;
      case Step::settle:
      case Step::settle_by_other_handle:
      case Step::settle_by_other_process: run->state = State::settled; break;
      case Step::drop:
      case Step::kill: end(); break;
      case Step::open_again: break;
    }
  }

  /// All that is different between two states for what may follow.
  [[nodiscard]] auto key() const {
    const auto of = [&](int party) {
      const auto* const run = latest(party);
      return std::tuple{has_reservation(party), run != nullptr, run != nullptr ? static_cast<int>(run->state) : 0,
                        run != nullptr ? run->spent : 0};
    };
    return std::pair{of(0), of(1)};
  }
};

// ------------------------------------------------------------------------------------------------------------------------ together

class LedgerModel : public ::testing::Test {
 protected:
  LedgerModel() {
    // In memory where there is such a place: thousands of histories commit some ten thousand times.
    const fs::path shared = "/dev/shm";
    std::string name = ((::access(shared.c_str(), W_OK) == 0 ? shared : fs::temp_directory_path()) / "surety-ledger-model-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder"};
    folder_ = name;
    first_.emplace(folder_);
    second_.emplace(folder_);
  }
  ~LedgerModel() override {
    second_.reset();
    first_.reset();
    fs::remove_all(folder_);
  }

  /// An empty history, now and then in a new file.
  void begin() {
    tell(0, {.order = Order::drop});
    tell(1, {.order = Order::drop});
    if (histories_++ % (has_budget_ ? 1 : 12) == 0) {
      ++file_;
      for (const int party : {0, 1}) {
        EXPECT_EQ(tell(party, {.order = Order::open, .run = file_, .has_budget = has_budget_}).code, fine);
      }
      fs::remove(first_->file(file_ - 1));
    }
    model_ = {};
    model_.has_budget = has_budget_;
  }

  /// Does it and holds the answer against the model's. False when they differ.
  bool act(const Action& action, std::uint64_t planned = 2) {
    const int expected = model_.expected(action, planned);
    Answer answer{};
    if (action.step == Step::kill) {
      second_.reset();
      second_.emplace(folder_);
      answer = tell(1, {.order = Order::open, .run = file_});
    } else {
      const int who = action.step == Step::settle_by_other_process ? 1 - action.party : action.party;
      Request request{.order = order_of(action.step)};
      if (action.step == Step::reserve) request.count = planned;
      if (action.step == Step::open_again) request.run = file_;
      if (request.order == Order::settle_other) {
        request.run = model_.latest(action.party)->id;
        request.count = model_.latest(action.party)->spent;
      }
      answer = tell(who, request);
    }
    history_ += std::to_string(static_cast<int>(action.step)) + (action.party == 0 ? "p " : "q ");
    EXPECT_EQ(answer.code, expected) << "history (step, party): " << history_;
    if (answer.code != expected) return false;
    if (expected == fine) model_.apply(action, answer.value, planned);
    return true;
  }

  /// What is charged, as each process sees it.
  bool charges_what_the_model_says(bool ask_both) {
    for (const auto& run : model_.runs) {
      for (const int party : {0, 1}) {
        if (party == 1 && !ask_both) continue;
        const auto charged = tell(party, {.order = Order::charged, .run = run.id});
        EXPECT_EQ(charged.code, fine);
        EXPECT_EQ(charged.value, run.charged()) << "run " << run.id << " after " << history_;
        EXPECT_GE(charged.value, run.spent) << "run " << run.id << " after " << history_;
        if (charged.value != run.charged()) return false;
      }
    }
    return true;
  }

  bool survives_a_copy() {
    ++copies_;
    const int wrong = first_->try_everything_in_a_copy(model_.latest(0)->id, model_.is_open(0));
    EXPECT_EQ(wrong, 0) << "in a copy after " << history_;
    return wrong == 0;
  }

  static Order order_of(Step step) {
    switch (step) {
      case Step::reserve: return Order::reserve;
      case Step::spend: return Order::spend;
      case Step::settle: return Order::settle;
      case Step::drop: return Order::drop;
      case Step::settle_by_other_handle:
      case Step::settle_by_other_process: return Order::settle_other;
      case Step::open_again:
      case Step::kill: break;
    }
    return Order::open;
  }

  Answer tell(int party, const Request& request) { return party == 0 ? first_->answer(request) : second_->answer(request); }

  fs::path folder_;
  std::optional<Party> first_;
  std::optional<OtherProcess> second_;
  std::uint64_t file_ = 0;
  std::uint64_t histories_ = 0;
  bool has_budget_ = false;
  std::uint64_t copies_ = 0;
  std::string history_;
  Model model_;
};

/// Every action of the exhaustive histories. A reservation is dropped before the party reserves again, so both are steps of their own.
std::vector<Action> all_actions() {
  std::vector<Action> actions;
  for (const int party : {0, 1}) {
    for (const auto step :
         {Step::reserve, Step::spend, Step::settle, Step::drop, Step::settle_by_other_handle, Step::settle_by_other_process}) {
      actions.push_back({step, party});
    }
  }
  return actions;
}

bool is_a_step(const Model& model, const Action& action) {
  if (action.step == Step::reserve && model.is_open(action.party)) return false;
  return model.is_possible(action) && model.expected(action) == fine;
}

TEST_F(LedgerModel, HoldsInEveryHistoryOfSixSteps) {
  const std::size_t depth = thinned == 1 ? 6 : 4;
  const auto actions = all_actions();
  std::map<decltype(model_.key()), int> states;
  // A history is repeated from its start for each that shares its beginning; what is new in it begins at `first_new`.
  std::vector<std::size_t> choices;
  std::size_t first_new = 0;
  std::uint64_t complete = 0;
  std::uint64_t nodes = 0;
  for (bool more = true; more;) {
    begin();
    history_.clear();
    for (std::size_t i = 0; i < depth; ++i) {
      if (i == choices.size()) choices.push_back(0);
      while (!is_a_step(model_, actions[choices[i]])) ++choices[i];  // there is always one: where nothing is open, reserve
      ASSERT_TRUE(act(actions[choices[i]]));
      if (i < first_new) continue;
      if (++nodes % 8 == 0) {
        ASSERT_TRUE(act({Step::open_again, static_cast<int>(nodes / 8 % 2)}));
      }
      const int visits = ++states[model_.key()];
      std::vector<Action> refused;
      std::copy_if(actions.begin(), actions.end(), std::back_inserter(refused),
                   [&](const Action& action) { return model_.is_possible(action) && model_.expected(action) != fine; });
      for (std::size_t k = 0; k < refused.size(); ++k) {
        if (visits > 2 && k != static_cast<std::size_t>(visits) % refused.size()) continue;
        ASSERT_TRUE(act(refused[k]));
      }
      ASSERT_TRUE(charges_what_the_model_says(false));
      if (visits == 1 && model_.has_reservation(0)) {
        ASSERT_TRUE(survives_a_copy());
      }
    }
    ++complete;
    // The model at each place of the history, to find the last one from which another step leads on.
    more = false;
    std::vector<Model> before{Model{}};
    for (const auto choice : choices) {
      before.push_back(before.back());
      before.back().apply(actions[choice], before.back().runs.size() + 1, 2);
    }
    while (!choices.empty() && !more) {
      const auto& model = before[choices.size() - 1];
      for (std::size_t next = choices.back() + 1; next < actions.size() && !more; ++next) {
        if (!is_a_step(model, actions[next])) continue;
        choices.back() = next;
        more = true;
      }
      if (!more) choices.pop_back();
    }
    first_new = choices.empty() ? 0 : choices.size() - 1;
  }
  if (thinned == 1) {
    EXPECT_EQ(complete, 3368U) << "as many as a count by the model's rules alone";
  }
  EXPECT_GT(copies_, 20U);
}

/// Random histories, each of 12 steps.
struct RandomCounts {
  int kills = 0;
  int refused = 0;
  int over_budget = 0;
};

class RandomLedgerModel : public LedgerModel {
 protected:
  void hold_in(int histories, RandomCounts& counts);
};

void RandomLedgerModel::hold_in(int histories, RandomCounts& counts) {
  std::mt19937_64 random{20261122};
  auto actions = all_actions();
  for (const int party : {0, 1}) actions.push_back({Step::open_again, party});
  for (int history = 0; history < histories / thinned; ++history) {
    begin();
    history_.clear();
    for (int i = 0; i < 12; ++i) {
      // Killing and copying a process take longer than anything else.
      const auto rare = random() % 200;
      const Action action = rare == 0 ? Action{Step::kill, 1} : actions[random() % actions.size()];
      const bool has_copied = copies_ > 0;  // one copy at the first occasion, so that every number of histories has one
      if ((rare == 1 || !has_copied) && model_.has_reservation(0)) {
        ASSERT_TRUE(survives_a_copy());
      }
      if (!model_.is_possible(action)) continue;
      const std::uint64_t planned = 1 + random() % 4;
      const int expected = model_.expected(action, planned);
      counts.kills += action.step == Step::kill ? 1 : 0;
      counts.refused += expected == fine ? 0 : 1;
      counts.over_budget += expected == refused_as(ErrorCode::budget_exceeded) ? 1 : 0;
      ASSERT_TRUE(act(action, planned));
    }
    ASSERT_TRUE(charges_what_the_model_says(true));
  }
  EXPECT_GT(copies_, 0U);
}

TEST_F(RandomLedgerModel, HoldsInLongRandomHistories) {
  RandomCounts counts;
  hold_in(1000, counts);
  EXPECT_GT(counts.kills, 0);
  EXPECT_GT(counts.refused, 100);
}

TEST_F(RandomLedgerModel, HoldsUnderABudgetOfARenyiFilter) {
  has_budget_ = true;
  RandomCounts counts;
  hold_in(120, counts);
  EXPECT_GT(counts.over_budget, 40 / thinned);
}

}  // namespace
}  // namespace surety::accounting::ledger_model_test
