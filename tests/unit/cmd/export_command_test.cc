#include "cmd/export_command.h"

#include "cmd/options.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace dt {
namespace {

Result<ExportJob> job_of_file(const TemporaryFolder& folder, const std::string& text,
                              const std::vector<std::string>& more = {}) {
  folder.write("job.toml", text);
  const std::string file = folder.path() + "/job.toml";
  std::vector<std::string> words = {"compose", file};
  words.insert(words.end(), more.begin(), more.end());
  return export_job(read_export_words(words).value(),
                    {"HOME=/none", "PATH=/bin", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0",
                     "SLURM_JOB_NODELIST=n[1-3]", "TF_CONFIG={\"cluster\":{}}"});
}

using Line = std::vector<std::string>;

TEST_CASE("export takes a target, a file, options of run and a command") {
  const Line line = {"compose", "--np", "2",  "a.toml", "-o", "out",
                     "--image", "i",    "--", "x",      "-o"};
  const ExportWords words = read_export_words(line).value();
  CHECK(words.target == ExportWords::Target::compose);
  CHECK(words.job.file == "a.toml");
  CHECK(words.job.flags.values == OptionValues{{"image", {"i"}}, {"np", {"2"}}});
  CHECK(words.job.command == Line{"x", "-o"});
  CHECK(words.output == "out");
  CHECK(read_export_words(Line{"slurm", "f"})->target == ExportWords::Target::slurm);
  CHECK(parse_command_line({"export", "slurm", "f"})->exported.job.file == "f");
}

TEST_CASE("export without words explains itself") {
  for (const Line& line : {Line{}, Line{"--help"}, Line{"compose", "--help"}, Line{"slurm", "-h"}})
    CHECK(read_export_words(line)->target == ExportWords::Target::help);
  CHECK(parse_command_line({"export"})->help.starts_with("usage: dtrain export"));
}

TEST_CASE("wrong words of export are refused with the next step") {
  const std::pair<Line, std::string> cases[] = {
      {{"composed", "f"},
       "export: \"composed\" is not one of its targets; did you mean dtrain "
       "export compose?"},
      {{"x", "f"}, "export: \"x\" is not one of its targets; they are compose, slurm, kubernetes"},
      {{"slurm"}, "export slurm: which file? write: dtrain export slurm FILE"},
      {{"slurm", "f", "-o"}, "-o: needs a value, FILE; see: dtrain help export"},
      {{"slurm", "f", "g"},
       "export: \"g\" means nothing to it; a command that replaces the file's goes behind --"},
      {{"slurm", "f", "--connect"}, "--connect: no such option; did you mean --connect-timeout?"}};
  for (const auto& [line, message] : cases) {
    const auto refused = read_export_words(line);
    REQUIRE(!refused);
    CHECK(refused.error().message == message);
  }
}

TEST_CASE("export kubernetes takes a file or a whole job, and its own options") {
  const Line whole = {"kubernetes", "--kind", "jobset",  "--nnodes",      "2",
                      "--queue",    "q",      "--claim", "data:/data",    "--secret",
                      "s",          "-o",     "out",     "--with-secret", "--without-dtrain",
                      "--",         "python", "a.py"};
  const ExportWords words = read_export_words(whole).value();
  CHECK(words.target == ExportWords::Target::kubernetes);
  CHECK(words.job.file.empty());
  CHECK(words.job.flags.values == OptionValues{{"nnodes", {"2"}}});
  CHECK(words.job.command == Line{"python", "a.py"});
  CHECK(words.output == "out");
  CHECK(words.has_secret());
  CHECK(words.kubernetes.kind == KubernetesKind::jobset);
  CHECK(words.kubernetes.queue == "q");
  CHECK(words.kubernetes.secret == "s");
  CHECK(words.kubernetes.without_dtrain);
  REQUIRE(words.kubernetes.claims.size() == 1);
  CHECK(words.kubernetes.claims[0].source == "data");
  const Line of_file = {"kubernetes", "f", "--runtime", "r", "--kind", "trainjob"};
  CHECK(read_export_words(of_file)->job.file == "f");
  CHECK(read_export_words(of_file)->kubernetes.runtime == "r");
  CHECK(read_export_words(Line{"kubernetes", "-h"})->target == ExportWords::Target::help);
}

TEST_CASE("wrong words of export kubernetes are refused with the next step") {
  const std::pair<Line, std::string> cases[] = {
      {{"kubernetes"},
       "export kubernetes: which job? write: dtrain export kubernetes FILE, or options of run, and "
       "the command behind --"},
      {{"kubernetes", "f"},
       "export kubernetes: which kind? write: --kind indexed-job|jobset|trainjob|mpijob"},
      {{"kubernetes", "f", "--kind", "job"},
       "--kind: \"job\" is none of its kinds; they are indexed-job, jobset, trainjob, mpijob"},
      {{"kubernetes", "f", "--kind", "jobset", "--with-secret"},
       "--with-secret: the terminal would show the token; write the text to a file: -o FILE"},
      {{"kubernetes", "f", "--kind", "jobset", "--claim", "data"},
       "--claim: expected NAME:TARGET or NAME:TARGET:ro, got \"data\""}};
  for (const auto& [line, message] : cases) {
    const auto refused = read_export_words(line);
    REQUIRE(!refused);
    CHECK(refused.error().message == message);
  }
}

TEST_CASE("a command without -- is no file of a job for Kubernetes") {
  const TemporaryFolder folder;
  const auto error_for = [&folder](const std::string& name, const Line& more = {}) {
    Line words = {"kubernetes", "--kind", "jobset", folder.path() + "/" + name};
    words.insert(words.end(), more.begin(), more.end());
    return export_job(read_export_words(words).value(), {"HOME=/none", "PATH=/bin"})
        .error()
        .message;
  };
  folder.write("train.py", "import os\n");
  for (const std::string name : {"true", "train.py"}) {
    CAPTURE(name);
    CHECK(error_for(name).ends_with("; if " + folder.path() + "/" + name +
                                    " is the command of the job, write it behind --: dtrain export "
                                    "kubernetes OPTIONS -- " +
                                    folder.path() + "/" + name));
  }
  CHECK(error_for("job.toml").ends_with("No such file or directory"));
  // Here the command is given already.
  CHECK(error_for("true", {"--", "x"}).ends_with("No such file or directory"));
}

TEST_CASE("a job in pods may have nodes without hosts") {
  const auto job_of = [](const Line& more) {
    Line words = {"kubernetes", "--kind", "jobset", "--image", "i"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "x"});
    return export_job(read_export_words(words).value(), {"HOME=/none", "PATH=/bin"});
  };
  CHECK(!job_of({}));
  CHECK(job_of({"--nnodes", "4"}));
  CHECK(job_of({"--nnodes", "4", "--nproc-per-node", "2", "--node-rank", "3"}));
  CHECK(job_of({"-np", "8", "--nnodes", "4"}).value().config.roles.front().count == 8);
  CHECK(!job_of({"--nproc-per-node", "some"}));
}

TEST_CASE("an export plans the job of a file, and a scheduler's job around it does not count") {
  const TemporaryFolder folder;
  const ExportJob job =
      job_of_file(folder, "schema = 1\nnp = 2\ncommand = ['x']\nallocation = 'slurm'\n").value();
  REQUIRE(job.plan);
  CHECK(job.plan->tasks.size() == 2);
  CHECK(job.config.allocation == "");
  CHECK(job.config.slurm_job == "");
  CHECK(job.command == std::vector<std::string>{"x"});
}

TEST_CASE("the command line wins over the file") {
  const TemporaryFolder folder;
  const ExportJob job = job_of_file(folder, "schema = 1\nnp = 2\ncommand = ['x']\nimage = 'a'\n",
                                    {"--np", "3", "--image", "b", "--", "y"})
                            .value();
  CHECK(job.plan->tasks.size() == 3);
  CHECK(job.config.image == "b");
  CHECK(job.command == std::vector<std::string>{"y"});
}

TEST_CASE("hosts without slots, and those of a program, leave the plan open") {
  const TemporaryFolder folder;
  CHECK(!job_of_file(folder, "schema = 1\ncommand = ['x']\nhosts = ['a', 'b']\n")->plan);
  CHECK(!job_of_file(folder,
                     "schema = 1\nnp = 2\ncommand = ['x']\nhost-discovery-script = '/bin/true'\n")
             ->plan);
}

TEST_CASE("the code is the git tree that holds the folder, or the folder") {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() + "/tree/below");
  const std::string text = "schema = 1\nnp = 1\ncommand = ['x']\n[code]\npath = '" + folder.path() +
                           "/tree/below" + "'\n";
  const std::string real = fs::canonical(folder.path() + "/tree").string();
  CHECK(job_of_file(folder, text)->code->root == real + "/below");
  fs::create_directories(folder.path() + "/tree/.git");
  folder.write("tree/.git/HEAD", "ref: refs/heads/main\n");
  const ExportJob job = job_of_file(folder, text).value();
  CHECK(job.code->root == real);
  CHECK(job.code->start == "");
  const auto refused = job_of_file(folder, "schema = 1\nnp = 1\ncommand = ['x']\n[code]\npath = '" +
                                               folder.path() + "/no" + "'\n");
  REQUIRE(!refused);
  CHECK(refused.error().message.find("No such file or directory") != std::string::npos);
}

TEST_CASE("each target has its text") {
  const TemporaryFolder folder;
  const ExportJob job =
      job_of_file(folder, "schema = 1\nnp = 1\ncommand = ['x']\nimage = 'i'\n").value();
  CHECK(export_text({.target = ExportWords::Target::compose}, job)->text.find("services:") !=
        std::string::npos);
  CHECK(export_text({.target = ExportWords::Target::slurm}, job)->text.starts_with("#!/bin/sh\n"));
}

}  // namespace
}  // namespace dt
