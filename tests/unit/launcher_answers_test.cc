#include "launcher/config/answers.h"
#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Lines = std::vector<std::string>;

OptionSource given(const OptionValues& values) {
  OptionSource source{values, {}};
  for (const auto& [name, unused] : values)
    source.origins[name] = std::string(spellings_of(*find_option(name)).back());
  return source;
}

Lines answers_to(const OptionValues& values) {
  const auto answers = answer_options({given(values)});
  return answers ? *answers : Lines{answers.error().message};
}

TEST_CASE("options that dtrain has no use for are ignored with one warning an answer") {
  CHECK(answers_to({{"timeline-filename", {"t"}},
                    {"timeline-mark-cycles", {"true"}},
                    {"cycle-time-ms", {"2.5"}},
                    {"np", {"4"}}}) ==
        Lines{"--cycle-time-ms: ignored; this tunes Horovod's engine, and dtrain's has no such "
              "setting yet",
              "--timeline-filename, --no-timeline-mark-cycles: ignored; dtrain writes no timeline "
              "yet"});
}

TEST_CASE("what is so anyway, or is turned off, needs no words") {
  CHECK(answers_to({{"gloo", {"true"}},
                    {"disable-cache", {"true"}},
                    {"log-without-timestamp", {"true"}},
                    {"autotune", {"false"}},
                    {"stall-check", {"false"}},
                    {"mpi", {"false"}}})
            .empty());
}

TEST_CASE("what would make another job of it is refused") {
  const std::pair<OptionValues, const char*> cases[] = {
      {{{"mpi", {"true"}}},
       "--mpi: dtrain starts the processes itself, without MPI; leave it out, or start MPI "
       "programs with mpirun"},
      {{{"jsrun", {"true"}}},
       "--jsrun: dtrain starts the processes itself, without jsrun; leave it out, or start the "
       "job with jsrun"},
      {{{"tcp", {"true"}}},
       "--tcp: dtrain does not choose NCCL's transport; use -x NCCL_IB_DISABLE=1 instead"},
      {{{"min-np", {"2"}}},
       "--min-num-proc: not in this version, whose jobs have as many processes as they start "
       "with; leave it out and give -np N and, if you like, -H HOST:SLOTS,…"},
  };
  for (const auto& [values, message] : cases) {
    CAPTURE(message);
    const auto answers = answer_options({given(values)});
    REQUIRE_FALSE(answers.has_value());
    CHECK(answers.error().code == Errc::input);
    CHECK(answers.error().message == message);
  }
}

TEST_CASE("every option of the table answers, and a slip in an ignored value is still told") {
  for (const Option& option : horovod_options) {
    CAPTURE(option.name);
    const bool flag = option.kind == OptionKind::flag;
    const auto answers = answer_options({given({{std::string(option.name), {flag ? "on" : "1"}}})});
    CHECK(answers.has_value() == (option.effect != Effect::refuses));
    if (answers) CHECK(answers->size() == (option.effect == Effect::warns ? 1 : 0));
    CHECK_FALSE(answer_options({given({{std::string(option.name), {""}}})}).has_value());
  }
  CHECK(answers_to({{"cache-capacity", {"-1"}}}) ==
        Lines{"--cache-capacity: expected 0..2147483647, got \"-1\""});
  CHECK(answers_to({{"cycle-time-ms", {"nan"}}}) ==
        Lines{"--cycle-time-ms: expected a number from 0, got \"nan\""});
}

}  // namespace
}  // namespace dt
