#include "comm/training/ps/state/variable_store.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace dt {

namespace {

tl::unexpected<Error> declared_twice(const VariableSpec& variable) {
  return fail(Errc::input, format("variable {} is declared twice", printable(variable.name)));
}

}  // namespace

Result<> VariableStore::check_same(const std::string& by, const Declared& known,
                                   const VariableSpec& variable) const {
  if (known.spec == variable) return {};
  const std::string name = printable(known.spec.name);
  if (known.spec.name != variable.name) {
    return fail(Errc::mismatch,
                format("{} declares {} where {} declared {}; declare all variables in one order",
                       by, printable(variable.name), known.by, name));
  }
  const std::string before = known.spec.text();
  const std::string now = variable.text();
  return fail(Errc::mismatch,
              format("variable {}: {} declares {}, but {} declared {}{}", name, by, now, known.by,
                     before, before == now ? " with other settings of the optimiser" : ""));
}

/// The variable with that number, also if the request declares it.
const VariableSpec* VariableStore::find(const DeclareRequest& request, uint32_t variable) const {
  if (variable < variables_.size()) return &variables_[variable].spec;
  const size_t at = variable - request.first_variable;
  return variable >= request.first_variable && at < request.variables.size()
             ? &request.variables[at]
             : nullptr;
}

Result<> VariableStore::check_shard(const DeclareRequest& request,
                                    const ShardDeclaration& declared) const {
  const ShardSpec& shard = declared.shard;
  const VariableSpec* const variable = find(request, shard.variable);
  if (variable == nullptr)
    return fail(Errc::input, format("shard {} is of an unknown variable", shard.number));
  const std::string name = printable(variable->name);
  const bool inside = shard.first_row <= variable->rows() && shard.rows > 0 &&
                      shard.rows <= variable->rows() - shard.first_row;
  if (!inside)
    return fail(Errc::input,
                format("variable {}: shard {} has rows beyond it", name, shard.number));
  if (!declared.initial.empty() && declared.initial.size() != shard.rows * variable->row_bytes()) {
    return fail(Errc::input,
                format("variable {}: the initial value has {} bytes, expected {}", name,
                       declared.initial.size(), shard.rows * variable->row_bytes()));
  }
  const auto known = shards_.find(shard.number);
  if (known == shards_.end() || known->second.spec() == shard) return {};
  return fail(Errc::mismatch,
              format("variable {}: tasks place its rows differently; give all workers the same "
                     "placement",
                     name));
}

Result<> VariableStore::check_new(const DeclareRequest& request) const {
  if (request.first_variable > variables_.size())
    return fail(Errc::input, format("variable {} is declared too early", request.first_variable));
  const size_t total =
      std::max<size_t>(variables_.size(), request.first_variable + request.variables.size());
  if (total > limits_.variables || shards_.size() + request.shards.size() > 2 * limits_.variables) {
    return fail(Errc::refused,
                format("a parameter server has at most {} variables", limits_.variables));
  }
  uint64_t bytes = bytes_;
  for (const ShardDeclaration& declared : request.shards) {
    TRY(check_shard(request, declared));
    if (shards_.contains(declared.shard.number)) continue;
    bytes += Shard::bytes_of(*find(request, declared.shard.variable), declared.shard.rows);
    if (bytes <= limits_.bytes) continue;
    return fail(Errc::refused, format("the variables need more than the server's {} bytes; start "
                                      "more parameter servers",
                                      limits_.bytes));
  }
  return {};
}

Result<> VariableStore::check_declaration(const std::string& by,
                                          const DeclareRequest& request) const {
  std::set<std::string> names;
  for (size_t i = 0; i < request.variables.size(); ++i) {
    const VariableSpec& variable = request.variables[i];
    TRY(check_ps_variable(variable));
    const size_t number = request.first_variable + i;
    const auto twice = numbers_.find(variable.name);
    if (twice != numbers_.end() && twice->second != number) {
      TRY(check_same(by, variables_[twice->second], variable));
      return declared_twice(variable);
    }
    if (number < variables_.size()) TRY(check_same(by, variables_[number], variable));
    if (!names.insert(variable.name).second) return declared_twice(variable);
  }
  return check_new(request);
}

Result<> VariableStore::declare(const std::string& by, const DeclareRequest& request) {
  TRY(check_declaration(by, request));
  for (size_t i = 0; i < request.variables.size(); ++i) {
    const size_t number = request.first_variable + i;
    if (number < variables_.size()) continue;
    variables_.push_back({request.variables[i], by});
    numbers_.emplace(request.variables[i].name, static_cast<uint32_t>(number));
  }
  for (const ShardDeclaration& declared : request.shards) {
    const VariableSpec& variable = variables_[declared.shard.variable].spec;
    const auto [at, made] = shards_.try_emplace(declared.shard.number, variable, declared.shard);
    if (made) bytes_ += at->second.bytes();
    if (request.initializes && !at->second.initialized()) at->second.initialize(declared.initial);
  }
  return {};
}

bool VariableStore::initialized(const DeclareRequest& request) const {
  return std::ranges::all_of(request.shards, [this](const ShardDeclaration& declared) {
    const auto at = shards_.find(declared.shard.number);
    return at != shards_.end() && at->second.initialized();
  });
}

Result<const Shard*> VariableStore::shard(uint32_t number) const {
  const auto at = shards_.find(number);
  if (at != shards_.end()) return &at->second;
  return fail(Errc::input, format("shard {} is not declared on this server", number));
}

Result<> VariableStore::check(const PushRequest& request) const {
  for (const ShardGradient& gradient : request.gradients) {
    const Shard* const at = TRY(shard(gradient.shard));
    TRY(at->check(gradient));
  }
  return {};
}

Result<> VariableStore::push(const PushRequest& request) {
  TRY(check(request));
  TRY(check(request.pulls));
  for (const ShardGradient& gradient : request.gradients) {
    Shard& at = shards_.at(gradient.shard);
    at.apply({&gradient, 1}, {&request.scale, 1}, request.learning_rate);
  }
  ++step_;
  return {};
}

Result<> VariableStore::push_and_pull(const PushRequest& request,
                                      const std::shared_ptr<const void>& owner, PsReply& reply) {
  TRY(check(request));
  TRY(check(request.pulls));
  std::vector<std::shared_ptr<LazyBytes>> updates;  // until the reply has them
  for (const ShardGradient& gradient : request.gradients) {
    Shard& at = shards_.at(gradient.shard);
    if (gradient.sparse) {
      at.apply({&gradient, 1}, {&request.scale, 1}, request.learning_rate);
    } else {
      updates.push_back(at.apply_later(gradient, request.scale, request.learning_rate, owner));
    }
  }
  ++step_;
  pull(request.pulls, reply);
  return {};
}

Result<> VariableStore::hold(uint32_t worker, PushRequest request,
                             std::shared_ptr<const Bytes> body) {
  TRY(check(request));
  held_.insert_or_assign(worker, Held{std::move(request), std::move(body)});
  return {};
}

bool VariableStore::holds(uint32_t worker, uint64_t round) const {
  const auto at = held_.find(worker);
  return at != held_.end() && at->second.request.round == round;
}

Result<> VariableStore::apply(const PsDecision& decision) {
  if (decision.round <= applied_round_) return {};
  // Workers forward each round before they take part in the next one.
  if (decision.round != applied_round_ + 1)
    return fail(Errc::protocol, format("round {} comes after {}", decision.round, applied_round_));
  struct Part {
    std::vector<ShardGradient> gradients;
    std::vector<double> scales;
  };
  std::map<uint32_t, Part> parts;  // by shard
  double learning_rate = 0;
  for (const uint32_t worker : decision.workers) {
    if (!holds(worker, decision.round - 1))
      return fail(Errc::protocol,
                  format("no push of worker {} for round {}", worker, decision.round));
    const PushRequest& request = held_.at(worker).request;
    if (learning_rate == 0) learning_rate = request.learning_rate;
    for (const ShardGradient& gradient : request.gradients) {
      parts[gradient.shard].gradients.push_back(gradient);
      parts[gradient.shard].scales.push_back(request.scale /
                                             static_cast<double>(decision.workers.size()));
    }
  }
  for (const auto& [number, part] : parts) {
    Shard& at = shards_.at(number);
    at.apply(part.gradients, part.scales, learning_rate);
  }
  applied_round_ = decision.round;
  ++step_;
  std::erase_if(held_,
                [&](const auto& entry) { return entry.second.request.round < decision.round; });
  return {};
}

Result<> VariableStore::check(std::span<const ShardPull> pulls) const {
  for (const ShardPull& pull : pulls) {
    const Shard* const at = TRY(shard(pull.shard));
    TRY(at->check(pull));
  }
  return {};
}

void VariableStore::pull(std::span<const ShardPull> pulls, PsReply& reply) const {
  for (const ShardPull& pull : pulls) {
    const Shard& at = shards_.at(pull.shard);
    if (!pull.sparse) {
      Shard::Shared shared = at.share();
      reply.values.push_back(shared.bytes);
      reply.later.push_back(std::move(shared.later));
      reply.owners.push_back(std::move(shared.owner));
      continue;
    }
    const auto rows = std::make_shared<const Bytes>(at.rows(pull.rows));
    reply.values.emplace_back(*rows);
    reply.later.emplace_back();
    reply.owners.push_back(rows);
  }
}

void VariableStore::save(Writer& writer) const {
  writer.number(step_).number(static_cast<uint32_t>(variables_.size()));
  for (const Declared& variable : variables_)
    encode(writer, variable.spec);
  writer.number(static_cast<uint32_t>(shards_.size()));
  for (const auto& [number, shard] : shards_)
    shard.save(writer);
}

std::vector<ByteSpan> VariableStore::arrays() const {
  std::vector<ByteSpan> all;
  for (const auto& [number, shard] : shards_)
    std::ranges::copy(shard.arrays(), std::back_inserter(all));
  return all;
}

Result<SavedStore> VariableStore::check(Reader& reader, uint64_t array_bytes) const {
  SavedStore saved{.step = reader.number<uint64_t>()};
  constexpr size_t variable_bytes_min = 90;
  saved.declared.variables.resize(reader.count(variable_bytes_min));
  for (VariableSpec& variable : saved.declared.variables)
    variable = decode_variable(reader);
  constexpr size_t shard_bytes_min = 33;
  saved.shards.resize(reader.count(shard_bytes_min));
  for (SavedShard& shard : saved.shards) {
    shard = SavedShard::decode(reader);
    saved.declared.shards.push_back({.shard = shard.spec});
  }
  TRY(reader.finish("the checkpoint"));
  const auto& variables = saved.declared.variables;
  for (size_t i = 0; i < std::min(variables_.size(), variables.size()); ++i)
    TRY(check_same("the checkpoint", variables_[i], variables[i]));
  const bool same = variables_.empty() || (variables_.size() == variables.size() &&
                                           shards_.size() == saved.shards.size());
  if (!same) {
    return fail(Errc::mismatch,
                format("it has {} variables and {} shards, this server {} and {}", variables.size(),
                       saved.shards.size(), variables_.size(), shards_.size()));
  }
  TRY(check_declaration("the checkpoint", saved.declared));
  uint64_t bytes = 0;
  for (size_t i = 0; i < saved.shards.size(); ++i) {
    const ShardSpec& spec = saved.shards[i].spec;
    if (i > 0 && saved.shards[i - 1].spec.number >= spec.number)
      return fail(Errc::protocol, "its shards are in no order");
    if (!variables_.empty() && !shards_.contains(spec.number))
      return fail(Errc::mismatch, format("this server has no shard {}", spec.number));
    bytes += Shard::bytes_of(variables[spec.variable], spec.rows);
  }
  if (bytes == array_bytes) return saved;
  return fail(Errc::protocol, format("its arrays have {} bytes, expected {}", array_bytes, bytes));
}

Result<> VariableStore::load(const SavedStore& saved,
                             const std::function<Result<>(std::span<std::byte> array)>& read) {
  TRY(declare("the checkpoint", saved.declared));
  step_ = saved.step;
  for (auto& [number, shard] : shards_)
    shard.drop_values();
  for (const SavedShard& shard : saved.shards)
    TRY(shards_.at(shard.spec.number).load(shard, read));
  return {};
}

}  // namespace dt
