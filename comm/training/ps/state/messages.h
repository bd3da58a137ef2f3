#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/peer/message_parts.h"
#include "comm/training/ps/state/variable.h"
#include "rendezvous/cluster/task.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dt {

// The messages between a worker and a parameter server. Decoders are total: any bytes give a value
// or an error. Decoded views (ByteSpan) refer to the bytes that were decoded.

/// The most bytes of a message.
inline constexpr size_t ps_message_bytes_max = size_t{8} << 30;
inline constexpr size_t ps_path_bytes_max = 4096;

/// The key under which a parameter server publishes its endpoint: "ps/ps/0/endpoint", which is the
/// prefix of no other one.
std::string ps_endpoint_key(const TaskId& task);
/// The key for the server before this one, in a ring. The value is the memory for each part in
/// bytes (u64), and the endpoint.
std::string ps_replica_key(const TaskId& task);

/// When a push changes the variables. Server 0 has the mode that counts.
struct PsMode {
  enum class Kind : uint8_t {
    async,    ///< at once
    sync,     ///< together with those of `count` workers
    bounded,  ///< at once; its worker then waits for those that are `count` pushes behind
  };
  uint32_t number = 0;  ///< of changes of the mode so far
  Kind kind = Kind::async;
  uint32_t count = 0;
  bool operator==(const PsMode&) const = default;
};

/// The workers whose pushes make one synchronous round: server 0 chooses them for all servers.
/// Workers forward it with their requests, so that no server needs a link to another one.
struct PsDecision {
  uint64_t round = 0;  ///< from 1; 0: no round so far
  std::vector<uint32_t> workers = {};
  bool operator==(const PsDecision&) const = default;
};

struct ShardDeclaration {
  ShardSpec shard;
  ByteSpan initial = {};  ///< empty: zeros
};
/// Declares variables of the job, and the shards of them that this server has. Without
/// `initializes`, the reply comes when the worker with it has done so.
struct DeclareRequest {
  uint32_t first_variable = 0;
  std::vector<VariableSpec> variables = {};
  std::vector<ShardDeclaration> shards = {};
  bool initializes = false;
};
/// A gradient of one shard: of all rows, or of those listed (int64, within the shard).
struct ShardGradient {
  uint32_t shard = 0;
  bool sparse = false;
  ByteSpan rows = {};
  ByteSpan values = {};
};
struct ShardPull {
  uint32_t shard = 0;
  bool sparse = false;
  ByteSpan rows = {};
};
struct PushRequest {
  PsDecision decision = {};
  PsMode::Kind kind = PsMode::Kind::async;
  uint64_t round = 0;        ///< of the values of which the gradients are
  uint64_t seen_step = 0;    ///< the step of these values
  double learning_rate = 0;  ///< 0: that of each variable
  double scale = 1;          ///< multiplies each gradient
  std::vector<ShardGradient> gradients = {};
  std::vector<ShardPull> pulls = {};  ///< answered with the changed values; not if kind is sync
};
/// Sent to server 0 when all servers have the push.
struct CommitRequest {
  PsMode mode = {};
  uint64_t round = 0;  ///< as in the push
};
struct PullRequest {
  PsDecision decision = {};
  std::vector<ShardPull> pulls = {};
};
struct ModeRequest {
  PsMode::Kind kind = PsMode::Kind::async;
  uint32_t count = 0;
};
struct SaveRequest {
  PsDecision decision = {};
  std::string path = {};
};
struct LoadRequest {
  std::string path = {};
  bool check_only = false;  ///< the reply has the step of the file
};
struct BarrierRequest {};
struct StatusRequest {};
/// The worker uses the servers no more.
struct LeaveRequest {};
/// The first request of each connection. A client that comes back to another copy of the variables
/// has the same session. It then repeats the request that has no reply yet, by the same number.
struct AttachRequest {
  uint32_t part = 0;     ///< the server that has these variables by placement
  uint32_t copies = 1;   ///< of each part, as the client knows
  uint64_t session = 0;  ///< a random number of the client
};
using PsRequest =
    std::variant<DeclareRequest, PushRequest, CommitRequest, PullRequest, ModeRequest, SaveRequest,
                 LoadRequest, BarrierRequest, StatusRequest, LeaveRequest, AttachRequest>;

/// Counts of a server, for the reply to a StatusRequest.
struct PsStatus {
  static constexpr size_t buckets = 16;
  uint64_t variables = 0;
  uint64_t bytes = 0;                            ///< of values and slots
  std::vector<uint64_t> pushes = {};             ///< counted, by worker; of server 0
  std::vector<uint64_t> stale = {};              ///< dropped as stale, by worker; of server 0
  std::array<uint64_t, buckets> staleness = {};  ///< of pushes: 0, 1, 2-3, 4-7, …; of server 0
  bool operator==(const PsStatus&) const = default;
};

enum class PsVerdict : uint8_t {
  done,
  held,          ///< a push waits for the decision of its round
  stale,         ///< a push came too late for its round, and has no effect
  mode_changed,  ///< the push has no effect; push again in the mode of this reply
};
struct PsReply {
  std::optional<Error> error = {};
  PsVerdict verdict = PsVerdict::done;
  PsMode mode = {};          ///< of server 0
  PsDecision decision = {};  ///< the last one; of server 0
  uint64_t step = 0;         ///< of the server
  std::optional<PsStatus> status = {};
  std::vector<ByteSpan> values = {};  ///< in the order of the pulls
  /// Compute the values, in their order; null: it is there. Empty: all are.
  std::vector<std::shared_ptr<LazyBytes>> later = {};
  /// Keep the values of a reply that is to be sent. None: the caller keeps them.
  std::vector<std::shared_ptr<const void>> owners = {};
};

Bytes encode(const PsRequest& request);
Bytes encode(const PsReply& reply);
/// Encode into parts: long gradients and values are not copied. The caller keeps those of a request
/// until the message is sent.
MessageParts encode_parts(const PsRequest& request);
MessageParts encode_parts(const PsReply& reply);
/// Fail with Errc::protocol.
Result<PsRequest> decode_ps_request(ByteSpan bytes);
Result<PsReply> decode_ps_reply(ByteSpan bytes);

/// A place within one of a reply's values.
struct PsReplyPlace {
  size_t value = 0;   ///< its index
  size_t offset = 0;  ///< within the value
  size_t size = 0;    ///< of the whole value
  bool operator==(const PsReplyPlace&) const = default;
};
/// Returns where the byte behind `arrived`, the beginning of an encoded reply, belongs. Returns
/// none when it is no value's. Reads no byte of a value, so these may lie elsewhere.
std::optional<PsReplyPlace> place_behind(ByteSpan arrived);

void encode(Writer& writer, const VariableSpec& variable);
VariableSpec decode_variable(Reader& reader);
void encode(Writer& writer, const ShardSpec& shard);
ShardSpec decode_shard(Reader& reader);

}  // namespace dt
