#include "launcher/environment/horovod_environment.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a task gets its rank in the job, on its host, and across hosts") {
  const Plan plan =
      make_plan({.hosts = {{.name = "a", .slots = 2}, {.name = "::1", .slots = 1}}}).value();
  Environment second;
  add_horovod_ranks(second, plan, plan.tasks[1]);
  CHECK(second == Environment{{"HOROVOD_RANK", "1"},
                              {"HOROVOD_SIZE", "3"},
                              {"HOROVOD_LOCAL_RANK", "1"},
                              {"HOROVOD_LOCAL_SIZE", "2"},
                              {"HOROVOD_CROSS_RANK", "0"},
                              {"HOROVOD_CROSS_SIZE", "1"}});
  Environment third;
  add_horovod_ranks(third, plan, plan.tasks[2]);
  CHECK(third.at("HOROVOD_LOCAL_RANK") == "0");
  CHECK(third.at("HOROVOD_CROSS_RANK") == "1");
  CHECK(third.at("HOROVOD_CROSS_SIZE") == "2");
}

TEST_CASE("workers use the address of DTRAIN_RENDEZVOUS, if it serves Horovod") {
  const Environment before = {{"DTRAIN_RENDEZVOUS", "10.0.0.1:4000"}, {"HOROVOD_RANK", "0"}};
  Environment added = before;
  add_horovod_rendezvous(added);
  CHECK(added == before);
  add_horovod_controller(added, "10.0.0.1");
  add_horovod_rendezvous(added);
  CHECK(added == Environment{{"DTRAIN_RENDEZVOUS", "10.0.0.1:4000"},
                             {"HOROVOD_RANK", "0"},
                             {"HOROVOD_CONTROLLER", "gloo"},
                             {"HOROVOD_CPU_OPERATIONS", "gloo"},
                             {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.0.1"},
                             {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4000"}});
  added["DTRAIN_RENDEZVOUS"] = "[fd00::1]:5";
  add_horovod_rendezvous(added);
  CHECK(added["HOROVOD_GLOO_RENDEZVOUS_ADDR"] == "fd00::1");
  CHECK(added["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "5");
}

TEST_CASE(
    "they talk by the interface that is known, on one machine by loopback, or as the user says") {
  struct Row {
    Environment users;
    const char* master;
    std::string known;
    const char* interface;
  };
  const Environment chosen = {{"HOROVOD_GLOO_IFACE", "eth1"}};
  const Row rows[] = {{{}, "127.0.0.1", "", "lo"},
                      {chosen, "127.0.0.1", "eth0", "eth1"},
                      {chosen, "127.0.0.1", "", "eth1"},
                      {{}, "10.0.0.1", "eth0", "eth0"},
                      {{}, "10.0.0.1", "", nullptr}};
  for (const Row& row : rows) {
    const HostFacts host{.own = {}, .hostname = "h", .interface = row.known};
    Environment added;
    CHECK_FALSE(worker_environment({}, host, added, {}).contains("HOROVOD_GLOO_IFACE"));
    add_horovod_controller(added, row.master);
    const Environment environment = worker_environment(row.users, host, added, {});
    const auto found = environment.find("HOROVOD_GLOO_IFACE");
    CHECK((found == environment.end()) == (row.interface == nullptr));
    if (row.interface != nullptr) CHECK(found->second == row.interface);
  }
}

}  // namespace
}  // namespace dt
