#include <surety/cli/ranks/team.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>

namespace surety::cli {

namespace {

constexpr auto never = Clock::time_point::max();

/// A text in words: its length, then eight bytes to a word.
Words words_of(const std::string& text) {
  Words words(1 + (text.size() + 7) / 8);
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}

std::string text_of(std::span<const std::uint64_t> words) {
  if (words.empty() || words[0] > 8 * (words.size() - 1)) throw Error{ErrorCode::environment, "a message of another rank is damaged"};
  std::string text(static_cast<std::size_t>(words[0]), ' ');
  std::memcpy(text.data(), words.data() + 1, text.size());
  return text;
}

}  // namespace

void Team::tell(std::size_t rank, Signal signal, Words words) {
  words.insert(words.begin(), static_cast<std::uint64_t>(signal));
  ranks_->send(rank, std::move(words));
}

void Team::tell_others(Signal signal, const Words& words) {
  for (std::size_t other = 0; other < size(); ++other) {
    if (other != rank()) tell(other, signal, words);
  }
}

std::optional<Ranks::Message> Team::receive(Clock::time_point deadline) {
  auto message = ranks_->receive(deadline);
  if (!message) return std::nullopt;
  if (message->words.empty()) throw Error{ErrorCode::environment, fmt::format("an empty message came from rank {}", message->from)};
  switch (static_cast<Signal>(message->words[0])) {
    case Signal::stop: throw Stopped{};
    case Signal::failed:
      if (message->words.size() > 2) {
        throw Failure{static_cast<int>(message->words[1]),
                      fmt::format("rank {}: {}", message->from, text_of(std::span{message->words}.subspan(2)))};
      }
      throw Error{ErrorCode::environment, fmt::format("rank {} failed for no reason given", message->from)};
    default: return message;
  }
}

Ranks::Message Team::await(Signal signal) {
  while (true) {
    auto message = receive(never).value();
    const auto got = static_cast<Signal>(message.words[0]);
    if (got == signal) return message;
    if (got != Signal::frames) {
      throw Error{ErrorCode::internal, fmt::format("message {} came from rank {}, must be {}", message.words[0], message.from,
                                                   static_cast<std::uint64_t>(signal))};
    }
    early_.push_back(std::move(message));
  }
}

void Team::begin(double noise) { tell_others(Signal::begin, {std::bit_cast<std::uint64_t>(noise)}); }

double Team::await_begin() { return std::bit_cast<double>(await(Signal::begin).words.at(1)); }

void Team::report_ready(const std::string& run) { tell(0, Signal::ready, words_of(run)); }

void Team::await_ready(const std::string& run) {
  for (std::size_t other = 1; other < size(); ++other) {
    const auto message = await(Signal::ready);
    if (text_of(std::span{message.words}.subspan(1)) != run) {
      invalid(fmt::format("rank {} is about to run something else than rank 0, must have the same options and columns", message.from));
    }
  }
}

void Team::go() {
  tell_others(Signal::go);
  has_begun_ = true;
}

void Team::await_go() {
  static_cast<void>(await(Signal::go));
  has_begun_ = true;
}

void Team::send_frames(std::size_t to, Words frames) { tell(to, Signal::frames, std::move(frames)); }

std::optional<Words> Team::receive_frames(Clock::time_point deadline) {
  std::optional<Ranks::Message> message;
  if (early_.empty()) {
    message = receive(deadline);
  } else {
    message = std::move(early_.front());
    early_.pop_front();
  }
  if (!message) return std::nullopt;
  if (static_cast<Signal>(message->words[0]) != Signal::frames) {
    throw Error{ErrorCode::internal, fmt::format("message {} came from rank {}, must be parameters", message->words[0], message->from)};
  }
  message->words.erase(message->words.begin());
  return std::move(message->words);
}

bool Team::await_only(Signal signal, Clock::time_point deadline) {
  while (const auto message = ranks_->receive(deadline)) {
    if (!message->words.empty() && static_cast<Signal>(message->words[0]) == signal) return true;
  }
  return false;
}

int Team::end_first(const std::optional<Failure>& failure) {
  const int code = failure ? failure->code : exit_code::fine;
  if (failure) {
    tell_others(Signal::stop);
    bool all_stopped = true;
    for (std::size_t other = 1; all_stopped && other < size(); ++other) all_stopped = await_only(Signal::stopped, soon());
    fail(code, failure->message);
    if (!all_stopped) ranks_->abort(code);
  }
  tell_others(Signal::end, {static_cast<std::uint64_t>(code)});
  ranks_->finish();
  return code;
}

int Team::end_later(const std::optional<Failure>& failure, bool was_stopped) {
  if (failure) {
    Words words = words_of(failure->message);
    words.insert(words.begin(), static_cast<std::uint64_t>(failure->code));
    tell(0, Signal::failed, std::move(words));
    // Before the run has begun the first may be busy with reading its data.
    if (!await_only(Signal::stop, has_begun_ ? soon() : never)) {
      fail(failure->code, failure->message);
      ranks_->abort(failure->code);
    }
    was_stopped = true;
  }
  // The first may take its time to write a model, and ends everybody if it fails. Whoever has not stopped yet is waited for by it.
  if (was_stopped) tell(0, Signal::stopped);
  while (true) {
    const auto message = ranks_->receive(never).value();
    switch (static_cast<Signal>(message.words.at(0))) {
      case Signal::stop: tell(0, Signal::stopped); break;
      case Signal::end: ranks_->finish(); return static_cast<int>(message.words.at(1));
      default: break;
    }
  }
}

int Team::end(const std::optional<Failure>& failure) { return is_first() ? end_first(failure) : end_later(failure, false); }

int as_a_team(std::chrono::milliseconds timeout, const std::function<int(Team&)>& run) {
  const auto launch = launched_by_mpirun();
  if (!launch || launch->size == 1) {
    Team alone{nullptr};
    return run(alone);
  }
  Team team{start_ranks(*launch, timeout), timeout};
  std::optional<Failure> failure;
  try {
    static_cast<void>(run(team));
  } catch (const Stopped&) {
    return team.end_later(std::nullopt, true);
  } catch (...) {
    failure = failure_of(std::current_exception());
  }
  return team.end(failure);
}

}  // namespace surety::cli
