#include "cmd/bench/bench_report.h"

#include "base/json.h"
#include "base/text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

BenchSubject subject_with(BenchFormat format,
                          BenchOperation operation = BenchOperation::all_reduce) {
  return {.options = {.operation = operation, .format = format},
          .ranks = {{.pid = 11, .host = "node1"}, {.pid = 22, .host = "node2"}}};
}

SizeResult both_modes() {
  return {.shape = {.count = 1024, .input = 1024, .output = 1024, .bytes = 4096},
          .out_of_place =
              Timing{.iterations = 20, .min_us = 1, .p50_us = 1.5, .p99_us = 9.25, .mean_us = 2},
          .in_place = Timing{.iterations = 20,
                             .min_us = 2,
                             .p50_us = 4,
                             .p99_us = 123456.7,
                             .mean_us = 1234567.891,
                             .wrong = 3}};
}

SizeResult one_mode() {
  SizeResult result = both_modes();
  result.in_place.reset();
  return result;
}

TEST_CASE("a number loses its decimals before it exceeds its column") {
  struct Case {
    double number;
    std::string_view text;
  };
  for (const Case& one : {Case{0, "0.00"},
                          {1.005e3, "1005.00"},
                          {9999.99, "9999.99"},
                          {99999.94, "99999.9"},
                          {1234567.8, "1234568"},
                          {123456789.0, "123456789"}})
    CHECK(fitted(one.number, 7) == one.text);
}

TEST_CASE("the lines of names are as wide as each row, also for the longest type") {
  for (const char* type : {"float32", "float8_e4m3"}) {
    BenchSubject subject = subject_with(BenchFormat::table);
    subject.options.type = type;
    const BenchReport report(subject);
    const size_t width = report.size(both_modes()).size() - 1;
    const std::string header = report.begin();
    const std::vector<std::string_view> lines = split(header, '\n');
    for (size_t back = 2; back <= 4; ++back)
      CHECK(lines[lines.size() - back].size() == width);
  }
}

TEST_CASE("the table has the columns of nccl-tests, and a second one p50 and p99") {
  const BenchReport report(subject_with(BenchFormat::table));
  const std::string header = report.begin();
  CHECK(header.find("#  Rank  1 Pid     22 on      node2\n") != std::string::npos);
  CHECK(header.find("minBytes 8 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 ") !=
        std::string::npos);
  const std::string row = report.size(both_modes());
  CHECK(row ==
        "        4096          1024   float32     sum    -1"
        "     2.00   2.05   2.05      0  1234568   0.00   0.00      3\n");
  CHECK(row.size() <= 111);
  CHECK(report.size(one_mode()).find("    N/A    N/A    N/A    N/A") != std::string::npos);
  CHECK(report.end({both_modes(), one_mode()})
            .starts_with("#\n"
                         "# Single calls (us)    out-of-place          in-place\n"
                         "#       size        p50       p99       p50       p99\n"
                         "#       4096       1.50      9.25      4.00    123457\n"
                         "#       4096       1.50      9.25       N/A       N/A\n#\n"));
  CHECK(report.end({both_modes()})
            .ends_with("#\n# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 1.024\n"));
  CHECK(report.end({one_mode()}).find(" : 0 OK\n") != std::string::npos);
}

TEST_CASE("the table names the device of each rank, and those that ranks share") {
  BenchSubject subject = subject_with(BenchFormat::table);
  CHECK(BenchReport(subject).begin().find("device") == std::string::npos);
  subject.options.device = "gpu";
  subject.ranks[0].host = "node2";
  subject.ranks[0].device = subject.ranks[1].device = "cuda:0";
  subject.ranks[0].uuid = subject.ranks[1].uuid = "GPU-1a";
  subject.ranks[1].model = "NVIDIA H100";
  const std::string header = BenchReport(subject).begin();
  CHECK(header.find("buffers user, device gpu\n") != std::string::npos);
  CHECK(header.find("#  Rank  0 Pid     11 on      node2 device cuda:0 GPU-1a\n"
                    "#  Rank  1 Pid     22 on      node2 device cuda:0 GPU-1a NVIDIA H100\n"
                    "# Ranks 0, 1 share one GPU of node2: GPU-1a\n"
                    "#\n") != std::string::npos);
}

TEST_CASE("json has the device of each rank, or null") {
  BenchSubject subject = subject_with(BenchFormat::json);
  const auto device_of = [](const Json& document, size_t rank) {
    return document.find("ranks")->as<Json::Array>()->at(rank);
  };
  const Json on_host = Json::parse(BenchReport(subject).end({both_modes()})).value();
  CHECK(*on_host.find("device") == Json("cpu"));
  CHECK(*device_of(on_host, 0).find("device") == Json());
  CHECK(*device_of(on_host, 0).find("uuid") == Json());
  CHECK(*device_of(on_host, 0).find("model") == Json());
  subject.options.device = "gpu";
  subject.ranks[1].device = "cuda:1";
  subject.ranks[1].uuid = "GPU-1a";
  subject.ranks[1].model = "NVIDIA H100";
  const Json on_gpu = Json::parse(BenchReport(subject).end({both_modes()})).value();
  CHECK(*on_gpu.find("device") == Json("gpu"));
  CHECK(*device_of(on_gpu, 1).find("device") == Json("cuda:1"));
  CHECK(*device_of(on_gpu, 1).find("uuid") == Json("GPU-1a"));
  CHECK(*device_of(on_gpu, 1).find("model") == Json("NVIDIA H100"));
}

TEST_CASE("an operation without reduction has none, and one with a root names it") {
  const BenchReport report(subject_with(BenchFormat::table, BenchOperation::broadcast));
  const std::string row = report.size(both_modes());
  const auto words = split_words(row);
  CHECK(words[3] == "none");
  CHECK(words[4] == "0");
}

TEST_CASE("csv has a line of names and one line a mode") {
  BenchSubject subject = subject_with(BenchFormat::csv);
  const BenchReport report(subject);
  const std::string rows = report.size(both_modes());
  const auto lines = split(rows, '\n');
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "dtrain,all_reduce,2,4096,1024,float32,sum,out-of-place,20,1.000,1.500,9.250,2.000,"
        "2.0480,2.0480,0,cpu");
  CHECK(split(lines[1], ',')[7] == "in-place");
  const std::string names = report.begin();
  CHECK(split(names, ',').size() == split(lines[0], ',').size());
  CHECK(report.end({both_modes()}).empty());
  subject.options.device = "gpu";
  CHECK(BenchReport(subject).size(one_mode()).ends_with(",0,gpu\n"));
}

TEST_CASE("the line for peers has their twelve fields, with the bandwidth of the median") {
  const BenchReport report(subject_with(BenchFormat::peers));
  CHECK(report.begin().empty());
  CHECK(report.size(one_mode()) ==
        "dtrain\tallreduce\t2\t4096\t20\t1.00\t1.50\t9.25\t2.00\t2.731\t2.731\t0\n");
  CHECK(split(report.size(both_modes()), '\t')[6] == "4.00");
  CHECK(report.end({one_mode()}).empty());
}

TEST_CASE("json is one document that a parser reads back") {
  const BenchReport report(subject_with(BenchFormat::json, BenchOperation::all_gather));
  CHECK(report.begin().empty());
  CHECK(report.size(both_modes()).empty());
  const auto document = Json::parse(report.end({both_modes(), one_mode()}));
  REQUIRE(document);
  CHECK(*document->find("bench_version") == Json(1));
  CHECK(*document->find("operation") == Json("all_gather"));
  CHECK(*document->find("redop") == Json());
  CHECK(*document->find("wrong") == Json(3));
  CHECK(document->find("ranks")->as<Json::Array>()->size() == 2);
  const Json::Array& results = *document->find("results")->as<Json::Array>();
  REQUIRE(results.size() == 3);
  CHECK(*results[1].find("in_place") == Json(true));
  CHECK(*results[1].find("p99_us") == Json(123456.7));
  CHECK(*results[1].find("wrong") == Json(3));
  CHECK(*results[2].find("bytes") == Json(4096));
}

TEST_CASE("the progress of a size is one line, which the next text covers") {
  const std::string text = progress_text(subject_with(BenchFormat::table), 4096, 3, 26);
  CHECK(text.starts_with("dtrain bench: all_reduce of 4096 bytes, size 3 of 26…  "));
  CHECK(text.ends_with(" \r"));
  CHECK(progress_end() == std::string(78, ' ') + "\r");
  CHECK(text.size() == progress_end().size() + 2);  // the ellipsis has three bytes
}

}  // namespace
}  // namespace dt
