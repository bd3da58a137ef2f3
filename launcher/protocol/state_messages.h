#pragma once

#include "launcher/process/process_state.h"
#include "launcher/protocol/message.h"

#include <cstdint>
#include <vector>

namespace dt {

/// From the launcher: in which states are the processes of these tasks?
struct StatesWanted {
  struct Member {
    TaskId task;
    int64_t pid = 0;  ///< as the process that joined the rendezvous sees itself; 0: unknown
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> tasks;
  bool operator==(const StatesWanted&) const = default;
};

/// From the agent: the states of those tasks of its own. A state is that of the process that has
/// joined, if it descends from the task. Else it is that of the task's first process.
struct States {
  struct OfTask {
    TaskId task;
    ProcessState state;
    bool operator==(const OfTask&) const = default;
  };
  std::vector<OfTask> tasks;
  bool operator==(const States&) const = default;
};

Bytes encode(const StatesWanted& message);
Bytes encode(const States& message);
template <>
Result<StatesWanted> decode(ByteSpan payload);
template <>
Result<States> decode(ByteSpan payload);

}  // namespace dt
