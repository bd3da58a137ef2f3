#include "launcher/plan/job_size_rules.h"

#include "launcher/config/placement_options.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

std::vector<Host> hosts_with(const std::vector<int>& slots) {
  std::vector<Host> hosts;
  for (const int count : slots)
    hosts.push_back({.name = "n", .slots = count});
  return hosts;
}

/// One row of a table: a size, the slots of the hosts that are there, and what they allow.
struct SizeRow {
  const char* name;
  JobSize size;
  std::vector<int> slots;
  SizeNeed first;  ///< at the first start
  SizeNeed later;
  int other_tasks = 0;
};

void check_rows(const std::vector<SizeRow>& rows) {
  for (const SizeRow& row : rows) {
    CAPTURE(row.name);
    const std::vector<Host> hosts = hosts_with(row.slots);
    const SizeNeed first = needed_ranks(row.size, hosts, row.other_tasks, true);
    const SizeNeed later = needed_ranks(row.size, hosts, row.other_tasks, false);
    CHECK(first.ranks == row.first.ranks);
    CHECK(first.missing == row.first.missing);
    CHECK(later.ranks == row.later.ranks);
    CHECK(later.missing == row.later.missing);
  }
}

TEST_CASE("needed_ranks: every slot has a rank, up to --max-np, and never below --min-np") {
  check_rows({
      {"no limits", {}, {2, 2}, {.ranks = 4}, {.ranks = 4}},
      {"no host", {}, {}, {.missing = 1}, {.missing = 1}},
      {"as horovodrun, -np 2 on 4 slots starts 4",
       {.ranks_min = 2, .ranks_first = 2},
       {4},
       {.ranks = 4},
       {.ranks = 4}},
      {"max-np", {.ranks_max = 3}, {2, 2}, {.ranks = 3}, {.ranks = 3}},
      {"min-np reached", {.ranks_min = 4}, {2, 2}, {.ranks = 4}, {.ranks = 4}},
      {"below min-np", {.ranks_min = 8}, {2, 4}, {.missing = 2}, {.missing = 2}},
      {"-np is for the first start alone",
       {.ranks_min = 2, .ranks_max = 8, .ranks_first = 4},
       {2},
       {.missing = 2},
       {.ranks = 2}},
      {"min-np is max-np", {.ranks_min = 4, .ranks_max = 4}, {8}, {.ranks = 4}, {.ranks = 4}},
      {"no more than a job may have",
       {},
       {slots_max, slots_max, 60000, 60000},
       {.ranks = processes_max - 2},
       {.ranks = processes_max - 2},
       2},
  });
}

TEST_CASE("needed_ranks: tasks without ranks have slots of their own") {
  const JobSize two = {.ranks_min = 2};
  check_rows({
      {"enough", two, {2, 2}, {.ranks = 3}, {.ranks = 3}, 1},
      {"just enough", two, {2, 1}, {.ranks = 2}, {.ranks = 2}, 1},
      {"too few", two, {2}, {.missing = 1}, {.missing = 1}, 1},
      {"fewer slots than other tasks", two, {2}, {.missing = 3}, {.missing = 3}, 3},
  });
}

TEST_CASE("needed_ranks: torchrun's --nnodes MIN:MAX counts hosts") {
  const JobSize hosts = {.hosts_min = 2, .hosts_max = 3};
  check_rows({
      {"one host lacks", hosts, {4}, {.missing = 1}, {.missing = 1}},
      {"none is there", hosts, {}, {.missing = 2}, {.missing = 2}},
      {"between", hosts, {4, 4}, {.ranks = 8}, {.ranks = 8}},
      {"the list is cut before slots are counted", hosts, {1, 1, 1, 8}, {.ranks = 3}, {.ranks = 3}},
      {"slots lack, too",
       {.ranks_min = 9, .hosts_min = 2, .hosts_max = 2},
       {4, 4, 4},
       {.missing = 1},
       {.missing = 1}},
      {"N:N", {.hosts_min = 2, .hosts_max = 2}, {3, 3, 3}, {.ranks = 6}, {.ranks = 6}},
  });
}

// The cases of Horovod's test_elastic_driver.py and of torch's local_elastic_agent_test.py by their
// names, as far as they are about sizes.
TEST_CASE("needed_ranks: the cases of Horovod and torchelastic") {
  check_rows({
      // The driver loses a host of two.
      {"rank_and_size_with_host_failure",
       {.ranks_min = 2, .ranks_first = 2},
       {2},
       {.ranks = 2},
       {.ranks = 2}},
      {"rank_and_size_with_host_added", {.ranks_min = 2}, {2, 2}, {.ranks = 4}, {.ranks = 4}},
      {"wait_for_min_hosts before", {.ranks_min = 4}, {2}, {.missing = 2}, {.missing = 2}},
      {"wait_for_min_hosts after", {.ranks_min = 4}, {2, 2}, {.ranks = 4}, {.ranks = 4}},
      // --nnodes 1:2: one agent ends, and the other continues alone.
      {"double_agent_elastic both",
       {.hosts_min = 1, .hosts_max = 2},
       {2, 2},
       {.ranks = 4},
       {.ranks = 4}},
      {"double_agent_elastic one",
       {.hosts_min = 1, .hosts_max = 2},
       {2},
       {.ranks = 2},
       {.ranks = 2}},
      {"correct_rank_assignment_heterogeneous",
       {.hosts_min = 1, .hosts_max = 4},
       {1, 4, 2, 3},
       {.ranks = 10},
       {.ranks = 10}},
      {"run_distributed_sum_heterogeneous",
       {.hosts_min = 3, .hosts_max = 3},
       {1, 2, 3},
       {.ranks = 6},
       {.ranks = 6}},
  });
}

TEST_CASE("shortage_text: slots that lack, or hosts where the slots would do") {
  const std::vector<Host> there = {{.name = "a", .slots = 2}, {.name = "b", .slots = 4}};
  CHECK(shortage_text({.ranks_min = 8}, there, 0, false) == "6 of 8 slots");
  CHECK(shortage_text({.ranks_min = 2, .ranks_first = 7}, there, 1, true) == "6 of 8 slots");
  CHECK(shortage_text({.ranks_min = 4, .hosts_max = 1}, there, 0, false) == "2 of 4 slots");
  CHECK(shortage_text({.hosts_min = 3}, there, 0, false) == "2 of 3 hosts");
}

}  // namespace
}  // namespace dt
