#include "comm/training/strategy/served_variables.h"

#include "comm/training/strategy/call_status.h"

#include <cstring>
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

}  // namespace

Result<std::unique_ptr<ServedVariables>> ServedVariables::connect(const Options& options,
                                                                  JoinedTask joined) {
  std::unique_ptr<ServedVariables> made(new ServedVariables(options));
  dtrain_ps_options given = {};
  given.struct_size = sizeof given;
  given.call_timeout_ms = options.timeout_ms;
  made->ps_ = TRY(connect_servers(given, std::move(joined)));
  TRY(made->begin());
  return made;
}

Result<std::unique_ptr<ServedVariables>> ServedVariables::connect(const Options& options,
                                                                  dtrain_context* job) {
  std::unique_ptr<ServedVariables> made(new ServedVariables(options));
  dtrain_ps_options given = {};
  given.struct_size = sizeof given;
  given.call_timeout_ms = options.timeout_ms;
  given.context = job;
  dtrain_error error = empty_c_error();
  made->ps_ = dtrain_ps_connect(&given, &error);
  if (made->ps_ == nullptr) return fail(errc_of(error.code), error.text);
  TRY(made->begin());
  return made;
}

Result<> ServedVariables::begin() {
  // Servers begin in the asynchronous mode. No worker steps before all have declared a variable.
  return options_.chief && !asynchronous() ? set_mode(options_.mode) : Result<>();
}

ServedVariables::~ServedVariables() {
  dtrain_ps_close(ps_);
}

Result<> ServedVariables::checked(int status, const dtrain_error& error) {
  if (status == DTRAIN_OK) return {};
  return fail(errc_of(status), error.text, error.rank);
}

bool ServedVariables::serves(const VariableTerms& terms) {
  const bool floats = terms.type == ElementType::float32 || terms.type == ElementType::float64;
  return floats && !terms.on_read && !terms.slot && terms.count > 0;
}

Result<> ServedVariables::set_mode(const ServerMode& mode) {
  constexpr int modes[] = {DTRAIN_PS_SYNC, DTRAIN_PS_ASYNC, DTRAIN_PS_BOUNDED};
  dtrain_error error = empty_c_error();
  const int kind = modes[static_cast<size_t>(mode.kind)];
  return checked(dtrain_ps_set_mode(ps_, kind, mode.count, &error), error);
}

Result<> ServedVariables::declare(const VariableTerms& terms, const std::byte* initial) {
  dtrain_ps_variable variable = {};
  variable.struct_size = sizeof variable;
  variable.name = terms.name.c_str();
  variable.shape = &terms.count;
  variable.dims = 1;
  variable.type = type_number(terms.type);
  variable.initial = initial;
  variable.learning_rate = 1;  // servers subtract what is pushed
  dtrain_error error = empty_c_error();
  return checked(dtrain_ps_declare(ps_, &variable, 1, &error), error);
}

Result<> ServedVariables::push(std::span<const ServedChange> changes) {
  std::vector<std::vector<std::byte>> differences;
  std::vector<dtrain_ps_array> arrays;
  for (const ServedChange& change : changes) {
    differences.push_back(difference_of(change));
    dtrain_ps_array array = {};
    array.name = change.terms->name.c_str();
    array.gradient = differences.back().data();
    array.values = change.value;
    array.count = change.terms->count;
    arrays.push_back(array);
  }
  dtrain_error error = empty_c_error();
  return checked(dtrain_ps_push_pull(ps_, {arrays.data(), arrays.size()}, nullptr, nullptr, &error),
                 error);
}

Result<> ServedVariables::pull(const VariableTerms& terms, std::byte* value) {
  dtrain_ps_array array = {};
  array.name = terms.name.c_str();
  array.values = value;
  array.count = terms.count;
  dtrain_error error = empty_c_error();
  return checked(dtrain_ps_pull(ps_, {&array, 1}, nullptr, &error), error);
}

Result<> ServedVariables::barrier() {
  dtrain_error error = empty_c_error();
  return checked(dtrain_ps_barrier(ps_, &error), error);
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
