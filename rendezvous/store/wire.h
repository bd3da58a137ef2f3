#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

// The messages between a rendezvous and its clients. Decoders are total: any bytes give a value or
// an error.

inline constexpr size_t key_bytes_max = 256;
inline constexpr size_t value_bytes_max = size_t{1} << 20;
/// A request holds at most two values (compare-and-set).
inline constexpr size_t request_bytes_max = size_t{4} << 20;
/// The maximum of a server's message; a task table is the largest.
inline constexpr size_t answer_bytes_max = size_t{64} << 20;
/// The maximum of all keys and values in the reply to a CollectRequest.
inline constexpr size_t collected_bytes_max = size_t{8} << 20;
/// The maximum of a wait on the server, so that sums of times never overflow.
inline constexpr Duration timeout_max = std::chrono::hours(24 * 365);

/// The prefix of the program's keys in the store, which separates them from dtrain's own.
inline constexpr std::string_view program_key_prefix = "store/";
inline constexpr size_t program_key_bytes_max = key_bytes_max - program_key_prefix.size();
/// Returns a key for messages, without the prefix, which the program did not write.
std::string shown_key(std::string_view key);

/// Fail with Errc::input when a key or a value is over its limit; the message names the key.
Result<> check_key(std::string_view key);
Result<> check_value(std::string_view key, ByteSpan value);

/// `job`: the value lives until it is erased. `connection`: it is ephemeral, and also ends with the
/// connection of the client that set it last.
enum class Lifetime : uint8_t { job, connection };

struct SetRequest {
  std::string key;
  Bytes value;
  Lifetime lifetime = Lifetime::job;
  bool operator==(const SetRequest&) const = default;
};
struct GetRequest {
  std::string key;
  bool operator==(const GetRequest&) const = default;
};
/// The reply comes when the key exists. It has no value, so that many replies at once stay small.
struct WaitRequest {
  std::string key;
  Duration timeout = {};
  bool operator==(const WaitRequest&) const = default;
};
struct AddRequest {
  std::string key;
  int64_t amount = 0;
  bool operator==(const AddRequest&) const = default;
};
struct CompareAndSetRequest {
  std::string key;
  std::optional<Bytes> expected;
  Bytes value;
  bool operator==(const CompareAndSetRequest&) const = default;
};
struct EraseRequest {
  std::string key;
  bool operator==(const EraseRequest&) const = default;
};
/// The reply comes when `count` keys with the prefix exist, or at the timeout. Its value has the
/// keys with this prefix by then, see decode_entries().
struct CollectRequest {
  std::string prefix;
  uint32_t count = 0;
  Duration timeout = {};
  bool operator==(const CollectRequest&) const = default;
};
/// A pending operation of a rank.
struct RankWait {
  std::string operation;              ///< `all_reduce #12 "grad"`
  uint32_t group = 0;                 ///< 0: all ranks of the job
  Duration waited = {};               ///< since its data last moved; zero: it stalls no rank
  std::vector<int32_t> awaited = {};  ///< the job's ranks, as far as this rank knows
  std::string last_before = {};       ///< the last collective in the group before it; empty: none
  bool operator==(const RankWait&) const = default;
};
inline constexpr size_t reported_waits_max = 16;
/// The waits of a rank that are long, or all of them after a query. Replaces its last report.
struct WaitReport {
  std::vector<RankWait> waits = {};  ///< at most reported_waits_max
  bool operator==(const WaitReport&) const = default;
};
using Request = std::variant<SetRequest, GetRequest, WaitRequest, AddRequest, CompareAndSetRequest,
                             EraseRequest, CollectRequest, WaitReport>;

/// The reply to any request: an error, or the result if the request has one.
struct Reply {
  std::optional<Error> error = {};
  /// get: the key's value; compare-and-set: its value when it differs from the expected one.
  std::optional<Bytes> value = {};
  /// add: the sum; erase: 1 if the key existed; compare-and-set: 1 if the key was set.
  int64_t number = 0;
  bool operator==(const Reply&) const = default;
};

/// A key of the store with its value.
struct StoreEntry {
  std::string key;
  Bytes value;
  bool operator==(const StoreEntry&) const = default;
};

/// The settings of the collectives that all ranks of a job share.
struct EngineSettings {
  bool encrypt_data = false;    ///< encrypt what ranks on different hosts exchange
  std::string transport = {};   ///< auto, shm or tcp; empty: auto
  std::string algorithms = {};  ///< the user's table in the form of --algorithms; empty: none
  Duration stall_after = {};    ///< a rank reports waits that are longer; zero: it reports none
  bool operator==(const EngineSettings&) const = default;
};

/// The first message to a task after its handshake.
struct Welcome {
  TaskId self;
  TaskTable table;
  std::vector<Notice> gone;  ///< the deaths, departures and restarts so far
  /// How long a silent peer counts as alive in this job.
  Duration dead_after = seconds(5);
  EngineSettings engine = {};
  bool operator==(const Welcome&) const = default;
};

Bytes encode(const Request& request);
Bytes encode(const Reply& reply);
Bytes encode(const std::vector<StoreEntry>& entries);
Bytes encode(const Welcome& welcome);
/// The same with an encoded table, because all welcomes have the same one.
Bytes encode_welcome(const TaskId& self, ByteSpan table, const std::vector<Notice>& gone,
                     Duration dead_after, const EngineSettings& engine);
Bytes encode(const Notice& notice);
Result<Request> decode_request(ByteSpan bytes);
Result<Reply> decode_reply(ByteSpan bytes);
Result<std::vector<StoreEntry>> decode_entries(ByteSpan bytes);
Result<Welcome> decode_welcome(ByteSpan bytes);
Result<Notice> decode_notice(ByteSpan bytes);
/// Decodes a message of one or more consecutive notices.
Result<std::vector<Notice>> decode_notices(ByteSpan bytes);

}  // namespace dt
