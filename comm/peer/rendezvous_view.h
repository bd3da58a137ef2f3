#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"
#include "rendezvous/store/client.h"
#include "rendezvous/store/wire.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// The job's rendezvous, as a client of parameter servers uses it. The connection is one of its
/// own, or that of this process's context. For one thread at a time.
class RendezvousView {
 public:
  virtual ~RendezvousView() = default;
  virtual const TaskTable& table() const = 0;
  virtual const TaskEntry& self() const = 0;
  /// Returns this machine's address towards the rendezvous; empty: not known. Tasks dial it if the
  /// table has no address.
  virtual std::string local_ip() const = 0;
  /// Sends a request and waits for its reply. Fails with Errc::timeout at the deadline, and with
  /// the error of the reply.
  virtual Result<Reply> ask(const Request& request, Time deadline) = 0;
  /// Readable when refresh() has news; -1: nothing shows that.
  virtual int fd() const = 0;
  /// Reads what has arrived. Fails when the launcher is lost.
  virtual Result<> refresh() = 0;
  virtual std::optional<Notice> next_notice() = 0;
  /// Returns the same for another thread, with all notices. Either may end first.
  virtual Result<std::unique_ptr<RendezvousView>> another() = 0;
};

/// Waits until refresh() may have news, at most until the deadline.
Result<> await_news(RendezvousView& rendezvous, Time deadline);

/// A connection of its own, which several threads may share by another().
class ClientRendezvousView final : public RendezvousView {
 public:
  explicit ClientRendezvousView(std::unique_ptr<RendezvousClient> client);
  ClientRendezvousView(const ClientRendezvousView&) = delete;
  ClientRendezvousView& operator=(const ClientRendezvousView&) = delete;
  ~ClientRendezvousView() override;
  const TaskTable& table() const override;
  const TaskEntry& self() const override;
  std::string local_ip() const override;
  Result<Reply> ask(const Request& request, Time deadline) override;
  int fd() const override;
  Result<> refresh() override;
  std::optional<Notice> next_notice() override;
  Result<std::unique_ptr<RendezvousView>> another() override;

 private:
  struct Connection;
  explicit ClientRendezvousView(std::shared_ptr<Connection> connection);
  Result<> watch_others();
  Result<> pump();

  std::shared_ptr<Connection> connection_;
  size_t taken_ = 0;  ///< of the connection's notices
  Fd doorbell_;       ///< others ring it; none while no other exists
  Fd ready_;          ///< an epoll descriptor of the connection and the doorbell
};

}  // namespace dt
