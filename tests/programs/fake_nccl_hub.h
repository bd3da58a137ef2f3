// The hub of a fake communicator: a thread of the process that made the id. It has a connection
// over TCP to each rank, which may be a thread or another process of this host. It gets the
// elements of all ranks, and sends each rank its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_nccl {

using Bytes = std::vector<std::byte>;

enum Status : int {
  success = 0,
  cuda_error = 1,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7
};

enum class Kind : int32_t {
  join,
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  send,
  receive
};

/// A call of one rank. All ranks give equal calls to a collective.
struct Call {
  Kind kind = Kind::join;
  int32_t peer = 0;  ///< the root, or the other rank; of a join, this rank
  int32_t type = 0;
  int32_t op = 0;
  uint64_t count = 0;  ///< elements of one part; of a join, ranks
  bool operator==(const Call&) const = default;
};

/// The bytes of an element; 0: no such type.
size_t bytes_of(int type);

/// True when there is such an operation. Averages are those of 16-bit and larger floats.
bool has_operation(const Call& call);

/// Starts a hub, which ends with the last of its ranks. Returns its port; 0: it cannot be started.
uint16_t start_hub();

/// A rank's connection to its hub. One thread, but close_early() is for any.
class Rank {
 public:
  explicit Rank(uint16_t port);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank();

  /// Sends the call with its elements, and waits for the result.
  int run(const Call& call, const Bytes& elements, Bytes& result);
  /// Ends a call that waits.
  void close_early() const;

 private:
  int fd_ = -1;
};

}  // namespace fake_nccl
