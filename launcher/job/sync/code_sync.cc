#include "launcher/job/sync/code_sync.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/packets.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace dt {

namespace {

/// Output of setup commands that waits for the console.
constexpr size_t unwritten_bytes_max = size_t{1} << 20;
/// How long the other hosts are waited for after one has failed that the job needs.
constexpr Duration failure_patience = seconds(5);

}  // namespace

Result<std::unique_ptr<CodeSync>> CodeSync::start(Dependencies parts, const Serve& serve,
                                                  const Options& options) {
  SocketPair orders = TRY(make_packet_pair());
  SocketPair events = TRY(make_socketpair());
  std::vector<Fd> its;
  its.push_back(std::move(orders.theirs));
  its.push_back(std::move(events.theirs));
  ForkedService process =
      TRY(ForkedService::start("dtrain-sync", std::move(its), [&serve](std::vector<Fd> kept) {
        serve(std::move(kept[0]), std::move(kept[1]));
      }));
  std::unique_ptr<CodeSync> sync(
      new CodeSync(parts, std::move(process), std::move(orders.ours), options));
  TRY(set_nonblocking(events.ours.get()));
  sync->events_ =
      TRY(Stream::open(parts.loop, std::move(events.ours), Fd(),
                       {.on_bytes = [&it = *sync](ByteSpan bytes) { return it.receive(bytes); },
                        .on_end = [&it = *sync](const std::optional<Error>&) { it.ended(); },
                        .on_drained = {}}));
  return sync;
}

CodeSync::~CodeSync() {
  constexpr Duration patience = seconds(1);
  orders_.reset();
  events_.reset();
  process_.wait(patience);
}

Result<> CodeSync::give(const Plan& plan) {
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < plan.hosts.size(); ++agent) {
    const Host& host = plan.hosts[agent].host;
    if (states[agent] == AgentState::lost || (uses_original(host) && !options_.sets_up)) continue;
    auto connection = TRY(parts_.agents.connect_sync(agent));
    if (!connection) continue;
    sites_.push_back({.id = static_cast<uint32_t>(sites_.size() + 1),
                      .host = host,
                      .connection = *std::move(connection),
                      .output = LineTagger(format("[{}] ", host.name), parts_.output.terminal())});
  }
  return facts_ ? send_hosts() : Result<>();
}

Result<> CodeSync::send_hosts() {
  for (Site& site : sites_) {
    if (!site.connection) continue;
    const HostOrder order = {.id = site.id,
                             .name = site.host.name,
                             .here = site.host.here,
                             .original = uses_original(site.host)};
    TRY(send_order(SyncOrder::host, encode(order), std::move(site.connection)));
  }
  return send_order(SyncOrder::start);
}

Result<> CodeSync::send_order(SyncOrder order, ByteSpan payload, Fd descriptor) {
  Bytes bytes = Writer().number(order).raw(payload).take();
  const auto sent = send_packet(orders_.get(), {std::move(bytes), std::move(descriptor)});
  // The end of its events says why.
  return sent || sent.error().code == Errc::closed ? Result<>() : sent;
}

size_t CodeSync::receive(ByteSpan bytes) {
  size_t used = 0;
  for (;;) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) return used;
    const auto handled = frame ? handle(**frame) : Result<>(tl::unexpected(frame.error()));
    if (!handled && !failure_) failure_ = handled.error();
    if (!frame) return bytes.size();
    used += frame_header_bytes + (*frame)->header.length;
  }
}

Result<> CodeSync::handle(const FrameView& frame) {
  Site* const site = find(frame.header.stream);
  const std::string text(as_text(frame.payload));
  switch (static_cast<SyncEvent>(frame.header.type)) {
    case SyncEvent::listed:
      facts_ = TRY(decode_tree_facts(frame.payload));
      return send_hosts();
    case SyncEvent::failed:
      failure_ = Error{Errc::input, text};
      return {};
    case SyncEvent::warning:
      parts_.log.warn("{}", text);
      return {};
    case SyncEvent::note:
      parts_.log.print("{}", text);
      return {};
    case SyncEvent::ready: {
      HostTree tree = TRY(decode_host_tree(frame.payload));
      if (site == nullptr) return {};
      site->tree = std::move(tree);
      end_output(*site);
      return {};
    }
    case SyncEvent::host_failed:
      if (site == nullptr) return {};
      site->why = text;
      end_output(*site);
      return {};
    case SyncEvent::output: {
      std::string lines;
      if (site != nullptr) site->output.add(text, lines);
      print(std::move(lines));
      return {};
    }
    case SyncEvent::finished:
      finished_ = true;
      return {};
  }
  return fail(Errc::protocol, "the sync process has sent an unknown event");
}

void CodeSync::end_output(Site& site) {
  std::string lines;
  site.output.end(lines);
  print(std::move(lines));
}

void CodeSync::print(std::string lines) {
  if (lines.empty() || options_.quiet) return;
  const size_t bytes = lines.size();
  unwritten_ += bytes;
  if (unwritten_ > unwritten_bytes_max && !std::exchange(paused_, true)) events_->pause();
  parts_.output.write(std::move(lines), [this, bytes] {
    unwritten_ -= bytes;
    if (unwritten_ <= unwritten_bytes_max && std::exchange(paused_, false)) events_->resume();
  });
}

void CodeSync::ended() {
  finished_ = true;
  if (!failure_)
    failure_ =
        Error{Errc::os, "the process of this machine that has the files of --sync has ended"};
}

const CodeSync::Site* CodeSync::find(const Host& host) const {
  const auto latest = std::ranges::find_if(
      std::views::reverse(sites_), [&host](const Site& site) { return site.host.same_as(host); });
  return latest == sites_.rend() ? nullptr : &*latest;
}

CodeSync::Site* CodeSync::find(uint32_t id) {
  return id == 0 || id > sites_.size() ? nullptr : &sites_[id - 1];
}

bool CodeSync::is_settled(size_t agent, const Host& host) const {
  if (uses_original(host) && !options_.sets_up) return facts_.has_value();
  const Site* const site = find(host);
  return site == nullptr || site->tree || !site->why.empty() ||
         parts_.agents.states()[agent] == AgentState::lost;
}

Result<> CodeSync::wait(const Plan& plan, const AgentGroup::Awaited& awaited) {
  const auto settled = [&] {
    for (size_t agent = 0; agent < plan.hosts.size(); ++agent)
      if (!is_settled(agent, plan.hosts[agent].host)) return false;
    return true;
  };
  // One run shows the failures of all hosts, unless the others take long.
  Time until = awaited.deadline;
  while (!failure_ && !settled()) {
    if (until == awaited.deadline && has_failed(plan))
      until = std::min(until, parts_.loop.now() + failure_patience);
    if (until != awaited.deadline && parts_.loop.now() >= until) return {};
    if (awaited.interrupted()) return fail(Errc::interrupted, "interrupted");
    if (parts_.loop.now() >= awaited.deadline)
      return fail(Errc::timeout, "the files of --sync are not on all hosts in time");
    TRY(parts_.loop.run_once(until));
  }
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

bool CodeSync::has_failed(const Plan& plan) const {
  const std::vector<std::string> why = failures(plan);
  for (size_t agent = 0; agent < why.size(); ++agent)
    if (!why[agent].empty() && !plan.hosts[agent].tasks.empty()) return true;
  return false;
}

std::vector<HostTree> CodeSync::trees(const Plan& plan) const {
  std::vector<HostTree> trees;
  for (const PlannedHost& planned : plan.hosts) {
    const Site* const site = find(planned.host);
    if (uses_original(planned.host) && !options_.sets_up)
      trees.push_back({.folder = facts_->root});
    else
      trees.push_back(site != nullptr ? site->tree.value_or(HostTree()) : HostTree());
  }
  return trees;
}

std::vector<std::string> CodeSync::failures(const Plan& plan) const {
  std::vector<std::string> failures;
  for (const PlannedHost& planned : plan.hosts) {
    const Site* const site = find(planned.host);
    failures.push_back(site == nullptr ? "" : site->why);
  }
  return failures;
}

SyncRecord CodeSync::record() const {
  SyncRecord record = {.tree = *facts_, .hosts = {}};
  for (const Site& site : sites_)
    if (site.tree && !uses_original(site.host))
      record.hosts.emplace_back(site.host.name, *site.tree);
  return record;
}

/// Returns the id of the host of rank 0; 0 if tasks use the original there.
uint32_t CodeSync::first_host(const Plan& plan) const {
  const Host& host = plan.hosts[static_cast<size_t>(plan.tasks.front().agent)].host;
  const Site* const site = uses_original(host) ? nullptr : find(host);
  return site == nullptr ? 0 : site->id;
}

Result<> CodeSync::finish(const Plan* plan, const AgentGroup::Awaited& awaited) {
  if (!facts_) return {};
  const uint32_t host = plan == nullptr ? no_host : first_host(*plan);
  TRY(send_order(SyncOrder::finish, Writer().number(host).take()));
  while (!finished_ && parts_.loop.now() < awaited.deadline && !awaited.interrupted())
    TRY(parts_.loop.run_once(awaited.deadline));
  if (failure_ && plan != nullptr) return tl::unexpected(*failure_);
  return {};
}

}  // namespace dt
