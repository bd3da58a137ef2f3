#include "launcher/config/restart_settings.h"

#include "base/format.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dt {
namespace {

RestartOptions restarts_by(const OptionValues& values) {
  const auto config = decide({flags(values)});
  REQUIRE_MESSAGE(config, error_of(config));
  return config->restarts;
}

/// Returns "MIN..MAX first FIRST, MIN..MAX hosts"; an empty text: the size is fixed.
std::string size_text(const OptionValues& values) {
  const std::optional<JobSize> size = restarts_by(values).size;
  if (!size) return "";
  const std::string first = size->ranks_first ? format(" first {}", *size->ranks_first) : "";
  return format("{}..{}{}, {}..{} hosts", size->ranks_min, size->ranks_max, first, size->hosts_min,
                size->hosts_max);
}

TEST_CASE("restart settings: --min-np, --max-np, a script or --nnodes MIN:MAX make a job's size") {
  const std::pair<OptionValues, const char*> cases[] = {
      {{{"np", {"4"}}}, ""},
      {{{"np", {"4"}}, {"max-restarts", {"3"}}}, ""},
      {{{"np", {"4"}}, {"reset-limit", {"3"}}}, ""},
      {{{"hosts", {"a,b"}}, {"nnodes", {"2"}}}, ""},
      {{{"hosts", {"a,b"}}, {"nnodes", {"2:2"}}}, ""},
      {{{"np", {"4"}}, {"min-np", {"2"}}}, "2..0 first 4, 1..0 hosts"},
      {{{"np", {"4"}}, {"max-np", {"8"}}}, "4..8 first 4, 1..0 hosts"},
      {{{"hosts", {"a:4"}}, {"max-np", {"8"}}}, "1..8 first 4, 1..0 hosts"},
      {{{"hosts", {"a:8,b:4"}}, {"max-np", {"8"}}}, "1..8 first 8, 1..0 hosts"},
      {{{"hosts", {"a:4"}}, {"min-np", {"2"}}, {"max-np", {"8"}}}, "2..8, 1..0 hosts"},
      {{{"hosts", {"a:4"}}, {"min-np", {"4"}}, {"max-np", {"4"}}}, "4..4, 1..0 hosts"},
      {{{"host-discovery-script", {"./h"}}}, "1..0, 1..0 hosts"},
      {{{"np", {"4"}}, {"host-discovery-script", {"./h"}}}, "4..0 first 4, 1..0 hosts"},
      {{{"hosts", {"a,b,c"}}, {"nnodes", {"2:4"}}}, "1..0, 2..4 hosts"},
      {{{"nnodes", {"1:4"}}, {"nproc-per-node", {"2"}}}, "1..0, 1..4 hosts"},
      {{{"hosts", {"a,b"}}, {"nnodes", {"2"}}, {"min-np", {"3"}}}, "3..0, 2..2 hosts"},
      {{{"host-discovery-script", {"./h"}}, {"nnodes", {"4"}}}, "1..0, 4..4 hosts"},
      {{{"role", {"ps=2,worker=4"}}, {"min-np", {"2"}}}, "2..0 first 4, 1..0 hosts"},
      {{{"role", {"ps=2"}}, {"np", {"4"}}, {"min-np", {"2"}}}, "2..0 first 4, 1..0 hosts"},
  };
  for (const auto& [values, text] : cases) {
    CAPTURE(text);
    CHECK(size_text(values) == text);
  }
}

TEST_CASE("restart settings: -np stays the number of the role, where it is given") {
  CHECK(decide({flags({{"np", {"4"}}, {"min-np", {"2"}}})}).value().roles == workers(4));
  CHECK(decide({flags({{"hosts", {"a:4"}}, {"min-np", {"2"}}})}).value().roles == workers(0));
  CHECK(decide({flags({{"host-discovery-script", {"./h"}}})}).value().roles == workers(0));
}

TEST_CASE("restart settings: how often a job starts again") {
  const std::pair<OptionValues, uint32_t> cases[] = {
      {{}, 0},
      {{{"max-restarts", {"3"}}}, 3},
      {{{"reset-limit", {"3"}}}, 3},
      {{{"max-np", {"8"}}}, 0},
      {{{"min-np", {"2"}}}, unlimited_restarts},
      {{{"min-np", {"2"}}, {"max-restarts", {"0"}}}, 0},
      {{{"min-np", {"2"}}, {"max-restarts", {"3"}}}, 3},
      {{{"min-np", {"2"}}, {"reset-limit", {"7"}}}, 7},
      {{{"host-discovery-script", {"./h"}}}, unlimited_restarts},
      {{{"nnodes", {"1:2"}}}, 0},
  };
  for (const auto& [given, most] : cases) {
    OptionValues values = given;
    values["np"] = {"4"};
    CHECK(restarts_by(values).max == most);
  }
  // The nearer source of options decides.
  const OptionSource near = flags({{"np", {"1"}}, {"reset-limit", {"2"}}});
  CHECK(decide({near, flags({{"max-restarts", {"9"}}})}).value().restarts.max == 2);
}

TEST_CASE("restart settings: one note for users who expect that ranks keep their memory") {
  const std::vector<std::string> note = {
      "after a failure all ranks start again, each from its own checkpoint; dtrain keeps none of "
      "their memory"};
  const auto notes = [](const OptionValues& values) {
    const RunConfig config = decide({flags(values)}).value();
    CHECK(config.warnings.empty());
    return config.notes;
  };
  CHECK(notes({{"np", {"4"}}, {"min-np", {"2"}}}) == note);
  CHECK(notes({{"np", {"4"}}, {"min-np", {"2"}}, {"reset-limit", {"2"}}}) == note);
  CHECK(notes({{"host-discovery-script", {"./h"}}}) == note);
  CHECK(notes({{"np", {"4"}}, {"min-np", {"2"}}, {"max-restarts", {"2"}}}).empty());
  CHECK(notes({{"np", {"4"}}, {"min-np", {"2"}}, {"reset-limit", {"0"}}}).empty());
  CHECK(notes({{"np", {"4"}}, {"max-restarts", {"2"}}}).empty());
}

TEST_CASE("restart settings: times to wait for hosts, and to keep them out") {
  CHECK(restarts_by({{"np", {"2"}}, {"min-np", {"1"}}}).elastic_timeout == seconds(600));
  CHECK(restarts_by({{"np", {"2"}}, {"min-np", {"1"}}, {"elastic-timeout", {"20"}}})
            .elastic_timeout == seconds(20));
  CHECK(restarts_by({{"np", {"2"}}, {"min-np", {"1"}}, {"elastic-timeout", {"500ms"}}})
            .elastic_timeout == milliseconds(500));
  CHECK_FALSE(restarts_by({{"np", {"2"}}, {"min-np", {"1"}}}).cooldown);
  const auto range = [](const char* least, const char* most) {
    return restarts_by(
               {{"np", {"2"}}, {"min-np", {"1"}}, {"blacklist-cooldown-range", {least, most}}})
        .cooldown;
  };
  CHECK(range("10", "100") == CooldownRange{.least = seconds(10), .most = seconds(100)});
  CHECK(range("1", "3600") == CooldownRange{.least = seconds(1), .most = seconds(3600)});
  CHECK(restarts_by({{"np", {"2"}}, {"min-np", {"1"}}, {"blacklist-cooldown-range", {"2 4"}}})
            .cooldown == CooldownRange{.least = seconds(2), .most = seconds(4)});
  CHECK(range("5", "5") == CooldownRange{.least = seconds(5), .most = seconds(5)});
}

TEST_CASE("restart settings: sizes that contradict each other are refused with what to do") {
  const Refusal cases[] = {
      {{{"np", {"2"}}, {"min-np", {"0"}}}, "--min-np: expected 1..65536, got 0"},
      {{{"np", {"2"}}, {"max-np", {"0"}}}, "--max-np: expected 1..65536, got 0"},
      {{{"np", {"2"}}, {"min-np", {"two"}}}, "--min-np: expected 1..65536, got \"two\""},
      {{{"np", {"2"}}, {"max-np", {"-1"}}}, "--max-np: expected 1..65536, got \"-1\""},
      {{{"hosts", {"a:9"}}, {"min-np", {"4"}}, {"max-np", {"2"}}},
       "--min-np: 4 is more than 2 of --max-np; the fewest ranks are at most the most ranks"},
      {{{"np", {"1"}}, {"min-np", {"2"}}},
       "-np: 1 rank is fewer than 2 of --min-np; give 2 or more, or leave the number out"},
      {{{"np", {"9"}}, {"max-np", {"8"}}},
       "-np: 9 ranks are more than 8 of --max-np; give 8 or fewer, or leave the number out"},
      {{{"role", {"ps=1,worker=9"}}, {"max-np", {"8"}}},
       "--role: 9 ranks are more than 8 of --max-np; give 8 or fewer, or leave the number out"},
      {{{"hosts", {"a:2,b:2"}}, {"min-np", {"6"}}},
       "--min-np: 6 ranks must be there first, but the hosts have 4 slots, and no --hostfile or "
       "--host-discovery-script can add some; name more hosts, or more slots of them"},
      {{{"hosts", {"a:2,b:2"}}, {"role", {"ps=2,worker=3"}}, {"max-np", {"4"}}},
       "--max-np: 3 ranks and 2 other tasks must be there first, but the hosts have 4 slots, and "
       "no --hostfile or --host-discovery-script can add some; name more hosts, or more slots of "
       "them"},
      {{{"hosts", {"a:2,b:2,c:2"}}, {"np", {"5"}}, {"nnodes", {"1:2"}}},
       "--nnodes: 5 ranks must be there first, but the hosts have 4 slots, and no --hostfile or "
       "--host-discovery-script can add some; name more hosts, or more slots of them"},
      {{{"np", {"4"}}, {"max-restarts", {"2"}}, {"reset-limit", {"2"}}},
       "--reset-limit: conflicts with --max-restarts; give one of them"},
      {{{"np", {"4"}}, {"reset-limit", {"often"}}},
       "--reset-limit: expected 0..2147483647, got \"often\""},
  };
  expect_refused(cases);
  // A hostfile may have more slots later.
  CHECK(decide({flags({{"hostfile", {"hosts"}}, {"min-np", {"6"}}})}).has_value());
  CHECK(decide({flags({{"hosts", {"a,b"}}, {"min-np", {"6"}}})}).has_value());
}

TEST_CASE("restart settings: a job whose tasks cannot change their number has no size") {
  const Refusal cases[] = {
      {{{"role", {"chief=1,worker=3"}}, {"min-np", {"2"}}},
       "--min-np: the roles chief, worker have ranks, but the number of tasks of only one role "
       "can follow the hosts; use one of them, or leave --min-np out"},
      {{{"role", {"ps=1,worker=3"}}, {"role-ranked", {"ps"}}, {"max-np", {"4"}}},
       "--max-np: the roles ps, worker have ranks, but the number of tasks of only one role can "
       "follow the hosts; use one of them, or leave --max-np out"},
      {{{"role", {"worker=3@a:2,b:2"}}, {"min-np", {"2"}}},
       "--min-np: role worker has hosts of its own, which may be lost, but its tasks are needed; "
       "name them by -H, or leave --min-np out"},
      {{{"role", {"ps=1@a:1", "worker=3"}}, {"min-np", {"2"}}},
       "--min-np: role ps has hosts of its own, which may be lost, but its tasks are needed; name "
       "them by -H, or leave --min-np out"},
      {{{"np", {"4"}}, {"min-np", {"2"}}, {"oversubscribe", {"true"}}},
       "--oversubscribe: with --min-np the number of ranks is at most that of the slots; leave "
       "one of them out"},
      {{{"cluster-spec", {"worker|h1:1"}}, {"min-np", {"2"}}},
       "--min-np: --cluster-spec already has the tasks and their addresses; leave one of them out"},
      {{{"cluster-spec", {"worker|h1:1"}}, {"host-discovery-script", {"./h"}}},
       "--host-discovery-script: --cluster-spec already has the tasks and their addresses; leave "
       "one of them out"},
      {{{"cluster-spec", {"worker|h1:1"}}, {"nnodes", {"2:4"}}},
       "--nnodes: --cluster-spec already has the hosts; leave one of them out"},
      {{{"cluster-spec", {"worker|h1:1"}}, {"reset-limit", {"2"}}},
       "--reset-limit: others start a part of the cluster's tasks, which dtrain cannot restart"},
  };
  expect_refused(cases);
  // The cluster of a nearer source of options wins, as over -np.
  const OptionSource file = flags({{"min-np", {"2"}}, {"max-np", {"4"}}});
  CHECK_FALSE(
      decide({flags({{"cluster-spec", {"worker|h1:1"}}}), file}).value().restarts.size.has_value());
}

TEST_CASE("restart settings: options that need more ranks than a restart may have") {
  const Refusal cases[] = {
      {{{"np", {"4"}}, {"min-np", {"2"}}, {"stdin", {"2"}}},
       "--stdin: rank 2 may be missing, since the job may start again with 2 ranks; give a rank "
       "of 0..1"},
      {{{"hosts", {"a:4,b:4"}}, {"nnodes", {"2:4"}}, {"ppn", {"4"}}, {"stdin", {"8"}}},
       "--stdin: rank 8 may be missing, since the job may start again with 8 ranks; give a rank "
       "of 0..7"},
      {{{"host-discovery-script", {"./h"}}, {"stdin", {"1"}}},
       "--stdin: rank 1 may be missing, since the job may start again with 1 rank; give a rank of "
       "0..0"},
      {{{"np", {"4"}}, {"min-np", {"2"}}, {"min-workers", {"3"}}},
       "--min-workers: 3 workers, but the job may start again with 2 ranks; give 2 or fewer"},
      {{{"role", {"ps=1,worker=4"}}, {"min-np", {"1"}}, {"ps-mode", {"sync:2"}}},
       "--ps-mode: sync:2 needs 2 workers, but the job may start again with 1 rank; give sync:1 "
       "to sync:1"},
  };
  expect_refused(cases);
  CHECK(decide({flags({{"np", {"4"}}, {"min-np", {"2"}}, {"stdin", {"1"}}})}).has_value());
}

TEST_CASE("restart settings: options of a size without a size") {
  const std::string fixed =
      "without --min-np, --max-np, --host-discovery-script or --nnodes MIN:MAX, the number of "
      "ranks is fixed, and ";
  const Refusal cases[] = {
      {{{"np", {"4"}}, {"elastic-timeout", {"10"}}},
       "--elastic-timeout: " + fixed + "no job waits for hosts"},
      {{{"np", {"4"}}, {"max-restarts", {"2"}}, {"blacklist-cooldown-range", {"1", "2"}}},
       "--blacklist-cooldown-range: " + fixed + "each host is needed"},
      {{{"np", {"4"}}, {"max-np", {"4"}}, {"blacklist-cooldown-range", {"1", "2"}}},
       "--blacklist-cooldown-range: without --max-restarts N, no job starts again"},
      {{{"np", {"4"}}, {"slots-per-host", {"2"}}},
       "--slots-per-host: only for hosts of --host-discovery-script; -H and --hostfile have slots"},
      {{{"np", {"4"}}, {"min-np", {"2"}}, {"elastic-timeout", {"0"}}},
       "--elastic-timeout: expected a time longer than 0, got 0"},
  };
  expect_refused(cases);
}

TEST_CASE("restart settings: bad ranges of seconds for a host that failed") {
  const std::vector<std::string> ranges[] = {{"100", "10"}, {"0", "10"}, {"1", "3601"},
                                             {"1"},         {"1", "2s"}, {"1", "2", "3"},
                                             {"a", "b"},    {"-1", "2"}, {""}};
  for (const std::vector<std::string>& range : ranges) {
    std::string text;
    for (const std::string& word : range)
      text += (text.empty() ? "" : " ") + word;
    CHECK(error_of(decide(
              {flags({{"np", {"4"}}, {"min-np", {"2"}}, {"blacklist-cooldown-range", range}})})) ==
          "--blacklist-cooldown-range: expected MIN MAX, two numbers of seconds of 1..3600, the "
          "smaller first, got \"" +
              text + "\"");
  }
}

TEST_CASE("--nnodes: a number or a range of hosts") {
  const auto read = [](const char* text) { return read_node_range({flags({{"nnodes", {text}}})}); };
  CHECK(read("4").value() == NodeRange{.least = 4, .most = 4});
  CHECK(read("4:4").value() == NodeRange{.least = 4, .most = 4});
  CHECK(read("1:65536").value() == NodeRange{.least = 1, .most = 65536});
  CHECK_FALSE(read_node_range({flags({})}).value());
  for (const char* text : {"", ":", "0", "0:2", "4:2", "a:b", "1:2:3", "1:", ":2", "-1:2", "65537",
                           "1:99999999999999999999", "1.5"}) {
    CAPTURE(text);
    const auto range = read(text);
    REQUIRE_FALSE(range.has_value());
    CHECK(range.error().message.starts_with(
        "--nnodes: expected 1..65536 hosts, or MIN:MAX with MIN up to MAX, such as 2:4, "
        "got "));
  }
}

}  // namespace
}  // namespace dt
