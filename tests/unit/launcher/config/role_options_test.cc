#include "launcher/config/role_options.h"

#include "launcher/config/role.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

OptionSource flags(OptionValues values) {
  OptionSource source{.values = std::move(values), .origins = {}};
  for (const auto& [name, given] : source.values)
    source.origins[name] = name == "np" ? "-np" : "--" + name;
  return source;
}

Result<RunConfig> decide(OptionValues values, std::vector<std::string> command = {"train"}) {
  return make_run_config({flags(std::move(values))}, std::move(command),
                         [](const std::string& path) -> Result<std::string> {
                           return std::string(path == "limited" ? "c slots=2 max_slots=3\n"
                                                                : "c slots=2\nd slots=2\n");
                         });
}

/// Returns "chief=1* ps=2@a:1,b worker=4*", with a star for ranks.
std::string text_of(const Result<RunConfig>& config) {
  if (!config) return config.error().message;
  std::string text;
  for (const Role& role : config->roles) {
    text += (text.empty() ? "" : " ") + role.name + "=" + std::to_string(role.count);
    for (const Host& host : role.hosts)
      text += (&host == &role.hosts.front() ? "@" : ",") + host.text();
    if (role.ranked) text += "*";
  }
  return text;
}

TEST_CASE("roles stand in any of these ways") {
  const std::pair<OptionValues, const char*> cases[] = {
      {{{"np", {"4"}}}, "worker=4*"},
      {{{"hosts", {"a:2"}}}, "worker=0*"},
      {{{"role", {"chief=1", "ps=2", "worker=4"}}}, "chief=1* ps=2 worker=4*"},
      {{{"role", {"chief=1,ps=2, worker=4"}}}, "chief=1* ps=2 worker=4*"},
      {{{"role", {"ps=2@a:1,b", "worker=1@b"}}}, "ps=2@a:1,b worker=1@b*"},
      {{{"role", {"ps=2@@hosts", "worker=1"}}}, "ps=2@c:2,d:2 worker=1*"},
      {{{"role", {"worker=1@me@n[1-2]:3"}}}, "worker=1@me@n1:3,me@n2:3*"},
      {{{"role", {"ps=1", "worker=2"}}, {"np", {"2"}}}, "ps=1 worker=2*"},
      {{{"role", {"ps=1"}}, {"np", {"2"}}}, "ps=1 worker=2*"},
      {{{"role", {"my_Own-1=2"}}, {"role-ranked", {"my_Own-1"}}}, "my_Own-1=2*"},
      {{{"role", {"a=1,b=1,c=1"}}, {"role-ranked", {"a,b", "c"}}}, "a=1* b=1* c=1*"},
      {{{"role", {"master=1,evaluator=1,scheduler=1,server=1,client=1"}}},
       "master=1* evaluator=1 scheduler=1 server=1 client=1"},
  };
  for (const auto& [values, text] : cases) {
    CAPTURE(text);
    CHECK(text_of(decide(values)) == text);
  }
}

TEST_CASE("roles that make no job are refused with one message") {
  const std::string long_name(64, 'r');
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"worker=0"}, R"(--role: role worker: expected 1..65536 tasks, got "0")"},
      {{"worker=-1"}, R"(--role: role worker: expected 1..65536 tasks, got "-1")"},
      {{"worker="}, R"(--role: role worker: expected 1..65536 tasks, got "")"},
      {{"worker=65537"}, R"(--role: role worker: expected 1..65536 tasks, got "65537")"},
      {{"worker"}, R"(--role: expected NAME=COUNT or NAME=COUNT@HOSTS, got "worker")"},
      {{""}, R"(--role: expected NAME=COUNT or NAME=COUNT@HOSTS, got "")"},
      {{"=2"}, R"(--role: role "": a name is made of letters, digits, - and _, a letter first)"},
      {{"a b=2"},
       R"(--role: role "a b": a name is made of letters, digits, - and _, a letter first)"},
      {{"../x=2"},
       R"(--role: role "../x": a name is made of letters, digits, - and _, a letter first)"},
      {{"launcher=1"},
       R"(--role: role "launcher": dtrain uses this name itself; give the role another one)"},
      {{"rank=1"},
       R"(--role: role "rank": dtrain uses this name itself; give the role another one)"},
      {{long_name + "=1"},
       "--role: role \"" + long_name + "\": a name of 64 bytes is too long; at most 63"},
      {{"worker=1,worker=2"}, "--role: role worker is given twice; write its number of tasks once"},
      {{"chief=2,worker=1"}, "--role: chief=2: a job has one chief; use chief=1"},
      {{"master=3,worker=1"}, "--role: master=3: a job has one master; use master=1"},
      {{"chief=1,master=1"}, "--role: chief and master: each leads the job; use one of them"},
      {{"ps=2"},
       "--role: ps=2: parameter servers without worker have nobody to serve; add --role worker=N"},
      {{"client=1,server=2"},
       "--role: no task has a rank (client=1, server=2); add --role worker=N, or give ranks by "
       "--role-ranked client"},
      {{"worker=40000,a=40000"}, "--role: 80000 tasks; at most 65536"},
      {{"chief=1,worker=2@a"},
       "--role: role worker has hosts, whose list has commas too; give each role by a --role of "
       "its own"},
      {{"ps=1@a,b,worker=2@c"},
       "--role: role ps has hosts, whose list has commas too; give each role by a --role of its "
       "own"},
      {{"worker=2@"},
       "--role: empty host list; expected HOST[:SLOTS],… for example "
       "node1:4,node2:4"},
  };
  for (const auto& [roles, message] : cases) {
    CAPTURE(message);
    CHECK(error_of(decide({{"role", roles}})) == message);
  }
}

TEST_CASE("-np is the number of workers, and must agree with --role") {
  CHECK(error_of(decide({{"np", {"3"}}, {"role", {"ps=1,worker=2"}}})) ==
        "-np: 3 workers, but --role says worker=2; leave one of them out");
}

TEST_CASE("a role has a command and variables of its own") {
  const RunConfig config =
      decide({{"role", {"ps=1,worker=2"}},
              {"role-command", {"ps=python 'my ps.py' --x=1"}},
              {"role-env", {"worker=A=1=2", "worker=B=", "ps=A=9", "worker=B=3"}}})
          .value();
  CHECK(find_role(config.roles, "ps")->command ==
        std::vector<std::string>{"python", "my ps.py", "--x=1"});
  CHECK(find_role(config.roles, "worker")->command.empty());
  CHECK(find_role(config.roles, "worker")->environment == Environment{{"A", "1=2"}, {"B", "3"}});
  CHECK(find_role(config.roles, "ps")->environment ==
        Environment{{"A", "9"}, {"CUDA_VISIBLE_DEVICES", ""}});
}

TEST_CASE("ps and evaluator see no GPU unless the user sets it") {
  const auto seen = [](OptionValues values) {
    values["role"] = {"ps=1,evaluator=1,worker=1"};
    const RunConfig config = decide(std::move(values)).value();
    std::string all;
    for (const Role& role : config.roles) {
      const auto found = role.environment.find("CUDA_VISIBLE_DEVICES");
      all += "[" + (found == role.environment.end() ? "as it is" : found->second) + "]";
    }
    return all;
  };
  CHECK(seen({}) == "[][][as it is]");
  CHECK(seen({{"env", {"CUDA_VISIBLE_DEVICES=1"}}}) == "[as it is][as it is][as it is]");
  CHECK(seen({{"role-env", {"ps=CUDA_VISIBLE_DEVICES=1"}}}) == "[1][][as it is]");
}

TEST_CASE("an option for a role needs that role") {
  const OptionValues roles = {{"role", {"ps=1,worker=2"}}};
  const auto error_with = [&roles](const char* option, const char* value) {
    OptionValues values = roles;
    values[option] = {value};
    return error_of(decide(values));
  };
  CHECK(error_with("role-command", "wrker=x") ==
        R"(--role-command: the job has no role "wrker"; did you mean worker?)");
  CHECK(error_with("role-env", "chief=A=1") ==
        R"(--role-env: the job has no role "chief"; it has ps, worker)");
  CHECK(error_with("role-ranked", "p") ==
        R"(--role-ranked: the job has no role "p"; it has ps, worker)");
  CHECK(error_with("role-command", "ps") == R"(--role-command: expected NAME=COMMAND, got "ps")");
  CHECK(error_with("role-command", "ps= ") ==
        R"(--role-command: role ps: expected a command, got " ")");
  CHECK(error_with("role-command", "ps=a 'b") == "--role-command: role ps: a ' is never closed");
  CHECK(error_with("role-env", "ps=A") ==
        R"(--role-env: expected NAME=VARIABLE=VALUE, got "ps=A")");
}

TEST_CASE("resources of roles are numbers and sizes, for roles that exist") {
  const OptionValues roles = {{"role", {"ps=1,worker=2"}}};
  const auto with = [&roles](OptionValues values) {
    values.insert(roles.begin(), roles.end());
    return decide(std::move(values));
  };
  const auto config = with({{"role-gpus", {"ps=0, worker=2"}},
                            {"role-cpus", {"worker=4", "ps=1"}},
                            {"role-memory", {"worker=4G"}}});
  REQUIRE(config.has_value());
  CHECK(find_role(config->roles, "worker")->resources.text() == "cpus 4, gpus 2, memory 4G");
  CHECK(find_role(config->roles, "ps")->resources.text() == "cpus 1, gpus 0");
  CHECK(find_role(config->roles, "ps")->environment.at("CUDA_VISIBLE_DEVICES").empty());
  CHECK(find_role(with({{"role-gpus", {"ps=1"}}})->roles, "ps")->environment.empty());
  CHECK(error_of(with({{"role-gpus", {"wrker=1"}}})) ==
        R"(--role-gpus: the job has no role "wrker"; did you mean worker?)");
  CHECK(error_of(with({{"role-gpus", {"ps=1,ps=2"}}})) == "--role-gpus: role ps is given twice");
  CHECK(error_of(with({{"role-gpus", {"ps=two"}}})) ==
        "--role-gpus: role ps: expected a whole number of GPUs, 0..1024, or one of which 1 is a "
        "multiple, such as 0.5, got \"two\"");
  CHECK(error_of(with({{"role-cpus", {"ps=0"}}})) ==
        "--role-cpus: role ps: expected a number of cores, 1..65536, got \"0\"");
  CHECK(error_of(with({{"role-memory", {"ps=4 apples"}}})) ==
        "--role-memory: role ps: expected a size from 1, such as 512M or 4G, got \"4 apples\"");
  CHECK(error_of(with({{"role-gpus", {"ps=1"}}, {"role-env", {"ps=CUDA_VISIBLE_DEVICES=2"}}})) ==
        "--role-gpus: role ps has CUDA_VISIBLE_DEVICES by --role-env, too; leave one of them out");
  CHECK(error_of(decide({{"np", {"2"}}, {"role-gpus", {"worker=1"}}})) == "accepted");
}

TEST_CASE("ports of a role are one for each task, or one") {
  const auto with = [](const char* ports, const char* roles = "ps=2,worker=2") {
    return decide({{"role", {roles}}, {"role-ports", {ports}}});
  };
  CHECK(find_role(with("ps=2222,2223")->roles, "ps")->ports == std::vector<uint16_t>{2222, 2223});
  CHECK(find_role(with("ps=2222")->roles, "ps")->ports == std::vector<uint16_t>{2222});
  CHECK(error_of(with("ps=2222,2223,2224")) ==
        "--role-ports: role ps has 2 tasks, but 3 ports; give one each, or one for all on hosts of "
        "their own");
  for (const char* ports : {"ps=", "ps=80", "ps=x", "ps=2222-2230", "ps=70000", "ps=2222,"}) {
    CAPTURE(ports);
    CHECK(
        error_of(with(ports)).starts_with("--role-ports: role ps: expected ports of 1024..65535"));
  }
  CHECK(error_of(with("p=2222")).starts_with("--role-ports: the job has no role"));
  CHECK(error_of(
            decide({{"cluster-spec", {"worker|localhost:2222"}}, {"role-ports", {"worker=2222"}}}))
            .starts_with("--role-ports: the cluster gives its tasks their addresses"));
}

TEST_CASE("a command is needed by each role, and each command by a role") {
  const OptionValues both = {{"role", {"ps=1,worker=2"}}, {"role-command", {"ps=a", "worker=b"}}};
  CHECK(error_of(decide(both, {})) == "accepted");
  CHECK(error_of(decide(both)) ==
        "--role-command: every role has a command of its own, so train would run nowhere; leave "
        "it out");
  CHECK(error_of(decide({{"role", {"ps=1,worker=2"}}, {"role-command", {"ps=a"}}}, {})) ==
        "no command given for role worker; write it at the end, or as --role-command "
        "worker=COMMAND");
}

TEST_CASE(
    "under the strategy of parameter servers, role ps runs dtrain's own, unless it has a command") {
  const OptionValues served = {{"role", {"ps=1,worker=2"}}, {"strategy", {"parameter_server"}}};
  const RunConfig own = decide(served).value();
  CHECK(find_role(own.roles, "ps")->command == std::vector<std::string>{"self", "ps"});
  CHECK(find_role(own.roles, "worker")->command.empty());
  OptionValues given = served;
  given["role-command"] = {"ps=mine --x"};
  CHECK(find_role(decide(given).value().roles, "ps")->command ==
        std::vector<std::string>{"mine", "--x"});
  const RunConfig without = decide({{"role", {"ps=1,worker=2"}}}).value();
  CHECK(find_role(without.roles, "ps")->command.empty());
  const RunConfig other =
      decide({{"role", {"ps=1,worker=2"}}, {"strategy", {"multi_worker_mirrored"}}}).value();
  CHECK(find_role(other.roles, "ps")->command.empty());
}

TEST_CASE("without hosts those of the roles are the job's, with the slots of all roles") {
  const auto hosts_of = [](std::vector<std::string> roles) {
    std::string text;
    const Result<RunConfig> config = decide({{"role", std::move(roles)}});
    if (!config) return config.error().message;
    for (const Host& host : config->hosts) {
      text += (text.empty() ? "" : " ") + host.text();
      if (host.max_slots != 0) text += "/" + std::to_string(host.max_slots);
      CHECK(host.shared);
    }
    return text;
  };
  CHECK(hosts_of({"ps=1", "worker=2"}).empty());
  CHECK(hosts_of({"ps=1@a:1", "worker=4@b:2,A:2"}) == "a:3 b:2");
  CHECK(hosts_of({"ps=1@a", "worker=4@b:2,a:2"}) == "a b:2");
  CHECK(hosts_of({"ps=1@a", "worker=4@b:2,a:2", "client=1@a:3"}) == "a b:2");
  CHECK(hosts_of({"ps=1@@limited", "worker=4@@limited"}) == "c:4/6");
  CHECK(hosts_of({"ps=1@@limited", "worker=4@c:4"}) ==
        "--role: role worker: host \"c\" is given twice, but not always with max_slots; write it "
        "once");
  CHECK(hosts_of({"ps=1@me@a:1", "worker=2@a:2"}) ==
        "--role: role worker: host \"a\" is given with user \"me\" and with user \"\"; use one of "
        "them");
}

TEST_CASE("--restart-role gives roles restarts, and bad values are named") {
  const auto restarts_of = [](std::vector<std::string> values) {
    return decide({{"role", {"ps=1,worker=2"}}, {"restart-role", std::move(values)}});
  };
  const RunConfig one = restarts_of({"worker=3"}).value();
  CHECK(find_role(one.roles, "worker")->restarts == 3);
  CHECK(find_role(one.roles, "ps")->restarts == 0);
  const RunConfig both = restarts_of({"worker=1", "ps=1000"}).value();
  CHECK(find_role(both.roles, "ps")->restarts == 1000);
  CHECK(find_role(restarts_of({"worker=1, ps=2"}).value().roles, "ps")->restarts == 2);
  CHECK(find_role(decide({{"np", {"2"}}, {"restart-role", {"worker=1"}}}).value().roles, "worker")
            ->restarts == 1);
  CHECK(error_of(restarts_of({"chief=1"})) ==
        "--restart-role: the job has no role \"chief\"; it has ps, worker");
  CHECK(error_of(restarts_of({"worker=1", "worker=1"})) ==
        "--restart-role: role worker is given twice");
  CHECK(error_of(restarts_of({"worker"})) == "--restart-role: expected NAME=N, got \"worker\"");
  for (const std::string bad :
       {"", "0", "-1", "1001", "x", "1.5", "always:", "always:0", "always:x", "always:1:2",
        "on-failure:-1", "2:always", ":2", "Always"}) {
    CHECK(error_of(restarts_of({"worker=" + bad})) ==
          "--restart-role: role worker: expected a number of restarts, 1..1000, or always, or "
          "always:N, got \"" +
              bad + "\"");
  }
}

TEST_CASE("--image is the image of roles without one, and bad values are named") {
  const auto images_of = [](std::vector<std::string> values) {
    return decide({{"role", {"ps=1,worker=2"}}, {"image", {"a:1"}}, {"role-image", values}});
  };
  const RunConfig config = images_of({"ps=reg:5000/b=c"}).value();
  CHECK(image_of(config, *find_role(config.roles, "ps")) == "reg:5000/b=c");
  CHECK(image_of(config, *find_role(config.roles, "worker")) == "a:1");
  CHECK(error_of(images_of({"chief=b"})) ==
        "--role-image: the job has no role \"chief\"; it has ps, worker");
  CHECK(error_of(images_of({"ps"})) == "--role-image: expected NAME=IMAGE, got \"ps\"");
  CHECK(error_of(images_of({"ps="})) == "--role-image: role ps: expected an image, got \"\"");
  CHECK(error_of(decide({{"np", {"1"}}, {"image", {""}}})) ==
        "--image: expected an image, got \"\"");
}

TEST_CASE("--restart-role says after which ends, and without a number there is no limit") {
  struct Case {
    const char* value;
    int restarts;
    bool always;
    const char* option;  ///< as messages have it
  };
  for (const Case& one : {Case{"3", 3, false, "3"}, Case{"on-failure:3", 3, false, "3"},
                          Case{"on-failure", restarts_unlimited, false, "on-failure"},
                          Case{"always:3", 3, true, "always:3"},
                          Case{"always", restarts_unlimited, true, "always"}}) {
    CAPTURE(one.value);
    const auto config = decide({{"role", {"ps=1,worker=2"}},
                                {"restart-role", {std::string("worker=1, ps=") + one.value}}});
    REQUIRE(config);
    const Role& role = *find_role(config->roles, "ps");
    CHECK(role.restarts == one.restarts);
    CHECK(role.restarts_always == one.always);
    CHECK(restarts_text(role) == std::string("--restart-role ps=") + one.option);
    CHECK_FALSE(find_role(config->roles, "worker")->restarts_always);
  }
}

}  // namespace
}  // namespace dt
