#include "comm/api/init_options.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace dt {

namespace {

constexpr std::string_view hint =
    "was this process started by dtrain run, with its environment unchanged?";
constexpr std::array required = {"DTRAIN_ROLE",       "DTRAIN_TASK_INDEX", "DTRAIN_JOB_ID",
                                 "DTRAIN_GENERATION", "DTRAIN_RENDEZVOUS", "DTRAIN_TOKEN"};
constexpr std::array of_rendezvous = {"DTRAIN_GENERATION", "DTRAIN_RENDEZVOUS", "DTRAIN_TOKEN"};
constexpr std::array checked = {"DTRAIN_RANK", "DTRAIN_SIZE"};

/// Returns an empty text when the variable is not set: an empty one counts as not set.
std::string value_of(const VariableReader& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : value;
}

Result<int64_t> number_of(const VariableReader& environment, const char* name, int64_t max) {
  const std::string text = value_of(environment, name);
  const auto number = parse_integer(text);
  if (number && *number >= 0 && *number <= max) return *number;
  return fail(Errc::input, format("{}: expected a number from 0 to {}, got '{}'; {}", name, max,
                                  printable(text), hint));
}

Result<std::optional<int>> optional_number(const VariableReader& environment, const char* name) {
  if (value_of(environment, name).empty()) return std::optional<int>();
  const int64_t number = TRY(number_of(environment, name, std::numeric_limits<int>::max()));
  return static_cast<int>(number);
}

Result<> check_complete(const std::vector<std::string>& missing,
                        const std::vector<std::string>& found) {
  if (missing.empty()) return {};
  if (std::ranges::equal(missing, of_rendezvous)) {
    return fail(Errc::input,
                "this task has no rendezvous, since its dtrain run starts a part of the job alone "
                "(--cluster-spec, or TF_CONFIG); to use libdtrain, start all tasks by one dtrain "
                "run (-H)");
  }
  return fail(Errc::input,
              format("{} {} set, but {} {} not: start the program by dtrain run, or unset {}",
                     join(found, ", "), found.size() == 1 ? "is" : "are", join(missing, ", "),
                     missing.size() == 1 ? "is" : "are", found.size() == 1 ? found[0] : "them"));
}

/// A variable of another launcher with the number of processes that it has started.
struct ForeignSize {
  const char* name;
  const char* beside = nullptr;  ///< counts only if this one is set, too
};
constexpr std::array foreign_sizes = {
    ForeignSize{"OMPI_COMM_WORLD_SIZE"}, ForeignSize{"PMI_SIZE"},
    ForeignSize{"SLURM_STEP_NUM_TASKS"}, ForeignSize{"HOROVOD_SIZE"},
    ForeignSize{"WORLD_SIZE", "RANK"},
};

/// Fails where another launcher has started this process as one of several: each would be rank 0 of
/// 1, train on all data, and write the same files.
Result<> check_alone(const VariableReader& environment) {
  if (value_of(environment, "DTRAIN_ALONE") == "1") return {};
  for (const ForeignSize& foreign : foreign_sizes) {
    const auto size = parse_integer(value_of(environment, foreign.name));
    if (size.value_or(1) <= 1) continue;
    if (foreign.beside != nullptr && value_of(environment, foreign.beside).empty()) continue;
    return fail(Errc::input,
                format("{}={} shows that another launcher has started this process, so the ranks "
                       "would not find each other; start the job by dtrain run -np {}, or set "
                       "DTRAIN_ALONE=1 if each process is to be alone",
                       foreign.name, *size, *size));
  }
  return {};
}

Result<Claim> claim_of(const Identity& identity) {
  if (identity.role.size() > role_bytes_max) {
    return fail(Errc::input, format("the role's name has {} bytes, more than {}",
                                    identity.role.size(), role_bytes_max));
  }
  const Result<Token> token = Token::parse(identity.token);
  if (!token) {
    // The message must not contain the token's text.
    return fail(Errc::input,
                format("the token (DTRAIN_TOKEN): expected 64 hex digits, got {} bytes "
                       "that are not that; {}",
                       identity.token.size(), hint));
  }
  return Claim{.token = *token,
               .job = identity.job,
               .generation = identity.generation,
               .self = {identity.role, identity.task_index}};
}

/// True if the environment has the identity of another task, whose port is not ours.
bool is_of_another_task(const VariableReader& environment, const Identity& identity) {
  const std::string role = value_of(environment, "DTRAIN_ROLE");
  const std::string index = value_of(environment, "DTRAIN_TASK_INDEX");
  return (!role.empty() && role != identity.role) ||
         (!index.empty() && parse_integer(index) != identity.task_index);
}

}  // namespace

Result<InitOptions> init_options_from(const Identity& identity, const VariableReader& environment) {
  if (identity.task_index < 0) {
    return fail(Errc::input, format("the task index is negative: {}", identity.task_index));
  }
  Claim claim = TRY(claim_of(identity));
  Result<Address> address = Address::parse(identity.rendezvous);
  if (!address || address->port == 0) {
    return fail(Errc::input,
                format("the rendezvous (DTRAIN_RENDEZVOUS): expected IP:PORT, got '{}'; "
                       "{}",
                       printable(identity.rendezvous), hint));
  }
  InitOptions options{.claim = std::move(claim), .rendezvous = *std::move(address)};
  if (is_of_another_task(environment, identity)) return options;
  if (!value_of(environment, "DTRAIN_PORT").empty()) {
    const int64_t port = TRY(number_of(environment, "DTRAIN_PORT", UINT16_MAX));
    options.port = static_cast<uint16_t>(port);
  }
  if (!value_of(environment, "DTRAIN_ATTEMPT").empty()) {
    const int64_t attempt = TRY(number_of(environment, "DTRAIN_ATTEMPT", UINT32_MAX));
    options.claim.attempt = static_cast<uint32_t>(attempt);
  }
  return options;
}

Result<std::optional<InitOptions>> init_options_from(const VariableReader& environment) {
  std::vector<std::string> missing;
  std::vector<std::string> found;
  for (const char* name : required)
    (value_of(environment, name).empty() ? missing : found).emplace_back(name);
  for (const char* name : checked)
    if (!value_of(environment, name).empty()) found.emplace_back(name);
  if (found.empty()) {
    TRY(check_alone(environment));
    return std::optional<InitOptions>();
  }
  TRY(check_complete(missing, found));

  Identity identity{.role = value_of(environment, "DTRAIN_ROLE"),
                    .rendezvous = value_of(environment, "DTRAIN_RENDEZVOUS"),
                    .token = value_of(environment, "DTRAIN_TOKEN"),
                    .job = value_of(environment, "DTRAIN_JOB_ID")};
  constexpr int64_t index_max = std::numeric_limits<int>::max();
  constexpr int64_t generation_max = std::numeric_limits<uint32_t>::max();
  const int64_t index = TRY(number_of(environment, "DTRAIN_TASK_INDEX", index_max));
  const int64_t generation = TRY(number_of(environment, "DTRAIN_GENERATION", generation_max));
  identity.task_index = static_cast<int>(index);
  identity.generation = static_cast<uint32_t>(generation);
  InitOptions options = TRY(init_options_from(identity, environment));
  options.rank = TRY(optional_number(environment, "DTRAIN_RANK"));
  options.size = TRY(optional_number(environment, "DTRAIN_SIZE"));
  return std::optional(std::move(options));
}

}  // namespace dt
