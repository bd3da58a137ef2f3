#include "comm/training/ps/state/server_state.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dt {

namespace {

constexpr std::string_view checkpoint_magic = "dtrain parameters 1";

std::string ending(const Notice& notice) {
  return notice.kind == Notice::Kind::left ? "has left"
                                           : format("died: {}", printable(notice.cause));
}

}  // namespace

PsServerState::PsServerState(Options options)
    : options_(std::move(options)),
      coordinator_(options_.workers),
      store_(options_.limits),
      workers_(options_.workers.size()) {
}

std::string PsServerState::name(uint32_t worker) const {
  const PsWorker& which = options_.workers[worker];
  return format("{} on {}", which.id.text(), printable(which.host));
}

void PsServerState::drop_waits(uint32_t worker) {
  std::erase_if(declares_, [worker](const auto& entry) { return entry.asked.worker == worker; });
  under_way_.erase(worker);
}

void PsServerState::drop_file_requests(uint32_t worker) {
  std::erase_if(file_requests_, [worker](const auto& file) { return file.worker == worker; });
}

Result<> PsServerState::check_attempt(uint32_t worker, uint32_t attempt) const {
  const uint32_t last = workers_[worker].attempt;
  if (attempt >= last) return {};
  return fail(Errc::refused, format("attempt {} of {} has ended, and attempt {} has begun", attempt,
                                    name(worker), last));
}

void PsServerState::restarted(uint32_t worker, uint32_t attempt) {
  workers_[worker] = {.attempt = attempt};
  sessions_.erase(worker);
  drop_waits(worker);
  drop_file_requests(worker);
  coordinator_.restarted(worker);
  answer_waits();
}

void PsServerState::note(const Notice& notice) {
  const auto at = std::ranges::find(options_.workers, notice.task, &PsWorker::id);
  if (at == options_.workers.end()) return;
  const auto worker = static_cast<uint32_t>(at - options_.workers.begin());
  WorkerState& state = workers_[worker];
  if (notice.attempt > state.attempt) restarted(worker, notice.attempt);
  // News of an attempt that has ended for this server already.
  if (notice.kind == Notice::Kind::restarted || notice.attempt < state.attempt) return;
  if (state.end && (!state.end->returns || notice.returns)) return;
  state.end = notice;
  drop_waits(worker);
  coordinator_.gone(worker, ending(notice), notice.returns);
  answer_waits();
  answer_declares();
}

bool PsServerState::all_gone() const {
  for (uint32_t worker = 0; worker < workers_.size(); ++worker)
    if (coordinator_.takes_part(worker) && !workers_[worker].gone()) return false;
  return true;
}

Result<> PsServerState::check_current(const Asked& asked) const {
  TRY(check_attempt(asked.worker, asked.attempt));
  const std::optional<Notice>& end = workers_[asked.worker].end;
  if (!end) return {};
  return fail(Errc::refused,
              format("{} {}, so its requests are refused", name(asked.worker), ending(*end)));
}

Result<> PsServerState::admit(const Asked& asked) {
  size_t& under_way = under_way_[asked.worker];
  ++under_way;
  if (under_way <= options_.limits.requests_per_worker) return {};
  return fail(Errc::refused,
              format("{} has {} requests under way, more than {}", name(asked.worker), under_way,
                     options_.limits.requests_per_worker));
}

void PsServerState::refuse(uint32_t worker, uint32_t request, std::string why) {
  ++under_way_[worker];
  reply_error({worker, request}, {Errc::refused, std::move(why)});
}

bool PsServerState::handle(uint32_t worker, uint32_t request, std::shared_ptr<const Bytes> body) {
  const ByteSpan whole = *body;
  return handle({worker, request, std::move(body), whole});
}

/// A repeated request of this kind can be carried out again.
bool PsServerState::only_reads(const PsRequest& request) const {
  if (const auto* const pull = std::get_if<PullRequest>(&request))
    return !store_.awaits(pull->decision);
  return std::holds_alternative<StatusRequest>(request);
}

void PsServerState::begin_session(uint32_t worker, uint64_t id) {
  Session& session = sessions_[worker];
  session.resumed = session.id == id;
  if (session.resumed) return;
  session.id = id;
  session.last = 0;
  // A client never gets replies to requests of another one.
  drop_waits(worker);
  drop_file_requests(worker);
  coordinator_.connected(worker);
}

bool PsServerState::handle(const PsIncoming& asked) {
  // It may ask before the notice of its restart arrives.
  const bool begins = asked.attempt > workers_[asked.worker].attempt;
  if (begins) restarted(asked.worker, asked.attempt);
  if (const Result<> current = check_current(asked); !current) {
    PsReply refused{.error = current.error()};
    deliver(asked, asked.attempt, refused, {});
    return false;
  }
  Session& session = sessions_[asked.worker];
  if (session.resumed && asked.request == session.last) {
    // Without an answer, the reply is still to come.
    if (session.answered) repeat(asked, session.answer);
    return false;
  }
  const Result<PsRequest> decoded = decode_ps_request(asked.body);
  const auto* const attach = decoded ? std::get_if<AttachRequest>(&*decoded) : nullptr;
  if (attach != nullptr) begin_session(asked.worker, attach->session);
  bool changes = false;
  const auto answer = [&]() -> Verdict {
    TRY(admit(asked));
    if (!decoded) return tl::unexpected(decoded.error());
    changes = !only_reads(*decoded);
    if (changes && attach == nullptr) {
      session.last = asked.request;
      session.answered = false;
    }
    return std::visit([&](const auto& which) { return on(asked, which); }, *decoded);
  };
  Verdict verdict = answer();
  if (!verdict) {
    reply_error(asked, std::move(verdict).error());
  } else if (std::optional<PsReply>& now = *verdict) {
    reply(asked, *std::move(now));
  }
  answer_waits();
  return changes || begins;
}

/// Answers a repeated request, whose effect has already happened, with the current values.
void PsServerState::repeat(const Asked& asked, PsReply answer) {
  ++under_way_[asked.worker];
  const Result<PsRequest> decoded = decode_ps_request(asked.body);
  const auto* const push = decoded ? std::get_if<PushRequest>(&*decoded) : nullptr;
  const auto* const pull = decoded ? std::get_if<PullRequest>(&*decoded) : nullptr;
  std::span<const ShardPull> pulls;
  if (push != nullptr && answer.verdict == PsVerdict::done) pulls = push->pulls;
  if (pull != nullptr) pulls = pull->pulls;
  if (!answer.error && store_.check(pulls)) store_.pull(pulls, answer);
  const uint64_t step = answer.step;
  reply(asked, std::move(answer), step);
}

void PsServerState::reply(const Asked& asked, PsReply reply, std::optional<uint64_t> step) {
  const auto under_way = under_way_.find(asked.worker);
  if (under_way == under_way_.end()) return;  // the worker is gone
  if (--under_way->second == 0) under_way_.erase(under_way);
  deliver(asked, workers_[asked.worker].attempt, reply, step);
  Session& session = sessions_[asked.worker];
  if (session.last != asked.request) return;
  reply.values.clear();
  reply.later.clear();
  reply.owners.clear();
  session.answered = true;
  session.answer = std::move(reply);
}

void PsServerState::deliver(const Asked& asked, uint32_t attempt, PsReply& reply,
                            std::optional<uint64_t> step) {
  if (coordinates()) {
    reply.mode = coordinator_.mode();
    reply.decision = coordinator_.decision();
  }
  reply.step = step.value_or(this->step());
  if (!silent_) deliveries_.push_back({asked.worker, asked.request, encode_parts(reply), attempt});
}

void PsServerState::reply_error(const Asked& asked, Error error) {
  reply(asked, {.error = std::move(error)});
}

/// Replies to the commits and barriers that have ended. Server 0 has all pushes of a round that it
/// has decided.
void PsServerState::answer_waits() {
  if (coordinates()) {
    [[maybe_unused]] const Result<> applied = store_.apply(coordinator_.decision());
    assert(applied);
  }
  for (StepCoordinator::Answer& answer : coordinator_.take_answers()) {
    reply({answer.caller.worker, answer.caller.request},
          {.error = std::move(answer.error), .verdict = answer.verdict});
  }
}

/// Replies to the declarations whose variables have values, or will get none.
void PsServerState::answer_declares() {
  const auto first = std::ranges::find(options_.workers, true, &PsWorker::takes_part);
  const auto chief = static_cast<size_t>(first - options_.workers.begin());
  for (WaitingDeclare& waiting : std::exchange(declares_, {})) {
    const Result<> same = store_.declared(waiting.request)
                              ? store_.declare(name(waiting.asked.worker), waiting.request)
                              : Result<>();
    if (!same) {
      reply_error(waiting.asked, same.error());
    } else if (store_.initialized(waiting.request)) {
      reply(waiting.asked, {});
    } else if (chief < workers_.size() && workers_[chief].gone()) {
      reply_error(waiting.asked,
                  {Errc::peer_lost,
                   format("the variables have no initial values: {} {}",
                          name(static_cast<uint32_t>(chief)), ending(*workers_[chief].end))});
    } else {
      declares_.push_back(std::move(waiting));
    }
  }
}

Result<> PsServerState::require_coordinator() const {
  if (coordinates()) return {};
  return fail(Errc::protocol, "only server 0 decides about steps");
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const DeclareRequest& request) {
  // The first rank's declaration counts; the others are compared with it.
  if (request.initializes || store_.declared(request))
    TRY(store_.declare(name(asked.worker), request));
  declares_.push_back({asked, request});
  answer_declares();
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const PushRequest& request) {
  TRY(store_.apply(request.decision));
  if (coordinator_.waits(asked.worker))
    return fail(Errc::protocol, "a worker pushes while it waits for its last commit");
  if (request.kind == PsMode::Kind::sync) {
    if (coordinates() && coordinator_.stale_push(asked.worker, request.round))
      return PsReply{.verdict = PsVerdict::stale};
    TRY(store_.hold(asked.worker, request, asked.owner));
    return PsReply{.verdict = PsVerdict::held};
  }
  PsReply values;
  if (silent_) {
    TRY(store_.push(request));
  } else {
    TRY(store_.push_and_pull(request, asked.owner, values));
  }
  if (coordinates()) coordinator_.applied_push(asked.worker, request.seen_step);
  reply(asked, std::move(values));
  return std::nullopt;
}

/// Requires that the pulls have passed VariableStore::check().
void PsServerState::reply_values(const Asked& asked, std::span<const ShardPull> pulls) {
  PsReply values;
  if (!silent_) store_.pull(pulls, values);
  reply(asked, std::move(values));
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const CommitRequest& request) {
  TRY(require_coordinator());
  const bool sync = request.mode.kind == PsMode::Kind::sync;
  const bool stale = request.round < coordinator_.decision().round;
  if (sync && !stale && !store_.holds(asked.worker, request.round))
    return fail(Errc::protocol, "a commit comes without its push");
  coordinator_.commit({asked.worker, asked.request}, request);
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const PullRequest& request) {
  TRY(store_.apply(request.decision));
  TRY(store_.check(request.pulls));
  reply_values(asked, request.pulls);
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const ModeRequest& request) {
  TRY(require_coordinator());
  TRY(coordinator_.set_mode(request.kind, request.count));
  return PsReply{};
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const SaveRequest& request) {
  TRY(store_.apply(request.decision));
  file_requests_.push_back(
      {.worker = asked.worker, .request = asked.request, .save = true, .path = request.path});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const LoadRequest& request) {
  file_requests_.push_back({.worker = asked.worker,
                            .request = asked.request,
                            .check_only = request.check_only,
                            .path = request.path});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const BarrierRequest& /*request*/) {
  TRY(require_coordinator());
  coordinator_.barrier({asked.worker, asked.request});
  return std::nullopt;
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const StatusRequest& /*request*/) {
  PsStatus status{.variables = store_.variables(), .bytes = store_.bytes()};
  coordinator_.count_into(status);
  return PsReply{.status = std::move(status)};
}

PsServerState::Verdict PsServerState::on(const Asked& asked, const LeaveRequest& /*request*/) {
  coordinator_.gone(asked.worker, "has closed its connection");
  return PsReply{};
}

PsServerState::Verdict PsServerState::on(const Asked& /*asked*/, const AttachRequest& /*request*/) {
  return PsReply{};
}

std::vector<PsDelivery> PsServerState::take_deliveries() {
  return std::exchange(deliveries_, {});
}

std::vector<PsFileRequest> PsServerState::take_file_requests() {
  return std::exchange(file_requests_, {});
}

void PsServerState::answer(const PsFileRequest& request, const Result<>& result,
                           std::optional<uint64_t> step) {
  std::erase_if(file_requests_, [&](const PsFileRequest& file) {
    return file.worker == request.worker && file.request == request.request;
  });
  const Asked asked{request.worker, request.request};
  if (!result) return reply_error(asked, result.error());
  reply(asked, {}, step);
  answer_declares();
}

uint64_t PsServerState::step() const {
  return coordinates() ? coordinator_.step() : store_.step();
}

Bytes PsServerState::save() const {
  Writer writer;
  writer.text(checkpoint_magic).number(options_.server).number(options_.servers).number(step());
  store_.save(writer);
  const Digest digest = sha256(writer.view());
  writer.raw(digest);
  return writer.take();
}

/// Returns the step.
Result<uint64_t> PsServerState::load_into(VariableStore& store, ByteSpan saved) const {
  constexpr size_t digest_bytes = sizeof(Digest);
  Reader start(saved);
  if (start.text() != checkpoint_magic)
    return fail(Errc::protocol, "it is no checkpoint of this version of dtrain");
  const bool whole = saved.size() > digest_bytes &&
                     std::ranges::equal(sha256(saved.first(saved.size() - digest_bytes)),
                                        saved.last(digest_bytes));
  if (!whole) return fail(Errc::protocol, "its checksum does not fit: it is damaged or cut short");
  const ByteSpan content = saved.first(saved.size() - digest_bytes);
  Reader reader(content);
  static_cast<void>(reader.text());
  const auto server = reader.number<uint32_t>();
  const auto servers = reader.number<uint32_t>();
  const auto step = reader.number<uint64_t>();
  if (server != options_.server || servers != options_.servers) {
    return fail(Errc::mismatch,
                format("it is of parameter server {} of {}, and this one is {} of {}", server,
                       servers, options_.server, options_.servers));
  }
  TRY(store.load(reader, content));
  TRY(reader.finish("the checkpoint"));
  return step;
}

Result<> PsServerState::load(ByteSpan saved) {
  VariableStore loaded = store_;
  const uint64_t step = TRY(load_into(loaded, saved));
  store_ = std::move(loaded);
  coordinator_.set_step(step);
  answer_declares();
  return {};
}

Result<uint64_t> PsServerState::check(ByteSpan saved) const {
  VariableStore loaded = store_;
  return load_into(loaded, saved);
}

}  // namespace dt
