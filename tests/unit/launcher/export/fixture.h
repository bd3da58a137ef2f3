#pragma once

#include "launcher/config/config.h"
#include "launcher/config/files/config_show.h"
#include "launcher/config/jobs/job_file.h"
#include "launcher/export/export_job.h"
#include "launcher/plan/resolve_hosts.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

namespace dt {

/// Returns the job of a job file's text, behind its line for the schema.
inline ExportJob exported_job(std::string_view text) {
  JobFile file = read_job_file("schema = 1\n" + std::string(text), "mnist.toml").value();
  const OptionSources sources = {std::move(file.options)};
  const auto no_files = [](const std::string&) -> Result<std::string> {
    return fail(Errc::input, "no files here");
  };
  ExportJob job = {.config = make_run_config(sources, file.command, no_files).value(),
                   .options = decided_options(sources, false),
                   .command = file.command,
                   .folder = "/home/me",
                   .source = "mnist.toml",
                   .output = {}};
  if (!job.config.external_cluster) job.plan = resolve_hosts(job.config, {}).value().plan;
  if (job.config.sync && !job.config.sync->repository)
    job.code = ExportedCode{.root = "/home/me/tree", .start = {}};
  return job;
}

}  // namespace dt
