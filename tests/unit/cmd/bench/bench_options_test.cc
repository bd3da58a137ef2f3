#include "cmd/bench/bench_options.h"

#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

BenchOptions parsed(const std::vector<TypedOption>& typed,
                    std::string_view operation = "all_reduce") {
  const auto options = parse_bench_options(operation, typed);
  REQUIRE_MESSAGE(options, options.error().message);
  return *options;
}

std::string error_of(const std::vector<TypedOption>& typed,
                     std::string_view operation = "all_reduce") {
  const auto options = parse_bench_options(operation, typed);
  if (options) return "accepted";
  CHECK(options.error().code == Errc::input);
  return options.error().message;
}

TEST_CASE("without options the sizes are 8 bytes to 256 MiB") {
  const BenchOptions options = parsed({});
  CHECK(options == BenchOptions{});
  const std::vector<uint64_t> sizes = bench_sizes(options);
  CHECK(sizes.size() == 26);
  CHECK(sizes.front() == 8);
  CHECK(sizes.back() == uint64_t{256} << 20);
  CHECK(options.calls_max() == 20);
}

TEST_CASE("sizes grow by the factor and end with the largest that fits") {
  CHECK(bench_sizes({.bytes_min = 4, .bytes_max = 70, .factor = 4}) ==
        std::vector<uint64_t>{4, 16, 64});
  CHECK(bench_sizes({.bytes_min = 5, .bytes_max = 5}) == std::vector<uint64_t>{5});
  const uint64_t large = uint64_t{1} << 40;
  CHECK(bench_sizes({.bytes_min = large, .bytes_max = large, .factor = 10'000'000}) ==
        std::vector<uint64_t>{large});
}

TEST_CASE("each option sets its value, and the last of several wins") {
  const BenchOptions options = parsed({{"-b", "1K"},
                                       {"--maxbytes", "1M"},
                                       {"-f", "4"},
                                       {"-n", "7"},
                                       {"-w", "0"},
                                       {"-d", "half"},
                                       {"-o", "product"},
                                       {"--ms-per-size", "60"},
                                       {"--transport", "tcp"},
                                       {"--buffers", "dtrain"},
                                       {"--device", "cpu"},
                                       {"--csv"},
                                       {"--json"}},
                                      "reduce_scatter");
  CHECK(options == BenchOptions{.operation = BenchOperation::reduce_scatter,
                                .bytes_min = 1024,
                                .bytes_max = 1048576,
                                .factor = 4,
                                .iterations = 7,
                                .warmups = 0,
                                .ms_per_size = 60,
                                .type = "float16",
                                .reduction = "prod",
                                .transport = "tcp",
                                .buffers = "dtrain",
                                .format = BenchFormat::json});
  CHECK(parsed({{"--format", "peers"}}).format == BenchFormat::peers);
  CHECK(parsed({{"--csv"}}).format == BenchFormat::csv);
  // With a time, -n is the most calls.
  CHECK(options.calls_max() == 7);
  CHECK(parsed({{"--ms-per-size", "1"}}).calls_max() == 100'000);
}

TEST_CASE("a wrong value is named with its option and the values that are right") {
  struct Case {
    std::vector<TypedOption> typed;
    std::string expected;
  };
  const Case cases[] = {
      {{{"-b", "0"}}, "-b: expected a size from 1 to 1024G, such as 8, 64K or 256M, got \"0\""},
      {{{"-e", "2T"}}, "-e: expected a size from 1 to 1024G, such as 8, 64K or 256M, got \"2T\""},
      {{{"-f", "1"}}, "-f: expected a whole number from 2 to 10000000, got \"1\""},
      {{{"-n", "0"}}, "-n: expected a whole number from 1 to 10000000, got \"0\""},
      {{{"-w", "x"}}, "-w: expected a whole number from 0 to 10000000, got \"x\""},
      {{{"--ms-per-size", "1.5"}},
       "--ms-per-size: expected a whole number from 1 to 10000000, got \"1.5\""},
      {{{"-d", "flaot"}},
       "-d: expected one of float32, float64, float16, bfloat16, int8, uint8, int16, uint16, "
       "int32, uint32, int64, uint64, bool, float8_e4m3, float8_e5m2, got \"flaot\""},
      {{{"-o", "summ"}},
       "-o: expected one of sum, prod, min, max, avg, got \"summ\"; did you mean sum?"},
      {{{"--buffers", "usr"}},
       "--buffers: expected one of user, dtrain, got \"usr\"; did you mean user?"},
      {{{"--device", "gpus"}},
       "--device: expected one of cpu, gpu, got \"gpus\"; did you mean gpu?"},
      {{{"--transport", "tpc"}},
       "--transport: expected one of auto, shm, tcp, got \"tpc\"; did you mean tcp?"},
      {{{"--format", "jsn"}},
       "--format: expected one of table, csv, json, peers, got \"jsn\"; did you mean json?"},
      {{{"--buffer", "dtrain"}}, "--buffer: no option of bench"},
      {{{"-b", "1M"}, {"-e", "1K"}},
       "bench: the smallest size, -b 1048576, is above the largest, -e 1024"},
      {{{"-o", "avg"}, {"-d", "bool"}},
       "-o avg: there is no average of bool; use -o sum, or another type"},
  };
  for (const Case& one : cases)
    CHECK(error_of(one.typed) == one.expected);
  CHECK(error_of({{"--compare", "mpirun"}, {"--json"}}).starts_with("--compare mpirun: prints"));
  CHECK(error_of({{"--compare", "mpirun"}, {"-d", "half"}}) ==
        "--compare mpirun: MPI has no -d float16 with -o sum");
  // An operation without a reduction has no use for it.
  CHECK(error_of({{"-o", "avg"}, {"-d", "bool"}}, "broadcast") == "accepted");
  CHECK(error_of({{"-o", "avg"}, {"-d", "int32"}}) == "accepted");
}

TEST_CASE("memory of a GPU is refused where the measurement has other memory, or none") {
  CHECK(parsed({{"--device", "gpu"}}).on_gpu());
  CHECK_FALSE(parsed({}).on_gpu());
  CHECK(parsed({{"--device", "gpu"}, {"--json"}}).on_gpu());
  CHECK(parsed({{"--device", "gpu"}, {"--csv"}}).on_gpu());
  struct Case {
    std::vector<TypedOption> typed;
    std::string expected;
  };
  const Case cases[] = {
      {{{"--explain"}}, "--explain measures nothing; leave out one of the two"},
      {{{"--buffers", "dtrain"}},
       "memory of dtrain_alloc lies on the host; leave out --buffers dtrain"},
      {{{"--compare", "mpirun"}},
       "Open MPI is measured with memory of the host only; leave out --compare"},
      {{{"--library", "mpi"}},
       "Open MPI is measured with memory of the host only; leave out --compare"},
      {{{"--format", "peers"}},
       "--format peers has lines about memory of the host only; give --format csv or json"},
  };
  for (const Case& one : cases) {
    CHECK(error_of(one.typed) == "accepted");
    std::vector<TypedOption> typed = one.typed;
    typed.push_back({"--device", "gpu"});
    CHECK(error_of(typed) == "--device gpu: " + one.expected);
  }
}

TEST_CASE("the tensors of a fusion are a number or a model, which has a size of its own") {
  const auto refusal = [](const std::vector<TypedOption>& typed) {
    return error_of(typed, "fusion");
  };
  CHECK(refusal({{"--tensors", "0"}}) ==
        "--tensors: expected a number from 1 to 100000 or one of resnet50, bert-large, got \"0\"");
  CHECK(refusal({{"--tensors", "resnet5"}}).ends_with("got \"resnet5\"; did you mean resnet50?"));
  CHECK(refusal({{"--tensors", "resnet50"}, {"-e", "1M"}}) ==
        "--tensors resnet50: has 102228128 bytes of float32; leave out -b and -e");
  CHECK(refusal({{"--fused", "of"}}) ==
        "--fused: expected one of on, off, got \"of\"; did you mean off?");
  CHECK(error_of({{"--tensors", "9"}}) ==
        "--tensors: is for the operation fusion; leave it out for all_reduce");
  CHECK(error_of({{"--fused", "on"}}) ==
        "--fused: is for the operation fusion; leave it out for all_reduce");
  const auto halves = parse_bench_options(
      "fusion", std::vector<TypedOption>{{"--tensors", "resnet50"}, {"-d", "float16"}});
  REQUIRE(halves);
  CHECK(halves->bytes_min == 51'114'064);
  CHECK(halves->tensor_count() == 161);
  CHECK(BenchOptions{.operation = BenchOperation::fusion}.tensor_count() == 200);
  CHECK(BenchOptions{}.tensor_count() == 1);
}

TEST_CASE("a missing or unknown operation is answered with those that there are") {
  CHECK(
      error_of({}, "") ==
      "bench: needs an operation, one of all_reduce, all_gather, broadcast, reduce_scatter, "
      "all_to_all, reduce, gather, scatter, latency, fusion; for example: dtrain bench all_reduce "
      "-np 2");
  CHECK(error_of({}, "allreduce") ==
        "bench: expected one of all_reduce, all_gather, broadcast, reduce_scatter, all_to_all, "
        "reduce, gather, scatter, latency, fusion, got "
        "\"allreduce\"; did you mean all_reduce?");
}

TEST_CASE("the words for a rank are read back as the same options") {
  const BenchOptions all[] = {{},
                              {.operation = BenchOperation::latency,
                               .bytes_min = 3,
                               .bytes_max = 5,
                               .factor = 9,
                               .iterations = 2,
                               .warmups = 0,
                               .ms_per_size = 8,
                               .type = "uint64",
                               .reduction = "max",
                               .transport = "shm",
                               .buffers = "dtrain",
                               .format = BenchFormat::peers,
                               .compare = "mpirun",
                               .library = "mpi",
                               .results = "/tmp/x",
                               .progress = true},
                              {.operation = BenchOperation::fusion, .tensors = "7", .fused = false},
                              {.operation = BenchOperation::fusion,
                               .bytes_min = 102'228'128,
                               .bytes_max = 102'228'128,
                               .tensors = "resnet50",
                               .fused = true},
                              {.device = "gpu"},
                              {.explain = true}};
  for (const BenchOptions& options : all) {
    const auto read = parse_rank_words(rank_words(options));
    REQUIRE_MESSAGE(read, read.error().message);
    CHECK(*read == options);
  }
  CHECK_FALSE(parse_rank_words({}));
  CHECK_FALSE(parse_rank_words(Words{"all_reduce", "-b"}));
}

TEST_CASE("every option has a spelling of its own and an explanation") {
  for (const BenchOption& option : bench_options()) {
    CAPTURE(option.spellings);
    for (const std::string_view spelling : split_words(option.spellings))
      CHECK(find_bench_option(spelling) == &option);
    CHECK(option.help.empty() == option.hidden);
  }
  CHECK(find_bench_option("--min") == nullptr);
}

}  // namespace
}  // namespace dt
