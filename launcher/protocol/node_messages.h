#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

/// From a node, before its agent's hello: what it is, and how its user has started it.
struct NodeIntro {
  std::string build;  ///< version of its dtrain
  std::string hostname;
  int count = 0;                     ///< nodes of the job, as its --nnodes says
  std::string processes;             ///< of its --nproc-per-node, as written
  std::vector<std::string> command;  ///< that its tasks run
  int order = -1;                    ///< among the nodes without rank; -1: its address decides
  bool operator==(const NodeIntro&) const = default;
};

/// To a node, as the last message: the job is over, or has no place for it.
struct Dismissed {
  int status = 0;      ///< with which the node exits
  std::string reason;  ///< for its user; empty: the job has ended well
  bool operator==(const Dismissed&) const = default;
};

/// From a node, as the last message: it ends now, and its tasks with it.
struct Leaving {
  std::string why;  ///< "it got SIGTERM"
  bool operator==(const Leaving&) const = default;
};

Bytes encode(const NodeIntro& message);
Bytes encode(const Dismissed& message);
Bytes encode(const Leaving& message);
template <>
Result<NodeIntro> decode(ByteSpan payload);
template <>
Result<Dismissed> decode(ByteSpan payload);
template <>
Result<Leaving> decode(ByteSpan payload);

}  // namespace dt
