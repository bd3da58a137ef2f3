#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/shard.h"
#include "comm/training/ps/state/variable.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The limits of one server's memory.
struct PsLimits {
  size_t variables = size_t{1} << 20;
  uint64_t bytes = uint64_t{1} << 48;  ///< of values and slots together
  size_t requests_per_worker = 16;     ///< under way
  bool operator==(const PsLimits&) const = default;
};

/// A store that was saved, without the arrays of its shards.
struct SavedStore {
  uint64_t step = 0;
  DeclareRequest declared = {};
  std::vector<SavedShard> shards = {};
};

/// The variables of one parameter server: what is declared, pushed and pulled. No I/O, no clock.
///
/// A synchronous push is held, one for each worker, until the decision of its round arrives. Only
/// then it has an effect. The next push of the worker replaces it.
class VariableStore {
 public:
  explicit VariableStore(PsLimits limits = {}) : limits_(limits) {}

  /// Declares variables and shards, or checks that they are declared in the same way. `by` names
  /// the task in errors. Fails with Errc::mismatch when another worker's declaration differs, and
  /// with Errc::refused beyond a limit; nothing is declared then.
  Result<> declare(const std::string& by, const DeclareRequest& request);
  /// True when all those variables are declared, in the same way or not.
  bool declared(const DeclareRequest& request) const {
    return request.first_variable + request.variables.size() <= variables_.size();
  }
  /// True when all those shards have values.
  bool initialized(const DeclareRequest& request) const;

  /// Applies the gradients of one worker.
  Result<> push(const PushRequest& request);
  /// Does the same, and appends what the request pulls, as pull() does. A value that gets a dense
  /// gradient is computed when the reply is sent. `owner` keeps what the request refers to.
  Result<> push_and_pull(const PushRequest& request, const std::shared_ptr<const void>& owner,
                         PsReply& reply);
  /// Keeps a worker's push for its round. `body` holds what the request refers to.
  Result<> hold(uint32_t worker, PushRequest request, std::shared_ptr<const Bytes> body);
  /// Applies the held pushes of the workers of a round, averaged, unless that has happened. The sum
  /// has the order of the workers' numbers. Drops other pushes of this round.
  Result<> apply(const PsDecision& decision);
  size_t held() const { return held_.size(); }
  bool holds(uint32_t worker, uint64_t round) const;

  /// Fails unless the pulls can be answered.
  Result<> check(std::span<const ShardPull> pulls) const;
  /// Appends the values to those of the reply, with their owners. Requires that check() has passed.
  void pull(std::span<const ShardPull> pulls, PsReply& reply) const;

  /// The number of updates so far: pushes, and rounds.
  uint64_t step() const { return step_; }
  /// True when apply() of that decision would have an effect.
  bool awaits(const PsDecision& decision) const { return decision.round > applied_round_; }
  /// Changes the limit of the memory.
  void limit_bytes(uint64_t bytes) { limits_.bytes = bytes; }
  uint64_t bytes_max() const { return limits_.bytes; }
  uint64_t bytes() const { return bytes_; }
  size_t variables() const { return variables_.size(); }

  /// Appends everything but the arrays of the shards.
  void save(Writer& writer) const;
  /// Returns the arrays of all shards, in their order.
  std::vector<ByteSpan> arrays() const;
  /// Reads what save() wrote, to which arrays of so many bytes belong. Fails with Errc::protocol.
  /// Where variables are declared, fails with Errc::mismatch when they differ.
  Result<SavedStore> check(Reader& reader, uint64_t array_bytes) const;
  /// Replaces everything but held pushes by what check() has accepted. `read` fills one array after
  /// the other. If it fails, variables have no values.
  Result<> load(const SavedStore& saved,
                const std::function<Result<>(std::span<std::byte> array)>& read);

 private:
  struct Declared {
    VariableSpec spec;
    std::string by;
  };
  struct Held {
    PushRequest request;
    std::shared_ptr<const Bytes> body;
  };
  using Shards = std::map<uint32_t, Shard>;

  Result<> check_same(const std::string& by, const Declared& known,
                      const VariableSpec& variable) const;
  Result<> check_new(const DeclareRequest& request) const;
  Result<> check_declaration(const std::string& by, const DeclareRequest& request) const;
  Result<> check_shard(const DeclareRequest& request, const ShardDeclaration& declared) const;
  const VariableSpec* find(const DeclareRequest& request, uint32_t variable) const;
  Result<const Shard*> shard(uint32_t number) const;
  Result<> check(const PushRequest& request) const;

  PsLimits limits_;
  std::vector<Declared> variables_;
  std::map<std::string, uint32_t> numbers_;  ///< of the variables, by name
  Shards shards_;
  uint64_t bytes_ = 0;
  uint64_t step_ = 0;
  uint64_t applied_round_ = 0;
  std::map<uint32_t, Held> held_;  ///< by worker
};

}  // namespace dt
