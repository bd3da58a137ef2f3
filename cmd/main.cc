#include "base/color.h"
#include "base/crypto.h"
#include "base/io/log.h"
#include "base/json.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/bench/rank_program.h"
#include "cmd/bench_command.h"
#include "cmd/cache/cache_command.h"
#include "cmd/check_build.h"
#include "cmd/command_advice.h"
#include "cmd/completion.h"
#include "cmd/export_command.h"
#include "cmd/job_command.h"
#include "cmd/kept_command.h"
#include "cmd/options.h"
#include "cmd/ps_command.h"
#include "cmd/run_arguments.h"
#include "gpu/cuda/cuda_build.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/agent_keeper.h"
#include "launcher/agent/local_host.h"
#include "launcher/check/check.h"
#include "launcher/config/files/config_show.h"
#include "launcher/config/files/load_config.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"
#include "launcher/job/run.h"
#include "launcher/kept/detach.h"
#include "launcher/kept/job_folder.h"
#include "launcher/kept/kept_job.h"
#include "launcher/report/report.h"
#include "launcher/report/report_file.h"
#include "launcher/sync/source/git_token.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dt {
namespace {

Log own_log(ColorChoice color) {
  Log log(Log::Level::normal, write_to_stderr);
  if (wants_color(color, parse_environment(own_environment()), ::isatty(STDERR_FILENO) != 0)) {
    log.use_color();
  }
  return log;
}

/// Prints the message, unless it is empty: then another process has it for its user.
int print_error(const Error& error, ColorChoice color = ColorChoice::automatic) {
  if (!error.message.empty()) own_log(color).error("{}", error.message);
  return exit_status_of(error.code);
}

int print(std::string_view text) {
  const auto written = write_all(STDOUT_FILENO, as_bytes(text));
  return written ? 0 : print_error(written.error());
}

/// Lists the GPU parts. Compressed kernels show no names in the file.
Json cuda_build_json() {
  const CudaBuild build = cuda_build();
  if (build.toolkit.empty()) return {};
  Json::Array architectures;
  for (const std::string_view architecture : split_words(build.architectures))
    architectures.emplace_back(architecture);
  return Json::Object{{"toolkit", build.toolkit},
                      {"architectures", std::move(architectures)},
                      {"nccl", build.nccl.empty() ? Json() : Json(build.nccl)}};
}

int print_version(bool json) {
  if (json) {
    const Json document = Json::Object{{"version", build_version}, {"cuda", cuda_build_json()}};
    return print(document.text(2) + "\n");
  }
  return print(format("dtrain {}\n", build_version));
}

/// Returns --color as typed, for errors before all options are decided.
ColorChoice typed_color(const Invocation& invocation) {
  const auto color = find_in(invocation.flags, "color");
  if (!color) return ColorChoice::automatic;
  return parse_color_choice(color->value()).value_or(ColorChoice::automatic);
}

FileNoticeSink log_notices(const Invocation& invocation) {
  return [color = typed_color(invocation)](const FileNotice& notice) {
    if (notice.is_warning) {
      own_log(color).warn("{}", notice.text);
    } else {
      own_log(color).print("{}", notice.text);
    }
  };
}

/// Returns the error for a command of `words` that has one meaning, but cannot run.
std::optional<std::string> advice_for(const std::vector<std::string>& words,
                                      const RunConfig& config, const Environment& environment) {
  // Behind a command of several programs, or one that dtrain completed, the words differ.
  const size_t length = config.command.size();
  if (length == 0 || length > words.size()) return std::nullopt;
  if (!std::ranges::equal(std::span(words).last(length), config.command)) return std::nullopt;
  const auto path = environment.find("PATH");
  return command_advice(
      {.front = std::span(words).first(words.size() - length),
       .command = config.command,
       .path = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second,
       .cwd = config.chdir.value_or(current_folder(environment))});
}

/// As soon as the option is read, since anything later can fail.
void remove_stale_report(const OptionSources& sources) {
  const auto report = find_option(sources, "report");
  const auto dry_run = find_option(sources, "dry-run");
  const bool stays = dry_run && dry_run->flag().value_or(true);
  if (report && !stays) ReportFile::remove_stale(report->value());
}

int run_command(const Invocation& invocation, const std::vector<std::string>& words) {
  const std::vector<std::string> environment = own_environment();
  remove_stale_report({invocation.flags});
  const auto config = load_run_config({.flags = invocation.flags,
                                       .command = invocation.words,
                                       .environment = environment,
                                       .notice = log_notices(invocation),
                                       .on_read = remove_stale_report});
  if (!config) return print_error(config.error(), typed_color(invocation));
  if (const auto advice = advice_for(words, *config, parse_environment(environment)))
    return print_error({Errc::not_runnable, *advice}, config->color);
  if (config->keep_output && !config->output_dir) {
    return print_error({Errc::input, "--keep-output: no output is kept; add --output-dir DIR"},
                       config->color);
  }
  return run(*config, parse_environment(environment));
}

/// Prints a job file for a command line, or writes it.
int init_job(const JobWords& words) {
  const auto text = initial_job_file(words, own_environment());
  if (!text) return print_error(text.error());
  if (words.file.empty()) return print(*text);
  const auto written = write_new_file(words.file, *text);
  return written ? 0 : print_error(written.error());
}

/// Runs a job in a folder of its own, and without the terminal if the user wants that.
int run_kept_job(const RunConfig& config, std::string text, bool detach) {
  const Environment environment = process_environment();
  if (config.dry_run) return run(config, environment);
  if (detach) {
    const auto fit = check_can_detach(config);
    if (!fit) return print_error(fit.error(), config.color);
  }
  if (config.nodes && config.nodes->rank.value_or(0) != 0) return run(config, environment);
  const auto folder = new_job_folder(environment, config.name);
  if (!folder && detach) return print_error(folder.error(), config.color);
  if (!folder) own_log(config.color).warn("the job is not kept: {}", folder.error().message);
  if (!folder) return run(config, environment);
  if (!detach)
    return run(config, environment, KeepOrder{.folder = *folder, .text = std::move(text)});
  auto detached = detach_job(*folder);
  if (!detached) return print_error(detached.error(), config.color);
  if (detached->started) {
    return run(config, environment,
               KeepOrder{.folder = *folder,
                         .text = std::move(text),
                         .started = *std::move(detached->started),
                         .detached = true});
  }
  const int printed = print(folder->id + "\n");
  return detached->status.value_or(printed);
}

int job_command(const Invocation& invocation) {
  const std::vector<std::string> environment = own_environment();
  if (invocation.job.action == JobWords::Action::kept) {
    const auto status = run_kept(invocation.job.kept, parse_environment(environment));
    return status ? *status : print_error(status.error());
  }
  if (invocation.job.action == JobWords::Action::init) return init_job(invocation.job);
  if (invocation.job.action == JobWords::Action::pieces) {
    const auto listing = pieces_listing(invocation.job, parse_environment(environment));
    return listing ? print(*listing) : print_error(listing.error());
  }
  auto request = job_request(invocation.job, environment);
  if (!request) return print_error(request.error(), typed_color(invocation));
  request->notice = log_notices(invocation);
  request->on_read = remove_stale_report;
  std::string text = effective_job_text(*request);
  const auto config = load_run_config(*std::move(request));
  if (!config) return print_error(config.error(), typed_color(invocation));
  if (!invocation.job.connect) return run_kept_job(*config, std::move(text), invocation.job.detach);
  if (config->nodes) {
    return print_error({Errc::input,
                        "--connect: the nodes of this job start by themselves, so there are no "
                        "hosts to connect to; leave it out"},
                       config->color);
  }
  return check(*config, {.json = config->json, .command = config->command},
               parse_environment(environment));
}

/// Prints the job for another launcher, or writes it. The user sees what it lacks.
int export_command(const Invocation& invocation) {
  const ExportWords& words = invocation.exported;
  const auto job = export_job(words, own_environment(), log_notices(invocation));
  if (!job) return print_error(job.error(), typed_color(invocation));
  const auto exported = export_text(words, *job);
  if (!exported) return print_error(exported.error(), job->config.color);
  Log log = own_log(job->config.color);
  for (const auto* warnings : {&job->config.warnings, &exported->warnings})
    for (const std::string& warning : *warnings)
      log.warn("{}", warning);
  if (!exported->left_out.empty()) log.warn("not expressed: {}", join(exported->left_out, "; "));
  if (words.output.empty()) return print(exported->text);
  const auto written = write_new_file(words.output, exported->text, words.has_secret());
  return written ? 0 : print_error(written.error(), job->config.color);
}

int check_command(const Invocation& invocation) {
  const std::vector<std::string> environment = own_environment();
  const auto config = load_check_config(invocation.flags, environment, log_notices(invocation));
  if (!config) return print_error(config.error(), typed_color(invocation));
  return check(*config, invocation.check, parse_environment(environment));
}

int bench_command(const Invocation& invocation) {
  const std::vector<std::string> environment = own_environment();
  BenchOptions options = invocation.bench;
  options.progress = shows_progress(::isatty(STDERR_FILENO) != 0, parse_environment(environment));
  const auto status = run_bench(options, {.flags = invocation.flags,
                                          .command = {},
                                          .environment = environment,
                                          .notice = log_notices(invocation)});
  return status ? *status : print_error(status.error(), typed_color(invocation));
}

/// On other hosts, the command is a job of one process on each, which leaves no copy there. The
/// answers come in the order of the hosts.
int cache_command(const Invocation& invocation) {
  const std::vector<std::string> environment = own_environment();
  const auto& values = invocation.flags.values;
  const bool other_hosts =
      values.contains("hosts") || values.contains("hostfile") || values.contains("allocation");
  if (!other_hosts) {
    const auto answer = answer_cache(invocation.words.front(), parse_environment(environment));
    return answer ? print(*answer) : print_error(answer.error(), typed_color(invocation));
  }
  auto config = load_run_config({.flags = invocation.flags,
                                 .command = {"self", "cache", invocation.words.front()},
                                 .environment = environment,
                                 .notice = log_notices(invocation),
                                 .takes = is_check_option,
                                 .defaults = {{"ppn", {"1"}}, {"quiet", {"true"}}}});
  if (!config) return print_error(config.error(), typed_color(invocation));
  const auto answers = make_answer_folder();
  if (!answers) return print_error(answers.error(), config->color);
  config->output_dir = *answers;
  config->ssh.keeps_agent = false;
  const int status = run(*config, parse_environment(environment));
  const int printed = print(take_answers(*answers));
  return status != 0 ? status : printed;
}

/// Prints the secret that all nodes of a job share.
int token_command() {
  const auto token = Token::random();
  return token ? print(token->text() + "\n") : print_error(token.error());
}

int ps_command(const PsOptions& options) {
  Log log = own_log(ColorChoice::automatic);
  const auto served = run_ps(options, log);
  return served ? 0 : print_error(served.error());
}

int show_config(const Invocation& invocation) {
  const auto sources = load_sources(invocation.flags, own_environment(), log_notices(invocation));
  if (!sources) return print_error(sources.error(), typed_color(invocation));
  const std::vector<DecidedOption> decided = decided_options(*sources, invocation.all);
  if (invocation.json) return print(decided_json(decided).text(2) + "\n");
  return print(decided_toml(decided, invocation.origin));
}

int dispatch(const std::vector<std::string>& words) {
  // Before the command line is parsed: every job waits for the start of its agents.
  if (!words.empty() && words.front() == "agent") {
    if (words.size() == 3 && words[1] == "dial") return serve_as_dialed_agent(words[2]);
    return keep_agent([] { return serve_as_agent({AgentLocation::other_host}); });
  }
  if (!words.empty() && words.front() == "__complete") {
    return print(answer_completion(std::span(words).subspan(1)));
  }
  if (!words.empty() && words.front() == "__bench") {
    return run_bench_rank(std::span(words).subspan(1), parse_environment(own_environment()));
  }
  if (words.size() == 1) {
    const auto answer = git_answer(words.front(), parse_environment(own_environment()));
    if (answer) return *answer ? print(**answer + "\n") : print_error(answer->error());
  }
  const auto invocation = parse_command_line(words);
  if (!invocation) {
    if (!words.empty() && words.front() == "run")
      remove_stale_report({readable_options(std::span(words).subspan(1))});
    return print_error(invocation.error());
  }
  switch (invocation->command) {
    case Invocation::Command::help:
      return print(invocation->help);
    case Invocation::Command::version:
      return print_version(invocation->json);
    case Invocation::Command::check_build:
      return print(check_build_text());
    case Invocation::Command::config_show:
      return show_config(*invocation);
    case Invocation::Command::check:
      return check_command(*invocation);
    case Invocation::Command::cache:
      return cache_command(*invocation);
    case Invocation::Command::ps:
      return ps_command(invocation->ps);
    case Invocation::Command::token:
      return token_command();
    case Invocation::Command::bench:
      return bench_command(*invocation);
    case Invocation::Command::job:
      return job_command(*invocation);
    case Invocation::Command::export_job:
      return export_command(*invocation);
    case Invocation::Command::run:
      break;
  }
  return run_command(*invocation, words);
}

}  // namespace
}  // namespace dt

namespace {

/// Opens /dev/null for each standard stream that is closed. Otherwise a socket could get its
/// number. Output to a closed stdout is lost, so that writing there must fail.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    dt::Fd lowest(::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR));
    static_cast<void>(lowest.release());
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  // The parent may have ignored SIGCHLD. The kernel would then discard our children's statuses.
  std::signal(SIGCHLD, SIG_DFL);
  return dt::dispatch({argv + 1, argv + argc});
}
