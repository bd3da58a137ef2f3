// dtrain.toml: any text parses to a complete RunConfig, or to a readable error.

#include "launcher/config/config.h"
#include "launcher/plan/resolve_hosts.h"
#include "tests/fuzz/fuzz.h"

namespace dt {
namespace {

void check(const Result<RunConfig>& config) {
  if (!config) return check_message(config.error());
  assert(task_count(config->roles) != 0 || !config->hosts.empty());
  assert(config->heartbeat > Duration::zero() && config->heartbeat < config->dead_after);
  if (const auto hosts = resolve_hosts(*config, {"node7"}); !hosts) check_message(hosts.error());
}

}  // namespace

void fuzz_one(ByteSpan bytes) {
  const Result<OptionSource> source = read_toml_options(as_text(bytes), "dtrain.toml");
  if (!source) return check_message(source.error());
  check(make_run_config({*source}, {"true"}, [](const std::string& path) -> Result<std::string> {
    if (path.starts_with('/')) return fail(Errc::not_found, "No such file or directory");
    return std::string("a slots=2\nb slots=2\n");
  }));
}

}  // namespace dt
