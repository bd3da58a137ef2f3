#include "cmd/complete.h"

#include "base/text.h"
#include "cmd/complete_hosts.h"
#include "cmd/completion.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace dt {
namespace {

using Words = std::vector<std::string>;

/// A world of files that are texts.
CompletionReaders readers_of(std::map<std::string, std::string> files) {
  return {.text = [files](const std::string& path) -> std::optional<std::string> {
            const auto found = files.find(path);
            if (found == files.end()) return std::nullopt;
            return found->second;
          },
          .paths =
              [files](const std::string& pattern) {
                std::vector<std::string> paths;
                const std::string front = pattern.substr(0, pattern.find('*'));
                for (const auto& [path, text] : files) {
                  if (path.starts_with(front)) paths.push_back(path);
                }
                return paths;
              },
          .environment = {{"HOME", "/home/me"}, {"NCCL_DEBUG", "INFO"}, {"NCCL_IB_HCA", "mlx5"}}};
}

CompletionReaders usual_readers() {
  return readers_of(
      {{"hostfile", "node1 slots=8\nnode2 slots=4\n"},
       {"/home/me/other", "far1:2\n"},
       {"broken", "a slots=x\n"},
       {"/home/me/.ssh/config", "Host gpu-a *.lan\nInclude conf.d/*\nInclude config\n"},
       {"/home/me/.ssh/conf.d/1", "host=storage # the big one\nInclude ~/elsewhere\n"},
       {"/home/me/elsewhere", "HOST \"quoted\"\n"}});
}

/// The completion in one line: kind, kept part, candidates with blanks between.
std::string completed(const Words& words) {
  const Completion completion = complete(words, usual_readers());
  std::string text = std::vector<std::string>{"", "files", "folders",
                                              "command"}[static_cast<size_t>(completion.kind)];
  if (completion.kind == Completion::Kind::command) text += std::to_string(completion.command_at);
  if (!completion.kept.empty()) text += completion.kept + "|";
  for (const Completion::Candidate& candidate : completion.candidates)
    text += (text.empty() || text.back() == '|' ? "" : " ") + candidate.word;
  return text + (completion.open ? "…" : "");
}

TEST_CASE("each place of the line is completed with what belongs there") {
  struct Case {
    Words words;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {{"ru"}, "run"},
      {{"xyz"}, ""},
      {{"--v"}, "--version"},
      {{"help", "ve"}, "version"},
      {{"help", "run", ""}, ""},
      {{"completion", ""}, "bash zsh fish --help"},
      {{"version", "--json", "--"}, "--help"},
      {{"xyz", "--"}, ""},
      {{"config", "s"}, "show"},
      {{"config", "show", "--or"}, "--origin"},
      {{"config", "show", "--origin", "--or"}, ""},
      {{"config", "show", "--js"}, "--json"},
      {{"config", "show", "--all", "--over"}, "--oversubscribe"},
      {{"config", "show", "--on-failure="}, "--on-failure=|kill continue"},
      {{"config", "show", "--on-failure", ""}, "kill continue"},
      {{"config", "show", "-np", "4", "pyt"}, "command5"},
      {{"check", "--js"}, "--json"},
      {{"check", "--json", "--js"}, ""},
      {{"check", "--over"}, ""},
      {{"check", "--hostf"}, "--hostfile"},
      {{"check", "--verbose", "--connect"}, "--connect-timeout"},
      {{"check", "-H", "no"}, "node1 node2…"},
      {{"check", "--color="}, "--color=|auto always never"},
      {{"check", "--config-file", ""}, "files"},
      {{"check", "pyt"}, ""},
      {{"check", "--imp"}, "--import"},
      {{"check", "--import", "to"}, ""},
      {{"check", "--import", "torch", "--hostf"}, "--hostfile"},
      {{"check", "--", "pyt"}, "command3"},
      {{"run", "--over"}, "--oversubscribe"},
      {{"run", "--num-p"}, "--num-proc"},
      {{"run", "-np", "4", "--num"}, "--numa-binding --numa_binding --num-nccl-streams"},
      {{"run", "--np=4", "--num-p"}, ""},
      {{"run", "-x", "A", "--env"}, "--env --env-file --env-exclude --env-set"},
      {{"run", "--on-failure", ""}, "kill continue"},
      {{"run", "--on-failure=c"}, "--on-failure=|continue"},
      {{"run", "--stdin", ""}, "none all"},
      {{"run", "--quiet="}, "--quiet=|true false"},
      {{"run", "-np", ""}, ""},
      {{"run", "--timeout="}, "--timeout=|"},
      {{"run", "--nonsense="}, ""},
      {{"run", "--chdir", "x"}, "folders"},
      {{"run", "--chdir=x"}, "folders--chdir=|"},
      {{"run", "--config-file", ""}, "files"},
      {{"run", "-x", "NCCL_"}, "NCCL_DEBUG NCCL_IB_HCA"},
      {{"run", "-x", "NCCL_DEBUG="}, ""},
      {{"run", "--env-exclude", "NCCL_"}, "NCCL_DEBUG NCCL_IB_HCA"},
      {{"run", "--sync-exclude", "da"}, "files"},
      {{"run", "--sync-from="}, "folders--sync-from=|"},
      {{"run", "--sync-token-env", "NCCL_"}, "NCCL_DEBUG NCCL_IB_HCA"},
      {{"run", "--sync-user", "NCCL_"}, ""},
      {{"run", "--sync-to", "da"}, ""},
      {{"run", "--setup", "make", "--setup"}, "--setup --setup-timeout --setup-once"},
      {{"run", ""}, "command2"},
      {{"run", "pyt"}, "command2"},
      {{"run", "-np", "4", "python", "--o"}, "command4"},
      {{"run", "-np4", "--quiet", "--", "--o"}, "command5"},
  };
  for (const Case& one : cases) {
    CAPTURE(join(one.words, " "));
    CHECK(completed(one.words) == one.expected);
  }
}

TEST_CASE("a dash offers every option once, by its usual spelling and with its help") {
  const Completion completion = complete(Words{"run", "-"}, usual_readers());
  CHECK(completion.candidates.size() == own_options.size() + resource_options.size() +
                                            size_options.size() + image_options.size() +
                                            sync_options.size() + mount_options.size());
  for (const Option& option : own_options) {
    CAPTURE(option.name);
    const Completion::Candidate wanted = {std::string(spellings_of(option).front()),
                                          std::string(option.help)};
    CHECK(std::ranges::count(completion.candidates, wanted) == 1);
  }
}

TEST_CASE("every spelling of every option is completed, and its value too") {
  for (const Option& option : own_options) {
    for (const std::string_view spelling : spellings_of(option)) {
      CAPTURE(spelling);
      const std::string whole(spelling);
      const Completion completion = complete(Words{"run", whole}, usual_readers());
      CHECK(std::ranges::count(completion.candidates, whole, &Completion::Candidate::word) == 1);
      if (option.kind == OptionKind::flag) continue;
      CHECK(complete(Words{"run", whole, ""}, usual_readers()).kind != Completion::Kind::command);
    }
  }
}

TEST_CASE("bench completes its operation, its options with their values, and those of run") {
  struct Case {
    Words words;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {{"bench", ""},
       "all_reduce all_gather broadcast reduce_scatter all_to_all reduce gather scatter latency "
       "fusion"},
      {{"bench", "-np", "2", "all_r"}, "all_reduce"},
      {{"bench", "latency", ""}, ""},
      {{"bench", "latency", "--min"}, "--minbytes"},
      {{"bench", "latency", "-b", "8", "--min"}, ""},
      {{"bench", "latency", "--minbytes", "8", "--min"}, ""},
      {{"bench", "--trans"}, "--transport"},
      {{"bench", "--transport", ""}, "auto shm tcp"},
      {{"bench", "--transport=t"}, "--transport=|tcp"},
      {{"bench", "--devic"}, "--device"},
      {{"bench", "--device", ""}, "cpu gpu"},
      {{"bench", "--device=g"}, "--device=|gpu"},
      {{"bench", "--tensors", ""}, "resnet50 bert-large"},
      {{"bench", "--fused", ""}, "on off"},
      {{"bench", "latency", "-b", ""}, ""},
      {{"bench", "latency", "--over"}, "--oversubscribe"},
      {{"bench", "latency", "--rol"}, ""},
      {{"bench", "latency", "-H", "node1:4,node"}, "node1:4,|node2…"},
      {{"bench", "-b", "8", "--map-by", ""}, "slot node"},
      {{"bench", "--progr"}, ""},
  };
  for (const Case& one : cases) {
    CAPTURE(join(one.words, " "));
    CHECK(completed(one.words) == one.expected);
  }
}

TEST_CASE("hosts come from the hostfile and the ssh configuration") {
  struct Case {
    Words words;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {{"run", "-H", ""}, "node1 node2 localhost gpu-a storage quoted…"},
      {{"run", "-H", "no"}, "node1 node2…"},
      {{"run", "--hosts=no"}, "--hosts=|node1 node2…"},
      {{"run", "-H", "node1:4,n"}, "node1:4,|node2…"},
      {{"run", "-H", "me@node1,me@n"}, "me@node1,me@|node2…"},
      {{"run", "-H", "node[1,2],g"}, "node[1,2],|gpu-a…"},
      {{"run", "-H", "node1:"}, "node1:|8"},
      {{"run", "-H", "gpu-a:"}, "gpu-a:|"},
      {{"run", "-H", "node2,node1:4"}, "node2,node1:|"},
      {{"run", "-H", "@x"}, "files@|"},
      {{"run", "--hostfile", "~/other", "-H", "f"}, "far1…"},
      {{"run", "--hostfile=broken", "-H", "n"}, "…"},
      {{"run", "--hostfile", "missing", "-H", "g"}, "gpu-a…"},
  };
  for (const Case& one : cases) {
    CAPTURE(join(one.words, " "));
    CHECK(completed(one.words) == one.expected);
  }
}

TEST_CASE("patterns, comments and other keywords of an ssh configuration name no host") {
  const SshConfig config = parse_ssh_config(
      "# Host not\n\nHost a b* !c d?\n  HostName e\nMatch host f\nhost\tg h\r\nHOST=i\n"
      "Include one two/*\n");
  CHECK(config.hosts == Words{"a", "g", "h", "i"});
  CHECK(config.includes == Words{"one", "two/*"});
}

TEST_CASE("the answer for the scripts is one line for the kind and one a candidate") {
  CHECK(completion_text({.kept = "--x=", .open = true, .candidates = {{"a", "help of a"}}}) ==
        "words\tnospace\t--x=\na\thelp of a\n");
  CHECK(completion_text({.kind = Completion::Kind::command, .command_at = 4}) == "command\t4\t\n");
  CHECK(completion_text(complete({}, usual_readers())) == "words\tspace\t\n");
}

TEST_CASE("each shell has a script that asks dtrain") {
  CHECK(completion_shells() == Words{"bash", "zsh", "fish"});
  for (const std::string& shell : completion_shells()) {
    CAPTURE(shell);
    CHECK(completion_script(shell)->find("__complete") != std::string_view::npos);
  }
  CHECK_FALSE(completion_script("tcsh"));
}

}  // namespace
}  // namespace dt
