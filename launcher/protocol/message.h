#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/io/frame.h"
#include "base/io/network.h"
#include "base/result.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/mounts/mount.h"
#include "launcher/config/words/macros.h"
#include "launcher/process/exit_status.h"
#include "launcher/protocol/probe_target.h"
#include "launcher/protocol/task_error.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// The messages between launcher and agent, on the agent's stdin and stdout. Each is one frame, or
/// several when it is long (`part`). The numbers are the wire format; gaps are reserved.
///
///   Launcher:        prepare      …   launch       signal, restart, pause, …   finish
///   Agent:    hello           prepared  …   started, output, exited, …              finished
enum class MessageType : uint8_t {
  // launcher to agent
  prepare = 1,
  part = 2,  ///< both ways: a piece of a message that is too long for one frame, but the last
  launch = 3,
  signal = 4,
  input = 5,   ///< bytes for a task's stdin; empty: end of input
  pause = 7,   ///< stop all tasks, suspend the lease, and answer `paused`
  resume = 8,  ///< continue all tasks and the lease
  finish = 9,
  probe = 11,
  resources_wanted = 32,
  diagnose = 34,  ///< this and measure, for `dtrain check`: launcher/protocol/diagnose_messages.h
  measure = 36,
  states_wanted = 38,  ///< this and states: launcher/protocol/state_messages.h
  restart = 40,
  dismissed = 41,  ///< to a node; this, node and leaving: launcher/protocol/node_messages.h
  // both ways
  credit = 6,  ///< u32: number of further bytes that the peer may send on this stream
  heartbeat = 10,
  // For a relay: each stream is a connection that it forwards; the agent numbers them.
  relay_open = 12,  ///< agent to launcher: a task has connected to the rendezvous
  relay_bytes = 13,
  relay_credit = 14,  ///< like credit
  relay_end = 15,     ///< the connection is closed in both directions
  // agent to launcher
  hello = 16,
  prepared = 17,
  reached = 18,
  started = 19,
  start_failed = 20,
  output = 21,  ///< bytes that a task wrote to one of its streams
  output_end = 22,
  exited = 23,
  paused = 24,
  finished = 25,
  mpi_alone = 26,
  lease_over = 27,  ///< the agent's last message, when the launcher was silent beyond the lease
  port_taken = 28,
  signalled = 29,
  resources = 33,
  diagnosed = 35,
  measured = 37,
  states = 39,
  node = 42,
  leaving = 43,
};

/// The line that an agent writes before its first frame. Everything before it is output of a login
/// shell.
inline constexpr std::string_view agent_magic = "dtrain-agent 1\n";

/// When a signal ended the agent, its keeper writes this and the ExitStatus to stderr. So the
/// launcher reports it before the keeper has ended the remaining processes.
inline constexpr std::string_view agent_ended_word = "dtrain-agent-ended ";

/// The streams of each task on one link. The task writes all but its input.
enum class TaskStream : uint8_t { input = 0, output = 1, error = 2, result = 3 };
inline constexpr std::array written_streams = {TaskStream::output, TaskStream::error,
                                               TaskStream::result};
/// A value for each stream that a task writes.
template <class Value>
struct PerWrittenStream {
  std::array<Value, written_streams.size()> values = {};
  Value& operator[](TaskStream written) { return values.at(static_cast<size_t>(written) - 1); }
  const Value& operator[](TaskStream written) const {
    return values.at(static_cast<size_t>(written) - 1);
  }
};

/// Stream numbers: 1 + 4 * (index of the task in its launch message) + TaskStream. Stream 0 is for
/// messages that belong to no task.
struct StreamId {
  uint32_t local_index = 0;
  TaskStream stream = TaskStream::input;
  uint32_t number() const { return 1 + 4 * local_index + static_cast<uint32_t>(stream); }
  /// None for stream 0.
  static std::optional<StreamId> parse(uint32_t number);
  bool operator==(const StreamId&) const = default;
};

/// A sender may send this many bytes of one stream before the receiver has granted more credit.
inline constexpr uint32_t stream_window_bytes = uint32_t{256} << 10;
/// Maximum size of one output or input frame.
inline constexpr uint32_t stream_chunk_bytes = uint32_t{64} << 10;

/// Two agents with equal ids share one network stack, whatever the names of their hosts.
struct MachineId {
  std::string boot;  ///< the kernel's id of this boot
  uint64_t network_namespace = 0;
  bool operator==(const MachineId&) const = default;
};

/// From the agent: its build, host and addresses. Its resources take longer to find, and are sent
/// only on request: launcher/protocol/host_resources.h.
struct Hello {
  std::string build;  ///< version of the agent's build
  std::string hostname;
  std::vector<InterfaceAddress> addresses;
  MachineId machine;
  bool operator==(const Hello&) const = default;
};

/// The command of the tasks of one role, where it differs from the common one.
struct RoleCommand {
  std::string role;
  std::vector<std::string> words;
  std::string path;  ///< the PATH in which the first word is looked up
  bool operator==(const RoleCommand&) const = default;
};

/// The part of a preparation that an order is for.
enum class PrepareStage : uint8_t {
  all,
  ports,    ///< hold ports: the folder and the command come later
  command,  ///< check folder and command: the ports of the order before stay held
};

/// From the launcher: check that this can be run, and hold ports. Nothing starts yet.
struct Prepare {
  std::string token;
  std::string job;
  uint32_t generation = 0;
  std::vector<std::string> command;  ///< empty: every task here has a command of its role
  std::vector<RoleCommand> role_commands = {};
  std::string cwd;
  bool home_instead = false;  ///< run in the home folder if `cwd` cannot be entered
  std::string path;           ///< the PATH in which the command is looked up
  int tasks = 0;              ///< number of tasks to launch
  int ports = 0;              ///< number of ports to hold
  /// Addresses of tasks in a cluster that the user gave: hold their ports, too.
  std::vector<std::string> addresses = {};
  std::optional<PortRange> port_range;
  bool probe = false;                 ///< listen on all addresses, for the probe that follows
  std::vector<std::string> networks;  ///< listen only on addresses in these; empty: on all
  uint32_t number = 0;                ///< of this agent
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  /// Upper bound of the variables that a task gets from the launcher, as execve(2) counts them.
  uint64_t environment_bytes = 0;
  PrepareStage stage = PrepareStage::all;
  std::vector<Mount> mounts = {};
  Duration mount_patience = {};  ///< for commands of mounts
  bool operator==(const Prepare&) const = default;
};

/// From the agent: the ports that it holds, or why the command, folder or ports are not available.
/// `status` is then the exit status for the job (126, 127 or 2).
struct Prepared {
  std::vector<uint16_t> ports;
  std::vector<ProbeEndpoint> probe_endpoints;  ///< at which it listens, best first
  std::string home;                            ///< tasks' folder if it is not Prepare::cwd
  std::string failure;
  int status = 0;
  bool operator==(const Prepared&) const = default;
};

/// From the launcher: dial these targets, for at most `patience`.
struct Probe {
  std::vector<ProbeTarget> targets;
  Duration patience = seconds(2);
  Duration head_start = {};  ///< ProbeDialer::Terms
  bool operator==(const Probe&) const = default;
};

/// From the agent: for each target the addresses that reached it.
struct Reached {
  std::vector<ProbeTarget> targets;
  bool operator==(const Reached&) const = default;
};

/// One task of `launch`.
struct TaskLaunch {
  TaskId id;
  int rank = -1;  ///< rank and local rank, for macros; -1: none
  int local_rank = -1;
  Environment environment;  ///< the launcher's variables for this task beside Launch::common
  bool wants_input = false;
  std::vector<int> cpus;    ///< to which it is bound; empty: all that the agent may use
  uint64_t memory_max = 0;  ///< of its cgroup, in bytes; 0: no limit
  bool operator==(const TaskLaunch&) const = default;
};

/// From the launcher: start these tasks.
struct Launch {
  Environment forwarded;   ///< from the launcher's own environment
  Environment common;      ///< the launcher's variables for every task
  ClusterSpec cluster;     ///< empty where neither TF_CONFIG nor a macro needs it
  bool tf_config = false;  ///< tasks get TF_CONFIG, which the agent makes from the cluster
  ClusterFilter cluster_filter = ClusterFilter::none;
  std::optional<JobMacros> macros = {};  ///< none: nothing is expanded
  std::vector<TaskLaunch> tasks;
  /// Variables of single roles. They override `forwarded`; `common` overrides them.
  std::map<std::string, Environment> role_environments = {};
  bool error_files = false;           ///< tasks get a file for their error (TaskError)
  bool pass_local_rank = false;       ///< append --local_rank=N to a command with a rank
  bool merge_stderr = false;          ///< one pipe for stdout and stderr of a task
  bool line_buffer = false;           ///< tasks write each line of stdout when it is whole
  bool results = false;               ///< tasks get a pipe for a result
  std::vector<std::string> excluded;  ///< patterns of variables that the agent must not add
  bool own_variables = false;         ///< tasks get the agent's own variables, under `forwarded`
  std::string interface;              ///< by which other hosts reach the tasks; empty: unknown
  bool relay = false;                 ///< tasks cannot dial the rendezvous: the agent relays it
  bool operator==(const Launch&) const = default;
};

/// From the launcher: start a task again whose process has ended. Its streams continue with the
/// credit that they have. It gets no input.
struct Restart {
  TaskId task;
  uint32_t attempt = first_attempt + 1;  ///< the number of this attempt
  Environment changes = {};  ///< variables of the task that differ from the attempt before
  bool operator==(const Restart&) const = default;
};

/// From the launcher: signal the process groups of all tasks that still run. With `only_caught`,
/// only those of their processes that have a handler for the signal.
struct SignalAll {
  int number = 0;
  bool only_caught = false;
  bool operator==(const SignalAll&) const = default;
};

/// From the launcher: end the remaining processes, with `patience` between SIGTERM and SIGKILL. An
/// agent that stays can be prepared again, for the next generation.
struct Finish {
  Duration patience = {};
  bool stays = false;
  bool operator==(const Finish&) const = default;
};

struct Started {
  TaskId task;
  int64_t pid = 0;
  bool operator==(const Started&) const = default;
};

struct StartFailed {
  TaskId task;
  int status = 0;  ///< 126 or 127, like in a shell
  std::string why;
  bool operator==(const StartFailed&) const = default;
};

struct Exited {
  TaskId task;
  ExitStatus status;
  ResourceUse used;
  std::optional<TaskError> error = {};  ///< that the task itself reported
  int64_t sent_ns = 0;                  ///< now, by the clock of error->when_ns; 0: no error
  /// After a failure: "node2 is 127.0.1.1", if /etc/hosts there leads the host's own name to
  /// itself.
  std::string own_name = {};
  bool operator==(const Exited&) const = default;
};

/// From the agent: all processes are reaped. Counts those that it ended, names those that it could
/// not end.
struct Finished {
  int strays_ended = 0;
  std::string contained_by;             ///< by which it found all processes: "cgroup" or "sweep"
  std::vector<std::string> unkillable;  ///< "python (pid 77)"
  bool operator==(const Finished&) const = default;
};

/// From the agent, once, a second after the launch: number of tasks that use MPI but run alone.
struct MpiAlone {
  uint32_t tasks = 0;
  bool operator==(const MpiAlone&) const = default;
};

/// From the agent: another user listens on a port that is held for tasks.
struct PortTaken {
  uint16_t port = 0;
  uint32_t uid = 0;
  std::string process;  ///< "python3 (pid 77)"; empty: the agent has no permission to see it
  /// Warning for the user, without the host: "uid 65534 listens on port 5000, …".
  std::string text() const;
  bool operator==(const PortTaken&) const = default;
};

/// From the agent: a scheduler has sent this signal to it, and so to the tasks that run here.
struct Signalled {
  int number = 0;
  bool operator==(const Signalled&) const = default;
};

Bytes encode(const Hello& message);
Bytes encode(const Prepare& message);
Bytes encode(const Prepared& message);
Bytes encode(const Probe& message);
Bytes encode(const Reached& message);
Bytes encode(const Launch& message);
Bytes encode(const Restart& message);
Bytes encode(const SignalAll& message);
Bytes encode(const Finish& message);
Bytes encode(const Started& message);
Bytes encode(const StartFailed& message);
Bytes encode(const Exited& message);
Bytes encode(const Finished& message);
Bytes encode(const MpiAlone& message);
Bytes encode(const PortTaken& message);
Bytes encode(const Signalled& message);
Bytes encode_credit(uint32_t bytes);

/// Appends a message as one frame, with `part` frames before it when the payload is too long.
void append_message(Bytes& out, MessageType type, FrameHeader header, ByteSpan payload);

/// Joins messages that arrived in parts.
class MessageAssembler {
 public:
  static constexpr size_t message_bytes_max = size_t{64} << 20;

  /// Returns the message that this frame completes, valid until the next call; none for a part.
  /// Fails with Errc::protocol when a message exceeds message_bytes_max.
  Result<std::optional<FrameView>> add(const FrameView& frame);

 private:
  Bytes parts_;
  bool delivered_ = false;
};

/// Reads a payload back. Fails with Errc::protocol for bytes that are no such message.
template <class Message>
Result<Message> decode(ByteSpan payload);
template <>
Result<MpiAlone> decode(ByteSpan payload);
template <>
Result<PortTaken> decode(ByteSpan payload);
template <>
Result<Signalled> decode(ByteSpan payload);
Result<uint32_t> decode_credit(ByteSpan payload);

}  // namespace dt
