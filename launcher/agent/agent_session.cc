#include "launcher/agent/agent_session.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"
#include "launcher/agent/local_host.h"
#include "launcher/config/hosts/networks.h"
#include "launcher/process/argument_space.h"
#include "launcher/process/executable.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace dt {

namespace {

/// An outbox of this size is written at once, before the end of the loop's round.
constexpr size_t outbox_bytes = size_t{64} << 10;

Result<> check_entry(const std::string& folder) {
  const Fd opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened && ::access(folder.c_str(), X_OK) == 0) return {};
  return fail(Errc::input, format("cannot enter the working directory {}: {} (use --chdir)",
                                  shell_quote(printable(folder, 300)), errno_text(errno)));
}

/// Returns the folder to run in: that of the launcher, else the home if `wanted` allows it.
Result<std::string> folder_to_enter(const Prepare& wanted) {
  const auto entered = check_entry(wanted.cwd);
  if (entered) return wanted.cwd;
  std::string home = local_host_environment()["HOME"];
  if (wanted.home_instead && !home.empty() && check_entry(home)) return home;
  return tl::unexpected(entered.error());
}

}  // namespace

Result<> AgentSession::open(Fd in, Fd out, AgentLocation place) {
  become_subreaper();
  TRY(set_nonblocking(in.get()));
  if (out) TRY(set_nonblocking(out.get()));
  signals_ = TRY(Signals::block(loop_, {SIGCHLD, SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP},
                                [this](int number) { signalled(number); }));
  link_ = TRY(Stream::open(loop_, std::move(in), std::move(out),
                           {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                            .on_end = [this](const std::optional<Error>&) { launcher_lost(); },
                            .on_drained = {}}));
  const ByteSpan magic = as_bytes(agent_magic);
  outbox_.assign(magic.begin(), magic.end());
  send(MessageType::hello, 0, encode(make_hello(place)));
  beat();
  return {};
}

void AgentSession::signalled(int number) {
  if (number == SIGCHLD) {
    reap_strangers([this](pid_t pid) { return owns(pid); });
  } else if (number != SIGPIPE && number != SIGXFSZ) {
    // A signal that stops the agent stops its tasks, too.
    launcher_lost();
  }
}

void AgentSession::send(MessageType type, uint32_t stream, ByteSpan payload) {
  if (lost_) return;
  append_message(outbox_, type, {.generation = prepared_.generation, .stream = stream}, payload);
  if (outbox_.size() >= outbox_bytes) {
    send_outbox();
  } else if (!outbox_timer_) {
    outbox_timer_ = loop_.after(Duration::zero(), [this] { send_outbox(); });
  }
}

void AgentSession::send_outbox() {
  outbox_timer_ = Timer();
  if (lost_) return;
  link_->write(outbox_);
  outbox_.clear();
}

bool AgentSession::owns(pid_t pid) const {
  return tasks_.owns(pid) || diagnostics_.owns(pid);
}

size_t AgentSession::receive(ByteSpan bytes) {
  lease_.heard(loop_.now());
  size_t used = 0;
  while (!lost_) {
    const auto frame = front_frame(bytes.subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    if (!message || (*message && !handle(**message))) {
      // A protocol error counts as the loss of the launcher.
      launcher_lost();
      return bytes.size();
    }
    used += frame_header_bytes + (*frame)->header.length;
  }
  return used;
}

Result<> AgentSession::handle(const FrameView& frame) {
  const auto type = static_cast<MessageType>(frame.header.type);
  // These are meant for all tasks of the launch, also for those that have not been started yet.
  constexpr std::array to_all = {MessageType::signal, MessageType::pause, MessageType::finish,
                                 MessageType::input};
  if (std::ranges::find(to_all, type) != to_all.end()) tasks_.start_rest();
  switch (type) {
    case MessageType::prepare: {
      auto wanted = TRY(decode<Prepare>(frame.payload));
      return prepare(std::move(wanted));
    }
    case MessageType::probe: {
      auto wanted = TRY(decode<Probe>(frame.payload));
      probe(std::move(wanted));
      return {};
    }
    case MessageType::diagnose: {
      const auto wanted = TRY(decode<DiagnoseRequest>(frame.payload));
      diagnose(wanted);
      return {};
    }
    case MessageType::measure: {
      const auto wanted = TRY(decode<Measure>(frame.payload));
      diagnostics_.measure(wanted);
      return {};
    }
    case MessageType::resources_wanted: {
      const auto wanted = TRY(decode<ResourcesWanted>(frame.payload));
      return resources(wanted);
    }
    case MessageType::launch: {
      auto wanted = TRY(decode<Launch>(frame.payload));
      return launch(std::move(wanted));
    }
    case MessageType::signal: {
      const auto wanted = TRY(decode<SignalAll>(frame.payload));
      tasks_.signal(wanted.number);
      return {};
    }
    case MessageType::pause:
      pause();
      return {};
    case MessageType::resume:
      resume();
      return {};
    case MessageType::finish: {
      const auto wanted = TRY(decode<Finish>(frame.payload));
      end_everything(wanted.patience);
      return {};
    }
    case MessageType::heartbeat:
      return {};
    default:
      return handle_stream_message(type, frame);
  }
}

Result<> AgentSession::handle_stream_message(MessageType type, const FrameView& frame) {
  const uint32_t stream = frame.header.stream;
  TaskProcess* const task = tasks_.find(stream);
  switch (type) {
    case MessageType::input:
      if (task == nullptr) return {};
      if (frame.payload.empty()) {
        task->end_input();
      } else {
        task->write_input(frame.payload);
      }
      return {};
    case MessageType::credit: {
      const uint32_t bytes = TRY(decode_credit(frame.payload));
      return task == nullptr ? Result<>()
                             : task->add_credit(StreamId::parse(stream)->stream, bytes);
    }
    case MessageType::relay_bytes:
    case MessageType::relay_credit:
    case MessageType::relay_end:
      if (!relay_) return fail(Errc::protocol, "a message for a relay that there is not");
      return relay_->receive(type, stream, frame.payload);
    default:
      return fail(Errc::protocol, format("unknown message {}", frame.header.type));
  }
}

Result<LocalTasks::Program> AgentSession::program_of(const std::vector<std::string>& command,
                                                     const std::string& path) const {
  LocalTasks::Program program = {.executable = {}, .command = command};
  program.executable = TRY(find_executable(command.front(), path, prepared_.cwd));
  TRY(check_argument_space(command,
                           prepared_.environment_bytes + argument_bytes(local_host_environment()),
                           own_argument_bytes_max()));
  return program;
}

Result<> AgentSession::find_programs() {
  if (!prepared_.command.empty())
    programs_.common = TRY(program_of(prepared_.command, prepared_.path));
  for (const RoleCommand& of_role : prepared_.role_commands) {
    if (of_role.words.empty()) return fail(Errc::protocol, "a role without a command");
    auto program = program_of(of_role.words, of_role.path);
    if (!program) {
      return fail(program.error().code,
                  format("role {}: {}", printable(of_role.role), program.error().message));
    }
    programs_.by_role[of_role.role] = *std::move(program);
  }
  programs_.cwd = prepared_.cwd;
  return {};
}

Result<std::vector<uint16_t>> AgentSession::hold_all_ports() {
  const uint64_t port_files =
      static_cast<uint64_t>(prepared_.ports) * (prepared_.port_range ? 2 : 1) +
      2 * prepared_.addresses.size();
  TRY(check_open_files(open_files_of_tasks(prepared_.tasks, port_files),
                       format("{} tasks", prepared_.tasks)));
  // The given ports come first, so that hold_ports() chooses none of them.
  for (const std::string& address : prepared_.addresses) {
    auto held = hold_this_port(port_of(address));
    if (!held)
      return fail(Errc::refused, format("{}: {}", printable(address), held.error().message));
    held_ports_.push_back(*std::move(held));
  }
  std::vector<uint16_t> chosen;
  for (HeldPort& port : TRY(hold_ports(prepared_.ports, prepared_.port_range))) {
    chosen.push_back(port.number);
    held_ports_.push_back(std::move(port));
  }
  return chosen;
}

Result<uint16_t> AgentSession::probe_port() {
  const auto& range = prepared_.port_range;
  if (!range) return uint16_t{0};
  for (const HeldPort& held : held_ports_) {
    if (range->contains(held.number)) return held.number;
  }
  // Only given addresses are held, and all of them are outside of the range.
  std::vector<HeldPort> more = TRY(hold_ports(1, range));
  held_ports_.push_back(std::move(more.front()));
  return held_ports_.back().number;
}

Result<> AgentSession::prepare(Prepare wanted) {
  prepared_ = std::move(wanted);
  lease_ = Lease(prepared_.heartbeat, prepared_.dead_after, loop_.now());
  Prepared answer;
  const auto check = [&]() -> Result<> {
    const std::string folder = TRY(folder_to_enter(prepared_));
    if (folder != prepared_.cwd) answer.home = prepared_.cwd = folder;
    TRY(find_programs());
    answer.ports = TRY(hold_all_ports());
    if (!prepared_.probe) return {};
    const Token token = TRY(Token::parse(prepared_.token));
    const auto where = TRY(allowed_addresses(interface_addresses(), prepared_.networks));
    const uint16_t port = TRY(probe_port());
    probe_listener_ = TRY(ProbeListener::open(loop_, {where, port}, token, prepared_.number));
    answer.probe_endpoints = probe_listener_->endpoints();
    return {};
  };
  if (prepared_.command.empty() && prepared_.role_commands.empty())
    return fail(Errc::protocol, "prepare without a command");
  const auto checked = check();
  if (!checked) {
    answer.failure = checked.error().message;
    answer.status = exit_status_of(checked.error().code);
  }
  send(MessageType::prepared, 0, encode(answer));
  // Sent at once: the launcher prepares the launch while the cgroup is made.
  send_outbox();
  if (checked) cgroup_ = TaskCgroup::make();
  beat();
  return {};
}

void AgentSession::probe(Probe wanted) {
  const auto token = Token::parse(prepared_.token);
  if (!token) return;  // no prepare came before
  const auto answer = [this](ProbeDialer::Reached reached) {
    send(MessageType::reached, 0, encode(Reached{std::move(reached)}));
  };
  probe_calls_ = std::make_unique<ProbeDialer>(loop_, *token, std::move(wanted.targets),
                                               loop_.now() + wanted.patience, answer);
}

void AgentSession::diagnose(const DiagnoseRequest& wanted) {
  DiagnoseReply answer;
  answer.received_ns = wall_clock_ns();
  prepared_ = {.token = wanted.token,
               .number = wanted.number,
               .heartbeat = wanted.heartbeat,
               .dead_after = wanted.dead_after};
  lease_ = Lease(prepared_.heartbeat, prepared_.dead_after, Clock::now());
  const auto listen = [&]() -> Result<> {
    const auto where = TRY(allowed_addresses(interface_addresses(), wanted.networks));
    const Token token = TRY(Token::parse(wanted.token));
    // Each has its own port, since the first bytes of probes and measurements do not differ.
    std::array<uint16_t, 2> ports = {};
    if (wanted.port_range) {
      held_ports_ = TRY(hold_ports(static_cast<int>(ports.size()), wanted.port_range));
      std::ranges::transform(held_ports_, ports.begin(), &HeldPort::number);
    }
    probe_listener_ = TRY(ProbeListener::open(loop_, {where, ports[0]}, token, prepared_.number));
    for (const ProbeEndpoint& place : probe_listener_->endpoints()) {
      answer.probe_addresses.push_back(place.address);
      answer.bandwidth_addresses.push_back({place.address.ip, ports[1]});
    }
    return {};
  };
  if (const auto listening = listen(); !listening)
    answer.listen_failure = listening.error().message;
  beat();
  diagnostics_.diagnose(wanted, std::move(answer), open_files_max_);
}

Result<> AgentSession::launch(Launch wanted) {
  scanner_.reset();
  probe_listener_.reset();
  probe_calls_.reset();
  if (const auto watched = watch_ports(); !watched) {
    refuse_tasks(wanted, watched.error().message);
    return {};
  }
  if (wanted.relay) {
    const auto forward = [this](MessageType type, uint32_t stream, ByteSpan payload) {
      send(type, stream, payload);
    };
    auto relay = RelayListener::open(loop_, forward, relayed_max(wanted.tasks.size()));
    if (!relay) {
      refuse_tasks(wanted, "cannot relay the rendezvous: " + relay.error().message);
      return {};
    }
    relay_ = *std::move(relay);
    wanted.common["DTRAIN_RENDEZVOUS"] = relay_->address().text();
  }
  programs_.open_files_max = open_files_max_;
  programs_.cgroup = cgroup_ ? cgroup_->fd() : -1;
  check_for_mpi();
  return tasks_.launch(std::move(wanted), programs_);
}

Result<> AgentSession::watch_ports() {
  std::vector<uint16_t> ports;
  for (const HeldPort& port : held_ports_)
    ports.push_back(port.number);
  port_watch_ = std::make_unique<PortWatch>(
      loop_, PortWatch::Terms{.ports = std::move(ports)},
      [this](const PortTaken& taken) { send(MessageType::port_taken, 0, encode(taken)); });
  if (const auto taken = port_watch_->find_taken()) return fail(Errc::os, taken->text());
  return {};
}

void AgentSession::refuse_tasks(const Launch& wanted, const std::string& why) {
  for (const TaskLaunch& task : wanted.tasks)
    send(MessageType::start_failed, 0, encode(StartFailed{task.id, 3, why}));
}

void AgentSession::check_for_mpi() {
  mpi_look_ = std::make_unique<MpiLook>(
      loop_, [this] { return tasks_.processes(); },
      [this](uint32_t alone) { send(MessageType::mpi_alone, 0, encode(MpiAlone{alone})); });
}

Result<> AgentSession::resources(const ResourcesWanted& wanted) {
  scanner_ = TRY(ResourceScanner::start(loop_, wanted, [this](const HostResources& resources) {
    send(MessageType::resources, 0, encode(resources));
  }));
  return {};
}

/// The launcher stops itself next. Its silence does not end the lease then, since no beat checks
/// it.
void AgentSession::pause() {
  heartbeat_ = Timer();
  tasks_.signal(SIGSTOP);
  send(MessageType::paused, 0, {});
}

void AgentSession::resume() {
  lease_.restart(loop_.now());
  tasks_.signal(SIGCONT);
  beat();
}

void AgentSession::beat() {
  if (lease_.over(loop_.now())) {
    send(MessageType::lease_over, 0, {});
    send_outbox();
    launcher_lost();
    return;
  }
  tasks_.check_execs();
  send(MessageType::heartbeat, 0, {});
  heartbeat_ = loop_.after(prepared_.heartbeat, [this] { beat(); });
}

void AgentSession::launcher_lost() {
  if (lost_) return;
  lost_ = true;
  heartbeat_ = Timer();
  tasks_.stop_starting();
  tasks_.discard_output();
  if (swept_) {
    loop_.stop();
  } else {
    end_everything(Sweep::usual_patience);
  }
}

void AgentSession::end_everything(Duration patience) {
  if (sweep_) return sweep_->hurry(patience);
  port_watch_.reset();
  tasks_.signal(SIGTERM);
  const std::vector<pid_t> spared = mpi_look_ ? mpi_look_->processes() : std::vector<pid_t>();
  mpi_look_.reset();
  sweep_.emplace(
      loop_,
      Sweep::Options{.patience = patience,
                     .ours = [this](pid_t pid) { return owns(pid); },
                     .spared = spared,
                     .kill_all = cgroup_ ? [this] { cgroup_->kill(); } : std::function<void()>()},
      [this](Sweep::Report report) { all_ended(std::move(report)); });
}

void AgentSession::all_ended(Sweep::Report report) {
  swept_ = std::move(report);
  // These processes escaped the sweep, since they are no descendants of the agent.
  if (cgroup_ && cgroup_->populated()) cgroup_->kill();
  if (lost_) {
    loop_.stop();
  } else {
    await_output_ends();
  }
}

void AgentSession::await_output_ends() {
  constexpr int quiet_checks_max = 10;
  constexpr int output_checks_max = 250;
  const bool blocked = tasks_.output_waits_for_credit();
  quiet_checks_ = blocked || tasks_.take_had_output() ? 0 : quiet_checks_ + 1;
  output_checks_ += blocked ? 0 : 1;
  // A process that is no descendant may hold a pipe open without limit. All that was written into
  // the pipe has been read.
  if (!tasks_.output_open() || quiet_checks_ > quiet_checks_max ||
      output_checks_ > output_checks_max) {
    send(MessageType::finished, 0,
         encode(Finished{.strays_ended = swept_->ended,
                         .contained_by = cgroup_ ? "cgroup" : "sweep",
                         .unkillable = swept_->unkillable}));
    send_outbox();
    // Otherwise the end of the link stops the loop: the launcher closes it when it has read this.
    if (link_->unsent() == 0) loop_.stop();
    return;
  }
  output_timer_ = loop_.after(milliseconds(20), [this] { await_output_ends(); });
}

}  // namespace dt
