#include "launcher/connect/dialed_hosts.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/network/small_send.h"
#include "rendezvous/secure/address_set.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <tuple>
#include <utility>

namespace dt {

namespace {

/// Connections at once that have not proved the token yet, beyond those of the agents.
constexpr size_t strangers_max = 128;
/// How long agents are awaited whose program was killed.
constexpr Duration orphan_patience = seconds(10);
/// How long a job of MIN:MAX nodes that has MIN of them waits after each for another one.
constexpr Duration rest_patience = seconds(30);
constexpr size_t stderr_lines_shown = 5;
constexpr size_t stderr_bytes_shown = 300;
constexpr size_t host_bytes_max = 4096;  // longer than any host's name

/// Returns the line for a message. A long one is cut at a space.
std::string shown_line(std::string_view line) {
  if (line.size() <= stderr_bytes_shown) return printable(line, stderr_bytes_shown);
  const size_t end = std::min(line.rfind(' ', stderr_bytes_shown), stderr_bytes_shown);
  return printable(line.substr(0, end), stderr_bytes_shown) + " …";
}

std::string last_lines(const std::string& text) {
  std::vector<std::string_view> lines = split(trim(text), '\n');
  if (lines.size() > stderr_lines_shown)
    lines.erase(lines.begin(), lines.end() - stderr_lines_shown);
  std::vector<std::string> shown;
  for (const std::string_view line : lines)
    shown.push_back(shown_line(trim(line)));
  return join(shown, "; ");
}

}  // namespace

DialedHosts::DialedHosts(Loop& loop, Log& log, Options options, DialOrder order)
    : loop_(loop), log_(log), options_(std::move(options)), order_(std::move(order)) {
  if (options_.nodes) places_.emplace(options_.nodes->own);
}

Result<std::unique_ptr<DialedHosts>> DialedHosts::create(Loop& loop, Log& log, Options options) {
  DialOrder order = {.patience = options.patience, .dead_after = options.dead_after};
  if (options.nodes) {
    order.token = options.nodes->token;
    order.job = options.nodes->job;
  } else {
    order.token = TRY(Token::random());
    order.job = TRY(random_name(8));
  }
  return std::unique_ptr<DialedHosts>(
      new DialedHosts(loop, log, std::move(options), std::move(order)));
}

std::unique_ptr<AgentConnection> DialedHosts::expect(const Host& host,
                                                     AgentConnection::Handlers handlers) {
  const auto known = std::ranges::find(expected_, host.name, &Expected::host);
  const auto index = static_cast<size_t>(known - expected_.begin());
  auto connection = std::make_unique<DialedConnection>(
      loop_,
      DialedConnection::Events{.on_settled = [this] { settle(); },
                               .on_destroyed =
                                   [this, index](const DialedConnection* destroyed) {
                                     // A node that has returned has another one by now.
                                     if (expected_[index].connection == destroyed)
                                       expected_[index].connection = nullptr;
                                     settle();
                                   },
                               .stays_until_dismissed = places_.has_value()},
      std::move(handlers));
  if (known == expected_.end()) {
    order_.hosts.push_back(host.name);
    expected_.push_back({.host = host.name});
  }
  expected_[index].connection = connection.get();
  expected_[index].pid = 0;
  if (awaits_nodes_) {
    // A lost node may have been one of the least number, for which the whole time is left.
    give_up_timer_ = loop_.at(give_up_at_, [this] { time_over(); });
    await_rest();
  }
  return connection;
}

Result<> DialedHosts::start() {
  where_ = TRY(options_.where());
  TRY(listen());
  for (const std::string& ip : where_.ips)
    order_.addresses.push_back({ip, where_.port});
  give_up_at_ = loop_.now() + options_.patience * 9 / 10;
  give_up_timer_ = loop_.at(give_up_at_, [this] { time_over(); });
  awaits_nodes_ = places_.has_value();
  if (places_) return {};
  const std::string order = order_.text();
  if (order.size() > DialOrder::bytes_max) {
    return fail(Errc::input, format("too many hosts for one {}: their names take {} bytes",
                                    options_.program, order.size()));
  }
  TRY(open(first_, options_.start(order_.hosts)));
  log_.info("{} starts {} agent{}, which connect to this machine", options_.program,
            order_.hosts.size(), order_.hosts.size() == 1 ? "" : "s");
  return {};
}

Result<> DialedHosts::open(Run& run, Result<SpawnedProcess> started) {
  SpawnedProcess process = TRY(std::move(started));
  run.process = TRY(ProcessConnection::open(
      loop_, std::move(process),
      {.is_client = true,
       .explain =
           [](const ProcessConnection::Facts& facts) {
             return AgentConnection::CloseReason{
                 .why = facts.status ? facts.status->text() : std::string("its output ended"),
                 .stderr_text = facts.stderr_text,
                 .again = facts.status && facts.status->signal != 0};
           }},
      {.on_bytes = [this](ByteSpan bytes) { return read_lacking(as_text(bytes)); },
       .on_end = [this,
                  &run](const AgentConnection::CloseReason& reason) { program_ended(run, reason); },
       .on_stderr = [this](std::string_view text) { read_failures(text); }}));
  run.process->write(as_bytes(order_.text()));
  run.process->close_after_sending();
  return {};
}

/// Listens on all addresses: an agent may reach this machine by any of them.
Result<> DialedHosts::listen() {
  const auto listen_at = [this](const char* ip) {
    return Acceptor::listen(loop_,
                            {.address = {ip, where_.port},
                             .claim = order_.claim_of({std::string(launcher_role), 0}),
                             .dead_after = 2 * options_.dead_after,
                             .pending_max = strangers_max + expected_.size() * where_.ips.size(),
                             .name = "port of the agents"},
                            log_, [this](Fd connection, Handshake handshake) {
                              proved(std::move(connection), std::move(handshake));
                            });
  };
  auto acceptor = listen_at("::");
  // A kernel without IPv6.
  if (!acceptor) acceptor = listen_at("0.0.0.0");
  if (!acceptor) {
    const std::string& why = acceptor.error().message;
    const bool is_taken = places_ && why.ends_with(errno_text(EADDRINUSE));
    return fail(Errc::refused, format("port of the agents: {}{}{}", why, is_taken ? "; " : "",
                                      is_taken ? options_.nodes->advice.port_taken : ""));
  }
  acceptor_ = *std::move(acceptor);
  where_.port = acceptor_->address().port;
  return {};
}

Result<DialedHosts::Expected*> DialedHosts::find_awaited(const Fd& connection,
                                                         const Handshake& handshake) {
  const TaskId& peer = handshake.peer();
  if (places_ && peer.role == node_role) return find_place(peer);
  const auto index = static_cast<size_t>(peer.index);
  const auto own = local_address(connection.get());
  const bool foreign = own && !own->ip.empty() && !AddressSet(where_.ips).contains(own->ip);
  if (peer.role != agent_role || index >= expected_.size() || foreign)
    return fail(Errc::refused, format("{} is no agent of this job", peer.text()));
  Expected& expected = expected_[index];
  if (expected.awaited()) return &expected;
  return fail(Errc::refused, format("an agent of {} has connected before", expected.host));
}

Result<DialedHosts::Expected*> DialedHosts::find_place(const TaskId& node) {
  const auto state = [this](const Expected& expected) {
    if (expected.awaited()) return PlaceState::awaited;
    const bool is_lost = expected.connection == nullptr || expected.connection->ended();
    return is_lost && may_return() ? PlaceState::left_out : PlaceState::taken;
  };
  std::vector<PlaceState> places;
  for (const Expected& expected : expected_)
    places.push_back(state(expected));
  const size_t place = TRY(places_->place_of(node.index, places));
  return &expected_[place];
}

std::string DialedHosts::introduced(const std::string& host, const NodeIntro& intro) {
  const auto found = std::ranges::find(expected_, host, &Expected::host);
  if (!places_ || found == expected_.end()) return host;
  const auto place = static_cast<size_t>(found - expected_.begin());
  auto name = places_->take(place, intro);
  if (!name) {
    refusal_ = std::move(name).error();
    return host;
  }
  const std::string warning = places_->warning(place, intro);
  if (!warning.empty()) log_.warn("{}", warning);
  log_.info("node {} is {}", place + 1, *name);
  if (options_.nodes->anonymous) return host;
  found->host = *name;
  found->order = intro.order;
  return *std::move(name);
}

std::vector<std::string> DialedHosts::names(bool without_rank) const {
  std::vector<const Expected*> all;
  for (const Expected& expected : expected_)
    all.push_back(&expected);
  // In the text of addresses of one length, their order is that of their numbers.
  const auto order = [](const Expected* expected) {
    return std::tuple(expected->order < 0, expected->order, expected->ip.size(), expected->ip);
  };
  if (without_rank) std::ranges::stable_sort(all, {}, order);
  std::vector<std::string> names;
  for (const Expected* const expected : all)
    names.push_back(expected->host);
  return names;
}

Result<> DialedHosts::dismiss(const Dismissed& message) {
  constexpr Duration patience = seconds(5);
  if (!places_) return {};
  acceptor_.reset();
  Bytes frame;
  append_message(frame, MessageType::dismissed, {}, encode(message));
  for (const Expected& expected : expected_)
    if (expected.connection != nullptr) expected.connection->dismiss(frame);
  const Time deadline = loop_.now() + patience;
  const auto is_there = [](const Expected& expected) {
    return expected.connection != nullptr && expected.connection->dismissing();
  };
  while (std::ranges::any_of(expected_, is_there) && loop_.now() < deadline)
    TRY(loop_.run_once(deadline));
  return {};
}

void DialedHosts::proved(Fd connection, Handshake handshake) {
  const auto awaited = find_awaited(connection, handshake);
  if (!awaited) return refuse(std::move(connection), std::move(handshake), awaited.error());
  (*awaited)->pid = handshake.peer_pid();
  if (const auto from = peer_address(connection.get())) (*awaited)->ip = from->ip;
  handshake.accept_peer();
  const auto attached = (*awaited)->connection->attach(std::move(connection), handshake.session(),
                                                       handshake.take_output());
  if (!attached) log_.warn("port of the agents: {}", attached.error().message);
  copy_when_known();
  await_rest();
}

/// A job of fewer nodes may start without the rest, which may never come.
void DialedHosts::await_rest() {
  if (!places_ || !options_.nodes->anonymous) return;
  const auto here = 1 + std::ranges::count_if(
                            expected_, [](const Expected& expected) { return expected.pid != 0; });
  if (here < options_.nodes->least) return;
  give_up_timer_ =
      loop_.at(std::min(give_up_at_, loop_.now() + rest_patience), [this] { time_over(); });
}

void DialedHosts::refuse(Fd connection, Handshake handshake, const Error& why) {
  // The place of node 1 is the first.
  Refused peer = {.index = static_cast<size_t>(handshake.peer().index - (places_ ? 1 : 0)),
                  .pid = handshake.peer_pid()};
  std::string name;
  if (const auto from = peer_address(connection.get()); places_ && from) {
    peer.ip = from->ip;
    name = format("a node at {} is refused: ", from->ip);
  }
  if (is_new(peer)) log_.warn("port of the agents: {}{}", name, why.message);
  handshake.refuse_peer(why.message);
  // A peer that is gone does not need the verdict.
  static_cast<void>(send_small(connection.get(), handshake.take_output()));
}

/// True for a process that is reported now: it has no connection, and was not refused before.
bool DialedHosts::is_new(const Refused& peer) {
  constexpr size_t reported_max = 1000;
  const bool is_connected = peer.index < expected_.size() &&
                            expected_[peer.index].pid == peer.pid &&
                            (!places_ || expected_[peer.index].ip == peer.ip);
  return !is_connected && refused_.size() < reported_max && refused_.insert(peer).second;
}

void DialedHosts::settle() {
  const bool settled = std::ranges::all_of(expected_, [](const Expected& expected) {
    return expected.connection == nullptr || expected.connection->settled();
  });
  if (!settled) return;
  awaits_nodes_ = false;
  give_up_timer_ = Timer();
  // A node too many learns why it has no place.
  if (!places_) acceptor_.reset();
}

void DialedHosts::read_failures(std::string_view stderr_text) {
  for (std::string_view line : split(stderr_text, '\n')) {
    line = trim(line);
    for (const std::string_view prefix : {"dtrain: ", "error: "}) {
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    }
    for (const Expected& expected : expected_) {
      const std::string host = expected.host + ": ";
      if (!line.starts_with(host)) continue;
      if (expected.awaited())
        expected.connection->give_up({.why = shown_line(line.substr(host.size()))});
    }
  }
  copy_when_known();
}

size_t DialedHosts::read_lacking(std::string_view output) {
  const size_t used = output.rfind('\n') + 1;  // 0 without a line end
  for (const std::string_view line : split(output.substr(0, used), '\n')) {
    const auto found = std::ranges::find(expected_, line, &Expected::host);
    if (found != expected_.end()) found->lacking = true;
  }
  copy_when_known();
  return output.size() - used <= host_bytes_max ? used : output.size();
}

/// One copy serves all hosts that lack the executable.
void DialedHosts::copy_when_known() {
  std::vector<std::string> hosts;
  for (const Expected& expected : expected_) {
    if (!expected.awaited()) continue;
    if (!expected.lacking) return;
    hosts.push_back(expected.host);
  }
  const bool beside =
      std::ranges::any_of(expected_, [](const Expected& expected) { return expected.pid != 0; });
  // The two runs need not share the hosts if the first one has started no agent.
  if (hosts.empty() || copying_.process || !(beside || first_.over)) return;
  log_.info("{} copies dtrain to {}", options_.program, compress_names(hosts));
  const Result<> opened = open(copying_, options_.start_copies(hosts, beside));
  if (!opened) give_up(true, opened.error().message);
}

/// Returns the last lines of the program, and the remedy.
std::string DialedHosts::shown(const std::string& stderr_text) const {
  const std::string said = last_lines(stderr_text);
  const std::string remedy = options_.remedy ? options_.remedy(said) : std::string();
  return format("{}{}{}{}", said.empty() ? "" : ": ", said, remedy.empty() ? "" : "; ", remedy);
}

void DialedHosts::program_ended(Run& run, const AgentConnection::CloseReason& reason) {
  run.over = true;
  const std::string why = format("{} ended before its agent had connected: {}{}", options_.program,
                                 reason.why, shown(reason.stderr_text));
  if (!reason.again) return give_up(run.copies, why);
  // Killed: the agents that it has started come all the same.
  run.orphans = loop_.after(orphan_patience, [this, &run, why] { give_up(run.copies, why); });
}

void DialedHosts::give_up(bool lacking, const std::string& why) {
  for (const Expected& expected : expected_) {
    if (expected.awaited() && expected.lacking == lacking)
      expected.connection->give_up({.why = why});
  }
  if (!lacking) copy_when_known();
}

/// Names the addresses, and the last lines of the program.
void DialedHosts::time_over() {
  awaits_nodes_ = false;
  if (places_) {
    return give_up(false,
                   format("it has not connected to port {} of this machine (--start-timeout); {}",
                          where_.port, options_.nodes->advice.absent));
  }
  for (const Run* const run : {&copying_, &first_}) {
    const std::string said =
        run->process ? shown(run->process->so_far().stderr_text) : std::string();
    give_up(run->copies,
            format("its agent, started by {}, has not connected to {} (--start-timeout){}",
                   options_.program, join(where_.ips, " or "), said));
  }
}

void DialedHosts::kill() {
  for (Run* const run : {&first_, &copying_}) {
    if (run->process) run->process->hang_up();
  }
}

}  // namespace dt
