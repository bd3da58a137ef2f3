#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

enum class BenchOperation : uint8_t {
  all_reduce,
  all_gather,
  broadcast,
  reduce_scatter,
  all_to_all,
  reduce,
  gather,
  scatter,
  latency,
  fusion
};

/// The facts about an operation that `dtrain bench` measures. A new operation is a new row, and a
/// case in CollectiveWorld.
struct OperationRow {
  BenchOperation operation = BenchOperation::all_reduce;
  std::string_view name;
  std::string_view peers_name;  ///< in the line that benchmarks of other libraries print
  bool reduces = false;         ///< has a reduction such as sum
  bool rooted = false;          ///< has a root, which is rank 0
  bool in_place = false;        ///< can be measured with one buffer for input and output
  /// The buffers that hold a part of each rank; others hold a single part.
  enum class Whole : uint8_t { neither, output, input, both };
  Whole whole = Whole::neither;
  /// The bus bandwidth of `ranks` ranks by the bandwidth of the algorithm, as nccl-tests defines
  /// it.
  double (*bus_factor)(double ranks) = nullptr;
};

std::span<const OperationRow> bench_operations();
const OperationRow& row_of(BenchOperation operation);
std::optional<BenchOperation> parse_bench_operation(std::string_view name);
std::vector<std::string> bench_operation_names();

/// The numbers of elements of one call.
struct CallShape {
  size_t count = 0;  ///< that libdtrain and nccl-tests call count
  size_t input = 0;
  size_t output = 0;
  size_t bytes = 0;  ///< of the larger buffer: the size of nccl-tests
};

/// Returns the largest shape with at most `bytes` in each buffer. Its count is 0 when `bytes`
/// cannot hold one element of each rank.
CallShape shape_of(const OperationRow& row, size_t bytes, size_t element_bytes, int ranks);

}  // namespace dt
