#include "tests/sim/job/simulated_host.h"

#include "base/format.h"
#include "launcher/protocol/host_resources.h"
#include "launcher/protocol/message.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

namespace {

constexpr Duration short_patience = seconds(2);
constexpr Duration unprepared_patience = seconds(60);
constexpr int64_t first_pid = 1000;

}  // namespace

bool is_fatal(Slip slip) {
  return slip != Slip::late_output;
}

SimulatedHost::SimulatedHost(Site& site, HostFate fate, Handlers handlers)
    : site_(site),
      fate_(std::move(fate)),
      handlers_(std::move(handlers)),
      sshd_(site, fate_.logins, fate_.login,
            {.on_event = handlers_.on_event,
             .start_agent = [this] { start_agent(); },
             .on_bytes = [this](ByteSpan bytes) { receive(bytes); },
             .on_end = [this] { launcher_lost(); }}),
      dial_(site, fate_.dialing,
            {.on_event = handlers_.on_event,
             .on_broken_promise = handlers_.on_broken_promise,
             .start_agent = [this] { start_agent(); },
             .on_bytes = [this](ByteSpan bytes) { receive(bytes); },
             .on_end = [this] { launcher_lost(); },
             .dial = [this](Fd connection) { handlers_.dial_launcher(std::move(connection)); }}),
      lease_(Prepare().heartbeat, unprepared_patience, site.loop.now()) {
}

Result<SpawnedProcess> SimulatedHost::log_in(const std::string& name) {
  in_.clear();
  SpawnedProcess process = TRY(sshd_.log_in(name, fate_.nature));
  if (cut_) sshd_.cable()->hold();
  return process;
}

void SimulatedHost::start_to_dial(const DialOrder& order, int host) {
  dial_.begin(order, host, fate_.nature, fate_.login);
}

void SimulatedHost::transmit(ByteSpan bytes) {
  if (dial_.cable() != nullptr) return dial_.send(bytes);
  sshd_.cable()->send(bytes);
}

void SimulatedHost::start_agent() {
  agent_ = Agent::alive;
  if (handlers_.on_hello) handlers_.on_hello();
  if (sshd_.input_ended() || dial_.input_ended()) return launcher_lost();
  transmit(as_bytes(agent_magic));
  send(MessageType::hello, 0,
       encode(Hello{.build = "simulated",
                    .hostname = "h",
                    .addresses = {{"eth0", "10.0.0.1"}},
                    .machine = {}}));
  lease_.restart(site_.loop.now());
  beat();
}

void SimulatedHost::end_agent() {
  agent_ = Agent::ended;
  if (handlers_.on_agent_end) handlers_.on_agent_end();
}

void SimulatedHost::receive(ByteSpan bytes) {
  if (!agent_alive()) return;
  lease_.heard(site_.loop.now());
  in_.insert(in_.end(), bytes.begin(), bytes.end());
  read_frames();
}

void SimulatedHost::read_frames() {
  size_t used = 0;
  while (!lost_) {
    const auto frame = front_frame(ByteSpan(in_).subspan(used));
    if (frame && !*frame) break;
    const auto message = frame ? assembler_.add(**frame) : tl::unexpected(frame.error());
    if (!message) {
      handlers_.on_broken_promise("the launcher sent no frame: " + message.error().message);
      return launcher_lost();
    }
    used += frame_header_bytes + (*frame)->header.length;
    if (*message) handle(**message);
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(used));
}

void SimulatedHost::handle(const FrameView& message) {
  const auto type = static_cast<MessageType>(message.header.type);
  if (!order_.accepts(type))
    handlers_.on_broken_promise(format("message {} out of order", static_cast<int>(type)));
  switch (type) {
    case MessageType::resources_wanted:
      return send(MessageType::resources, 0, encode(HostResources()));
    case MessageType::prepare:
      return prepare(decode<Prepare>(message.payload).value());
    case MessageType::probe:
      return send(MessageType::reached, 0,
                  encode(Reached{decode<Probe>(message.payload).value().targets}));
    case MessageType::launch:
      return launch(decode<Launch>(message.payload).value());
    case MessageType::restart:
      return restart(decode<Restart>(message.payload).value());
    case MessageType::signal:
      return receive_signal(decode<SignalAll>(message.payload).value());
    case MessageType::credit: {
      Running& to = tasks_.at(StreamId::parse(message.header.stream)->local_index);
      to.credit += decode_credit(message.payload).value();
      return send_output(static_cast<size_t>(&to - tasks_.data()));
    }
    case MessageType::states_wanted:
      return report_states(decode<StatesWanted>(message.payload).value());
    case MessageType::pause:
      heartbeat_ = Timer();
      signal_all(SIGSTOP);
      return send(MessageType::paused, 0, {});
    case MessageType::resume:
      lease_.restart(site_.loop.now());
      signal_all(SIGCONT);
      return beat();
    case MessageType::finish:
      return end_everything(decode<Finish>(message.payload).value());
    default:
      return;
  }
}

void SimulatedHost::prepare(Prepare wanted) {
  if (std::exchange(stage_, Stage::idle) == Stage::launched)
    handlers_.on_broken_promise("prepared again before its tasks have ended");
  kill_timer_ = Timer();
  prepared_ = std::move(wanted);
  lease_ = Lease(prepared_->heartbeat, prepared_->dead_after, site_.loop.now());
  Prepared answer = {.failure = fate_.prepare_failure, .status = fate_.prepare_status};
  if (answer.failure.empty()) {
    for (int port = 0; port < prepared_->ports; ++port)
      answer.ports.push_back(static_cast<uint16_t>(30000 + port));
    answer.probe_endpoints = {
        {{format("10.0.{}.{}", prepared_->number / 250, prepared_->number % 250 + 1), 40000},
         "eth0"}};
  }
  send(MessageType::prepared, 0, encode(answer));
  beat();
}

void SimulatedHost::launch(const Launch& wanted) {
  for (const auto& [role, environment] : wanted.role_environments) {
    const bool own = std::ranges::any_of(
        wanted.tasks, [&name = role](const TaskLaunch& task) { return task.id.role == name; });
    if (!own) {
      handlers_.on_broken_promise(
          format("received the environment of {}, but has no task of it", role));
    }
  }
  stage_ = Stage::launched;
  std::vector<size_t> written;
  for (const Running& before : tasks_)
    written.push_back(before.written());
  written.resize(wanted.tasks.size());
  tasks_ = std::vector<Running>(wanted.tasks.size());
  for (size_t index = 0; index < tasks_.size(); ++index) {
    tasks_[index].id = wanted.tasks[index].id;
    tasks_[index].generation = prepared_->generation;
    tasks_[index].written_before = written[index];
    start_task(index);
  }
  mpi_timer_ = site_.loop.after(seconds(1), [this] { report_mpi(); });
}

/// Reports that all tasks are MPI programs, each alone.
void SimulatedHost::report_mpi() {
  if (ending_) return;
  const auto runs = [](const Running& running) { return running.task->alive(); };
  const auto alone = static_cast<uint32_t>(std::ranges::count_if(tasks_, runs));
  send(MessageType::mpi_alone, 0, encode(MpiAlone{alone}));
}

/// As LocalTasks does. Output of the attempt before that waits for credit comes first.
void SimulatedHost::restart(const Restart& wanted) {
  const auto at = std::ranges::find(tasks_, wanted.task, &Running::id);
  if (at == tasks_.end() || !at->ran || wanted.attempt != at->attempt + 1) {
    return handlers_.on_broken_promise(
        format("restart of {} as attempt {}", wanted.task.text(), wanted.attempt));
  }
  if (ending_) return;
  note(format("{} restarts as attempt {}", wanted.task.text(), wanted.attempt));
  at->attempt = wanted.attempt;
  at->written_before = at->written();
  at->exited = at->ran = at->output_ended = at->stopped = false;
  start_task(static_cast<size_t>(at - tasks_.begin()));
}

void SimulatedHost::start_task(size_t index) {
  Running& running = tasks_[index];
  const Claim claim = {.token = Token::parse(prepared_->token).value(),
                       .job = prepared_->job,
                       .generation = prepared_->generation,
                       .self = running.id,
                       .attempt = running.attempt};
  TaskFate fate = fate_.tasks[index % fate_.tasks.size()];
  const uint32_t starts = running.attempt + running.generation - 1;
  if (starts > static_cast<uint32_t>(fate.failures)) fate.end = TaskFate::End::well;
  running.task = std::make_unique<SimulatedTask>(
      site_, fate, claim, handlers_.dial_rendezvous, fate_.nature,
      SimulatedTask::Handlers{
          .on_started =
              [this, index] {
                send(MessageType::started, 0,
                     encode(Started{tasks_[index].id, first_pid + static_cast<int64_t>(index)}));
                handlers_.on_started();
              },
          .on_start_failed =
              [this, index, fate] {
                Running& failed = tasks_[index];
                failed.exited = failed.output_ended = true;
                send(MessageType::start_failed, 0,
                     encode(StartFailed{failed.id, fate.status.code, "No such file or directory"}));
                handlers_.on_exit(failed, fate.status, arrival());
                finish_if_ended();
              },
          .on_output =
              [this, index](size_t bytes) {
                tasks_[index].unsent += bytes;
                send_output(index);
              },
          .on_exit = [this, index](ExitStatus status) { exited(index, status); },
          .on_join =
              [this, index] {
                if (cut_) tasks_[index].task->member()->cable().hold();
              },
          .on_barrier = handlers_.on_barrier,
          .on_call = [this, index] { handlers_.on_call(tasks_[index].id); },
          .awaited = handlers_.awaited,
          .on_notice =
              [this, index](const Notice& notice) { handlers_.on_notice(tasks_[index], notice); },
      });
  running.task->start();
}

void SimulatedHost::report_states(const StatesWanted& wanted) {
  States states;
  for (const StatesWanted::Member& member : wanted.tasks) {
    const auto found = std::ranges::find(tasks_, member.task, &Running::id);
    if (found == tasks_.end()) {
      handlers_.on_broken_promise(format("asked for the state of {}", member.task.text()));
    } else if (found->task->alive()) {
      const char letter = found->task->stopped() ? 'T' : 'S';
      states.tasks.push_back({member.task, {first_pid + (found - tasks_.begin()), letter}});
    }
  }
  send(MessageType::states, 0, encode(states));
}

void SimulatedHost::scheduler_stop() {
  if (tasks_.empty()) return;
  note("stopped by the scheduler");
  send(MessageType::signalled, 0, encode(Signalled{SIGTERM}));
  for (Running& running : tasks_)
    running.stopped = true;
  signal_all(SIGTERM);
}

/// Half of the tasks have a handler that writes a stack.
void SimulatedHost::receive_signal(const SignalAll& wanted) {
  if (!wanted.only_caught) {
    for (const Running& running : tasks_)
      if (running.task && !(running.stopped && wanted.number == SIGTERM))
        running.task->signal(wanted.number);
    return;
  }
  if (std::exchange(dumped_, true)) handlers_.on_broken_promise("was asked twice for stacks");
  for (size_t index = 0; index < tasks_.size(); index += 2)
    if (tasks_[index].task) tasks_[index].task->write_stack();
}

void SimulatedHost::signal_all(int number) {
  for (const Running& running : tasks_)
    if (running.task) running.task->signal(number);
}

void SimulatedHost::send_output(size_t index) {
  Running& running = tasks_[index];
  const auto stream = StreamId{static_cast<uint32_t>(index), TaskStream::output};
  while (running.unsent > 0 && running.credit > 0) {
    const size_t size = std::min<size_t>({running.unsent, running.credit, stream_chunk_bytes});
    running.unsent -= size;
    running.credit -= static_cast<uint32_t>(size);
    Bytes line(size, std::byte{'.'});
    line.back() = std::byte{'\n'};
    send(MessageType::output, stream.number(), line);
  }
  if (!running.exited || running.unsent > 0 || std::exchange(running.output_ended, true)) return;
  send(MessageType::output_end, stream.number(), {});
  send(MessageType::output_end, StreamId{stream.local_index, TaskStream::error}.number(), {});
  finish_if_ended();
}

std::optional<Time> SimulatedHost::arrival() const {
  if (!agent_alive() || lost_ || cut_) return std::nullopt;
  return cable()->last_arrival();
}

void SimulatedHost::exited(size_t index, ExitStatus status) {
  Running& running = tasks_[index];
  running.exited = true;
  running.ran = true;
  send(MessageType::exited, 0, encode(Exited{running.id, status, {}}));
  handlers_.on_exit(running, status, arrival());
  send_output(index);
  finish_if_ended();
}

void SimulatedHost::beat() {
  if (!agent_alive()) return;
  if (lease_.over(site_.loop.now())) {
    send(MessageType::lease_over, 0, {});
    return launcher_lost();
  }
  send(MessageType::heartbeat, 0, {});
  heartbeat_ = site_.loop.after(prepared_.value_or(Prepare()).heartbeat, [this] { beat(); });
}

void SimulatedHost::launcher_lost() {
  if (!agent_alive() || std::exchange(lost_, true)) return;
  note("launcher lost");
  heartbeat_ = Timer();
  end_everything({});
}

/// TERM, a short wait, KILL.
void SimulatedHost::end_everything(const Finish& how) {
  if (!ending_) {
    ending_ = how;
    signal_all(SIGTERM);
    kill_timer_ = site_.loop.after(short_patience, [this] { signal_all(SIGKILL); });
  }
  finish_if_ended();
}

void SimulatedHost::finish_if_ended() {
  const auto ended = [this](const Running& running) {
    return running.exited && (running.output_ended || lost_);
  };
  if (!ending_ || !std::ranges::all_of(tasks_, ended)) return;
  if (lost_) {
    cable()->hang_up();
    end_agent();
  } else if (std::exchange(stage_, Stage::finished) != Stage::finished) {
    send(MessageType::finished, 0, encode(Finished{.contained_by = "cgroup"}));
    // The next launch replaces the tasks.
    if (!ending_->stays) return;
    ending_.reset();
    dumped_ = false;
    mpi_timer_ = Timer();
  }
}

void SimulatedHost::send(MessageType type, uint32_t stream, ByteSpan payload) {
  if (!agent_alive() || lost_) return;
  Bytes frames;
  append_message(frames, type,
                 {.generation = prepared_ ? prepared_->generation : 0, .stream = stream}, payload);
  transmit(frames);
}

/// The tasks die with the agent.
void SimulatedHost::kill_agent() {
  if (!agent_alive()) return;
  note("agent killed");
  heartbeat_ = Timer();
  cable()->reset();
  end_agent();
  signal_all(SIGKILL);
}

void SimulatedHost::cut() {
  note("cut");
  cut_ = true;
  dial_.hold();
  if (Cable* cable = sshd_.cable()) cable->hold();
  for (const Running& running : tasks_)
    if (running.task && running.task->member()) running.task->member()->cable().hold();
}

void SimulatedHost::mend() {
  note("mended");
  cut_ = false;
  dial_.release();
  if (Cable* cable = sshd_.cable()) cable->release();
  for (const Running& running : tasks_)
    if (running.task && running.task->member()) running.task->member()->cable().release();
}

void SimulatedHost::slow_down(Duration latency) {
  note("slow");
  fate_.nature.latency = latency;
  if (cable() != nullptr) cable()->slow_down(latency);
}

void SimulatedHost::slip(Slip slip) {
  if (!agent_alive() || lost_) return;
  note(format("slip {}", static_cast<int>(slip)));
  switch (slip) {
    case Slip::garbage:
      return transmit(Bytes(40, std::byte{0xff}));
    case Slip::names_strange_task:
      return send(MessageType::exited, 0, encode(Exited{{"worker", 70000}, {}, {}}));
    case Slip::finishes_early:
      return send(MessageType::finished, 0, encode(Finished{}));
    case Slip::repeats_started:
      for (const Running& running : tasks_)
        if (running.task && running.task->started())
          send(MessageType::started, 0, encode(Started{running.id, first_pid}));
      return;
    case Slip::repeats_exited:
      for (const Running& running : tasks_)
        if (running.exited)
          send(MessageType::exited, 0, encode(Exited{running.id, {.code = 5}, {}}));
      return;
    case Slip::late_output:
      for (size_t index = 0; index < tasks_.size(); ++index)
        if (tasks_[index].output_ended)
          send(MessageType::output_end,
               StreamId{static_cast<uint32_t>(index), TaskStream::output}.number(), {});
      return;
  }
}

}  // namespace dt
