#include "launcher/config/sync_settings.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

std::optional<SyncOptions> tree_of(const OptionSources& sources) {
  RunConfig config;
  CHECK(read_sync(sources, config).has_value());
  return config.sync;
}

TEST_CASE("the options of --sync decide the tree and its place on the hosts") {
  struct Row {
    OptionValues values;
    std::optional<SyncOptions> expected;
  };
  const Row rows[] = {
      {{{"sync", {"false"}}}, std::nullopt},
      {{{"sync", {"true"}}}, SyncOptions{}},
      {{{"sync-from", {"../code: a, b"}}}, SyncOptions{.from = "../code: a, b"}},
      {{{"sync-to", {"/srv//code/./a/"}}}, SyncOptions{.target = "/srv/code/a"}},
      {{{"sync-to", {"code"}}}, SyncOptions{.target = "code"}},
      {{{"sync-to", {"~/code"}}, {"sync-into", {"true"}}},
       SyncOptions{.target = "code", .into = true}},
      {{{"sync", {"true"}}, {"sync-local-copy", {"yes"}}, {"sync-strict", {"1"}}},
       SyncOptions{.local_copy = true, .strict = true}},
      {{{"sync", {"true"}}, {"sync-max", {"3M"}}}, SyncOptions{.bytes_max = 3 << 20}},
      {{{"sync", {"true"}}, {"sync-exclude", {"*.{a,b}", "data/"}}, {"sync-include", {"data/x y"}}},
       SyncOptions{.excluded = {"*.{a,b}", "data"}, .included = {"data/x y"}}}};
  for (const Row& row : rows) {
    CAPTURE(row.values.begin()->first);
    CHECK(tree_of({flags(row.values)}) == row.expected);
  }
}

TEST_CASE("the nearest source that asks for a tree, or refuses one, decides") {
  const OptionSource file = {.values = {{"sync-to", {"code"}}, {"sync-exclude", {"*.ckpt"}}}};
  CHECK(!tree_of({flags({{"sync", {"false"}}}), file}));
  CHECK(tree_of({flags({{"sync", {"true"}}}), file}) ==
        SyncOptions{.target = "code", .excluded = {"*.ckpt"}});
  const OptionSource off = flags({{"sync", {"false"}}});
  CHECK(tree_of({flags({{"sync-from", {"code"}}}), off}) == SyncOptions{.from = "code"});
  // A file's settings are for jobs that have a tree.
  CHECK(!tree_of({flags({}), {.values = {{"sync-max", {"1G"}}, {"sync-strict", {"true"}}}}}));
}

TEST_CASE("bad values of --sync and its options are refused, with their place") {
  const Refusal cases[] = {
      {{{"sync", {"maybe"}}}, "--sync: expected true or false, got \"maybe\""},
      {{{"sync-from", {""}}},
       "--sync-from: expected a folder, or the URL of a git repository, got \"\""},
      {{{"sync-from", {"ftp://me:secret@host/a.git"}}},
       "--sync-from: git repositories have no URL that begins with \"ftp://\"; give one of https, "
       "ssh or file, or a folder"},
      {{{"sync-from", {"https://host/a@-x"}}},
       "--sync-from: '-x' behind the '@' is no branch, tag or commit: it begins with '-'"},
      {{{"sync", {"true"}}, {"sync-user", {"me"}}},
       "--sync-user: it is for the server of a git repository; name one by --sync-from URL"},
      {{{"sync-from", {"git@host:a"}}, {"sync-token-env", {"TOKEN"}}},
       "--sync-token-env: only servers by https ask for a user and a token; ssh has keys of its "
       "own, and a file none"},
      {{{"sync-from", {"https://host/a"}},
        {"sync-token-env", {"TOKEN"}},
        {"sync-token-file", {"token"}}},
       "--sync-token-env: --sync-token-file is given, too; leave one of them out"},
      {{{"sync-from", {"https://host/a"}}, {"sync-token-env", {"s3cret-value"}}},
       "--sync-token-env: it needs the name of a variable, not a value: letters, digits and _"},
      {{{"sync-from", {"https://host/a"}}, {"sync-token-env", {"1TOKEN"}}},
       "--sync-token-env: it needs the name of a variable, not a value: letters, digits and _"},
      {{{"sync-token-file", {"token"}}},
       "--sync-token-file: without --sync, no files are copied; give both, or neither"},
      {{{"sync-to", {""}}},
       "--sync-to: expected an absolute path, or one below the home, got \"\""},
      {{{"sync-to", {"/srv/../etc"}}},
       "--sync-to: a path with \"..\" can leave its folder: \"/srv/../etc\""},
      {{{"sync-to", {"//"}}},
       "--sync-to: \"//\" is a folder of all jobs; give one of its own for the copy, such as "
       "/srv/job"},
      {{{"sync-to", {"~"}}},
       "--sync-to: \"~\" is a folder of all jobs; give one of its own for the copy, such as ~/job"},
      {{{"sync-to", {"~ann/x"}}},
       "--sync-to: the home of another user has no copies; give an absolute path, not \"~ann/x\""},
      {{{"sync", {"true"}}, {"sync-into", {"true"}}},
       "--sync-into: a new copy has no other files; give --sync-to TARGET, too"},
      {{{"sync", {"false"}}, {"sync-to", {"code"}}},
       "--sync-to: --sync is false, so that no files are copied; leave one of them out"},
      {{{"sync", {"true"}}, {"sync-max", {"0"}}},
       "--sync-max: expected a size from 1, such as 500M or 4G, got 0"},
      {{{"sync", {"true"}}, {"sync-max", {"much"}}},
       "--sync-max: expected a size from 1, such as 500M or 4G, got \"much\""},
      {{{"sync", {"true"}}, {"sync-exclude", {"a", ""}}},
       "--sync-exclude: expected a pattern, got \"\""},
      {{{"sync", {"true"}}, {"sync-include", {"/data"}}},
       "--sync-include: a pattern is compared with paths below the tree, which begin with a name, "
       "as in 'data/*'; \"/data\" fits none"},
      {{{"sync-strict", {"true"}}},
       "--sync-strict: without --sync, no files are copied; give both, or neither"},
      {{{"sync-exclude", {"x"}}},
       "--sync-exclude: without --sync, no files are copied; give both, or neither"}};
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    RunConfig config;
    const Result<> read = read_sync({flags(values)}, config);
    CHECK((read ? "accepted" : read.error().message) == message);
    CHECK(!config.sync);
  }
}

TEST_CASE("the repository of a URL has a REF, a user and a token, which no worker gets") {
  RunConfig config;
  const OptionValues values = {{"sync-from", {"https://host/a.git@v1"}},
                               {"sync-user", {"me"}},
                               {"sync-token-env", {"GIT_TOKEN"}}};
  REQUIRE(read_sync({flags(values)}, config).has_value());
  CHECK(config.sync == SyncOptions{.repository = GitSource{"https://host/a.git", "v1"},
                                   .token = {.user = "me", .variable = "GIT_TOKEN", .file = ""}});
  CHECK(config.environment_excluded == std::vector<std::string>{"GIT_TOKEN"});
  // A file's settings are for jobs that have a URL.
  const OptionSource file = {.values = {{"sync-token-file", {"token"}}}};
  CHECK(tree_of({flags({{"sync", {"true"}}}), file}) == SyncOptions{});
  CHECK(tree_of({flags({{"sync-from", {"https://host/a"}}}), file})->token.file == "token");
}

TEST_CASE("a variable with the token that workers would get is refused") {
  const OptionValues values = {{"np", {"1"}},
                               {"sync-from", {"https://host/a"}},
                               {"sync-token-env", {"TOKEN"}},
                               {"env", {"TOKEN"}}};
  CHECK(error_of(decide({flags(values)})) ==
        "--sync-token-env: -x gives TOKEN to the workers, which must not have the token; leave it "
        "out there, or take another variable for the token");
}

TEST_CASE("a job without --sync has no tree, and one with it has it beside its other options") {
  CHECK(!decide({flags({{"np", {"1"}}})})->sync);
  CHECK(decide({flags({{"np", {"1"}}, {"sync", {"true"}}})})->sync == SyncOptions{});
}

TEST_CASE("a tree goes to no host of a cluster that others have laid out") {
  const std::string refusal =
      "--sync: with --cluster-spec or a TF_CONFIG, each host has a dtrain of its own, and this one "
      "reaches no other; leave it out, or start the job by -np and -H";
  const OptionValues both = {{"sync", {"true"}}, {"cluster-spec", {"worker|localhost:2222"}}};
  CHECK(error_of(decide({flags(both)})) == refusal);
  const Environment environment = {
      {"TF_CONFIG",
       R"({"cluster":{"worker":["localhost:2222"]},"task":{"type":"worker","index":0}})"}};
  const OptionSources sources = {flags({{"sync", {"true"}}})};
  CHECK(error_of(make_run_config(sources, {"true"}, few_files, environment)) == refusal);
}

TEST_CASE("patterns of --fetch choose the files that come back, and --fetch-to their place") {
  RunConfig config;
  const OptionValues values = {
      {"sync", {"true"}}, {"fetch", {"runs/", "*.{a,b}"}}, {"fetch-to", {"out"}}};
  REQUIRE(read_sync({flags(values)}, config).has_value());
  CHECK(config.fetch == FetchOptions{.patterns = {"runs", "*.{a,b}"}, .to = "out"});
  CHECK(!decide({flags({{"np", {"1"}}, {"sync", {"true"}}})})->fetch);
  // A file's settings are for jobs that have a tree.
  CHECK(!decide({flags({{"np", {"1"}}}), {.values = {{"fetch", {"runs"}}}}})->fetch);
}

TEST_CASE("bad values of --fetch are refused, with their place") {
  const std::string outside =
      "--fetch: a pattern is compared with paths below the tree, which begin with a name, as in "
      "'data/*'; ";
  const Refusal cases[] = {
      {{{"fetch", {"runs"}}},
       "--fetch: without --sync, no files are copied; give both, or neither"},
      {{{"sync", {"true"}}, {"fetch-to", {"out"}}},
       "--fetch-to: without --fetch PATTERN, no files come back"},
      {{{"sync-from", {"file:///a"}}, {"fetch", {"out"}}},
       "--fetch: the tree of a URL has no folder here to which they could return; add --fetch-to "
       "DIR"},
      {{{"sync", {"true"}}, {"fetch", {""}}}, "--fetch: expected a pattern, got \"\""},
      {{{"sync", {"true"}}, {"fetch", {"../x"}}}, outside + "\"../x\" fits none"},
      {{{"sync", {"true"}}, {"fetch", {"/x"}}}, outside + "\"/x\" fits none"},
      {{{"sync", {"true"}}, {"fetch", {"a/../../x"}}},
       "--fetch: only files below the tree come back, not \"a/../../x\""},
      {{{"sync", {"true"}}, {"fetch", {".."}}},
       "--fetch: only files below the tree come back, not \"..\""},
      {{{"sync", {"true"}}, {"fetch", {"x"}}, {"fetch-to", {""}}},
       "--fetch-to: expected a folder, got \"\""}};
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    RunConfig config;
    const Result<> read = read_sync({flags(values)}, config);
    CHECK((read ? "accepted" : read.error().message) == message);
    CHECK(!config.fetch);
  }
}

TEST_CASE("no option of --sync is taken from a file that was merely found") {
  for (const Option& option : sync_options) {
    CAPTURE(option.name);
    CHECK(option.trusted_only);
    CHECK(option.group == OptionGroup::code);
  }
}

}  // namespace
}  // namespace dt
