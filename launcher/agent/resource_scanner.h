#pragma once

#include "base/io/loop.h"
#include "launcher/process/forked_query.h"
#include "launcher/protocol/host_resources.h"

#include <functional>
#include <memory>

namespace dt {

/// Finds the resources of this host: CPUs, and GPUs if wanted.
class ResourceScanner {
 public:
  using Done = std::function<void(const HostResources&)>;
  /// `on_done` is called once, after wanted.patience at the latest, never within this call.
  static Result<std::unique_ptr<ResourceScanner>> start(Loop& loop, const ResourcesWanted& wanted,
                                                        Done on_done);
  ResourceScanner(const ResourceScanner&) = delete;
  ResourceScanner& operator=(const ResourceScanner&) = delete;

 private:
  explicit ResourceScanner(Done on_done) : on_done_(std::move(on_done)) {}
  void driver_answered(const ForkedQuery::Answer& answer, Duration patience);

  Done on_done_;
  HostResources resources_;
  Timer soon_;
  std::unique_ptr<ForkedQuery> query_;  ///< asks NVIDIA's driver
};

}  // namespace dt
