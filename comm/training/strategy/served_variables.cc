#include "comm/training/strategy/served_variables.h"

#include "comm/training/ps/client.h"

#include <cstring>
#include <tuple>
#include <utility>

namespace dt {
namespace {

/// difference = before - after, element by element.
template <class T>
void subtract_elements(const ServedChange& change, std::byte* difference) {
  for (size_t i = 0; i < change.terms->count; ++i) {
    T before = 0;
    T after = 0;
    std::memcpy(&before, change.before + i * sizeof(T), sizeof(T));
    std::memcpy(&after, change.value + i * sizeof(T), sizeof(T));
    before -= after;
    std::memcpy(difference + i * sizeof(T), &before, sizeof(T));
  }
}

std::vector<std::byte> difference_of(const ServedChange& change) {
  std::vector<std::byte> difference(change.terms->bytes());
  if (change.terms->type == ElementType::float32)
    subtract_elements<float>(change, difference.data());
  else
    subtract_elements<double>(change, difference.data());
  return difference;
}

dtrain_ps_options connect_options(int timeout_ms) {
  dtrain_ps_options options = {};
  options.struct_size = sizeof options;
  options.call_timeout_ms = timeout_ms;
  return options;
}

}  // namespace

ServedVariables::ServedVariables(const Options& options) : options_(options) {
}

Result<std::unique_ptr<ServedVariables>> ServedVariables::connect(const Options& options,
                                                                  JoinedTask joined) {
  std::unique_ptr<ServedVariables> made(new ServedVariables(options));
  made->client_ = TRY(connect_servers(connect_options(options.timeout_ms), std::move(joined)));
  TRY(made->begin());
  return made;
}

Result<std::unique_ptr<ServedVariables>> ServedVariables::connect(const Options& options,
                                                                  std::shared_ptr<Context> job) {
  std::unique_ptr<ServedVariables> made(new ServedVariables(options));
  made->client_ = TRY(connect_servers(connect_options(options.timeout_ms), std::move(job)));
  TRY(made->begin());
  return made;
}

Result<> ServedVariables::begin() {
  // Servers begin in the asynchronous mode. No worker steps before all have declared a variable.
  return options_.chief && !asynchronous() ? set_mode(options_.mode) : Result<>();
}

ServedVariables::~ServedVariables() {
  // A fork does not have the connections' memory, and may have other memory in its place.
  if (fork_detector_.forked())
    std::ignore = client_.release();
  else if (client_)
    leave_servers(*client_);
}

Result<PsClient*> ServedVariables::client() const {
  if (!fork_detector_.forked()) return client_.get();
  return fail(Errc::input, "the parameter servers are connected to the parent of this process");
}

bool ServedVariables::serves(const VariableTerms& terms) {
  const bool floats = terms.type == ElementType::float32 || terms.type == ElementType::float64;
  return floats && !terms.on_read && !terms.slot && terms.count > 0;
}

Result<> ServedVariables::set_mode(const ServerMode& mode) {
  using Kind = PsMode::Kind;
  constexpr Kind kinds[] = {Kind::sync, Kind::async, Kind::bounded};
  PsClient* const servers = TRY(client());
  return servers->set_mode(kinds[static_cast<size_t>(mode.kind)],
                           static_cast<uint32_t>(mode.count));
}

Result<> ServedVariables::declare(const VariableTerms& terms, const std::byte* initial) {
  PsClient* const servers = TRY(client());
  // Servers subtract what is pushed.
  const PsClient::Declaration declared = {.variable = {.name = terms.name,
                                                       .type = terms.type,
                                                       .shape = {terms.count},
                                                       .optimizer = {.learning_rate = 1}},
                                          .initial = {initial, terms.bytes()}};
  TRY(check_ps_variable(declared.variable));
  return servers->declare({&declared, 1});
}

Result<> ServedVariables::push(std::span<const ServedChange> changes) {
  PsClient* const servers = TRY(client());
  std::vector<std::vector<std::byte>> differences;
  std::vector<PsClient::Array> arrays;
  for (const ServedChange& change : changes) {
    differences.push_back(difference_of(change));
    arrays.push_back({.name = change.terms->name,
                      .gradient = differences.back(),
                      .values = {change.value, change.terms->bytes()}});
  }
  TRY(servers->push(arrays, true, {}));
  return {};
}

Result<> ServedVariables::pull(const VariableTerms& terms, std::byte* value) {
  PsClient* const servers = TRY(client());
  const PsClient::Array array = {.name = terms.name, .values = {value, terms.bytes()}};
  TRY(servers->pull({&array, 1}));
  return {};
}

Result<> ServedVariables::barrier() {
  PsClient* const servers = TRY(client());
  return servers->barrier();
}

Result<> ServedVariables::assign(const VariableTerms& terms, const std::byte* wanted) {
  TRY(barrier());
  if (options_.chief) {
    if (!asynchronous()) TRY(set_mode({ServerMode::Kind::async, 0}));
    // The first difference is rounded. The second one, between close numbers, is exact.
    TRY(move_to(terms, wanted));
    TRY(move_to(terms, wanted));
    if (!asynchronous()) TRY(set_mode(options_.mode));
  }
  return barrier();
}

Result<> ServedVariables::move_to(const VariableTerms& terms, const std::byte* wanted) {
  std::vector<std::byte> before(terms.bytes());
  TRY(pull(terms, before.data()));
  std::vector<std::byte> value(wanted, wanted + terms.bytes());
  const ServedChange change = {.terms = &terms, .before = before.data(), .value = value.data()};
  return push({&change, 1});
}

}  // namespace dt
