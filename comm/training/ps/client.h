#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/peer/rendezvous_view.h"
#include "comm/training/ps/server_links.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/placement.h"
#include "comm/training/ps/state/push_turn.h"
#include "comm/training/ps/tensor_split.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A worker's use of the job's parameter servers. Each call blocks. For one thread at a time.
///
/// When a server dies, or a call takes too long, that call and all later ones fail. With two copies
/// of each part, the call waits for the server that takes over, and repeats its request there. A
/// request that a server refuses leaves the client usable.
class PsClient {
 public:
  struct Options {
    ServerLinks::Options links;
    Placement::Options placement = {};  ///< without the number of servers
  };
  /// Dials all tasks of the role. Fails with Errc::input when the job has none, and with
  /// Errc::timeout, which names the servers that do not serve.
  static Result<std::unique_ptr<PsClient>> connect(std::unique_ptr<RendezvousView> rendezvous,
                                                   Options options, Time deadline);
  PsClient(const PsClient&) = delete;
  PsClient& operator=(const PsClient&) = delete;

  using Declaration = PsDeclaration;
  /// All workers declare the same variables in one order. Returns when they have their initial
  /// values.
  Result<> declare(std::span<const Declaration> variables);

  /// One array of a call. The variable is known by its name.
  struct Array {
    std::string_view name;
    bool sparse = false;
    std::span<const int64_t> rows = {};
    ByteSpan gradient = {};
    std::span<std::byte> values = {};
  };
  struct PushOptions {
    double learning_rate = 0;  ///< 0: that of each variable
    double clip_norm = 0;      ///< 0: no clipping
  };
  struct Pushed {
    bool counted = true;  ///< false: it came too late for its step, and had no effect
    uint64_t step = 0;
    double norm = 0;  ///< of all gradients together; only with clip_norm
  };
  /// Pushes the gradients; with `pulls`, also gets the values after the push.
  Result<Pushed> push(std::span<const Array> arrays, bool pulls, const PushOptions& options);
  Result<uint64_t> pull(std::span<const Array> arrays);

  /// Returns the bytes of one number of a declared variable.
  Result<size_t> element_size(std::string_view variable) const;

  Result<> set_mode(PsMode::Kind kind, uint32_t count);
  /// Each server writes its file, "PATH.ps-0-of-2" of server 0.
  Result<> save(const std::string& path);
  /// Restores the files of save(), after all servers have checked theirs. Fails with
  /// Errc::mismatch when they are of different steps.
  Result<uint64_t> load(const std::string& path);
  Result<uint64_t> step();
  Result<> barrier();
  /// Returns the status of each server.
  Result<std::vector<PsStatus>> status();
  const PsMode& mode() const { return knowledge_.mode; }
  std::string table() const { return placement_.table(); }
  ServerLinks& links() { return links_; }
  uint32_t servers() const { return links_.count(); }
  /// The worker takes part no more. Waits at most `limit`.
  void leave(Duration limit);

 private:
  struct Variable {
    VariableSpec spec;
    std::vector<PlacedShard> shards;
  };

  PsClient(std::unique_ptr<RendezvousView> rendezvous, Options options);
  Result<PsReply> ask_coordinator(const PsRequest& request);
  Result<ServerLinks::Replies> ask_all(const PsRequest& request);
  Result<const Variable*> find(std::string_view name) const;
  Result<std::vector<PsTensor>> tensors_of(std::span<const Array> arrays) const;
  ServerLinks::Requests requests_of(const PushTurn& turn, const TensorSplit& split,
                                    const PushRequest& terms) const;

  PsKnowledge knowledge_;
  ServerLinks links_;
  Placement placement_;
  std::map<std::string, Variable, std::less<>> variables_;
  bool initializes_ = false;  ///< this is the first rank
};

}  // namespace dt
