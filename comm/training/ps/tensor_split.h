#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/placement.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// A worker's arrays for one variable. They belong to the caller.
struct PsTensor {
  const VariableSpec* variable = nullptr;
  std::span<const PlacedShard> shards = {};
  bool sparse = false;
  std::span<const int64_t> rows = {};  ///< of a sparse tensor: in any order, some perhaps twice
  ByteSpan gradient = {};
  std::span<std::byte> values = {};  ///< to be pulled
};

/// Divides tensors into the parts of each server, and puts the values of their replies together.
class TensorSplit {
 public:
  explicit TensorSplit(uint32_t servers) : parts_(servers) {}

  /// Add what a push or a pull has. Fail with Errc::input, which names the variable: a wrong number
  /// of bytes, or a row that does not exist.
  Result<> add_gradient(const PsTensor& tensor);
  Result<> add_pull(const PsTensor& tensor);

  const std::vector<ShardGradient>& gradients(uint32_t server) const {
    return parts_[server].gradients;
  }
  const std::vector<ShardPull>& pulls(uint32_t server) const { return parts_[server].pulls; }
  /// Returns the memory of a tensor for bytes of a server's reply that arrive next. Returns none
  /// when they must be copied by take_values().
  std::optional<std::span<std::byte>> place(uint32_t server, const PsReplyPlace& at, size_t length);
  /// Forgets what place() has placed: the server's reply begins anew.
  void restart(uint32_t server);
  /// Copies the values of a server's reply that place() has not placed to the tensors. Fails with
  /// Errc::protocol when they are not the ones of the pulls.
  Result<> take_values(uint32_t server, const std::vector<ByteSpan>& values) const;

 private:
  /// The places of a reply's values in the caller's array.
  struct Target {
    std::span<std::byte> values;
    size_t row_bytes = 0;
    std::vector<size_t> places = {};  ///< of a sparse pull: the index of each row there
    size_t placed = 0;                ///< bytes from the beginning that place() has placed
  };
  struct Part {
    std::vector<ShardGradient> gradients = {};
    std::vector<ShardPull> pulls = {};
    std::vector<Target> targets = {};
  };
  /// The rows of a sparse tensor that one shard has.
  struct Rows {
    ByteSpan within;  ///< int64, within the shard
    std::vector<size_t> places;
  };
  Rows rows_of(const PsTensor& tensor, const ShardSpec& shard);

  std::vector<Part> parts_;
  std::deque<Bytes> copies_;
};

/// A variable that a worker declares.
struct PsDeclaration {
  VariableSpec variable;
  ByteSpan initial = {};  ///< empty: zeros; the first rank's counts
};
/// Divides a declaration into the requests of all servers. `common` has the variables, in the same
/// order, and no shards. Only if it initializes, the shards have values.
std::vector<DeclareRequest> split_declaration(const DeclareRequest& common,
                                              std::span<const PsDeclaration> variables,
                                              std::span<const PlacedShard> placed,
                                              uint32_t servers);

/// Returns the square root of the sum of all squares, over all gradients.
double global_norm(std::span<const PsTensor> tensors);

}  // namespace dt
