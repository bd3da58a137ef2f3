#include "comm/training/ps/client.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dt {

namespace {

/// True for the first rank of the job.
bool is_first_rank(const ServerLinks& links) {
  const int rank = links.self().rank;
  return rank >= 0 && std::ranges::none_of(links.tasks().tasks, [&](const TaskEntry& task) {
           return task.rank >= 0 && task.rank < rank;
         });
}

/// Returns the options of the placement on these servers.
Placement::Options placement_on(const ServerLinks& links, Placement::Options options) {
  options.servers = links.count();
  return options;
}

}  // namespace

PsClient::PsClient(std::unique_ptr<RendezvousView> rendezvous, Options options)
    : links_(std::move(rendezvous), std::move(options.links), knowledge_),
      placement_(placement_on(links_, options.placement)),
      initializes_(is_first_rank(links_)) {
}

Result<std::unique_ptr<PsClient>> PsClient::connect(std::unique_ptr<RendezvousView> rendezvous,
                                                    Options options, Time deadline) {
  std::unique_ptr<PsClient> made(new PsClient(std::move(rendezvous), std::move(options)));
  TRY(made->links_.connect(deadline));
  return made;
}

Result<PsReply> PsClient::ask_coordinator(const PsRequest& request) {
  ServerLinks::Replies replies = TRY(links_.exchange({{0, request}}));
  PsReply reply = std::move(replies.decoded.at(0));
  knowledge_.learn(reply);
  if (reply.error) return tl::unexpected(*reply.error);
  // They refer to bytes that end with this call.
  reply.values.clear();
  return reply;
}

/// Fails with the first server's error.
Result<ServerLinks::Replies> PsClient::ask_all(const PsRequest& request) {
  ServerLinks::Requests requests;
  for (uint32_t server = 0; server < links_.count(); ++server)
    requests.emplace(server, request);
  ServerLinks::Replies replies = TRY(links_.exchange(requests));
  knowledge_.learn(replies.decoded.at(0));
  for (auto& [server, reply] : replies.decoded) {
    if (!reply.error) continue;
    return tl::unexpected(std::move(*reply.error).during(describe_task(links_.server(server))));
  }
  return replies;
}

Result<> PsClient::declare(std::span<const Declaration> variables) {
  std::vector<VariableSpec> specs;
  for (const Declaration& declared : variables) {
    TRY(check_ps_variable(declared.variable));
    const size_t bytes = declared.initial.size();
    if (bytes != 0 && bytes != declared.variable.bytes()) {
      return fail(Errc::input,
                  format("variable {}: {} bytes of initial values, expected {}",
                         printable(declared.variable.name), bytes, declared.variable.bytes()));
    }
    specs.push_back(declared.variable);
  }
  Placement placement = placement_;
  const uint32_t first = placement.variables();
  const std::vector<PlacedShard> placed = placement.add(specs);
  const DeclareRequest common{
      .first_variable = first, .variables = specs, .initializes = initializes_};
  std::vector<DeclareRequest> declarations =
      split_declaration(common, variables, placed, links_.count());
  ServerLinks::Requests requests;
  for (uint32_t server = 0; server < links_.count(); ++server)
    requests.emplace(server, std::move(declarations[server]));
  ServerLinks::Replies replies = TRY(links_.exchange(requests));
  knowledge_.learn(replies.decoded.at(0));
  for (auto& [server, reply] : replies.decoded)
    if (reply.error) return tl::unexpected(*reply.error);
  placement_ = std::move(placement);
  for (size_t i = 0; i < specs.size(); ++i) {
    Variable variable{.spec = specs[i], .shards = {}};
    std::ranges::copy_if(placed, std::back_inserter(variable.shards),
                         [&](const PlacedShard& p) { return p.shard.variable == first + i; });
    variables_.emplace(specs[i].name, std::move(variable));
  }
  return {};
}

Result<const PsClient::Variable*> PsClient::find(std::string_view name) const {
  const auto at = variables_.find(name);
  if (at != variables_.end()) return &at->second;
  return fail(Errc::input, format("variable {} is not declared", printable(std::string(name))));
}

Result<size_t> PsClient::element_size(std::string_view variable) const {
  const Variable* const found = TRY(find(variable));
  return element_bytes(found->spec.type);
}

Result<std::vector<PsTensor>> PsClient::tensors_of(std::span<const Array> arrays) const {
  std::vector<PsTensor> tensors;
  for (const Array& array : arrays) {
    const Variable* const variable = TRY(find(array.name));
    tensors.push_back({.variable = &variable->spec,
                       .shards = variable->shards,
                       .sparse = array.sparse,
                       .rows = array.rows,
                       .gradient = array.gradient,
                       .values = array.values});
  }
  return tensors;
}

ServerLinks::Requests PsClient::requests_of(const PushTurn& turn, const TensorSplit& split,
                                            const PushRequest& terms) const {
  ServerLinks::Requests requests;
  for (const uint32_t server : turn.awaited()) {
    if (turn.phase() == PushTurn::Phase::commit) {
      requests.emplace(server, turn.commit());
    } else if (turn.phase() == PushTurn::Phase::pull) {
      PullRequest pull = turn.pull();
      pull.pulls = split.pulls(server);
      requests.emplace(server, std::move(pull));
    } else {
      PushRequest push = turn.push();
      push.learning_rate = terms.learning_rate;
      push.scale = terms.scale;
      push.gradients = split.gradients(server);
      if (turn.has_values()) push.pulls = split.pulls(server);
      requests.emplace(server, std::move(push));
    }
  }
  return requests;
}

Result<PsClient::Pushed> PsClient::push(std::span<const Array> arrays, bool pulls,
                                        const PushOptions& options) {
  const std::vector<PsTensor> tensors = TRY(tensors_of(arrays));
  TensorSplit split(links_.count());
  for (const PsTensor& tensor : tensors) {
    TRY(split.add_gradient(tensor));
    if (pulls) TRY(split.add_pull(tensor));
  }
  Pushed pushed;
  PushRequest terms{.learning_rate = options.learning_rate};
  if (options.clip_norm > 0) {
    pushed.norm = global_norm(tensors);
    if (!std::isfinite(pushed.norm))
      return fail(Errc::input, "the norm of the gradients is no finite number");
    // clip_by_global_norm of TensorFlow, python/ops/clip_ops.py.
    if (pushed.norm > options.clip_norm) terms.scale = options.clip_norm / pushed.norm;
  }
  PushTurn turn(knowledge_, links_.count(), pulls);
  while (turn.phase() != PushTurn::Phase::done) {
    const bool values = turn.has_values();
    const ServerLinks::Replies replies =
        TRY(links_.exchange(requests_of(turn, split, terms), values ? &split : nullptr));
    for (const auto& [server, reply] : replies.decoded) {
      if (values && !reply.error) TRY(split.take_values(server, reply.values));
      TRY(turn.take(server, reply));
      if (server == 0) pushed.step = reply.step;
    }
  }
  pushed.counted = turn.counted();
  return pushed;
}

Result<uint64_t> PsClient::pull(std::span<const Array> arrays) {
  const std::vector<PsTensor> tensors = TRY(tensors_of(arrays));
  TensorSplit split(links_.count());
  for (const PsTensor& tensor : tensors)
    TRY(split.add_pull(tensor));
  ServerLinks::Requests requests;
  const uint64_t round = knowledge_.decision.round;
  for (uint32_t server = 0; server < links_.count(); ++server)
    requests.emplace(server,
                     PullRequest{.decision = knowledge_.decision, .pulls = split.pulls(server)});
  const ServerLinks::Replies replies = TRY(links_.exchange(requests, &split));
  knowledge_.learn(replies.decoded.at(0));
  for (const auto& [server, reply] : replies.decoded) {
    if (reply.error) return tl::unexpected(*reply.error);
    TRY(split.take_values(server, reply.values));
  }
  knowledge_.seen_round = round;
  knowledge_.seen_step = replies.decoded.at(0).step;
  return knowledge_.seen_step;
}

Result<> PsClient::set_mode(PsMode::Kind kind, uint32_t count) {
  TRY(ask_coordinator(ModeRequest{kind, count}));
  return {};
}

Result<> PsClient::save(const std::string& path) {
  TRY(ask_all(SaveRequest{knowledge_.decision, path}));
  return {};
}

Result<uint64_t> PsClient::load(const std::string& path) {
  const ServerLinks::Replies checked = TRY(ask_all(LoadRequest{path, true}));
  const uint64_t step = checked.decoded.at(0).step;
  for (const auto& [server, reply] : checked.decoded) {
    if (reply.step == step) continue;
    return fail(Errc::mismatch,
                format("checkpoint {}: the file of {} is of step {}, that of {} of step {}",
                       printable(path), describe_task(links_.server(0)), step,
                       describe_task(links_.server(server)), reply.step));
  }
  TRY(ask_all(LoadRequest{path, false}));
  return step;
}

Result<uint64_t> PsClient::step() {
  const PsReply reply = TRY(ask_coordinator(StatusRequest{}));
  return reply.step;
}

Result<> PsClient::barrier() {
  TRY(ask_coordinator(BarrierRequest{}));
  return {};
}

Result<std::vector<PsStatus>> PsClient::status() {
  ServerLinks::Replies replies = TRY(ask_all(StatusRequest{}));
  std::vector<PsStatus> all;
  for (auto& [server, reply] : replies.decoded)
    all.push_back(std::move(reply.status).value_or(PsStatus()));
  return all;
}

void PsClient::leave(Duration limit) {
  if (links_.broken()) return;
  links_.limit_calls(limit);
  [[maybe_unused]] const auto left = ask_all(LeaveRequest{});
}

}  // namespace dt
