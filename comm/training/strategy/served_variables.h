#pragma once

#include "base/result.h"
#include "choices/strategy_name.h"
#include "comm/api/fork_detector.h"
#include "comm/training/ps/api/connect_servers.h"
#include "comm/training/strategy/variable.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dt {

class PsClient;

/// A variable that a worker has changed in its own memory.
struct ServedChange {
  const VariableTerms* terms = nullptr;
  const std::byte* before = nullptr;
  std::byte* value = nullptr;  ///< the worker's own; it gets that of the servers
};

/// The variables of a strategy that parameter servers hold. A worker pushes the difference that its
/// step makes, and the servers subtract it. In a synchronous step, they subtract the mean of all
/// workers' differences. Where an update is linear in the gradient, this is the update by the mean
/// gradient. SGD with momentum is such an update. One thread at a time.
class ServedVariables {
 public:
  struct Options {
    ServerMode mode = {};
    bool chief = false;  ///< it sets the mode, and values
    int timeout_ms = 0;  ///< of each call; 0: none
  };
  /// Connects this task to all servers. Fails as dtrain_ps_connect does.
  static Result<std::unique_ptr<ServedVariables>> connect(const Options& options,
                                                          JoinedTask joined);
  /// The same through the context of all ranks.
  static Result<std::unique_ptr<ServedVariables>> connect(const Options& options,
                                                          std::shared_ptr<Context> job);
  ServedVariables(const ServedVariables&) = delete;
  ServedVariables& operator=(const ServedVariables&) = delete;
  ~ServedVariables();

  bool synchronous() const { return options_.mode.kind == ServerMode::Kind::sync; }
  /// True for variables of float32 and float64 that all workers share.
  static bool serves(const VariableTerms& terms);

  /// All workers declare the same variables; the chief's values count.
  Result<> declare(const VariableTerms& terms, const std::byte* initial);
  Result<> push(std::span<const ServedChange> changes);
  Result<> pull(const VariableTerms& terms, std::byte* value);
  /// Sets the servers' value to exactly the chief's. All workers call it.
  Result<> assign(const VariableTerms& terms, const std::byte* wanted);
  /// Returns when all workers that live have called it.
  Result<> barrier();

 private:
  explicit ServedVariables(const Options& options);
  Result<> begin();
  /// Returns the client. Fails in a fork of its process, which must not use it.
  Result<PsClient*> client() const;
  Result<> set_mode(const ServerMode& mode);
  bool asynchronous() const { return options_.mode.kind == ServerMode::Kind::async; }
  /// Lets this worker alone move the servers' value towards `wanted`.
  Result<> move_to(const VariableTerms& terms, const std::byte* wanted);

  Options options_;
  std::unique_ptr<PsClient> client_;
  ForkDetector fork_detector_ = ForkDetector();
};

}  // namespace dt
