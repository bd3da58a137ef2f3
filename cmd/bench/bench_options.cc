#include "cmd/bench/bench_options.h"

#include "base/format.h"
#include "base/text.h"
#include "cmd/bench/mpi_world.h"
#include "cmd/bench/tensor_plan.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

namespace dt {
namespace {

constexpr uint64_t bytes_limit = uint64_t{1} << 40;
constexpr int64_t tensors_limit = 100'000;
constexpr int64_t count_limit = 10'000'000;  // a call needs 16 bytes for its times

tl::unexpected<Error> expected(std::string_view what, std::string_view got) {
  return fail(Errc::input, format("expected {}, got \"{}\"", what, printable(got)));
}

/// Fails with the choices, and with the nearest one as a guess.
tl::unexpected<Error> unknown(std::string_view word, const std::vector<std::string>& choices) {
  const std::optional<std::string> guess = nearest(word, choices);
  return fail(Errc::input,
              format("expected one of {}, got \"{}\"{}", join(choices, ", "), printable(word),
                     guess ? format("; did you mean {}?", *guess) : ""));
}

Result<uint64_t> read_size(std::string_view value) {
  const std::optional<uint64_t> bytes = parse_size(value);
  if (bytes && *bytes > 0 && *bytes <= bytes_limit) return *bytes;
  return expected("a size from 1 to 1024G, such as 8, 64K or 256M", value);
}

Result<int> read_count(std::string_view value, int64_t min) {
  const std::optional<int64_t> count = parse_integer(value);
  if (count && *count >= min && *count <= count_limit) return static_cast<int>(*count);
  return expected(format("a whole number from {} to {}", min, count_limit), value);
}

Result<> set_bytes_min(BenchOptions& options, std::string_view value) {
  options.bytes_min = TRY(read_size(value));
  return {};
}

Result<> set_bytes_max(BenchOptions& options, std::string_view value) {
  options.bytes_max = TRY(read_size(value));
  return {};
}

Result<> set_factor(BenchOptions& options, std::string_view value) {
  const int factor = TRY(read_count(value, 2));
  options.factor = static_cast<uint64_t>(factor);
  return {};
}

Result<> set_iterations(BenchOptions& options, std::string_view value) {
  options.iterations = TRY(read_count(value, 1));
  return {};
}

Result<> set_warmups(BenchOptions& options, std::string_view value) {
  options.warmups = TRY(read_count(value, 0));
  return {};
}

Result<> set_ms_per_size(BenchOptions& options, std::string_view value) {
  options.ms_per_size = TRY(read_count(value, 1));
  return {};
}

Result<> set_type(BenchOptions& options, std::string_view value) {
  const BenchType* type = find_bench_type(value);
  if (type == nullptr) return unknown(value, bench_type_names());
  options.type = type->name();
  return {};
}

Result<> set_reduction(BenchOptions& options, std::string_view value) {
  const BenchReduction* reduction = find_bench_reduction(value);
  if (reduction == nullptr) return unknown(value, bench_reduction_names());
  options.reduction = reduction->name();
  return {};
}

Result<std::string> read_choice(std::string_view value, std::vector<std::string> choices) {
  if (std::ranges::count(choices, value) > 0) return std::string(value);
  return unknown(value, choices);
}

Result<> set_transport(BenchOptions& options, std::string_view value) {
  options.transport = TRY(read_choice(value, {"auto", "shm", "tcp"}));
  return {};
}

Result<> set_buffers(BenchOptions& options, std::string_view value) {
  options.buffers = TRY(read_choice(value, {"user", "dtrain"}));
  return {};
}

Result<> set_device(BenchOptions& options, std::string_view value) {
  options.device = TRY(read_choice(value, {"cpu", "gpu"}));
  return {};
}

Result<> set_tensors(BenchOptions& options, std::string_view value) {
  const std::optional<int64_t> number = parse_integer(value);
  const bool counts = number && *number >= 1 && *number <= tensors_limit;
  if (!counts && !bench_model(value)) {
    const std::vector<std::string> models = bench_model_names();
    const std::optional<std::string> guess = number ? std::nullopt : nearest(value, models);
    return fail(Errc::input, format("expected a number from 1 to {} or one of {}, got \"{}\"{}",
                                    tensors_limit, join(models, ", "), printable(value),
                                    guess ? format("; did you mean {}?", *guess) : ""));
  }
  options.tensors = value;
  return {};
}

Result<> set_fused(BenchOptions& options, std::string_view value) {
  const std::string choice = TRY(read_choice(value, {"on", "off"}));
  options.fused = choice == "on";
  return {};
}

constexpr std::array<std::pair<std::string_view, BenchFormat>, 4> formats = {
    {{"table", BenchFormat::table},
     {"csv", BenchFormat::csv},
     {"json", BenchFormat::json},
     {"peers", BenchFormat::peers}}};

Result<> set_format(BenchOptions& options, std::string_view value) {
  std::vector<std::string> names;
  for (const auto& [name, format] : formats) {
    names.emplace_back(name);
    if (name == value) options.format = format;
  }
  TRY(read_choice(value, names));
  return {};
}

Result<> set_json(BenchOptions& options, std::string_view) {
  options.format = BenchFormat::json;
  return {};
}

Result<> set_csv(BenchOptions& options, std::string_view) {
  options.format = BenchFormat::csv;
  return {};
}

Result<> set_compare(BenchOptions& options, std::string_view value) {
  options.compare = TRY(read_choice(value, {"mpirun"}));
  return {};
}

Result<> set_library(BenchOptions& options, std::string_view value) {
  options.library = TRY(read_choice(value, {"dtrain", "mpi"}));
  return {};
}

Result<> set_results(BenchOptions& options, std::string_view value) {
  options.results = value;
  return {};
}

Result<> set_progress(BenchOptions& options, std::string_view) {
  options.progress = true;
  return {};
}

Result<> set_explain(BenchOptions& options, std::string_view) {
  options.explain = true;
  return {};
}

constexpr std::array options_table = {
    BenchOption{"-b --minbytes", "BYTES", "The smallest size: 8, the default, 64K, 1M or 2G.",
                set_bytes_min},
    BenchOption{"-e --maxbytes", "BYTES", "The largest size (default 256M).", set_bytes_max},
    BenchOption{"-f --stepfactor", "N", "Each size is N times the one before (default 2).",
                set_factor},
    BenchOption{"-n --iters", "N",
                "Timed calls of each size (default 20). With --ms-per-size, the most of them.",
                set_iterations},
    BenchOption{"-w --warmup_iters", "N", "Calls before the timed ones (default 5).", set_warmups},
    BenchOption{"--ms-per-size", "MS",
                "Time for each size in milliseconds, instead of a number of calls. A fifth of it "
                "is for warming up.",
                set_ms_per_size},
    BenchOption{"-d --datatype", "TYPE",
                "float32, the default, float64, float16, bfloat16, int8, uint8, int16, uint16, "
                "int32, uint32, int64, uint64, bool, float8_e4m3 or float8_e5m2.",
                set_type},
    BenchOption{"-o --op", "sum|prod|min|max|avg",
                "The reduction of all_reduce and reduce_scatter (default sum). bool has no avg.",
                set_reduction},
    BenchOption{"--transport", "auto|shm|tcp",
                "auto, the default: shared memory within a host, TCP between hosts. shm and tcp: "
                "only that.",
                set_transport},
    BenchOption{"--buffers", "user|dtrain",
                "The memory of the buffers. user, the default: that of a program. dtrain: from "
                "dtrain_alloc, which ranks of a host read in place.",
                set_buffers},
    BenchOption{"--device", "cpu|gpu",
                "cpu, the default: the buffers are memory of the host. gpu: of a GPU, which each "
                "rank takes by its local rank. -x DTRAIN_CPU_DEVICES=N makes N devices of the CPU "
                "stand in for GPUs.",
                set_device},
    BenchOption{"--tensors", "N|resnet50|bert-large",
                "The tensors of a fusion: N equal ones (default 200), or the gradients of a model "
                "in their own sizes: 161 of ResNet-50, or 398 of BERT-large.",
                set_tensors},
    BenchOption{
        "--fused", "on|off",
        "on, the default: the tensors of a fusion have names, so each rank can have another "
        "order, and small ones share buckets. off: they have none, and are reduced one by "
        "one.",
        set_fused},
    BenchOption{"--format", "table|csv|json|peers",
                "table, the default: the columns of nccl-tests, then p50 and p99. peers: one line "
                "a size, separated by tabs, that benchmarks of other libraries print, too.",
                set_format},
    BenchOption{"--json", "", "The same as --format json: one document.", set_json},
    BenchOption{"--csv", "", "The same as --format csv.", set_csv},
    BenchOption{"--compare", "mpirun",
                "Then measure Open MPI in the same way, with as many ranks on this machine, and "
                "print the ratios. Not for CSV and JSON.",
                set_compare},
    BenchOption{"--explain", "",
                "Print which algorithm libdtrain takes for which sizes between these ranks, for "
                "each operation, and measure nothing. --algorithms changes them.",
                set_explain},
    BenchOption{"--library", "dtrain|mpi", "", set_library, true},
    BenchOption{"--results", "FILE", "", set_results, true},
    BenchOption{"--progress", "", "", set_progress, true},
};

std::string_view format_name(BenchFormat wanted) {
  const auto* const found =
      std::ranges::find(formats, wanted, &std::pair<std::string_view, BenchFormat>::second);
  return found->first;
}

/// Checks that Open MPI can measure the same, and that two results fit into the output.
Result<> check_comparison(const BenchOptions& options) {
  if (options.compare.empty()) return {};
  const bool documents = options.format == BenchFormat::json || options.format == BenchFormat::csv;
  if (documents) {
    return fail(Errc::input,
                "--compare mpirun: prints a table, or lines with --format peers; "
                "leave out --json and --csv");
  }
  if (mpi_has(options.type, options.reduction)) return {};
  return fail(Errc::input, format("--compare mpirun: MPI has no -d {} with -o {}", options.type,
                                  options.reduction));
}

/// Checks that the buffers can lie on a GPU.
Result<> check_device(const BenchOptions& options) {
  if (!options.on_gpu()) return {};
  const auto refuse = [](std::string_view reason) {
    return fail(Errc::input, format("--device gpu: {}", reason));
  };
  if (options.explain) return refuse("--explain measures nothing; leave out one of the two");
  if (options.buffers != "user")
    return refuse("memory of dtrain_alloc lies on the host; leave out --buffers dtrain");
  if (!options.compare.empty() || options.library != "dtrain")
    return refuse("Open MPI is measured with memory of the host only; leave out --compare");
  if (options.format != BenchFormat::peers) return {};
  return refuse(
      "--format peers has lines about memory of the host only; give --format csv or json");
}

/// A model has one size.
Result<> fit_model(BenchOptions& options) {
  const std::optional<std::vector<size_t>> model = bench_model(options.tensors_or_default());
  if (options.operation != BenchOperation::fusion || !model) return {};
  const size_t elements = std::accumulate(model->begin(), model->end(), size_t{0});
  const uint64_t bytes = elements * options.element().bytes;
  const BenchOptions defaults;
  const bool free =
      options.bytes_min == defaults.bytes_min && options.bytes_max == defaults.bytes_max;
  const bool fitted = options.bytes_min == bytes && options.bytes_max == bytes;
  if (!free && !fitted) {
    return fail(Errc::input, format("--tensors {}: has {} bytes of {}; leave out -b and -e",
                                    *options.tensors, bytes, options.type));
  }
  options.bytes_min = options.bytes_max = bytes;
  return {};
}

/// Checks values that fit only some others.
Result<> check_together(const BenchOptions& options) {
  if (options.explain && (options.format != BenchFormat::table || !options.compare.empty())) {
    return fail(Errc::input,
                "--explain: prints a table of algorithms and measures nothing; leave out --format, "
                "--json, --csv and --compare");
  }
  TRY(check_device(options));
  if (options.operation != BenchOperation::fusion && (options.tensors || options.fused)) {
    return fail(Errc::input,
                format("{}: is for the operation fusion; leave it out for {}",
                       options.tensors ? "--tensors" : "--fused", row_of(options.operation).name));
  }
  if (options.bytes_min > options.bytes_max) {
    return fail(Errc::input, format("bench: the smallest size, -b {}, is above the largest, -e {}",
                                    options.bytes_min, options.bytes_max));
  }
  const bool average = options.reduction == "avg" && row_of(options.operation).reduces;
  if (average && options.type == "bool")
    return fail(Errc::input, "-o avg: there is no average of bool; use -o sum, or another type");
  return check_comparison(options);
}

}  // namespace

int BenchOptions::calls_max() const {
  constexpr int calls_default = 20;
  constexpr int calls_of_time_max = 100'000;
  return iterations.value_or(ms_per_size ? calls_of_time_max : calls_default);
}

const BenchType& BenchOptions::element() const {
  const BenchType* found = find_bench_type(type);
  assert(found != nullptr);
  return *found;
}

const BenchReduction& BenchOptions::reduce_op() const {
  const BenchReduction* found = find_bench_reduction(reduction);
  assert(found != nullptr);
  return *found;
}

size_t BenchOptions::tensor_count() const {
  if (operation != BenchOperation::fusion) return 1;
  const std::string text = tensors_or_default();
  if (const auto model = bench_model(text)) return model->size();
  return static_cast<size_t>(parse_integer(text).value_or(1));
}

std::span<const BenchOption> bench_options() {
  return options_table;
}

const BenchOption* find_bench_option(std::string_view spelling) {
  const auto* const found = std::ranges::find_if(options_table, [&](const BenchOption& option) {
    return std::ranges::count(split_words(option.spellings), spelling) > 0;
  });
  return found == options_table.end() ? nullptr : found;
}

Result<BenchOptions> parse_bench_options(std::string_view operation,
                                         std::span<const TypedOption> typed) {
  BenchOptions options;
  const std::vector<std::string> names = bench_operation_names();
  if (operation.empty()) {
    return fail(Errc::input, format("bench: needs an operation, one of {}; for example: dtrain "
                                    "bench all_reduce -np 2",
                                    join(names, ", ")));
  }
  const std::optional<BenchOperation> parsed = parse_bench_operation(operation);
  if (!parsed) {
    const auto why = unknown(operation, names);
    return fail(Errc::input, "bench: " + why.value().message);
  }
  options.operation = *parsed;
  for (const TypedOption& one : typed) {
    const BenchOption* option = find_bench_option(one.spelling);
    if (option == nullptr) {
      return fail(Errc::input, format("{}: no option of bench", printable(one.spelling)));
    }
    if (const auto applied = option->apply(options, one.value); !applied) {
      return fail(Errc::input, format("{}: {}", one.spelling, applied.error().message));
    }
  }
  TRY(check_together(options));
  TRY(fit_model(options));
  return options;
}

std::vector<std::string> rank_words(const BenchOptions& options) {
  std::vector<std::string> words = {std::string(row_of(options.operation).name)};
  const auto add = [&words](std::string_view spelling, std::string value) {
    words.emplace_back(spelling);
    words.push_back(std::move(value));
  };
  add("-b", format("{}", options.bytes_min));
  add("-e", format("{}", options.bytes_max));
  add("-f", format("{}", options.factor));
  if (options.iterations) add("-n", format("{}", *options.iterations));
  add("-w", format("{}", options.warmups));
  if (options.ms_per_size) add("--ms-per-size", format("{}", *options.ms_per_size));
  add("-d", options.type);
  add("-o", options.reduction);
  add("--transport", options.transport);
  add("--buffers", options.buffers);
  add("--device", options.device);
  if (options.tensors) add("--tensors", *options.tensors);
  if (options.fused) add("--fused", *options.fused ? "on" : "off");
  add("--format", std::string(format_name(options.format)));
  if (!options.compare.empty()) add("--compare", options.compare);
  if (options.library != "dtrain") add("--library", options.library);
  if (!options.results.empty()) add("--results", options.results);
  if (options.progress) words.emplace_back("--progress");
  if (options.explain) words.emplace_back("--explain");
  return words;
}

Result<BenchOptions> parse_rank_words(std::span<const std::string> words) {
  std::vector<TypedOption> typed;
  for (size_t i = 1; i < words.size(); ++i) {
    const BenchOption* option = find_bench_option(words[i]);
    const bool valued = option != nullptr && !option->placeholder.empty() && i + 1 < words.size();
    typed.push_back({words[i], valued ? words[i + 1] : ""});
    if (valued) ++i;
  }
  return parse_bench_options(words.empty() ? "" : words[0], typed);
}

std::vector<uint64_t> bench_sizes(const BenchOptions& options) {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = options.bytes_min; bytes <= options.bytes_max; bytes *= options.factor) {
    sizes.push_back(bytes);
    if (bytes > options.bytes_max / options.factor) break;  // the next one may not fit 64 bits
  }
  return sizes;
}

}  // namespace dt
