#include "launcher/export/left_out.h"

#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("an option of run is written, has no meaning for the target, or is named as left out") {
  struct Row {
    const char* option;
    ExportPart compose;
    ExportPart slurm;
  };
  constexpr ExportPart written = ExportPart::written;
  constexpr ExportPart moot = ExportPart::moot;
  constexpr ExportPart lacks = ExportPart::left_out;
  const Row rows[] = {{"np", written, written},
                      {"role", written, written},
                      {"env", written, written},
                      {"env-file", written, written},
                      {"image", written, moot},
                      {"no-image", written, moot},
                      {"sync-from", written, written},
                      {"fetch", written, written},
                      {"fetch-to", lacks, written},
                      {"setup", lacks, written},
                      {"sync-exclude", lacks, written},
                      {"timeout", lacks, written},
                      {"grace", written, written},
                      {"max-restarts", lacks, written},
                      {"restart-role", written, written},
                      {"spare", lacks, lacks},
                      {"host-discovery-script", moot, lacks},
                      {"hosts", moot, moot},
                      {"hostfile", moot, moot},
                      {"allocation", moot, moot},
                      {"ppn", moot, written},
                      {"ssh-port", moot, moot},
                      {"color", moot, written},
                      {"local-ranks-filter", moot, written},
                      {"module", written, written},
                      {"no-python", written, written},
                      {"srun-args", moot, written},
                      {"output-dir", lacks, written},
                      {"report", lacks, written},
                      {"bind-to", lacks, written},
                      {"gpu-bind", written, written},
                      {"role-gpus", written, written},
                      {"mount", written, written},
                      {"strategy", lacks, written},
                      {"algorithms", lacks, written},
                      {"stdin", lacks, written}};
  for (const Row& row : rows) {
    CAPTURE(row.option);
    CHECK(find_option(row.option) != nullptr);
    CHECK(part_in_compose(row.option) == row.compose);
    CHECK(part_in_slurm(row.option) == row.slurm);
  }
}

TEST_CASE("options that are left out are named once together, and flags that are off are not") {
  const auto decided = [](const char* name, const char* value) {
    return DecidedOption{.option = find_option(name), .values = {value}, .origin = {}};
  };
  CHECK(options_left_out({decided("np", "2")}, part_in_compose) == "");
  CHECK(options_left_out({decided("timeout", "2h"), decided("np", "2")}, part_in_compose) ==
        "the option timeout");
  CHECK(options_left_out({decided("timeout", "2h"), decided("deterministic", "true"),
                          decided("dump-stacks", "false")},
                         part_in_compose) == "the options timeout, deterministic");
}

}  // namespace
}  // namespace dt
