#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/transport/link.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

enum class OperationKind : uint8_t {
  all_reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  barrier,
  send,
  receive,
};

/// Numbers as in dtrain.h; kept free there for later types.
enum class ElementType : uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
};

enum class ReduceOp : uint8_t { sum, average, min, max, product };

struct OperationFailure;

/// One call of a user. Buffers belong to the caller and live until the operation is done.
struct OperationRequest {
  OperationKind kind = OperationKind::barrier;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  int peer = 0;      ///< broadcast: root; send, receive: the other rank
  size_t count = 0;  ///< elements in `input` (all_reduce, broadcast, send, receive: in the buffer;
                     ///< all_gather: of this rank; reduce_scatter: in this rank's result)
  const void* input = nullptr;
  void* output = nullptr;               ///< may equal input
  std::string name = {};                ///< for matching and messages; may be empty
  Duration timeout = Duration::zero();  ///< zero: none
};

/// A submitted request: pending until `outcome` is set, exactly once.
struct Operation {
  OperationRequest request;
  uint64_t sequence = 0;  ///< of collectives on this communicator
  Time submitted;
  std::optional<Result<>> outcome;
  /// The rank to blame when it failed; -1 when there is none.
  int blamed_rank = -1;
};

/// The ranks of one generation and the links between this one and the others. A state machine
/// without threads, clocks or waiting: whoever has time calls step(). Collectives run one at a time
/// in the order of submission; sends and receives run beside them.
///
/// Promises: every operation ends with a result or a named error on every rank; a mismatch fails
/// that operation everywhere and leaves the engine usable; a death fails everything, now and later.
class Engine {
 public:
  struct Peer {
    TaskEntry task;
    std::unique_ptr<Link> link;        ///< null for this rank itself
    std::unique_ptr<Session> session;  ///< set when link->exposed()
  };
  struct Options {
    int rank = 0;
    Duration dead_after = seconds(5);  ///< how long a broken link may wait for its notice
    uint32_t generation = 0;           ///< in every frame; both ends of a link must agree
  };

  /// `peers` by rank.
  Engine(Options options, std::vector<Peer> peers);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const;
  int size() const;

  /// Checks the request (peer in range, average of integers, …) and queues it. What is wrong with
  /// the arguments is the operation's outcome at once, on this rank only.
  std::shared_ptr<Operation> submit(OperationRequest request, Time now);

  /// Moves everything that can move; true if anything did. Never blocks.
  bool step(Time now);
  /// When step() must be called although nothing arrived: the next deadline, or Time::max().
  Time next_deadline() const;
  /// No operation is pending, and no message of ours waits to be sent: a rank that leaves before
  /// that may take the others' verdict with it.
  bool idle() const;

  /// Why nothing works any more, a death for example; null as long as something may.
  const OperationFailure* aborted() const;

  /// A task died or left.
  void notice(const Notice& notice, Time now);
  /// The rendezvous is gone, and with it the launcher's word about anybody's life.
  void launcher_lost(Time now);
  /// Ends what is pending, and begins nothing any more. What is queued for the others still leaves
  /// with step(), until idle().
  void close();
  /// This process cannot go on, for want of memory or the like.
  void abort(const std::string& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt
