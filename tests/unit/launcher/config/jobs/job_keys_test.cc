#include "launcher/config/jobs/job_keys.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace dt {
namespace {

TEST_CASE("a key of a job file is spelled as an option, and its value keeps the first place") {
  CHECK(spelled_key("max_restarts") == "max-restarts");
  const TomlDocument document = TomlDocument::parse("a = 1\nb = 2", "j.toml").value();
  OptionSource options;
  add_job_value(document, document.entries()[0], {"env", "A=1"}, options);
  add_job_value(document, document.entries()[1], {"env", "B=2"}, options);
  CHECK(options.values.at("env") == std::vector<std::string>{"A=1", "B=2"});
  CHECK(options.origins.at("env") == "j.toml:1:1: a");
}

TEST_CASE("an unknown key is refused with the nearest one, or with all") {
  const TomlDocument document = TomlDocument::parse("pth = 1\nzzz = 2", "j.toml").value();
  constexpr std::array known = {"path", "repo"};
  const auto message = [&](size_t entry) {
    return refuse_unknown_key(document, document.entries()[entry], known, "[code]").value().message;
  };
  CHECK(message(0).starts_with("j.toml:1:1: unknown key \"pth\" in [code]; did you mean path?"));
  CHECK(
      message(1).starts_with("j.toml:2:1: unknown key \"zzz\" in [code]; its keys are path, repo"));
}

}  // namespace
}  // namespace dt
