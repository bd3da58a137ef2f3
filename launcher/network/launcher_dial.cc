#include "launcher/network/launcher_dial.h"

#include "base/format.h"
#include "base/io/loop.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/network/handshake_dial.h"
#include "launcher/ssh/failure.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// "Connection Attempt Delay" of RFC 8305, section 5.
constexpr Duration between_addresses = milliseconds(250);
/// A silent address must not keep a try from being repeated.
constexpr Duration try_patience = seconds(5);
/// So many refused connections to each address mean that the launcher has ended.
constexpr int refusals_max = 4;

/// The tries at all addresses.
class LauncherDial {
 public:
  LauncherDial(Loop& loop, const DialOrder& order, Claim claim)
      : loop_(loop), claim_(std::move(claim)), dead_after_(order.dead_after) {
    const std::vector<InterfaceAddress> own = interface_addresses();
    for (const Address& address : order.addresses) {
      const bool here = std::ranges::count(own, address.ip, &InterfaceAddress::ip) > 0;
      routes_.push_back({.address = address, .here = here});
    }
    begin_next();
  }

  /// None while it is undecided.
  std::optional<Result<Dialed>>& result() { return result_; }
  std::string failures() const {
    std::vector<std::string> texts;
    for (const Route& route : routes_)
      texts.push_back(format("{} ({})", route.address.text(), route.failure));
    return join(texts, ", ");
  }

 private:
  struct Route {
    Address address;
    bool here = false;                  ///< of this machine, too: the launcher may be elsewhere
    std::string failure = "not tried";  ///< of the last try
    int tries = 0;
    int refusals = 0;      ///< of connections, since the last other failure
    bool closed = false;   ///< not the launcher, or it has refused this agent
    bool unheard = false;  ///< nothing has answered the last try
    bool deserted() const { return closed || refusals >= refusals_max; }
    std::unique_ptr<HandshakeDial> dial = {};
    Timer again = {};
  };

  void begin_next() {
    next_timer_ = Timer();
    if (begun_ == routes_.size()) return;
    begin(routes_[begun_++]);
    if (begun_ < routes_.size())
      next_timer_ = loop_.after(between_addresses, [this] { begin_next(); });
  }

  void begin(Route& route) {
    ++route.tries;
    route.failure = "no answer";
    route.dial = std::make_unique<HandshakeDial>(
        loop_,
        HandshakeDial::Target{.address = route.address,
                              .peer = {std::string(launcher_role), 0},
                              .deadline = loop_.now() + try_patience,
                              // Twice: the lease, which has a text of its own, ends first.
                              .dead_after = 2 * dead_after_},
        claim_, [this, &route](Result<Dialed> dialed) { ended(route, std::move(dialed)); });
  }

  void ended(Route& route, Result<Dialed> dialed) {
    if (dialed) {
      result_ = std::move(dialed);
      return;
    }
    const Error& error = dialed.error();
    route.failure = error.message;
    // Another process may listen there, and a launcher refuses an agent by more than one address.
    const bool nobody = error.message.ends_with(errno_text(ECONNREFUSED));
    route.refusals = nobody ? route.refusals + 1 : 0;
    route.unheard = !nobody && !route.dial->connected();
    route.closed = error.code == Errc::refused || error.code == Errc::protocol;
    if (!route.closed) {
      const uint64_t seed = std::hash<std::string>()(claim_.self.text() + route.address.text());
      route.again = loop_.after(retry_delay(route.tries, seed), [this, &route] { begin(route); });
    }
    if (launcher_ended()) {
      result_ = fail(Errc::refused, failures());
      return;
    }
    if (next_timer_) begin_next();
  }

  /// An address that nothing reaches proves nothing, but does not outweigh one that is deserted.
  bool launcher_ended() const {
    const auto hopeless = [](const Route& route) {
      return route.deserted() || (route.unheard && !route.dial->connected());
    };
    const auto elsewhere = [](const Route& route) { return route.deserted() && !route.here; };
    return std::ranges::all_of(routes_, &Route::deserted) ||
           (std::ranges::all_of(routes_, hopeless) && std::ranges::any_of(routes_, elsewhere));
  }

  Loop& loop_;
  Claim claim_;
  Duration dead_after_;
  std::vector<Route> routes_;
  size_t begun_ = 0;
  Timer next_timer_;
  std::optional<Result<Dialed>> result_;
};

}  // namespace

Result<Dialed> dial_launcher(const DialOrder& order, const std::string& host) {
  const auto at = std::ranges::find(order.hosts, host);
  if (at == order.hosts.end()) {
    return fail(Errc::input, format("this job has no host {}; it has {}", printable(host),
                                    join(order.hosts, ", ")));
  }
  const auto loop = TRY(Loop::create());
  const int index = static_cast<int>(at - order.hosts.begin());
  LauncherDial dial(*loop, order, order.claim_of({std::string(agent_role), index}));
  const Time deadline = loop->now() + order.patience;
  while (!dial.result() && loop->now() < deadline)
    TRY(loop->run_once(deadline));
  if (!dial.result()) {
    return fail(Errc::unreachable,
                format("{}: cannot reach dtrain at {}; --network-interfaces chooses its addresses",
                       host, dial.failures()));
  }
  if (!*dial.result()) {
    return fail(Errc::refused,
                format("dtrain refuses the agent of {}, or has ended: {}", host, dial.failures()));
  }
  return *std::move(dial.result());
}

}  // namespace dt
