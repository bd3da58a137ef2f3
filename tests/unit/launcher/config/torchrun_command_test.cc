#include "launcher/config/torchrun_command.h"

#include "base/format.h"
#include "base/text.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("torchrun's options for the command and its output") {
  const RunConfig module =
      decide({flags({{"np", {"1"}}, {"module", {"true"}}, {"max-restarts", {"0"}}})}).value();
  CHECK(module.command == std::vector<std::string>{"python3", "-u", "-m", "true"});
  const auto quiet = [](const char* name, const char* value) {
    return decide({flags({{"np", {"1"}}, {name, {value}}, {"output-dir", {"logs"}}})})
        .value()
        .quiet;
  };
  CHECK(quiet("redirects", "3"));
  CHECK_FALSE(quiet("redirects", "0"));
  CHECK_FALSE(quiet("tee", "3"));
}

TEST_CASE("a command line of torchrun runs as typed") {
  const auto typed = [](const OptionValues& values, std::vector<std::string> command) {
    return make_run_config({flags(values)}, std::move(command), few_files).value();
  };
  const OptionValues two = {{"nproc-per-node", {"2"}}, {"standalone", {"true"}}};
  CHECK(typed(two, {"train.py", "--lr"}).command ==
        std::vector<std::string>{"python3", "-u", "train.py", "--lr"});
  CHECK(typed(two, {"./train"}).command == std::vector<std::string>{"./train"});
  CHECK(typed({{"np", {"2"}}}, {"train.py"}).command == std::vector<std::string>{"train.py"});
  CHECK(typed({{"standalone", {"true"}}, {"no-python", {"true"}}}, {"./a.py"}).command ==
        std::vector<std::string>{"./a.py"});
  CHECK(typed({{"standalone", {"true"}}}, {"a"}).placement.per_host == 1);
  CHECK_FALSE(
      typed({{"standalone", {"true"}}, {"role", {"ps=1,worker=2"}}}, {"a"}).placement.per_host);
  const RunConfig named =
      typed({{"nproc-per-node", {"2"}}, {"role", {"trainer"}}, {"max-restarts", {"3"}}}, {"a"});
  REQUIRE(named.warnings.size() == 1);
  CHECK(named.warnings[0] ==
        "--role trainer: a label of torchrun; these processes are worker here");
  CHECK(named.restarts.max == 3);
  const RunConfig files = typed({{"nproc-per-node", {"2"}}, {"redirects", {"3"}}}, {"a"});
  CHECK(files.quiet);
  CHECK(files.output_dir == "/tmp/dtrain-logs-{job_id}");
}

TEST_CASE("redirected streams are not on the console, by local rank") {
  const auto redirected = [](const char* text) {
    const RunConfig config =
        decide({flags({{"np", {"2"}}, {"redirects", {text}}, {"output-dir", {"logs"}}})}).value();
    CHECK_FALSE(config.quiet);
    return config.redirected;
  };
  constexpr StreamChoice only_output = {.output = true, .error = false};
  CHECK(redirected("1").all == only_output);
  CHECK(redirected("0:1,1:0").of(0) == only_output);
  CHECK_FALSE(redirected("0:1,1:0").of(1).any());
  // --tee shows what it copies, as in torchrun.
  const RunConfig both =
      decide(
          {flags(
              {{"np", {"2"}}, {"redirects", {"3"}}, {"tee", {"0:1"}}, {"output-dir", {"logs"}}})})
          .value();
  CHECK_FALSE(both.quiet);
  CHECK(both.redirected.of(0) == StreamChoice{.output = false, .error = true});
  CHECK(both.redirected.of(1) == StreamChoice{.output = true, .error = true});
  const auto folder_of = [](const char* name, const char* text) {
    return decide({flags({{"np", {"2"}}, {name, {text}}})}).value().output_dir;
  };
  CHECK(folder_of("tee", "1:2") == "/tmp/dtrain-logs-{job_id}");
  CHECK_FALSE(folder_of("tee", "0:0,1:0"));
  CHECK_FALSE(folder_of("redirects", "0:0"));
  const Refusal refused[] = {
      {{{"np", {"2"}}, {"redirects", {"0:4"}}},
       "-r: expected 0, 1, 2 or 3, or a list of local ranks with these, such as "
       "0:1,1:3, got \"0:4\""},
      {{{"np", {"2"}}, {"tee", {"60s"}}},
       "-t: expected 0, 1, 2 or 3, or a list of local ranks with these, such as 0:1,1:3, got "
       "\"60s\": a time limit is --timeout TIME"}};
  expect_refused(refused);
}

TEST_CASE("PYTHON_EXEC is the interpreter where dtrain starts one, as in torchrun") {
  const auto typed = [](const OptionValues& values, std::vector<std::string> command,
                        const std::string& python) {
    return make_run_config({flags(values)}, std::move(command), few_files,
                           {{"PYTHON_EXEC", python}})
        .value()
        .command;
  };
  const OptionValues alone = {{"standalone", {"true"}}};
  CHECK(typed(alone, {"train.py"}, "/opt/python") ==
        std::vector<std::string>{"/opt/python", "-u", "train.py"});
  CHECK(typed({{"module", {"true"}}}, {"train"}, "/opt/python") ==
        std::vector<std::string>{"/opt/python", "-u", "-m", "train"});
  CHECK(typed(alone, {"train.py"}, "") == std::vector<std::string>{"python3", "-u", "train.py"});
  CHECK(typed(alone, {"./train"}, "/opt/python") == std::vector<std::string>{"./train"});
}

TEST_CASE("any option of torchrun makes a .py a script of Python, whatever its mode") {
  const auto command = [](OptionValues values) {
    values["np"] = {"2"};
    return make_run_config({flags(values)}, {"./main.py"}, few_files).value().command;
  };
  const std::vector<std::string> by_python = {"python3", "-u", "./main.py"};
  const std::vector<std::string> as_it_is = {"./main.py"};
  CHECK(command({}) == as_it_is);
  CHECK(command({{"output-dir", {"logs"}}}) == as_it_is);
  CHECK(command({{"genv", {"A", "1"}}}) == as_it_is);
  CHECK(command({{"local-ranks-filter", {"0"}}}) == by_python);
  CHECK(command({{"numa-binding", {"node"}}}) == by_python);
  CHECK(command({{"start-method", {"spawn"}}}) == by_python);
  CHECK(command({{"signals-to-handle", {"SIGTERM"}}}) == by_python);
  CHECK(command({{"tee", {"0"}}, {"no-python", {"false"}}}) == by_python);
  CHECK(command({{"tee", {"0"}}, {"no-python", {"true"}}}) == as_it_is);
  CHECK(command({{"tee", {"0"}}, {"module", {"false"}}}) == by_python);
  const Refusal both[] = {{{{"np", {"2"}}, {"module", {"true"}}, {"no-python", {"true"}}},
                           "-m: conflicts with --no-python; give one of them"}};
  expect_refused(both);
}

TEST_CASE("torchrun's --role without a number is a label, whatever it is") {
  const auto warning_of = [](const char* label) {
    const RunConfig config = decide({flags({{"module", {"true"}}, {"role", {label}}})}).value();
    CHECK(config.roles == workers(0));
    CHECK(config.placement.per_host == 1);
    return join(config.warnings, " ");
  };
  CHECK(warning_of("rank") == "--role rank: a label of torchrun; these processes are worker here");
  CHECK(warning_of("My_Trainer 1") ==
        "--role My_Trainer 1: a label of torchrun; these processes are worker here");
}

TEST_CASE("the console shows the local ranks of torchrun's filter") {
  const auto shown = [](const char* text) {
    return decide({flags({{"np", {"2"}}, {"local-ranks-filter", {text}}})})
        .value()
        .shown_local_ranks;
  };
  CHECK(shown("0") == std::vector<int>{0});
  CHECK(shown("1, 0,7") == std::vector<int>{1, 0, 7});
  for (const char* const text : {"", "x", "-1,0", "0,", "0;1", "0,4096"}) {
    CHECK(
        error_of(decide({flags({{"np", {"2"}}, {"local-ranks-filter", {text}}})})) ==
        format("--local-ranks-filter: expected local ranks from 0, such as 0,1, got \"{}\"", text));
  }
}

TEST_CASE("an option of torchrun is accepted where it changes nothing, else refused") {
  struct Case {
    const char* name;
    const char* value;
    const char* refusal;  ///< empty: accepted
  };
  constexpr const char* no_copies =
      "dtrain copies no lines that fit a filter; leave it out, and run grep over the files of "
      "--log-dir DIR";
  constexpr const char* signals =
      "dtrain passes on SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH; name only "
      "these, or leave it out";
  constexpr const char* classes =
      "dtrain starts no Python class; leave it out, or write the output to files with --log-dir "
      "DIR";
  const Case cases[] = {
      {"event-log-handler", "null", ""},
      {"event-log-handler", "console",
       "dtrain has no events of torchrun; leave it out, or write --report FILE, which has what "
       "happened"},
      {"logs-specs", "default", ""},
      {"logs-specs", "mine", classes},
      {"duplicate-stdout-filters", "loss", no_copies},
      {"duplicate-stderr-filters", "loss", no_copies},
      {"signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", ""},
      {"signals-to-handle", "SIGUSR1, SIGUSR2", ""},
      {"signals-to-handle", "SIGTERM,SIGALRM", signals},
      {"signals-to-handle", "TERM", signals},
      {"log-line-prefix-template", "${rank}", ""},
      {"virtual-local-rank", "false", ""},
      {"virtual-local-rank", "true",
       "LOCAL_RANK stays the place on the host; write --gpu-bind rank, with which device 0 is the "
       "process's own GPU"},
      {"run-path", "true",
       "leave it out: python3 -u starts a command that ends in .py; for others write python3 -u "
       "SCRIPT"},
      {"print-completion", "bash", "write: dtrain completion bash, zsh or fish"},
      {"start-method", "spawn", ""},
      {"start-method", "thread", "expected spawn, fork or forkserver, got \"thread\""},
      {"local-addr", "10.0.0.1", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    const std::string error = error_of(decide({flags({{"np", {"2"}}, {c.name, {c.value}}})}));
    const bool accepted = std::string_view(c.refusal).empty();
    CHECK(error == (accepted ? "accepted" : format("--{}: {}", c.name, c.refusal)));
  }
}

TEST_CASE("torchrun's prefix of lines is refused where --tee would write it") {
  const auto error = [](const char* tee) {
    return error_of(decide({flags({{"np", {"2"}},
                                   {"output-dir", {"logs"}},
                                   {"tee", {tee}},
                                   {"log-line-prefix-template", {"${rank}: "}}})}));
  };
  CHECK(error("0") == "accepted");
  CHECK(error("0:0") == "accepted");
  CHECK(error("3") ==
        "--log-line-prefix-template: dtrain's own tag, such as [3]<stdout>:, has the rank; leave "
        "it out, or write --no-tag");
}

}  // namespace
}  // namespace dt
