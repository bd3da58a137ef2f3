#pragma once

#include "base/result.h"
#include "cmd/bench/bench_type.h"
#include "cmd/bench/operation.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

enum class BenchFormat : uint8_t { table, csv, json, peers };

/// All that `dtrain bench` was asked to measure. The defaults are those of help.
struct BenchOptions {
  BenchOperation operation = BenchOperation::all_reduce;
  uint64_t bytes_min = 8;
  uint64_t bytes_max = uint64_t{256} << 20;
  uint64_t factor = 2;
  std::optional<int> iterations = {};  ///< none: 20, or as many as ms_per_size allows
  int warmups = 5;
  std::optional<int> ms_per_size = {};
  std::string type = "float32";  ///< the usual name of a BenchType
  std::string reduction = "sum";
  std::string transport = "auto";
  std::string buffers = "user";  ///< "dtrain": memory of libdtrain
  std::string device = "cpu";    ///< whose memory it is: "gpu": a GPU of each rank; "cpu": the host
  std::optional<std::string> tensors = {};  ///< of fusion: a number, or the name of a model
  std::optional<bool> fused = {};           ///< of fusion
  BenchFormat format = BenchFormat::table;
  std::string compare = {};        ///< "mpirun", or empty
  std::string library = "dtrain";  ///< "mpi": the second measurement of a comparison
  std::string results = {};        ///< a file to which rank 0 appends a line for each size
  bool progress = false;           ///< the user's terminal shows a line while rank 0 measures
  bool explain = false;            ///< rank 0 prints the algorithms, and nothing is measured
  bool operator==(const BenchOptions&) const = default;

  /// Returns the number of timed calls; with ms_per_size, the upper bound of it.
  int calls_max() const;
  const BenchType& element() const;
  const BenchReduction& reduce_op() const;
  std::string tensors_or_default() const { return tensors.value_or("200"); }
  bool on_gpu() const { return device == "gpu"; }
  /// Returns the tensors of a call; 1 for all operations but fusion.
  size_t tensor_count() const;
};

/// One option of bench itself, beside those of `dtrain run`.
struct BenchOption {
  std::string_view spellings;    ///< the usual one first
  std::string_view placeholder;  ///< of its value; words between | are literal; empty: a flag
  std::string_view help;
  /// Puts the value into the options. Its error has no spelling in front.
  Result<> (*apply)(BenchOptions& options, std::string_view value) = nullptr;
  bool hidden = false;  ///< only the launcher gives it, to ranks
};
std::span<const BenchOption> bench_options();
/// Returns the option with this spelling, or null.
const BenchOption* find_bench_option(std::string_view spelling);

/// An option as typed; a flag has no value.
struct TypedOption {
  std::string spelling;
  std::string value = {};
  bool operator==(const TypedOption&) const = default;
};

/// Checks and joins the words of a command line. Fails with Errc::input, and names the option.
Result<BenchOptions> parse_bench_options(std::string_view operation,
                                         std::span<const TypedOption> typed);

/// Returns the words for a rank, and reads them back.
std::vector<std::string> rank_words(const BenchOptions& options);
Result<BenchOptions> parse_rank_words(std::span<const std::string> words);

/// Returns the sizes to measure, in bytes: from bytes_min to bytes_max, by the factor.
std::vector<uint64_t> bench_sizes(const BenchOptions& options);

}  // namespace dt
