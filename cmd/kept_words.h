#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// The words behind `dtrain job` for a job that was started: list, status, logs, stop, wait and rm.
struct KeptWords {
  enum class Action : uint8_t { help, list, status, logs, stop, wait, rm };
  Action action = Action::help;
  std::string id = {};                 ///< empty: the latest job
  bool json = false;                   ///< list, status
  bool cluster_spec = false;           ///< status
  bool tf_config = false;              ///< status
  bool follow = false;                 ///< logs
  std::optional<int64_t> rank = {};    ///< logs: of this task only
  std::optional<TaskId> task = {};     ///< logs: of this task only
  std::optional<int64_t> tail = {};    ///< logs: lines of each file
  std::optional<Duration> grace = {};  ///< stop
  bool operator==(const KeptWords&) const = default;
};

/// The actions' names, by KeptWords::Action from list on.
std::span<const std::string_view> kept_actions();
/// Reads an action, its options and a job. Fails with Errc::input.
Result<KeptWords> read_kept_words(std::span<const std::string> words);

}  // namespace dt
