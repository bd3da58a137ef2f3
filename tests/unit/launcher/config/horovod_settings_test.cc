#include "launcher/config/horovod_settings.h"

#include "base/format.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

using Lines = std::vector<std::string>;

OptionSource given(const OptionValues& values) {
  OptionSource source{values, {}};
  for (const auto& [name, unused] : values)
    source.origins[name] = std::string(spellings_of(*find_option(name)).front());
  return source;
}

/// Returns NAME=VALUE of each setting, or the error.
Lines exports_of(const OptionValues& values) {
  const auto settings = horovod_settings({given(values)});
  if (!settings) return {settings.error().message};
  Lines lines;
  for (const EnvironmentSetting& setting : *settings)
    lines.push_back(format("{}={}", setting.name, *setting.value));
  return lines;
}

TEST_CASE("each option for Horovod's library is the variable that horovodrun would set") {
  struct Row {
    const char* option;
    const char* value;
    const char* setting;  ///< nullptr: none
  };
  const Row rows[] = {
      {"fusion-threshold-mb", "32", "HOROVOD_FUSION_THRESHOLD=33554432"},
      {"fusion-threshold-mb", "0", "HOROVOD_FUSION_THRESHOLD=0"},
      {"cycle-time-ms", "3.5", "HOROVOD_CYCLE_TIME=3.5"},
      {"cache-capacity", "0", "HOROVOD_CACHE_CAPACITY=0"},
      {"hierarchical-allreduce", "true", "HOROVOD_HIERARCHICAL_ALLREDUCE=1"},
      {"hierarchical-allreduce", "false", "HOROVOD_HIERARCHICAL_ALLREDUCE=0"},
      {"hierarchical-allgather", "true", "HOROVOD_HIERARCHICAL_ALLGATHER=1"},
      {"hierarchical-allgather", "false", "HOROVOD_HIERARCHICAL_ALLGATHER=0"},
      {"torus-allreduce", "on", "HOROVOD_TORUS_ALLREDUCE=1"},
      {"torus-allreduce", "off", "HOROVOD_TORUS_ALLREDUCE=0"},
      {"autotune", "true", "HOROVOD_AUTOTUNE=1"},
      {"autotune", "false", "HOROVOD_AUTOTUNE=0"},
      {"autotune-log-file", "/a b", "HOROVOD_AUTOTUNE_LOG=/a b"},
      {"autotune-warmup-samples", "5", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES=5"},
      {"autotune-steps-per-sample", "6", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=6"},
      {"autotune-bayes-opt-max-samples", "7", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=7"},
      {"autotune-gaussian-process-noise", "0.5", "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.5"},
      {"timeline-filename", "t.json", "HOROVOD_TIMELINE=t.json"},
      {"timeline-mark-cycles", "true", "HOROVOD_TIMELINE_MARK_CYCLES=1"},
      {"timeline-mark-cycles", "false", "HOROVOD_TIMELINE_MARK_CYCLES=0"},
      {"stall-check", "false", "HOROVOD_STALL_CHECK_DISABLE=1"},
      {"stall-check", "true", "HOROVOD_STALL_CHECK_DISABLE=0"},
      {"stall-check-warning-time-seconds", "8", "HOROVOD_STALL_CHECK_TIME_SECONDS=8"},
      {"stall-check-shutdown-time-seconds", "9", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=9"},
      {"mpi-threads-disable", "true", "HOROVOD_MPI_THREADS_DISABLE=1"},
      {"mpi-threads-disable", "false", "HOROVOD_MPI_THREADS_DISABLE=0"},
      {"num-nccl-streams", "2", "HOROVOD_NUM_NCCL_STREAMS=2"},
      {"thread-affinity", "0,1", "HOROVOD_THREAD_AFFINITY=0,1"},
      {"gloo-timeout-seconds", "60", "HOROVOD_GLOO_TIMEOUT_SECONDS=60"},
      {"log-level", "debug", "HOROVOD_LOG_LEVEL=DEBUG"},
      {"log-with-timestamp", "true", "HOROVOD_LOG_HIDE_TIME=0"},
      {"log-with-timestamp", "false", "HOROVOD_LOG_HIDE_TIME=1"},
      {"log-without-timestamp", "true", "HOROVOD_LOG_HIDE_TIME=1"},
      {"log-without-timestamp", "false", "HOROVOD_LOG_HIDE_TIME=0"},
      {"tcp", "true", "NCCL_IB_DISABLE=1"},
      {"tcp", "false", nullptr},
      {"np", "4", nullptr}};
  for (const Row& row : rows) {
    CAPTURE(row.option);
    CHECK(exports_of({{row.option, {row.value}}}) ==
          (row.setting != nullptr ? Lines{row.setting} : Lines{}));
    CHECK(check_answered_options({given({{row.option, {row.value}}})}).has_value());
  }
  // Each exporting option has its row.
  for (const Option& option : horovod_options) {
    CAPTURE(option.name);
    const bool has_row =
        std::ranges::any_of(rows, [&](const Row& row) { return row.option == option.name; });
    CHECK(has_row == (option.effect == Effect::exports));
  }
}

TEST_CASE("a value that horovodrun refuses is an error before the start") {
  const std::pair<OptionValues, const char*> cases[] = {
      {{{"cache-capacity", {"-1"}}}, "--cache-capacity: expected 0..2147483647, got \"-1\""},
      {{{"fusion-threshold-mb", {"1.5"}}},
       "--fusion-threshold-mb: expected 0..2147483647, got \"1.5\""},
      {{{"cycle-time-ms", {"nan"}}}, "--cycle-time-ms: expected a number from 0, got \"nan\""},
      {{{"autotune-gaussian-process-noise", {"1.1"}}},
       "--autotune-gaussian-process-noise: expected 0 to 1, got \"1.1\""},
      {{{"log-level", {"INF"}}},
       "--log-level: expected TRACE, DEBUG, INFO, WARNING, ERROR or FATAL, got \"INF\"; did you "
       "mean INFO?"},
      {{{"log-with-timestamp", {"true"}}, {"log-without-timestamp", {"true"}}},
       "--log-without-timestamp: conflicts with --log-with-timestamp; give one of them"}};
  for (const auto& [values, message] : cases)
    CHECK(exports_of(values) == Lines{message});
}

TEST_CASE("an option that changes nothing, or is turned off, is accepted") {
  CHECK(check_answered_options(
            {given({{"gloo", {"true"}}, {"disable-cache", {"true"}}, {"mpi", {"false"}}})})
            .has_value());
}

TEST_CASE("an option that would change the job is refused") {
  const std::pair<OptionValues, const char*> cases[] = {
      {{{"mpi", {"true"}}},
       "--mpi: dtrain starts the processes itself, without MPI; leave it out, or start MPI "
       "programs with mpirun"},
      {{{"jsrun", {"true"}}},
       "--jsrun: dtrain starts the processes itself, without jsrun; leave it out, or start the "
       "job with jsrun"},
      {{{"partition", {"gpu"}}, {"exclusive", {"true"}}, {"mpi", {"true"}}},
       "--partition, --exclusive: this is for Slurm's allocation; give it to salloc or sbatch, and "
       "start dtrain run within\n"
       "--mpi: dtrain starts the processes itself, without MPI; leave it out, or start MPI "
       "programs with mpirun"},
  };
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    const auto checked = check_answered_options({given(values)});
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code == Errc::input);
    CHECK(checked.error().message == message);
  }
}

TEST_CASE("every option of the table checks its value") {
  for (const Option& option : horovod_options) {
    CAPTURE(option.name);
    const bool flag = option.kind == OptionKind::flag;
    const bool level = option.name == "log-level";
    const auto is_accepted = [&](const char* value) {
      const OptionSource source = given({{std::string(option.name), {value}}});
      return check_answered_options({source}).has_value() && horovod_settings({source}).has_value();
    };
    CHECK(is_accepted(flag ? "on" : level ? "INFO" : "1") == (option.effect != Effect::refuses));
    CHECK_FALSE(is_accepted(""));
  }
}

}  // namespace
}  // namespace dt
