#include "comm/training/ps/state/variable_store.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
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

Result<> VariableStore::declare(const std::string& by, const DeclareRequest& request) {
  std::map<std::string, uint32_t> added;
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
    if (!added.emplace(variable.name, static_cast<uint32_t>(number)).second)
      return declared_twice(variable);
  }
  TRY(check_new(request));
  for (size_t i = 0; i < request.variables.size(); ++i) {
    if (request.first_variable + i >= variables_.size())
      variables_.push_back({request.variables[i], by});
  }
  numbers_.merge(added);
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
  for (const auto& [number, shard] : shards_) {
    writer.number(number);
    shard.save(writer);
  }
}

Result<> VariableStore::load(Reader& reader, ByteSpan whole) {
  VariableStore loaded(limits_);
  loaded.step_ = reader.number<uint64_t>();
  DeclareRequest request;
  constexpr size_t variable_bytes_min = 90;
  request.variables.resize(reader.count(variable_bytes_min));
  for (VariableSpec& variable : request.variables)
    variable = decode_variable(reader);
  TRY(loaded.declare("the checkpoint", request));
  constexpr size_t shard_bytes_min = 40;
  for (uint32_t left = reader.count(shard_bytes_min); left > 0 && reader.ok(); --left) {
    const auto number = reader.number<uint32_t>();
    Reader ahead = reader;
    const ShardSpec spec = decode_shard(ahead);
    if (spec.number != number || spec.variable >= request.variables.size())
      return fail(Errc::protocol, format("shard {} is of no variable", number));
    const DeclareRequest one{.shards = {{.shard = spec, .initial = {}}}};
    // A length that the file does not have would allocate memory.
    const VariableSpec& variable = request.variables[spec.variable];
    if (spec.rows > reader.rest().size() / variable.row_bytes()) reader.refuse();
    if (!reader.ok()) break;
    TRY(loaded.declare("the checkpoint", one));
    loaded.shards_.at(number).load(reader, whole);
  }
  if (!reader.ok()) return fail(Errc::protocol, "it is cut short");
  for (size_t i = 0; i < std::min(variables_.size(), loaded.variables_.size()); ++i)
    TRY(check_same("the checkpoint", variables_[i], loaded.variables_[i].spec));
  const bool same = variables_.empty() || (variables_.size() == loaded.variables_.size() &&
                                           shards_.size() == loaded.shards_.size());
  if (!same) {
    return fail(Errc::mismatch, format("it has {} variables and {} shards, this server {} and {}",
                                       loaded.variables_.size(), loaded.shards_.size(),
                                       variables_.size(), shards_.size()));
  }
  for (const auto& [number, shard] : shards_) {
    const auto other = loaded.shards_.find(number);
    if (other == loaded.shards_.end() || other->second.spec() != shard.spec())
      return fail(Errc::mismatch, format("it has no shard {} with the same rows", number));
  }
  for (size_t i = 0; i < variables_.size(); ++i)
    loaded.variables_[i].by = variables_[i].by;
  loaded.applied_round_ = applied_round_;
  loaded.held_ = std::move(held_);
  *this = std::move(loaded);
  return {};
}

}  // namespace dt
