#pragma once

#include "base/clock.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/json.h"
#include "base/result.h"
#include "launcher/kept/job_folder.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// A launcher's answers to `dtrain job status` and `stop`, at the socket in its job's folder. A
/// request is a JSON object in a line: {"ask": "status"}, or {"ask": "stop", "grace_s": 5} where
/// the grace may be null. So is the answer. Other users' connections are closed, but root's.
///
/// A connection stays open until its client closes it or the launcher ends, which the client waits
/// for.
class JobServer {
 public:
  static constexpr size_t clients_max = 16;
  static constexpr size_t request_bytes_max = 4096;

  struct Handlers {
    std::function<Json()> status;
    std::function<void(std::optional<Duration> grace)> stop;
  };
  static Result<std::unique_ptr<JobServer>> open(Loop& loop, const JobFolder& folder,
                                                 Handlers handlers);
  JobServer(const JobServer&) = delete;
  JobServer& operator=(const JobServer&) = delete;

 private:
  JobServer(Loop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  void accept();
  void add_client(Fd connection);
  /// Returns how many bytes it has taken; none: the client is no program of ours.
  std::optional<size_t> answer(Stream& client, ByteSpan received);
  Result<Json> reply(std::string_view request);

  Loop& loop_;
  Handlers handlers_;
  Fd listener_;
  Watch watch_;
  std::map<uint64_t, std::unique_ptr<Stream>> clients_;
  uint64_t next_client_ = 1;
};

/// Sends a request to the launcher of a job. Returns its answer and the connection, whose end is
/// the launcher's. Fails with Errc::not_found or Errc::refused when no launcher listens there, and
/// with Errc::timeout when it does not answer.
struct JobAnswer {
  Json document;
  Fd connection;
};
Result<JobAnswer> ask_job(const JobFolder& folder, const Json& request);
/// Waits for the end of the launcher.
void await_end(const Fd& connection);

}  // namespace dt
