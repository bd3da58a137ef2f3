#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/io/frame.h"
#include "base/io/network.h"
#include "base/result.h"
#include "launcher/config/hosts/port_range.h"
#include "launcher/config/macros.h"
#include "launcher/process/exit_status.h"
#include "launcher/protocol/probe_target.h"
#include "launcher/protocol/task_error.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What launcher and agent say to each other, one frame each, on the agent's stdin and stdout. The
/// numbers are the wire's; gaps are kept for what is not spoken yet.
enum class MessageType : uint8_t {
  // launcher to agent
  prepare = 1,
  part = 2,  ///< either way: the front of a message that is too long for one frame
  launch = 3,
  signal = 4,
  input = 5,   ///< bytes for a task's stdin; empty: its end
  pause = 7,   ///< stop all tasks where they are, expect silence, and answer `paused`
  resume = 8,  ///< the reverse
  finish = 9,
  probe = 11,
  resources_wanted = 32,
  diagnose = 34,  ///< this and measure, for `dtrain check`: launcher/protocol/diagnose_messages.h
  measure = 36,
  // both ways
  credit = 6,  ///< u32: so many more bytes may be sent on this stream
  heartbeat = 10,
  // Of a relay, whose streams are the connections that it carries, numbered by the agent.
  relay_open = 12,  ///< agent to launcher: a task has connected to the rendezvous
  relay_bytes = 13,
  relay_credit = 14,  ///< as credit
  relay_end = 15,     ///< nothing more comes, and nothing more is wanted
  // agent to launcher
  hello = 16,
  prepared = 17,
  reached = 18,
  started = 19,
  start_failed = 20,
  output = 21,  ///< bytes of a task's stdout or stderr
  output_end = 22,
  exited = 23,
  paused = 24,
  finished = 25,
  mpi_alone = 26,
  gave_up = 27,  ///< its last word to a launcher that was silent for longer than the lease
  port_taken = 28,
  resources = 33,
  diagnosed = 35,
  measured = 37,
};

/// The line that an agent writes before its first frame, so that noise of a login shell can be told
/// from it.
inline constexpr std::string_view agent_magic = "dtrain-agent 1\n";

/// What an agent's keeper writes to stderr before how the agent was ended, so that the launcher
/// need not wait until the keeper has ended what is left.
inline constexpr std::string_view agent_ended_word = "dtrain-agent-ended ";

/// The three streams of each task on one link; 0 is the link's own.
enum class TaskStream : uint8_t { input = 0, output = 1, error = 2 };

/// Stream numbers: 1 + 3 * (place of the task in its launch message) + TaskStream.
struct StreamId {
  uint32_t local_index = 0;
  TaskStream stream = TaskStream::input;
  uint32_t number() const { return 1 + 3 * local_index + static_cast<uint32_t>(stream); }
  /// None for stream 0.
  static std::optional<StreamId> parse(uint32_t number);
  bool operator==(const StreamId&) const = default;
};

/// A sender may have this many bytes of one stream under way before the receiver has dealt with
/// them.
inline constexpr uint32_t stream_window_bytes = uint32_t{256} << 10;
/// Bytes in one output or input frame at most.
inline constexpr uint32_t stream_chunk_bytes = uint32_t{64} << 10;

/// Two agents that say the same here share their network, whatever their hosts are called.
struct MachineId {
  std::string boot;  ///< the kernel's id of this boot
  uint64_t network_namespace = 0;
  bool operator==(const MachineId&) const = default;
};

/// Agent: who and where I am. What else there is to know takes longer: see
/// launcher/protocol/host_resources.h.
struct Hello {
  std::string build;  ///< version of the agent's build
  std::string hostname;
  std::vector<InterfaceAddress> addresses;
  MachineId machine;
  bool operator==(const Hello&) const = default;
};

/// What the tasks of one role run, where that is not what all run.
struct RoleCommand {
  std::string role;
  std::vector<std::string> words;
  std::string path;  ///< the PATH in which the first of them is looked up
  bool operator==(const RoleCommand&) const = default;
};

/// Launcher: check that this can be run, and hold ports. Nothing starts yet.
struct Prepare {
  std::string token;
  std::string job;
  uint32_t generation = 0;
  std::vector<std::string> command;  ///< empty: every task here has one of its role
  std::vector<RoleCommand> role_commands = {};
  std::string cwd;
  bool home_instead = false;                ///< run it in the home where `cwd` cannot be entered
  std::string path;                         ///< the PATH in which the command is looked up
  int tasks = 0;                            ///< how many will be launched
  int ports = 0;                            ///< how many to hold
  std::vector<std::string> addresses = {};  ///< of tasks that were given theirs: hold their ports
  std::optional<PortRange> port_range;
  bool probe = false;                 ///< listen on all addresses, for the probe that follows
  std::vector<std::string> networks;  ///< on those that fit one of these alone, if there are any
  uint32_t number = 0;                ///< the agent's own
  Duration heartbeat = seconds(1);
  Duration dead_after = seconds(5);
  uint64_t environment_bytes = 0;  ///< what the launcher gives a task at most, as execve counts it
  bool operator==(const Prepare&) const = default;
};

/// Agent: the ports it holds, or why the command, folder or ports cannot be had. `status` is then
/// what the job should exit with (126, 127 or 2).
struct Prepared {
  std::vector<uint16_t> ports;
  std::vector<ProbeEndpoint> probe_endpoints;  ///< where it listens, best first
  std::string home;                            ///< where tasks will run, if not in Prepare::cwd
  std::string failure;
  int status = 0;
  bool operator==(const Prepared&) const = default;
};

/// Launcher: dial these, for so long at most.
struct Probe {
  std::vector<ProbeTarget> targets;
  Duration patience = seconds(2);
  bool operator==(const Probe&) const = default;
};

/// Agent: of each target the addresses that led there.
struct Reached {
  std::vector<ProbeTarget> targets;
  bool operator==(const Reached&) const = default;
};

struct TaskLaunch {
  TaskId id;
  int rank = -1;  ///< and its local one, for macros; -1: none
  int local_rank = -1;
  Environment environment;  ///< what the launcher adds for this task beside Launch::common
  bool wants_input = false;
  std::vector<int> cpus;  ///< that it is bound to; empty: all that the agent may use
  bool operator==(const TaskLaunch&) const = default;
};

struct Launch {
  Environment forwarded;
  Environment common;      ///< what the launcher adds for every task
  ClusterSpec cluster;     ///< empty where neither TF_CONFIG nor a macro needs it
  bool tf_config = false;  ///< tasks get one, made of the cluster
  ClusterFilter cluster_filter = ClusterFilter::none;
  std::optional<JobMacros> macros = {};  ///< none: words and values stay as they are
  std::vector<TaskLaunch> tasks;
  /// Of some roles: over what travels, under what the launcher adds.
  std::map<std::string, Environment> role_environments = {};
  bool error_files = false;           ///< tasks get a place to say why they fail
  bool pass_local_rank = false;       ///< append --local_rank=N to a command with a rank
  bool merge_stderr = false;          ///< one pipe for stdout and stderr of a task
  std::vector<std::string> excluded;  ///< patterns of names that the host does not add either
  std::string interface;              ///< by which other hosts reach the tasks; empty: unknown
  bool relay = false;  ///< the tasks cannot dial the rendezvous: the agent carries it
  bool operator==(const Launch&) const = default;
};

/// To the process groups of all tasks of the agent that still run.
struct SignalAll {
  int number = 0;
  bool operator==(const SignalAll&) const = default;
};

/// Launcher: end what is left, with so long between SIGTERM and SIGKILL.
struct Finish {
  Duration patience = {};
  bool operator==(const Finish&) const = default;
};

struct Started {
  TaskId task;
  int64_t pid = 0;
  bool operator==(const Started&) const = default;
};

struct StartFailed {
  TaskId task;
  int status = 0;  ///< 126 or 127, as a shell says it
  std::string why;
  bool operator==(const StartFailed&) const = default;
};

struct Exited {
  TaskId task;
  ExitStatus status;
  ResourceUse used;
  std::optional<TaskError> error = {};  ///< why it failed, by its own word
  int64_t told_ns = 0;                  ///< now, by the clock of error->when_ns; 0: no error
  bool operator==(const Exited&) const = default;
};

/// Agent: all is reaped; what it had to end by force, and what it could not.
struct Finished {
  int strays_ended = 0;
  std::string contained_by;             ///< what made sure that nobody is left: "cgroup" or "sweep"
  std::vector<std::string> unkillable;  ///< "python (pid 77)"
  bool operator==(const Finished&) const = default;
};

/// Agent, once and a second after the launch: so many of my tasks are programs with MPI that run
/// alone.
struct MpiAlone {
  uint32_t tasks = 0;
  bool operator==(const MpiAlone&) const = default;
};

/// Agent: another user listens on a port that is held for tasks.
struct PortTaken {
  uint16_t port = 0;
  uint32_t uid = 0;
  std::string process;  ///< "python3 (pid 77)"; empty: the agent may not see it
  /// "uid 65534 listens on port 5000, …", without the host.
  std::string text() const;
  bool operator==(const PortTaken&) const = default;
};

Bytes encode(const Hello& message);
Bytes encode(const Prepare& message);
Bytes encode(const Prepared& message);
Bytes encode(const Probe& message);
Bytes encode(const Reached& message);
Bytes encode(const Launch& message);
Bytes encode(const SignalAll& message);
Bytes encode(const Finish& message);
Bytes encode(const Started& message);
Bytes encode(const StartFailed& message);
Bytes encode(const Exited& message);
Bytes encode(const Finished& message);
Bytes encode(const MpiAlone& message);
Bytes encode(const PortTaken& message);
Bytes encode_credit(uint32_t bytes);

/// Appends a message as one frame, after as many `part` frames as its length needs.
void append_message(Bytes& out, MessageType type, FrameHeader header, ByteSpan payload);

/// Puts messages together again that came in parts.
class MessageAssembler {
 public:
  static constexpr size_t message_bytes_max = size_t{64} << 20;

  /// The whole message that this frame completes, valid until the next call; none for a part.
  Result<std::optional<FrameView>> add(const FrameView& frame);

 private:
  Bytes parts_;
  bool delivered_ = false;
};

/// Reads a payload back; any bytes give a message or an error.
template <class Message>
Result<Message> decode(ByteSpan payload);
Result<uint32_t> decode_credit(ByteSpan payload);

}  // namespace dt
