#include "launcher/export/slurm_script.h"

#include "tests/unit/launcher/export/fixture.h"

namespace dt {
namespace {

std::string text_of(std::string_view job) {
  return slurm_script(exported_job(job)).value().text;
}

bool has_line(const std::string& text, std::string_view line) {
  return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

TEST_CASE("a job becomes a script that runs dtrain in an allocation") {
  CHECK(text_of(R"(
command = ["python", "train.py", "it's $HOME"]
hosts = ["a:2", "b:2"]
timeout = "1h"
env = { A = "x y" }
setup = ["make"]
no-tag = true
ssh-port = 22
image = "i"
max-restarts = 2
)") == R"(#!/bin/sh
#SBATCH --job-name=mnist
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:00:50
#SBATCH --signal=B:TERM@20
#SBATCH --output=mnist-%j.out
#SBATCH --chdir=/home/me
# The job of mnist.toml. Submit it: sbatch FILE
# Not expressed here:
# - the names of the hosts, since Slurm chooses the nodes
# - the images
exec dtrain run \
  -np 4 \
  -x 'A=x y' \
  --timeout 1h \
  --max-restarts 2 \
  --no-tag \
  --name mnist \
  --setup make \
  -- python train.py 'it'\''s $HOME'
)");
}

TEST_CASE("nodes are those that the job's hosts would be") {
  struct Case {
    const char* job;
    std::vector<std::string> lines;
  };
  const Case cases[] = {
      {"np = 3\n", {"#SBATCH --nodes=1", "#SBATCH --ntasks-per-node=3", "  -np 3 \\"}},
      {"hosts = ['a', 'b', 'c']\n", {"#SBATCH --nodes=3", "#SBATCH --exclusive"}},
      {"hosts = ['a:4', 'b:4']\nnp = 5\n",
       {"#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=4", "  -np 5 \\",
        "# - different numbers of processes on the hosts"}},
      {"hosts = ['a:2', 'b:2']\ngpu-bind = 'rank'\n",
       {"#SBATCH --gpus-per-node=2", "  --gpu-bind rank \\"}},
      {"hosts = ['a:2', 'b:2']\n[roles.worker]\nreplicas = 4\n"
       "resources = { cpus = 3, gpus = 0.5, memory = '2G' }\n",
       {"#SBATCH --cpus-per-task=3", "#SBATCH --gpus-per-node=1", "#SBATCH --mem=4096M"}},
      {"hosts = ['a', 'b']\nppn = 2\n", {"#SBATCH --ntasks-per-node=2", "  --ppn 2 \\"}},
      {"[roles.worker]\nreplicas = 2\nhosts = ['a:2']\n[roles.ps]\nreplicas = 1\nhosts = ['b']\n",
       {"#SBATCH --nodes=2", "  --role worker=2 \\", "  --role ps=1 \\"}},
      {"hosts = ['a:1']\nspare = ['c:1']\nmax-restarts = 1\n", {"# - the option spare"}},
  };
  for (const Case& one : cases) {
    const std::string text = text_of("command = 'x'\n" + std::string(one.job));
    CAPTURE(text);
    for (const std::string& line : one.lines) {
      CAPTURE(line);
      CHECK(has_line(text, line));
    }
  }
}

TEST_CASE("a folder that sbatch could read in its own way is entered by the shell") {
  ExportJob job = exported_job("command = 'x'\nnp = 1\n");
  job.folder = "/home/me/it's\n50%";
  const std::string text = slurm_script(job).value().text;
  CHECK(text.find("--chdir") == std::string::npos);
  CHECK(text.find("\ncd '/home/me/it'\\''s\n50%' || exit\nexec dtrain run") != std::string::npos);
}

TEST_CASE("a cluster of given addresses is no job for Slurm") {
  CHECK(!slurm_script(exported_job("command = 'x'\ncluster-spec = 'worker|a:1;b:1'\n")));
}

}  // namespace
}  // namespace dt
