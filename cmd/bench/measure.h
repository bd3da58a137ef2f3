#pragma once

#include "base/bytes.h"
#include "cmd/bench/bench_buffer.h"
#include "cmd/bench/bench_options.h"
#include "cmd/bench/collective_world.h"
#include "cmd/bench/pattern.h"
#include "cmd/bench/timing.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dt {

/// Measures one operation size by size, together with the other ranks. The methods are collective.
class Measurement {
 public:
  /// With a device, the buffers lie in its memory.
  Measurement(CollectiveWorld& world, const BenchOptions& options, BenchDevice* device = nullptr);

  /// Returns the sizes that hold an element of each rank. Fails when there is none.
  Result<std::vector<CallShape>> shapes() const;
  /// Checks the result of one call, then times calls. The times are the same on every rank.
  Result<SizeResult> measure(const CallShape& shape);

 private:
  Result<Timing> measure_mode(const CallShape& shape, bool in_place);
  /// Returns the number of wrong elements over all ranks.
  Result<uint64_t> verify(const CallShape& shape, bool in_place);
  /// Fills both buffers with zeros.
  Result<> clear(const CallShape& shape);
  uint64_t count_wrong(const CallShape& shape) const;
  /// The same for an output with a part of each rank's input, from its element `first` on.
  uint64_t count_wrong_parts(const CallShape& shape, size_t first) const;
  /// Returns how many calls to time.
  Result<int> warm_up(const CollectiveCall& call);
  Result<std::vector<double>> time_each(const CollectiveCall& call, int calls);
  Result<double> time_all(const CollectiveCall& call, int calls);
  CollectiveCall call_of(const CallShape& shape, bool in_place);
  std::vector<size_t> tensors_of(const CallShape& shape) const;
  /// Replaces each number by its maximum over the ranks.
  Result<> maximum(std::span<double> numbers);

  CollectiveWorld& world_;
  const BenchOptions& options_;
  const OperationRow& row_;
  const BenchType& type_;
  Pattern pattern_;
  BenchBuffer input_;
  BenchBuffer output_;
  TensorPlan plan_;  ///< of the size that is measured
};

}  // namespace dt
