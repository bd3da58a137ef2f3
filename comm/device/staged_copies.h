#pragma once

#include "comm/device/buffer_ranges.h"
#include "comm/device/staged_chunks.h"
#include "comm/device/staging_device.h"
#include "comm/driver/device_copies.h"
#include "comm/schedule/operation_request.h"

#include <memory>
#include <optional>
#include <vector>

namespace dt {

/// The copies of one call. Without a stream of the caller, those of the input begin at once. With
/// one they wait for its earlier work. Its later work continues, unless the caller lets it wait
/// behind the QueuedResults. Each chunk of the call goes this way:
///
///   the caller's stream:  … ▶ ready event ▶ the caller's work ─────────▶ QueuedResults ▶ …
///   its stream for inputs:        └▶ copies ─┐                                  ▲
///   the engine:                              └▶ runs in pinned memory ─┐        │ the last one
///   the stream for results:                                            └▶ copies ┘
class StagedCopies final : public DeviceCopies {
 public:
  struct Terms {
    std::shared_ptr<StagingDevice> device;
    EarlierWork earlier = {};                     ///< which writes the input
    std::shared_ptr<QueuedResults> results = {};  ///< null: no stream will wait for them
    std::vector<BufferRanges> ranges;
    std::shared_ptr<Operation> executed;  ///< the call, which gets its buffers in pinned memory
    DeviceBuffer memory = {};             ///< pinned; more is taken where it is too small
  };
  /// Queues the copies of the input. Fails without an effect on the engine.
  static Result<std::unique_ptr<DeviceCopies>> start(Terms terms);
  ~StagedCopies() override;

  Result<DeviceStep> next() override;
  Result<> start_results() override;
  Result<bool> results_copied() override;
  /// For the input. When that is there, the engine tells the others.
  bool others_wait() const override { return submitted_ < chunks_.size(); }
  void release() override;
  void finish() override;

 private:
  explicit StagedCopies(Terms terms) : terms_(std::move(terms)) {}
  struct Chunk {
    StagedChunk staged;
    std::shared_ptr<DeviceEvent> input_copied;
  };

  Result<> prepare();
  Result<> copy_inputs();
  Result<> copy_result();
  Result<> make_result();
  void limit_time(OperationRequest& request);

  Terms terms_;
  DeviceBuffer memory_ = {};  ///< pinned
  std::vector<Chunk> chunks_ = {};
  std::shared_ptr<DeviceEvent> results_copied_ = {};  ///< of the last one so far
  size_t submitted_ = 0;                              ///< chunks that the engine has got
  size_t results_ = 0;                                ///< chunks whose results are copied
  std::optional<Time> deadline_ = {};                 ///< none: the engine has got none yet
  /// For operations whose result the engine allocates.
  std::shared_ptr<OperationResult> own_result_ = {};
  size_t own_element_bytes_ = 0;
};

}  // namespace dt
