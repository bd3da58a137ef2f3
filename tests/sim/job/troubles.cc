#include "tests/sim/job/troubles.h"

#include "base/format.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

namespace {

constexpr Duration outage_max = milliseconds(1500);
constexpr Duration slow_latency = seconds(1);

}  // namespace

Troubles::Troubles(World world) : world_(std::move(world)) {
  for (const HostFate& fate : world_.scenario.hosts)
    slowest_ = std::max(slowest_, fate.nature.latency + fate.nature.jitter);
}

void Troubles::reached(Phase phase) {
  if (std::exchange(reached_.at(static_cast<size_t>(phase)), true)) return;
  note(format("phase {}", static_cast<int>(phase)));
  for (const Trouble& trouble : world_.scenario.troubles) {
    if (trouble.phase != phase) continue;
    timers_.push_back(
        world_.launcher.loop().after(trouble.delay, [this, trouble] { strike(trouble); }));
  }
}

void Troubles::strike(const Trouble& trouble) {
  note(format("trouble {} host {} signal {}", static_cast<int>(trouble.kind), trouble.host,
              trouble.signal));
  switch (trouble.kind) {
    case Trouble::Kind::signal:
      world_.judge.allow(128 + trouble.signal);
      return world_.launcher.signalled(trouble.signal);
    case Trouble::Kind::pause:
      pause_lasts_ = trouble.lasts;
      // It ends the pause that is not complete by then.
      timers_.push_back(world_.launcher.loop().after(
          trouble.lasts, [this] { world_.launcher.signalled(SIGCONT); }));
      return world_.launcher.signalled(SIGTSTP);
    case Trouble::Kind::freeze:
      // A freeze shorter than the lease may still be too long on a slow network: nothing is
      // promised.
      if (trouble.lasts > world_.scenario.config.dead_after / 3) {
        world_.judge.allow(3);
        world_.judge.allow(follower_status);  // its handshake stopped, too
      }
      stood_still_ += trouble.lasts;
      if (stood_still_ > world_.scenario.config.start_timeout / 2) world_.judge.allow(4);
      return world_.stand_still(trouble.lasts);
    case Trouble::Kind::stranger:
      return knock();
    default:
      return strike_host(trouble);
  }
}

void Troubles::strike_host(const Trouble& trouble) {
  SimulatedHost& host = *world_.hosts[trouble.host];
  // A job survives one of these disturbances of a host, but perhaps not two at once.
  const bool bearable =
      trouble.kind == Trouble::Kind::outage || trouble.kind == Trouble::Kind::slow_host;
  if (bearable && !disturbed_.insert(trouble.host).second) return;
  switch (trouble.kind) {
    case Trouble::Kind::agent_killed:
      world_.judge.allow(3);
      return kill_agent(host);
    case Trouble::Kind::host_cut:
      world_.judge.allow(3);
      return host.cut();
    case Trouble::Kind::outage:
      return cut_for(host, std::min(trouble.lasts, outage_max));
    case Trouble::Kind::slow_host:
      slowest_ = std::max(slowest_, slow_latency);
      return host.slow_down(slow_latency);
    case Trouble::Kind::slip:
      if (is_fatal(trouble.slip)) world_.judge.allow(3);
      return host.slip(trouble.slip);
    case Trouble::Kind::scheduler_stop:
      world_.judge.allow(128 + SIGTERM);
      return host.scheduler_stop();
    case Trouble::Kind::second_claim:
      if (!host.tasks().empty() && host.tasks().front().task->listening())
        claim_again(host.tasks().front().id);
      return;
    default:
      return;
  }
}

void Troubles::cut_for(SimulatedHost& host, Duration time) {
  if (host.is_cut()) return;
  host.cut();
  outage_until_ = std::max(outage_until_, world_.site.loop.now() + time);
  timers_.push_back(world_.launcher.loop().after(time, [&host] { host.mend(); }));
}

void Troubles::kill_agent(SimulatedHost& host) {
  std::vector<Judge::Attempt> dying;
  for (const SimulatedHost::Running& running : host.tasks())
    if (running.task->alive()) dying.push_back(attempt_of(running));
  const bool heard = host.agent_alive() && !host.is_cut();
  host.kill_agent();
  for (const Judge::Attempt& task : dying)
    if (heard) world_.on_death(task);
}

void Troubles::claim_again(const TaskId& task) {
  impostors_.push_back(std::make_unique<Member>(
      world_.site, Cable::Nature(), world_.launcher.claim_of(task),
      [this](Fd connection) { world_.launcher.dial(std::move(connection)); },
      Member::Handlers{
          .on_barrier = [this] { world_.judge.complain("a second claim is taken for the task"); },
          .on_notice = [](const Notice&) {},  // it may join when the task has just ended
          .on_wait_query = {},
          .on_failure = [this](const std::string& why) { note("turned away: " + why); }}));
}

void Troubles::knock() {
  knocking_.push_back(std::make_unique<Cable>(
      world_.site, Cable::Nature(),
      Cable::Handlers{.on_bytes = [](ByteSpan) {},
                      .on_end = [this] { note("a stranger is turned away"); }}));
  world_.launcher.dial(knocking_.back()->take_near_end());
  knocking_.back()->send(as_bytes("GET / HTTP/1.1\r\nHost: rendezvous\r\n\r\n"));
}

}  // namespace dt
