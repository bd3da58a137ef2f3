#include "comm/training/ps/common_checkpoint.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/training/ps/checkpoint_file.h"

#include <map>
#include <string>

namespace dt {

namespace {

/// A server that waits for longer keeps its old files until the next time.
constexpr Duration publish_max = seconds(5);

std::string checkpoints_prefix(const std::string& role) {
  return format("ps-checkpoints/{}/", role);
}

struct Published {
  std::optional<uint64_t> newest_common;
  bool any = false;
};

/// Publishes the steps of a part's files, and waits for those of all parts. Fails with
/// Errc::timeout when some are missing.
Result<Published> publish(RendezvousClient& client, CheckpointPart part,
                          const std::vector<uint64_t>& own, Duration wait, Time deadline) {
  Writer list;
  list.number(static_cast<uint32_t>(own.size()));
  for (const uint64_t step : own)
    list.number(step);
  const std::string prefix = checkpoints_prefix(client.self().id.role);
  const std::string key = format("{}{}", prefix, part.server);
  TRY(client.set(key, list.view(), deadline, Lifetime::connection));
  const Reply reply =
      TRY(ask_rendezvous(client, CollectRequest{prefix, part.servers, wait}, deadline));
  const std::vector<StoreEntry> entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  if (entries.size() < part.servers) {
    return fail(Errc::timeout, format("only {} of {} parameter servers have started in time",
                                      entries.size(), part.servers));
  }
  std::map<uint64_t, uint32_t> counts;
  for (const StoreEntry& entry : entries) {
    Reader reader(entry.value);
    for (uint32_t left = reader.count(sizeof(uint64_t)); left > 0; --left)
      ++counts[reader.number<uint64_t>()];
    TRY(reader.finish("a list of checkpoints"));
  }
  Published published{.any = !counts.empty()};
  for (const auto& [step, count] : counts)
    if (count == part.servers) published.newest_common = step;
  return published;
}

}  // namespace

Result<std::optional<uint64_t>> common_checkpoint(RendezvousClient& client, CheckpointPart part,
                                                  const std::vector<uint64_t>& own, Time deadline) {
  const Published published = TRY(publish(client, part, own, deadline - Clock::now(), deadline));
  if (published.newest_common || !published.any) return published.newest_common;
  return fail(Errc::input,
              "the parameter servers have checkpoints, but of no common step; restore "
              "the missing files, or remove all of them to start anew");
}

std::optional<uint64_t> newest_common_step(RendezvousClient& client, CheckpointPart part,
                                           const std::vector<uint64_t>& own) {
  const Result<Published> published =
      publish(client, part, own, Duration::zero(), Clock::now() + publish_max);
  return published ? published->newest_common : std::nullopt;
}

Result<> refuse_other_servers(const std::string& path, const std::string& role, uint32_t servers) {
  const std::vector<StepFile> files = checkpoint_files(path);
  if (files.empty()) return {};
  const StepFile& newest = files.front();
  return fail(Errc::mismatch,
              format("checkpoints {}: step {} is of {} parameter servers, and this job has {}; "
                     "start as many as before ({}={}), or choose another name to start anew",
                     printable(path), newest.step, newest.part.servers, servers, role,
                     newest.part.servers));
}

}  // namespace dt
