#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "gpu/device.h"
#include "gpu/nccl/nccl_types.h"

#include <memory>
#include <string>
#include <vector>

namespace dt {

/// A place where NCCL may be.
struct NcclCandidate {
  std::string library;       ///< for dlopen(): a path, or a name that the loader searches
  bool only_loaded = false;  ///< take it only if this process has it already
  bool required = false;     ///< no other is tried
  bool operator==(const NcclCandidate&) const = default;
};

/// Returns the places, best first. A set DTRAIN_NCCL_LIB is the only one. Else the copy that the
/// process has, such as PyTorch's, comes before the loader's folders. Then come the package of PyPI
/// in $VIRTUAL_ENV and $CONDA_PREFIX, and the toolkit in $CUDA_HOME.
std::vector<NcclCandidate> nccl_candidates(const Environment& environment);

/// The NCCL of this process. It is never unloaded, because it starts threads. Any thread may call
/// it; the calls for one communicator belong to one thread.
class NcclLibrary {
 public:
  static constexpr int version_min = 21403;

  /// Loads the first candidate that exists. Fails with Errc::not_found when none does, and with
  /// Errc::unsupported when it is older than version_min. Fails with Errc::os when it cannot be
  /// loaded or lacks a function.
  static Result<NcclLibrary> open(const std::vector<NcclCandidate>& candidates);

  const NcclFunctions* operator->() const { return functions_.get(); }
  int version() const { return version_; }           ///< 22809
  const std::string& path() const { return path_; }  ///< of the file, for messages

  /// Returns the failure of a call. It has the call's name, NCCL's text for the status, and the
  /// last error of the communicator. `comm` may be null.
  Error failure(std::string_view call, NcclStatus status, NcclComm comm = nullptr) const;

 private:
  NcclLibrary() = default;
  std::shared_ptr<const NcclFunctions> functions_ = {};
  int version_ = 0;
  std::string path_ = {};
};

/// Opens the NCCL that connects such a device with others. Fails with Errc::input for a device of
/// the CPU. But DTRAIN_CPU_DEVICES and DTRAIN_NCCL_LIB together have stand-ins of both.
Result<NcclLibrary> open_nccl_for(const Device& device, const Environment& environment);

/// Returns "2.28.9" for 22809.
std::string nccl_version_text(int version);

}  // namespace dt
