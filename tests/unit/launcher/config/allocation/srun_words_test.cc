#include "launcher/config/allocation/srun_words.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("srun_words_fault: options that leave the step as it is are fine") {
  const std::vector<std::vector<std::string>> fine = {
      {"--container-image=img.sqsh", "--container-mounts=/data:/data"},
      {"--mem", "8G"},
      {"--exclusive", "--export-file=vars"},
      {"-A", "account", "-J", "name"},
  };
  for (const auto& words : fine)
    CHECK_FALSE(srun_words_fault(words));
}

TEST_CASE("srun_words_fault: options of the step, a command, and the end of options are refused") {
  struct Case {
    std::vector<std::string> words;
    std::string fault;
  };
  const std::string given = "dtrain itself gives srun the option ";
  const std::string no_option = "expected options of srun, such as --container-image=FILE";
  const Case cases[] = {
      {{}, no_option},
      {{"true"}, no_option},
      {{"--mem=1G", "--"}, "-- ends the options of srun, and dtrain adds its own"},
      {{"--mem=1G", "--nodes=2"}, given + "--nodes; leave out --nodes=2"},
      {{"--nodel", "n1"}, given + "--nodelist; leave out --nodel"},
      {{"-N2"}, given + "--nodes; leave out -N2"},
      {{"-n", "4"}, given + "--ntasks; leave out -n"},
      {{"-wn[1-2]"}, given + "--nodelist; leave out -wn[1-2]"},
      {{"--input=none"}, given + "--input; leave out --input=none"},
      {{"--pty"}, given + "--pty; leave out --pty"},
  };
  for (const Case& c : cases)
    CHECK(srun_words_fault(c.words) == c.fault);
}

TEST_CASE("choose_container: an option of a container is among the words") {
  CHECK(choose_container({"--mem=1G", "--container-image=img"}));
  CHECK_FALSE(choose_container({"--mem=1G"}));
  CHECK_FALSE(choose_container({}));
}

}  // namespace
}  // namespace dt
