#include <surety/jobs/algorithms/rank_doors.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::jobs {
namespace {

[[noreturn]] void refuse_message(std::string_view what) {
  throw Error{ErrorCode::environment, fmt::format("a message of another rank is damaged: {}", what)};
}

std::uint64_t word(std::int64_t value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t word(double value) { return std::bit_cast<std::uint64_t>(value); }

}  // namespace

Words RankSums::receive() {
  const auto deadline = Clock::now() + team_.timeout();
  auto words = team_.receive_frames(deadline);
  if (!words) {
    throw Error{ErrorCode::environment,
                fmt::format("another rank did not send its part of release {} within {} s; the whole plan stays charged", round_,
                            static_cast<double>(team_.timeout().count()) / 1000)};
  }
  return std::move(*words);
}

Words RankSums::head(Purpose purpose) const { return {static_cast<std::uint64_t>(purpose), round_, team_.rank()}; }

Words RankSums::expect(Purpose purpose, Words words) const {
  if (words.size() < 3 || words[0] != static_cast<std::uint64_t>(purpose)) refuse_message("it is of another kind");
  if (words[1] != round_) refuse_message(fmt::format("it is of release {}, must be {}", words[1], round_));
  return words;
}

GridVector RankSums::add_others(GridVector own, L2Sensitivity sensitivity) {
  const double most = sensitivity.value() * own.grid.steps_per_unit() * static_cast<double>(records_);
  if (!(most < static_cast<double>(largest_sum))) {
    // Neither how many records there are nor how many steps that makes: both may be private.
    throw Error{ErrorCode::unsupported, "sums over all records may be 2^62 steps of their grid or more, must be less on several ranks"};
  }
  std::vector<bool> has_sent(team_.size());
  has_sent[team_.rank()] = true;
  for (std::size_t missing = team_.size() - 1; missing > 0; --missing) {
    const Words words = expect(Purpose::sum, receive());
    const std::uint64_t from = words[2];
    if (from >= team_.size() || has_sent[from]) refuse_message("a rank sent two sums for one release");
    has_sent[from] = true;
    if (words.size() != own.steps.size() + 4) refuse_message("it is a sum of another length");
    if (words[3] != word(std::int64_t{own.grid.log2_step.value()})) refuse_message("it is a sum on another grid");
    for (std::size_t j = 0; j < own.steps.size(); ++j) {
      if (__builtin_add_overflow(own.steps[j], std::bit_cast<std::int64_t>(words[j + 4]), &own.steps[j]))
        refuse_message("a sum is too large");
    }
  }
  return own;
}

void RankSums::tell(std::span<const double> released) {
  Words words = head(Purpose::released);
  for (const double value : released) words.push_back(word(value));
  for (std::size_t other = 1; other < team_.size(); ++other) team_.send_frames(other, words);
  ++round_;
}

std::vector<double> RankSums::send_and_await(const GridVector& own) {
  Words words = head(Purpose::sum);
  words.push_back(word(std::int64_t{own.grid.log2_step.value()}));
  for (const std::int64_t steps : own.steps) words.push_back(word(steps));
  team_.send_frames(0, std::move(words));
  const Words answer = expect(Purpose::released, receive());
  if (answer.size() != own.steps.size() + 3) refuse_message("what was released has another length");
  std::vector<double> released;
  released.reserve(own.steps.size());
  for (std::size_t j = 3; j < answer.size(); ++j) released.push_back(std::bit_cast<double>(answer[j]));
  ++round_;
  return released;
}

std::vector<std::size_t> RankSums::share_out(std::span<const std::size_t> places, std::span<const std::uint64_t> counts) {
  std::vector<std::size_t> own;
  auto next = places.begin();
  std::uint64_t first = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    Words words = head(Purpose::batch);
    for (; next != places.end() && *next < first + counts[rank]; ++next) words.push_back(*next - first);
    if (rank == team_.rank()) {
      for (std::size_t k = 3; k < words.size(); ++k) own.push_back(static_cast<std::size_t>(words[k]));
    } else {
      team_.send_frames(rank, std::move(words));
    }
    first += counts[rank];
  }
  return own;
}

std::vector<std::size_t> RankSums::await_places(std::size_t records) {
  const Words words = expect(Purpose::batch, receive());
  std::vector<std::size_t> places;
  places.reserve(words.size() - 3);
  for (std::size_t k = 3; k < words.size(); ++k) {
    if (words[k] >= records || (!places.empty() && words[k] <= places.back())) refuse_message("it names a record that is not there");
    places.push_back(static_cast<std::size_t>(words[k]));
  }
  return places;
}

std::vector<std::uint64_t> counts_of_ranks(Team& team, std::uint64_t own) {
  constexpr auto never = Clock::time_point::max();
  if (team.size() == 1) return {own};
  if (!team.is_first()) {
    team.send_frames(0, {team.rank(), own});
    const Words counts = team.receive_frames(never).value();
    if (counts.size() != team.size()) refuse_message("the numbers of records");
    return {counts.begin(), counts.end()};
  }
  std::vector<std::optional<std::uint64_t>> said(team.size());
  said[0] = own;
  for (std::size_t missing = team.size() - 1; missing > 0; --missing) {
    const Words words = team.receive_frames(never).value();
    if (words.size() != 2 || words[0] >= team.size() || said[words[0]]) refuse_message("a number of records");
    said[words[0]] = words[1];
  }
  Words counts;
  for (const auto& count : said) counts.push_back(*count);
  for (std::size_t other = 1; other < team.size(); ++other) team.send_frames(other, counts);
  return {counts.begin(), counts.end()};
}

std::vector<double> RanksReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  if (!is_first_) return sums_.send_and_await(query);
  auto released = own_->release(sums_.add_others(query, sensitivity), sensitivity, event);
  sums_.tell(released);
  return released;
}

RanksSamplingReleaser::RanksSamplingReleaser(Team& team, std::vector<std::uint64_t> counts, optimizers::SamplingReleaser* own)
    : is_first_{team.is_first()},
      counts_{std::move(counts)},
      all_{std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})},
      sums_{team, all_},
      own_{own} {}

std::span<const std::size_t> RanksSamplingReleaser::draw_batch(std::size_t records) {
  places_ = is_first_ ? sums_.share_out(own_->draw_batch(static_cast<std::size_t>(all_)), counts_) : sums_.await_places(records);
  return places_;
}

std::vector<double> RanksSamplingReleaser::release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  if (!is_first_) return sums_.send_and_await(query);
  auto released = own_->release_sampled(sums_.add_others(query, sensitivity), sensitivity, event);
  sums_.tell(released);
  return released;
}

std::vector<double> RanksSamplingReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  if (!is_first_) return sums_.send_and_await(query);
  auto released = own_->release(sums_.add_others(query, sensitivity), sensitivity, event);
  sums_.tell(released);
  return released;
}

}  // namespace surety::jobs
