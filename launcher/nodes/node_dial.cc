#include "launcher/nodes/node_dial.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"
#include "launcher/connect/node_places.h"
#include "launcher/network/handshake_dial.h"
#include "launcher/ssh/failure.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

namespace dt {

namespace {

/// A silent address must not keep a try from being repeated.
constexpr Duration try_patience = seconds(5);
/// After this time without an answer, a user would like to know what is missing.
constexpr Duration silent_patience = seconds(5);

/// The tries of one node.
class Tries {
 public:
  Tries(Runtime& runtime, const NodeOptions& nodes, const NodeDial& how)
      : runtime_(runtime),
        nodes_(nodes),
        how_(how),
        began_(runtime.loop().now()),
        deadline_(began_ + how.patience) {}

  Result<Dialed> run() {
    for (int round = 1;; ++round) {
      is_spare_ = false;
      std::optional<Dialed> dialed = TRY(try_all());
      if (dialed) return *std::move(dialed);
      report();
      // The job runs without a spare, and may do so for long.
      if (is_spare_) deadline_ = Time::max();
      TRY(wait(retry_delay(round, static_cast<uint64_t>(getpid()))));
      if (is_spare_) deadline_ = runtime_.loop().now() + how_.patience;
      if (runtime_.loop().now() >= deadline_) return fail(Errc::unreachable, missing_text());
    }
  }

 private:
  std::string target() const { return host_port(nodes_.master, nodes_.port); }

  /// Tries each address of node 0 once. Returns none where another try may succeed.
  Result<std::optional<Dialed>> try_all() {
    const auto ips = how_.look_up(nodes_.master);
    if (!ips) why_ = ips.error().message;
    if (!ips) return std::nullopt;
    for (const std::string& ip : *ips) {
      auto dialed = TRY(try_one(ip));
      if (dialed) return dialed;
    }
    return std::nullopt;
  }

  Result<std::optional<Dialed>> try_one(const std::string& ip) {
    const Claim claim = {.token = token_of_nodes(nodes_),
                         .job = name_of_nodes(nodes_),
                         .self = {std::string(node_role), nodes_.rank.value_or(rankless_node)},
                         .encrypt_data = true};
    std::optional<Result<Dialed>> result;
    const HandshakeDial dial(runtime_.loop(),
                             {.address = {ip, nodes_.port},
                              .peer = {std::string(launcher_role), 0},
                              .deadline = runtime_.loop().now() + try_patience,
                              .dead_after = 2 * how_.dead_after},
                             claim,
                             [&result](Result<Dialed> dialed) { result = std::move(dialed); });
    while (!result) {
      if (runtime_.interrupted() != 0) return fail(Errc::interrupted, "interrupted");
      TRY(runtime_.loop().run_once(Time::max()));
    }
    if (*result) return **std::move(result);
    why_ = result->error().message;
    const bool is_later = why_.find(place_later) != std::string::npos;
    is_spare_ = is_spare_ || is_later;
    const bool has_no_place = is_later || why_.find(place_taken) != std::string::npos;
    if (has_no_place) answer_ = why_;
    const bool may_change = result->error().code != Errc::refused || has_no_place ||
                            why_.ends_with(errno_text(ECONNREFUSED));
    if (may_change) return std::nullopt;
    // The peer has proved nothing, so that the text is not its own.
    const bool is_stranger = why_.find("does not know this job's token") != std::string::npos;
    if (is_stranger)
      return fail(Errc::input, format("{} is no node 0 with the same secret: give all nodes one "
                                      "DTRAIN_NODES_TOKEN, and one --rdzv-id if any",
                                      target()));
    return fail(Errc::input, format("node 0 at {} refuses this node: {}", target(), why_));
  }

  Result<> wait(Duration pause) {
    const Time until = std::min(runtime_.loop().now() + pause, deadline_);
    while (runtime_.loop().now() < until) {
      if (runtime_.interrupted() != 0) return fail(Errc::interrupted, "interrupted");
      TRY(runtime_.loop().run_once(until));
    }
    return {};
  }

  std::string advice() const {
    if (nodes_.rank) return "; does dtrain run start there, with --node-rank 0?";
    return format("; if no node has the address {}, give each its rank: --node-rank",
                  nodes_.master);
  }

  /// Returns the last answer of node 0, or else why there is none.
  std::string state() const {
    if (answer_.empty()) return why_ + advice();
    return why_ == answer_ ? answer_ : format("{}; since then: {}", answer_, why_);
  }

  void report() {
    if (runtime_.loop().now() < began_ + silent_patience || std::exchange(reported_, true)) return;
    runtime_.log().print("waiting for node 0 at {}: {}", target(), state());
  }

  std::string missing_text() const {
    return format("node 0 at {} {} for {} (--start-timeout): {}", target(),
                  answer_.empty() ? "did not answer" : "had no place for this node",
                  duration_text(how_.patience), state());
  }

  Runtime& runtime_;
  const NodeOptions& nodes_;
  const NodeDial& how_;
  Time began_;
  Time deadline_;
  std::string why_;        ///< the last try failed
  std::string answer_;     ///< of node 0, when it had no place for this node; empty: none came
  bool is_spare_ = false;  ///< by an answer of this round, from any address
  bool reported_ = false;
};

}  // namespace

std::string name_of_nodes(const NodeOptions& nodes) {
  return "nodes/" + nodes.id;
}

Token token_of_nodes(const NodeOptions& nodes) {
  return nodes.token.value_or(Token());
}

Result<Dialed> dial_node_0(Runtime& runtime, const NodeOptions& nodes, const NodeDial& how) {
  return Tries(runtime, nodes, how).run();
}

}  // namespace dt
