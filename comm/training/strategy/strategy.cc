#include "comm/training/strategy/strategy.h"

#include "base/format.h"
#include "base/kernels/array_reduction.h"
#include "base/text.h"
#include "comm/api/api_support.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dt {
namespace {

std::string_view op_text(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "average", "min", "max", "product", "adasum"};
  return names[static_cast<size_t>(op)];
}

/// Returns the operation with its terms, which must be equal on all replicas.
std::string call_text(std::string_view what, const ReplicaTensors& tensors, ReduceOp op) {
  constexpr size_t shown_max = 3;
  std::string text = format("{} {} of {} tensor{}", what, op_text(op), tensors.size(),
                            tensors.size() == 1 ? "" : "s");
  size_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes += tensors[i].bytes();
    if (i < shown_max)
      text += format("{}{}x type {}", i == 0 ? ": " : ", ", tensors[i].count,
                     static_cast<int>(tensors[i].type) + 1);
  }
  return text + format(" ({} bytes)", bytes);
}

Result<> check_tensors(const ReplicaTensors& tensors, ReduceOp op) {
  if (op == ReduceOp::adasum)
    return fail(Errc::input, "replicas have no adasum; use sum or average");
  for (const ReplicaTensor& tensor : tensors) {
    if (tensor.at == nullptr && tensor.count > 0)
      return fail(Errc::input, "the memory of a tensor is null");
    // The arrays do not matter: this refuses averages of booleans.
    std::byte unused{};
    TRY(check(
        ArrayReduction{.type = tensor.type, .op = op, .sources = {&unused}, .into = &unused}));
  }
  return {};
}

/// Multiplies numbers of float32 or float64.
void scale_elements(ElementType type, std::span<std::byte> values, double factor) {
  const auto scale = [&]<class T>(T value) {
    for (size_t at = 0; at < values.size(); at += sizeof value) {
      std::memcpy(&value, &values[at], sizeof value);
      value *= static_cast<T>(factor);
      std::memcpy(&values[at], &value, sizeof value);
    }
  };
  if (type == ElementType::float32)
    scale(float{});
  else
    scale(double{});
}

ReduceOp op_of(Aggregation aggregation) {
  return aggregation == Aggregation::mean ? ReduceOp::average : ReduceOp::sum;
}

}  // namespace

Result<std::unique_ptr<Strategy>> Strategy::open(const StrategyOptions& options,
                                                 const Environment& environment) {
  std::unique_ptr<Strategy> made(new Strategy(options));
  made->devices_ = TRY(ReplicaDevices::open(options, environment));
  made->threads_ = TRY(ReplicaThreads::start(made->devices_->count()));
  return made;
}

tl::unexpected<Error> Strategy::Prepared::failure_or(Error compared) const {
  // The others have this worker's failure with its rank.
  if (!strategy) compared = {strategy.error().code, strategy.error().message, compared.blamed_rank};
  return tl::unexpected(std::move(compared));
}

Strategy::Prepared Strategy::prepare(const StrategyRequest& request, const Environment& environment,
                                     int workers) {
  // A failure here reaches all workers: none of them waits for this one.
  const auto decide = [&]() -> Result<std::unique_ptr<Strategy>> {
    const StrategyOptions options = TRY(decide_strategy(request, environment, workers));
    return open(options, environment);
  };
  Prepared prepared = {.strategy = decide()};
  if (!prepared.strategy) {
    prepared.record.failure = prepared.strategy.error().message;
    return prepared;
  }
  const Strategy& strategy = **prepared.strategy;
  prepared.record = {.name = strategy.options_.name,
                     .cross_device = strategy.options_.cross_device,
                     .devices = static_cast<uint32_t>(strategy.devices_->count()),
                     .on_host = strategy.devices_->device(0).host_can_access(),
                     .bytes_per_pack = strategy.options_.bytes_per_pack,
                     .mode = strategy.options_.mode,
                     .communication = strategy.options_.communication,
                     .in_use = strategy.devices_->in_use(environment)};
  return prepared;
}

Result<std::unique_ptr<Strategy>> Strategy::with_workers(Prepared prepared,
                                                         dtrain_context* context) {
  const int timeout_ms = prepared.strategy ? (*prepared.strategy)->options_.timeout_ms : 0;
  auto workers = Workers::join(context, prepared.record, timeout_ms);
  if (!workers) return prepared.failure_or(std::move(workers).error());
  if (!prepared.strategy) return std::move(prepared.strategy);
  Strategy& strategy = **prepared.strategy;
  strategy.workers_ = *std::move(workers);
  strategy.worker_ = static_cast<size_t>(strategy.workers_->rank());
  strategy.worker_count_ = static_cast<size_t>(strategy.workers_->size());
  if (strategy.workers_->alone()) TRY(strategy.devices_->connect(timeout_ms));
  strategy.begin();
  if (strategy.options_.communication == Communication::nccl) {
    Result<> connected = strategy.reducer_->connect_by_nccl();
    if (!connected) {
      strategy.workers_->abort(connected.error());
      return tl::unexpected(std::move(connected).error().during("the communication nccl"));
    }
  }
  return std::move(prepared.strategy);
}

Result<std::unique_ptr<Strategy>> Strategy::create(dtrain_context* context,
                                                   const StrategyRequest& request,
                                                   const Environment& environment) {
  Prepared prepared = prepare(request, environment, context->context->layout().size);
  if (prepared.strategy && (*prepared.strategy)->name() == StrategyName::parameter_server) {
    prepared.record.failure =
        "parameter_server joins the job by itself; create the strategy without a context";
    prepared.strategy = fail(Errc::input, prepared.record.failure);
  }
  return with_workers(std::move(prepared), context);
}

Result<std::unique_ptr<Strategy>> Strategy::join(const StrategyRequest& request,
                                                 const Environment& environment) {
  std::optional<JobEntry> entry = TRY(JobEntry::open(request.identity));
  const bool ranked = entry && entry->rank() >= 0;
  Prepared prepared = prepare(request, environment, ranked ? entry->workers() : 1);
  const StrategyOptions options =
      prepared.strategy ? (*prepared.strategy)->options_ : StrategyOptions();
  const bool served = options.name == StrategyName::parameter_server;
  if (served && !ranked) {
    return fail(Errc::input,
                "parameter_server needs the ranks of a job; start it by dtrain run --role ps=1 "
                "--role worker=2 --strategy parameter_server");
  }
  if (ranked) {
    using enum JobEntry::Awaited;
    const bool joins = !served || options.mode.local;
    const auto awaited = joins ? all : options.mode.needs_all() ? living : first;
    const Result<> compared = entry->compare(prepared.record, awaited);
    if (!compared) return prepared.failure_or(compared.error());
    if (!prepared.strategy) return std::move(prepared.strategy);
  }
  if (!served) {
    OwnContext context = lone_context();
    if (entry) context = TRY(entry->join());
    auto made = TRY(with_workers(std::move(prepared), context.get()));
    made->own_context_ = std::move(context);
    return made;
  }
  TRY((*prepared.strategy)->serve(*std::move(entry), prepared.record));
  return std::move(prepared.strategy);
}

void Strategy::begin() {
  const DeviceOwner& self = options_.self;
  if (options_.log_placement)
    placement_ = PlacementLog(format("dtrain: {}:{}", self.job, self.task));
  for (const std::string& fallback : devices_->fallbacks())
    placement_.add(fallback);
  for (size_t i = 0; i < local_replicas(); ++i)
    placement_.add(format("replica {} is on {}", first_replica() + i, devices_->device(i).name()));
  for (const std::string& doubt : workers_->doubts())
    placement_.add(doubt);
  meeting_ = std::make_unique<ReplicaMeeting>(
      ReplicaMeeting::Numbers{.count = local_replicas(), .first = first_replica()});
  reducer_ = std::make_unique<ReplicaReducer>(*devices_, *workers_, options_.bytes_per_pack);
}

Result<> Strategy::serve(JobEntry entry, const WorkerRecord& record) {
  worker_ = static_cast<size_t>(entry.rank());
  worker_count_ = static_cast<size_t>(entry.workers());
  const ServedVariables::Options served = {
      .mode = options_.mode, .chief = is_chief(), .timeout_ms = options_.timeout_ms};
  if (options_.mode.local) {
    JobEntry::HostContexts contexts = TRY(entry.join_host());
    own_context_ = std::move(contexts.job);
    host_context_ = std::move(contexts.host);
    workers_ = TRY(Workers::join(host_context_.get(), record, options_.timeout_ms));
    if (workers_->alone()) TRY(devices_->connect(options_.timeout_ms));
    served_ = TRY(ServedVariables::connect(served, own_context_->context));
  } else {
    // Each worker is alone with the servers.
    own_context_ = lone_context();
    workers_ = TRY(Workers::join(own_context_.get(), record, options_.timeout_ms));
    TRY(devices_->connect(options_.timeout_ms));
    served_ = TRY(ServedVariables::connect(served, entry.take()));
  }
  begin();
  return {};
}

Result<> Strategy::await_workers() {
  return served_ ? served_->barrier() : Result<>();
}

Result<> Strategy::check_open() const {
  TRY(workers_->status());
  if (ended_) return tl::unexpected(Error(*ended_).during("the strategy has ended"));
  if (running_) return fail(Errc::input, "a step is running; call this between steps");
  return {};
}

bool Strategy::has(const Variable* variable) const {
  if (variable == nullptr) return false;
  return std::ranges::any_of(variables_,
                             [&](const auto& entry) { return entry.second.get() == variable; });
}

Result<Variable*> Strategy::add_variable(const VariableTerms& terms, const std::byte* initial) {
  TRY(check_open());
  if (terms.name.empty() || terms.name.size() > VariableTerms::name_bytes_max)
    return fail(Errc::input, "the name of a variable must have 1 to 255 bytes");
  const std::string name = printable(terms.name);
  if (const auto same = variables_.find(terms.name); same != variables_.end()) {
    const VariableTerms& old = same->second->terms();
    return fail(Errc::input,
                format("variable \"{}\" exists, with {} elements{}", name, old.count,
                       old.count == terms.count ? "" : format(", not {}", terms.count)));
  }
  if (terms.aggregation == Aggregation::mean && terms.type == ElementType::boolean)
    return fail(Errc::input, format("variable \"{}\": booleans have no mean", name));
  TRY(workers_->compare(terms.text()));
  auto variable = Variable::make(terms, *devices_,
                                 {.shared = shares_variables(), .soft = options_.soft_placement});
  if (!variable) {
    Error error = std::move(variable).error().during(format("variable \"{}\"", name));
    workers_->abort(error);
    return tl::unexpected(std::move(error));
  }
  Variable& made = **variable;
  std::vector<std::byte> value(terms.bytes());
  if (initial != nullptr) std::copy_n(initial, value.size(), value.begin());
  if (is_served(made)) {
    TRY(served_->declare(terms, value.data()));
    TRY(served_->pull(terms, value.data()));
    // Another host may have pushed between the pulls of two workers.
    TRY(workers_->broadcast(value));
    TRY(write_copies(made, value.data()));
  } else {
    TRY(write(made, value.data()));
  }
  placement_.add(made.place());
  variables_.emplace(terms.name, *std::move(variable));
  return &made;
}

Result<> Strategy::write(Variable& variable, const std::byte* from) {
  TRY(check_open());
  std::vector<std::byte> value(from, from + variable.terms().bytes());
  if (is_served(variable)) {
    TRY(served_->assign(variable.terms(), from));
    TRY(served_->pull(variable.terms(), value.data()));
  }
  TRY(workers_->broadcast(value));
  return write_copies(variable, value.data());
}

Result<> Strategy::write_copies(const Variable& variable, const std::byte* from) {
  const VariableTerms& terms = variable.terms();
  const bool parts = terms.on_read && terms.aggregation == Aggregation::sum;
  const std::vector<std::byte> zeros(parts ? terms.bytes() : 0);
  for (size_t i = 0; i < variable.copy_count(); ++i) {
    const bool whole = !parts || first_replica() + i == 0;
    const size_t owner = variable.owner(i);
    TRY(devices_->copy(owner, {variable.at(i), whole ? from : zeros.data(), terms.bytes()}));
  }
  return {};
}

Result<> Strategy::read(const Variable& variable, std::byte* to) {
  TRY(check_open());
  const VariableTerms& terms = variable.terms();
  if (is_served(variable)) return served_->pull(terms, to);
  if (!terms.on_read || terms.aggregation == Aggregation::first_replica) {
    TRY(devices_->copy(variable.owner(), {to, variable.at(0), terms.bytes()}));
    return terms.on_read ? workers_->broadcast({to, terms.bytes()}) : Result<>();
  }
  std::vector<std::vector<std::byte>> values(local_replicas());
  std::vector<const std::byte*> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].resize(terms.bytes());
    TRY(devices_->copy(i, {values[i].data(), variable.at(i), terms.bytes()}));
    inputs.push_back(values[i].data());
  }
  return reduce(inputs, {terms.type, terms.count, to}, op_of(terms.aggregation));
}

Result<> Strategy::reduce(const std::vector<const std::byte*>& inputs, const WorkerTensor& output,
                          ReduceOp op) {
  TRY(check_open());
  TRY(check_tensors({{.type = output.type, .count = output.count, .at = output.at}}, op));
  if (output.count == 0) return {};
  ArrayReduction reduction = {
      .type = output.type,
      .op = op == ReduceOp::average ? ReduceOp::sum : op,
      .count = output.count,
      .sources = inputs,
      .into = output.at,
  };
  TRY(check(reduction));
  reduce_arrays(reduction);
  TRY(workers_->all_reduce({&output, 1}, reduction.op));
  if (op != ReduceOp::average) return {};
  reduction.op = op;
  reduction.sources = {output.at};
  reduction.divisor = workers_->size() * static_cast<int>(local_replicas());
  reduce_arrays(reduction);
  return {};
}

Result<> Strategy::run(const Step& step) {
  TRY(check_open());
  meeting_->begin();
  running_ = true;
  threads_->run([&](size_t local) {
    Replica replica = {.strategy = *this, .local = local};
    meeting_->leave(local, step(replica));
  });
  running_ = false;
  return end_step();
}

Result<> Strategy::end_step() {
  auto failure = meeting_->failure();
  if (!failure) return {};
  Error error = std::move(failure->error);
  if (failure->replica) {
    const size_t local = *failure->replica;
    error = std::move(error).during(
        format("replica {} ({})", first_replica() + local, devices_->device(local).name()));
  }
  if (!workers_->alone()) workers_->abort(error);
  if (served_) {
    // The other workers of a synchronous step must not wait for this one.
    ended_ = error;
    served_.reset();
  }
  return tl::unexpected(std::move(error));
}

Result<> Strategy::meet_to_reduce(const Replica& replica, std::string text, ReplicaTensors& tensors,
                                  const Reduction& reduction) {
  return meeting_->meet(replica.local, {std::move(text), &tensors},
                        [&](const std::vector<void*>& all) -> Result<> {
                          std::vector<ReplicaTensors*> by_replica;
                          for (void* const one : all)
                            by_replica.push_back(static_cast<ReplicaTensors*>(one));
                          TRY(reducer_->reduce(by_replica, reduction.op));
                          return begin_served(reduction, by_replica);
                        });
}

Result<> Strategy::all_reduce(const Replica& replica, ReplicaTensors tensors, ReduceOp op) {
  TRY(check_tensors(tensors, op));
  return meet_to_reduce(replica, call_text("all_reduce", tensors, op), tensors, {.op = op});
}

Result<> Strategy::apply(const Replica& replica, std::span<const Gradient> gradients, ReduceOp op,
                         const Update& update) {
  ReplicaTensors tensors;
  bool waits = served_ != nullptr;
  for (const Gradient& gradient : gradients) {
    TRY(check_gradient(gradient));
    const VariableTerms& terms = gradient.variable->terms();
    waits = waits || gradient.variable->shared();
    tensors.push_back({.type = terms.type, .count = terms.count, .at = gradient.at});
    if (gradient.variable->shared()) tensors.back().only = gradient.variable->owner();
  }
  TRY(check_tensors(tensors, op));
  TRY(meet_to_reduce(replica, call_text("apply", tensors, op), tensors,
                     {.op = op, .gradients = gradients}));
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].variable->is_updated_by(replica.local)) TRY(update(i));
  }
  if (!waits) return {};
  return meeting_->meet(replica.local, {"the end of an update"},
                        [&](const std::vector<void*>&) { return end_served(gradients); });
}

Result<> Strategy::check_gradient(const Gradient& gradient) const {
  if (!has(gradient.variable))
    return fail(Errc::input, "a gradient has no variable of this strategy");
  const VariableTerms& terms = gradient.variable->terms();
  if (terms.on_read) {
    return fail(Errc::input, format("variable \"{}\" is synchronized on read, so it has no "
                                    "gradient to reduce",
                                    printable(terms.name)));
  }
  if (!served_ || ServedVariables::serves(terms)) return {};
  return fail(Errc::input, format("variable \"{}\" has no gradient under parameter_server: servers "
                                  "hold float32 and float64, and no slots",
                                  printable(terms.name)));
}

Result<> Strategy::begin_served(const Reduction& reduction,
                                const std::vector<ReplicaTensors*>& reduced) {
  if (!served_ || reduction.gradients.empty()) return {};
  if (reduction.op != ReduceOp::sum && reduction.op != ReduceOp::average) {
    return fail(Errc::input, format("parameter servers reduce by sum or average, not by {}",
                                    op_text(reduction.op)));
  }
  served_before_.clear();
  for (const Gradient& gradient : reduction.gradients) {
    std::vector<std::byte>& before =
        served_before_.emplace_back(gradient.variable->terms().bytes());
    const Variable& variable = *gradient.variable;
    TRY(devices_->copy(variable.owner(), {before.data(), variable.at(0), before.size()}));
  }
  // Servers average over the workers, so each worker multiplies a sum by their number.
  const bool sum = reduction.op == ReduceOp::sum && served_->synchronous();
  if (!sum || worker_count_ == 1) return {};
  for (size_t i = 0; i < reduced.size(); ++i) {
    for (const ReplicaTensor& tensor : *reduced[i])
      TRY(multiply(i, tensor, static_cast<double>(worker_count_)));
  }
  return {};
}

Result<> Strategy::multiply(size_t replica, const ReplicaTensor& tensor, double factor) const {
  std::vector<std::byte> values(tensor.bytes());
  TRY(devices_->copy(replica, {values.data(), tensor.at, values.size()}));
  scale_elements(tensor.type, values, factor);
  return devices_->copy(replica, {tensor.at, values.data(), values.size()});
}

Result<> Strategy::end_served(std::span<const Gradient> gradients) {
  if (!served_) return {};
  std::vector<std::vector<std::byte>> values;
  std::vector<ServedChange> changes;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& variable = *gradients[i].variable;
    std::vector<std::byte>& value = values.emplace_back(variable.terms().bytes());
    TRY(devices_->copy(variable.owner(), {value.data(), variable.at(0), value.size()}));
    changes.push_back(
        {.terms = &variable.terms(), .before = served_before_[i].data(), .value = value.data()});
  }
  // One worker of a group pushes the change, which all of them have made.
  if (workers_->rank() == 0) TRY(served_->push(changes));
  for (size_t i = 0; i < gradients.size(); ++i) {
    TRY(workers_->broadcast(values[i]));
    TRY(write_copies(*gradients[i].variable, values[i].data()));
  }
  return {};
}

Result<> Strategy::assign(const Replica& replica, Variable& variable, const std::byte* value) {
  const VariableTerms& terms = variable.terms();
  if (terms.on_read) {
    return fail(Errc::input, format("variable \"{}\" is synchronized on read: write this replica's "
                                    "value to its memory",
                                    printable(terms.name)));
  }
  if (terms.aggregation == Aggregation::first_replica && served_) {
    return fail(Errc::input, format("variable \"{}\": parameter servers cannot assign the value of "
                                    "the first replica",
                                    printable(terms.name)));
  }
  if (terms.aggregation == Aggregation::first_replica)
    return assign_first(replica, variable, value);
  std::vector<std::byte> sum(value, value + terms.bytes());
  const Gradient gradient = {&variable, sum.data()};
  return apply(replica, {&gradient, 1}, op_of(terms.aggregation), [&](size_t) {
    return devices_->copy(replica.local, {variable.at(replica.local), sum.data(), terms.bytes()});
  });
}

Result<> Strategy::assign_first(const Replica& replica, const Variable& variable,
                                const std::byte* value) {
  std::vector<std::byte> own(value, value + variable.terms().bytes());
  return meeting_->meet(replica.local,
                        {format("assign \"{}\"", printable(variable.terms().name)), &own},
                        [&](const std::vector<void*>& all) -> Result<> {
                          auto& first = *static_cast<std::vector<std::byte>*>(all[0]);
                          TRY(workers_->broadcast(first));
                          return write_copies(variable, first.data());
                        });
}

}  // namespace dt
