#include "launcher/config/horovod_settings.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"
#include "launcher/config/torchrun_command.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace dt {
namespace {

/// dtrain does not use the value, but reports a malformed one before the job starts.
Result<> check_value(const Option& option, const OptionValue& given) {
  switch (option.kind) {
    case OptionKind::integer:
      TRY(given.integer(0, std::numeric_limits<int32_t>::max()));
      return {};
    case OptionKind::number:
      TRY(given.number());
      return {};
    default:
      TRY(given.text(option.placeholder));
      if (!choices_of(option).empty()) TRY(given.choice());
      return {};
  }
}

Result<bool> is_on(const Option& option, const OptionValue& given) {
  if (option.kind == OptionKind::flag) return given.flag();
  TRY(check_value(option, given));
  return true;
}

Result<std::string> log_level_named(const OptionValue& given) {
  constexpr std::string_view levels[] = {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"};
  std::string word = given.value();
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (std::ranges::find(levels, word) != std::end(levels)) return word;
  return given.unknown_word(given.value(), {std::begin(levels), std::end(levels)});
}

/// Returns the variable's value; none when the option does not set it.
Result<std::optional<std::string>> exported_value(const Option& option, const OptionValue& given) {
  const bool yes = TRY(is_on(option, given));
  switch (option.form) {
    case ExportForm::as_written:
      return given.value();
    case ExportForm::fraction: {
      const double fraction = TRY(given.number());
      if (fraction > 1) return given.expected("0 to 1");
      return given.value();
    }
    case ExportForm::log_level:
      return TRY(log_level_named(given));
    case ExportForm::mib_as_bytes: {
      constexpr int64_t mib = int64_t{1} << 20;
      const int64_t count = TRY(given.integer(0, std::numeric_limits<int32_t>::max()));
      return format("{}", mib * count);
    }
    case ExportForm::one_or_zero:
      return yes ? "1" : "0";
    case ExportForm::zero_or_one:
      return yes ? "0" : "1";
    case ExportForm::one_or_none:
      break;
  }
  return yes ? std::optional<std::string>("1") : std::nullopt;
}

/// Options that are refused for one reason.
struct Refused {
  std::string origins;  ///< "--partition, --exclusive"
  std::string_view why;
};

/// A parameter of Open MPI, and dtrain's option with the same effect.
struct McaAnswer {
  std::string_view key;
  std::string_view ours;
};
constexpr McaAnswer mca_answers[] = {
    {"btl_tcp_if_include", "--network-interfaces NAMES"},
    {"oob_tcp_if_include", "--network-interfaces NAMES"},
    {"plm_rsh_agent", "--rsh-agent PROGRAM"},
    {"plm_rsh_args", "-p PORT, -i FILE or --ssh-config FILE"},
};

}  // namespace

Result<> check_answered_options(const OptionSources& by_precedence) {
  std::vector<Refused> all;
  for (const Option& option : run_options) {
    if (option.effect != Effect::agrees && option.effect != Effect::refuses) continue;
    const auto given = find_option(by_precedence, option.name);
    if (!given) continue;
    const bool on = TRY(is_on(option, *given));
    if (option.effect == Effect::agrees) {
      if (!on) return given->refuse(format("cannot be turned off; it means: {}", option.help));
      continue;
    }
    if (!on || changes_nothing(by_precedence, *given)) continue;
    const auto same = std::ranges::find(all, option.refusal, &Refused::why);
    if (same == all.end()) {
      all.push_back({.origins = given->origin, .why = option.refusal});
    } else {
      same->origins += ", " + given->origin;
    }
  }
  if (all.empty()) return {};
  std::vector<std::string> lines;
  for (const Refused& refused : all)
    lines.push_back(format("{}: {}", refused.origins, refused.why));
  return fail(Errc::input, join(lines, "\n"));
}

Result<> read_mca(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "mca");
  if (!given) return {};
  std::vector<std::string> keys;
  for (size_t i = 0; i < given->values->size(); i += 2) {
    const std::string& key = (*given->values)[i];
    if (key.empty()) return given->expected("KEY VALUE");
    const auto* const answer = std::ranges::find(mca_answers, key, &McaAnswer::key);
    if (answer != std::end(mca_answers))
      return given->refuse(format("{}: dtrain's option is {}", key, answer->ours));
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(printable(key));
  }
  config.warnings.push_back(
      format("{} {}: no effect, since dtrain starts the processes without "
             "Open MPI",
             given->origin, join(keys, ", ")));
  return {};
}

Result<std::vector<EnvironmentSetting>> horovod_settings(const OptionSources& by_precedence) {
  std::vector<EnvironmentSetting> settings;
  for (const Option& option : horovod_options) {
    if (option.effect != Effect::exports) continue;
    const auto given = find_option(by_precedence, option.name);
    if (!given) continue;
    const std::optional<std::string> value = TRY(exported_value(option, *given));
    if (!value) continue;
    const auto other = std::ranges::find(settings, option.variable, &EnvironmentSetting::name);
    // Two options may set one variable: --log-with-timestamp and --log-without-timestamp.
    if (other != settings.end() && other->value != value) {
      return given->refuse(format("conflicts with {}; give one of them", other->origin));
    }
    settings.push_back({std::string(option.variable), value, given->origin});
  }
  return settings;
}

}  // namespace dt
