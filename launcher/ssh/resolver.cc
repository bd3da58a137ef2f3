#include "launcher/ssh/resolver.h"

#include "base/format.h"
#include "base/text.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>

namespace dt {

struct Resolver::Mailbox {
  struct LookUpResult {
    uint64_t number = 0;
    Result<std::vector<Address>> result;
  };
  Fd bell;
  std::mutex mutex;
  std::vector<LookUpResult> results;
  size_t threads = 0;

  /// Called by a thread as its last action. Requires the mutex.
  void deliver(LookUpResult result) {
    --threads;
    results.push_back(std::move(result));
    const uint64_t one = 1;
    // The write fails when the counter is full; the eventfd is then readable anyway.
    [[maybe_unused]] const ssize_t n = ::write(bell.get(), &one, sizeof one);
  }
};

namespace {

std::vector<Address> addresses_of(const addrinfo* first, uint16_t port) {
  std::vector<Address> addresses;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    char ip[NI_MAXHOST] = {};
    if (getnameinfo(at->ai_addr, at->ai_addrlen, ip, sizeof ip, nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    Address address{ip, port};
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(std::move(address));
  }
  return addresses;
}

/// Blocks as long as the system's resolver does, unless `flags` allow numeric addresses only.
Result<std::vector<Address>> resolve(const Resolver::Question& question, int flags) {
  addrinfo wanted = {};
  wanted.ai_family = question.family == Resolver::Family::v4   ? AF_INET
                     : question.family == Resolver::Family::v6 ? AF_INET6
                                                               : AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* first = nullptr;
  const int status = getaddrinfo(question.name.c_str(), nullptr, &wanted, &first);
  const int number = errno;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, freeaddrinfo);
  const bool no_such_name = status == EAI_NONAME || status == EAI_NODATA;
  const auto cannot = [&](std::string_view why) {
    return fail(no_such_name ? Errc::not_found : Errc::unreachable,
                format("cannot look up '{}': {}", printable(question.name), why));
  };
  if (status == EAI_SYSTEM) return cannot(errno_text(number));
  if (status != 0) return cannot(gai_strerror(status));
  auto addresses = addresses_of(first, question.port);
  if (addresses.empty()) return cannot("it has no IP address");
  return addresses;
}

}  // namespace

Result<std::unique_ptr<Resolver>> Resolver::create(Loop& loop) {
  auto mailbox = std::make_shared<Mailbox>();
  mailbox->bell = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!mailbox->bell) return fail_errno("cannot make an eventfd");
  std::unique_ptr<Resolver> resolver(new Resolver(loop, std::move(mailbox)));
  resolver->watch_ = TRY(loop.watch(resolver->mailbox_->bell.get(), EPOLLIN,
                                    [self = resolver.get()](uint32_t) { self->collect(); }));
  return resolver;
}

void Resolver::look_up(Question question, Answer answer) {
  const uint64_t number = next_number_++;
  Timer timer;
  if (auto literal = resolve(question, AI_NUMERICHOST)) {
    timer = loop_.after(Duration::zero(), [this, number, addresses = *std::move(literal)] {
      finish(number, addresses);
    });
    pending_[number] = {std::move(question), std::move(answer), std::move(timer)};
    return;
  }
  timer = loop_.at(question.deadline, [this, number] {
    const std::string name = printable(pending_.at(number).question.name);
    finish(number,
           fail(Errc::timeout, format("cannot look up '{}': no answer from the resolver", name)));
  });
  pending_[number] = {std::move(question), std::move(answer), std::move(timer)};
  waiting_.push_back(number);
  start_some();
}

void Resolver::start_some() {
  const std::lock_guard lock(mailbox_->mutex);
  while (!waiting_.empty() && mailbox_->threads < threads_max) {
    const uint64_t number = waiting_.front();
    waiting_.pop_front();
    const auto at = pending_.find(number);
    if (at == pending_.end()) continue;  // timed out before a thread was free
    ++mailbox_->threads;
    try {
      // The thread owns copies of all that it uses, since it may outlive the Resolver.
      std::thread([mailbox = mailbox_, number, question = at->second.question] {
        auto result = resolve(question, 0);
        const std::lock_guard held(mailbox->mutex);
        mailbox->deliver({number, std::move(result)});
      }).detach();
    } catch (const std::system_error& error) {
      mailbox_->deliver(
          {number, fail(Errc::os, format("cannot start a look-up thread: {}", error.what()))});
    }
  }
}

void Resolver::collect() {
  uint64_t rings = 0;
  [[maybe_unused]] const ssize_t n = ::read(mailbox_->bell.get(), &rings, sizeof rings);
  std::vector<Mailbox::LookUpResult> results;
  {
    const std::lock_guard lock(mailbox_->mutex);
    results.swap(mailbox_->results);
  }
  // Each result has freed a thread. Callbacks may not destroy the Resolver, but may start look-ups.
  start_some();
  for (Mailbox::LookUpResult& done : results)
    finish(done.number, std::move(done.result));
}

void Resolver::finish(uint64_t number, Result<std::vector<Address>> result) {
  const auto at = pending_.find(number);
  if (at == pending_.end()) return;  // timed out before
  const Answer answer = std::move(at->second.answer);
  pending_.erase(at);
  answer(std::move(result));
}

Result<std::vector<Result<std::vector<Address>>>> look_up_all(const std::vector<std::string>& names,
                                                              Duration patience) {
  const auto loop = TRY(Loop::create());
  const auto resolver = TRY(Resolver::create(*loop));
  const Time deadline = Clock::now() + patience;
  std::vector<Result<std::vector<Address>>> answers(names.size());
  size_t open = names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    resolver->look_up({.name = names[i], .deadline = deadline},
                      [&, i](Result<std::vector<Address>> addresses) {
                        answers[i] = std::move(addresses);
                        --open;
                      });
  }
  // The resolver answers each look-up by the deadline.
  while (open > 0)
    TRY(loop->run_once(Time::max()));
  return answers;
}

}  // namespace dt
