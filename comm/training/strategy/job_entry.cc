#include "comm/training/strategy/job_entry.h"

#include "base/format.h"
#include "base/running_time_clock.h"
#include "base/text.h"
#include "comm/api/api_support.h"
#include "comm/api/context.h"
#include "comm/peer/rendezvous_wait.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// The first wait for the records of others. The waits double, since each reply has all records.
constexpr Duration records_wait_first = milliseconds(250);
constexpr Duration records_wait_max = seconds(8);
/// How long the reply may take after the wait.
constexpr Duration records_reply_max = seconds(10);

}  // namespace

OwnContext lone_context() {
  return new_context(Context::alone());
}

Result<std::optional<JobEntry>> JobEntry::open(const dtrain_init_options* identity) {
  install_wanted_stack_dump();
  std::optional<InitOptions> options = TRY(read_init_options(identity));
  if (!options) return std::nullopt;
  Context::Connected connected = TRY(Context::connect(*options));
  return JobEntry(*std::move(options), std::move(connected.client), connected.deadline);
}

Result<> JobEntry::publish(const WorkerRecord& own) {
  // The number of this process's strategies so far. Only the store counts: there are no globals.
  const Reply count = TRY(ask_rendezvous(
      *client_, AddRequest{format("dtrain.strategies/{}/{}", rank(), getpid()), 1}, deadline_));
  prefix_ = format("dtrain.strategy/{}/", count.number);
  // The record stays after this process: one that starts again compares its own with it.
  return client_->set(format("{}{}/", prefix_, rank()), encode(own), deadline_);
}

Result<WorkerRecords> JobEntry::collect(Awaited awaited, Duration wait) {
  const bool first = awaited == Awaited::first;
  const Time last = Clock::now() + wait + records_reply_max;
  const CollectRequest request = {first ? prefix_ + "0/" : prefix_,
                                  first ? 1 : static_cast<uint32_t>(workers()), wait};
  Reply reply = TRY(ask_rendezvous(*client_, request, last));
  if (first) reply = TRY(ask_rendezvous(*client_, CollectRequest{prefix_, 1, {}}, last));
  WorkerRecords records(static_cast<size_t>(workers()));
  const auto entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  for (const StoreEntry& entry : entries) {
    const std::string_view place = std::string_view(entry.key).substr(prefix_.size());
    const auto number = parse_integer(place.substr(0, place.find('/')));
    if (!number || *number < 0 || *number >= workers())
      return fail(Errc::protocol, "the job's store has a strategy of a rank that does not exist");
    WorkerRecord record = TRY(decode_worker_record(entry.value));
    records[static_cast<size_t>(*number)] = std::move(record);
  }
  return records;
}

bool JobEntry::is_gone(int rank) const {
  const TaskEntry* const task = client_->table().by_rank(rank);
  bool gone = false;
  for (const Notice& notice : client_->unread_notices()) {
    if (task != nullptr && notice.task == task->id)
      gone = notice.kind != Notice::Kind::restarted && !notice.returns;
  }
  return gone;
}

Result<> JobEntry::compare(const WorkerRecord& own, Awaited awaited) {
  TRY(publish(own));
  Duration wait = records_wait_first;
  Deadline until(deadline_);
  const int awaited_ranks = awaited == Awaited::first ? 1 : workers();
  while (true) {
    // Before the records: a rank may publish its own, find a difference and leave meanwhile.
    std::vector<bool> gone;
    for (int other = 0; other < awaited_ranks; ++other)
      gone.push_back(is_gone(other));
    const WorkerRecords records = TRY(collect(awaited, wait));
    TRY(compare_records(records));
    std::optional<int> missing;
    for (int other = 0; other < awaited_ranks; ++other) {
      const auto at = static_cast<size_t>(other);
      if (records[at]) continue;
      if (!gone[at] && !missing) missing = other;
      if (gone[at] && awaited == Awaited::all) return {};
    }
    if (!missing) return {};
    if (until.passed()) {
      return fail(Errc::timeout,
                  format("rank {} has not created its strategy in time; all ranks create the same "
                         "one",
                         *missing),
                  *missing);
    }
    wait = std::min({2 * wait, records_wait_max, std::max(deadline_ - Clock::now(), Duration(1))});
  }
}

Result<OwnContext> JobEntry::join() {
  auto context = TRY(Context::join(options_, std::move(client_), deadline_));
  return new_context(std::move(context));
}

Result<JobEntry::HostContexts> JobEntry::join_host() {
  const Context::Part part = {.color = client_->self().agent, .key = rank()};
  HostContexts contexts;
  contexts.job = TRY(join());
  auto host = TRY(Context::split(*contexts.job->context, part, {}));
  contexts.host = new_context(std::move(host));
  return contexts;
}

}  // namespace dt
