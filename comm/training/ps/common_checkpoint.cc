#include "comm/training/ps/common_checkpoint.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/peer/rendezvous_wait.h"
#include "comm/training/ps/checkpoint_file.h"

#include <map>
#include <string>

namespace dt {

namespace {

std::string checkpoints_prefix(const std::string& role) {
  return format("ps-checkpoints/{}/", role);
}

}  // namespace

Result<std::optional<uint64_t>> common_checkpoint(RendezvousClient& client,
                                                  const std::vector<uint64_t>& own,
                                                  uint32_t servers, Time deadline) {
  Writer list;
  list.number(static_cast<uint32_t>(own.size()));
  for (const uint64_t step : own)
    list.number(step);
  const std::string prefix = checkpoints_prefix(client.self().id.role);
  const std::string key = format("{}{}", prefix, client.self().id.index);
  TRY(client.set(key, list.view(), deadline, Lifetime::connection));
  const Reply reply = TRY(
      ask_rendezvous(client, CollectRequest{prefix, servers, deadline - Clock::now()}, deadline));
  const std::vector<StoreEntry> entries = TRY(decode_entries(reply.value.value_or(Bytes())));
  if (entries.size() < servers) {
    return fail(Errc::timeout, format("only {} of {} parameter servers have started in time",
                                      entries.size(), servers));
  }
  std::map<uint64_t, uint32_t> counts;
  for (const StoreEntry& entry : entries) {
    Reader reader(entry.value);
    for (uint32_t left = reader.count(sizeof(uint64_t)); left > 0; --left)
      ++counts[reader.number<uint64_t>()];
    TRY(reader.finish("a list of checkpoints"));
  }
  for (auto step = counts.rbegin(); step != counts.rend(); ++step)
    if (step->second == servers) return std::optional(step->first);
  if (counts.empty()) return std::optional<uint64_t>();
  return fail(Errc::input,
              "the parameter servers have checkpoints, but of no common step; restore "
              "the missing files, or remove all of them to start anew");
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
