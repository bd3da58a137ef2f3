#include "comm/training/strategy/worker_record.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

constexpr StrategyName several = StrategyName::multi_worker_mirrored;

std::string difference(const std::vector<WorkerRecord>& records, int rank) {
  const Result<> compared = compare_records({records.begin(), records.end()});
  if (compared) return "none";
  CHECK(compared.error().blamed_rank == rank);
  return compared.error().message;
}

TEST_CASE("a record survives its bytes, and a long failure is cut") {
  WorkerRecord record = {
      .failure = "no device",
      .name = StrategyName::central_storage,
      .cross_device = {{.name = {CrossDeviceName::Kind::nccl_all_reduce, 7, "cpu:1"},
                        .bytes_max = 4096},
                       {.registered = "mine"}},
      .devices = 3,
      .bytes_per_pack = 1ull << 40,
      .mode = {ServerMode::Kind::bounded, 4, true},
      .communication = Communication::ring,
      .in_use = {.host = "node1",
                 .uuids = {"GPU-a", "GPU-b"},
                 .may_share = true,
                 .nccl_version = 22809,
                 .nccl_path = "/usr/lib/libnccl.so.2",
                 .driver_version = 13000},
      .id = {1, 2, 3}};
  CHECK(decode_worker_record(encode(record)).value() == record);
  record.failure = std::string(5000, 'x');
  CHECK(decode_worker_record(encode(record)).value().failure.size() == 340);
  record.in_use = {.host = std::string(5000, 'h'),
                   .uuids = std::vector<std::string>(300, std::string(100, 'u')),
                   .nccl_path = std::string(5000, 'p')};
  CHECK(encode(record).size() < worker_record_bytes_max);
  CHECK(decode_worker_record(encode(record)).value().in_use.uuids.size() == 16);
  CHECK_FALSE(decode_worker_record({}));
  // The largest record fits into the message of a worker.
  record.cross_device.assign(cross_device_rules_max, {.registered = std::string(63, 'a')});
  CHECK(encode(record).size() <= worker_record_bytes_max);
  auto bytes = encode(record);
  bytes[0] = std::byte{99};
  CHECK_FALSE(decode_worker_record(bytes));
}

TEST_CASE("workers that agree have no difference") {
  CHECK(difference({{.name = several, .devices = 2}, {.name = several, .devices = 2}}, 0) ==
        "none");
  CHECK(difference({{.name = StrategyName::mirrored, .devices = 2}}, 0) == "none");
}

TEST_CASE("the first worker that differs is named with both values") {
  CHECK(difference({{.name = several, .devices = 2},
                    {.name = several, .devices = 2},
                    {.name = several, .devices = 1}},
                   2) == "rank 2 has 1 device, but rank 0 2; each worker needs equally many");
  CHECK(difference(
            {{.name = several, .devices = 1}, {.name = StrategyName::mirrored, .devices = 1}}, 1) ==
        "rank 1 has the strategy mirrored, but rank 0 multi_worker_mirrored; --strategy gives all "
        "the same");
  CHECK(difference({{.name = several}, {.name = several, .bytes_per_pack = 5}}, 1) ==
        "rank 1 has 5 bytes_per_pack, but rank 0 0");
  CHECK(difference({{.name = several}, {.name = several, .communication = Communication::ring}},
                   1) == "rank 1 has the communication ring, but rank 0 auto");
  CHECK(
      difference(
          {{.name = several}, {.name = several, .cross_device = {{.name = {.device = "cpu:1"}}}}},
          1) ==
      "rank 1 reduces by ReductionToOneDevice on cpu:1, but rank 0 by ReductionToOneDevice with 1 "
      "pack");
  CHECK(
      difference({{.name = several}, {.name = several, .mode = {ServerMode::Kind::sync, 2}}}, 1) ==
      "rank 1 has the mode sync:2 of parameter servers, but rank 0 sync; --ps-mode gives all the "
      "same");
  CHECK(difference(
            {{.name = several},
             {.name = several, .cross_device = {{.name = {CrossDeviceName::Kind::all_reduce, 2}}}}},
            1) ==
        "rank 1 reduces by AllReduce with 2 packs, but rank 0 by ReductionToOneDevice with "
        "1 pack");
}

TEST_CASE("a worker that cannot take part comes before a difference") {
  CHECK(difference({{.name = several, .devices = 2}, {.failure = "no device \"9\""}}, 1) ==
        "rank 1: no device \"9\"");
  CHECK(difference({{.failure = "no device \"9\""}}, 0) == "no device \"9\"");
}

TEST_CASE("workers with one GPU or two versions of NCCL are refused, also if neither is rank 0") {
  const WorkerRecord one = {.name = several, .in_use = {.uuids = {"GPU-a"}}};
  const WorkerRecord other = {.name = several, .in_use = {.uuids = {"GPU-b"}}};
  CHECK(difference({one, other}, 0) == "none");
  CHECK(difference({one, other, other}, 2).starts_with("rank 1 and rank 2 use one GPU, GPU-b: "));
  const WorkerRecord new_nccl = {.name = several, .in_use = {.nccl_version = 22809}};
  const WorkerRecord old_nccl = {.name = several, .in_use = {.nccl_version = 22705}};
  CHECK(difference({new_nccl, old_nccl}, 1).starts_with("rank 1 has NCCL 2.27.5 ("));
  CHECK(compare_records({one, std::nullopt, other}).has_value());
}

TEST_CASE("doubtful differences have a sentence for each rank") {
  const WorkerRecord one = {.in_use = {.nccl_version = 22809, .nccl_path = "/a"}};
  const WorkerRecord other = {.in_use = {.nccl_version = 22809, .nccl_path = "/b"}};
  CHECK(doubtful_differences({one, one, std::nullopt}).empty());
  CHECK(doubtful_differences({one, other, one, other}).size() == 2);
}

TEST_CASE("several workers under a strategy of one process are refused") {
  const WorkerRecord record = {.name = StrategyName::mirrored, .devices = 1};
  CHECK(difference({record, record}, -1) ==
        "mirrored trains in one process, and the job has 2 workers; use multi_worker_mirrored");
}

}  // namespace
}  // namespace dt
