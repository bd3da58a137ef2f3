#pragma once

#include "base/environment.h"
#include "base/io/fd.h"
#include "launcher/process/child.h"
#include "launcher/process/executable.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace dt {

/// Serves the repositories below a folder on loopback, by HTTP and by git's own protocol. By HTTP,
/// everybody may read below /open/, and "me" with the password "s3cret" below /private/. A path
/// below /moved/ is redirected to the name localhost.
inline constexpr const char* git_server_script = R"(
import base64, http.server, os, socketserver, subprocess, sys, threading

ROOT = sys.argv[1]
GRANTED = "Basic " + base64.b64encode(b"me:s3cret").decode()


class Http(http.server.BaseHTTPRequestHandler):
    def answer(self):
        with open(sys.argv[2], "a") as log:
            log.write(f"{self.headers.get('Host')} {self.path} {'Authorization' in self.headers}\n")
        _, kind, rest = self.path.split("/", 2)
        path, _, query = rest.partition("?")
        if kind == "moved":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/open/{rest}")
            self.end_headers()
            return
        if kind == "private" and self.headers.get("Authorization") != GRANTED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        variables = dict(os.environ, GIT_PROJECT_ROOT=ROOT, GIT_HTTP_EXPORT_ALL="1", PATH_INFO="/" + path,
                         QUERY_STRING=query, REQUEST_METHOD=self.command, REMOTE_USER="me", REMOTE_ADDR="127.0.0.1",
                         CONTENT_TYPE=self.headers.get("Content-Type") or "", CONTENT_LENGTH=str(len(body)),
                         HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding") or "",
                         GIT_PROTOCOL=self.headers.get("Git-Protocol") or "")
        out = subprocess.run(["git", "http-backend"], input=body, env=variables, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Daemon(socketserver.BaseRequestHandler):
    def handle(self):
        subprocess.run(["git", "daemon", "--inetd", "--export-all", "--base-path=" + ROOT],
                       stdin=self.request, stdout=self.request, stderr=subprocess.DEVNULL)


http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Http)
daemon = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Daemon)
threading.Thread(target=daemon.serve_forever, daemon=True).start()
print(http_server.server_port, daemon.server_address[1], flush=True)
http_server.serve_forever()
)";

class GitServerProcess {
 public:
  explicit GitServerProcess(const std::string& root, Environment environment) {
    files_.write("server.py", git_server_script);
    environment["PYTHONDONTWRITEBYTECODE"] = "1";
    auto pipe = make_pipe();
    REQUIRE(pipe);
    const auto python = find_executable("python3", environment["PATH"], "/");
    REQUIRE(python);
    ChildRequest request;
    request.path = *python;
    request.arguments = {"python3", files_.path() + "/server.py", root, log_file()};
    request.environment = environment_entries(environment);
    request.output = pipe->write.get();
    request.new_session = true;
    auto child = Child::start(std::move(request));
    REQUIRE(child);
    child_.emplace(*std::move(child));
    pipe->write.reset();
    std::string line;
    for (char byte = 0; byte != '\n';) {
      REQUIRE(::read(pipe->read.get(), &byte, 1) == 1);
      line += byte;
    }
    http_port_ = line.substr(0, line.find(' '));
    daemon_port_ = line.substr(http_port_.size() + 1, line.size() - http_port_.size() - 2);
  }
  GitServerProcess(const GitServerProcess&) = delete;
  GitServerProcess& operator=(const GitServerProcess&) = delete;
  ~GitServerProcess() {
    if (child_) static_cast<void>(child_->kill(seconds(10)));
  }

  std::string http(const std::string& path) const {
    return "http://127.0.0.1:" + http_port_ + "/" + path;
  }
  std::string git(const std::string& path) const {
    return "git://127.0.0.1:" + daemon_port_ + "/" + path;
  }
  /// Returns a line "HOST PATH AUTHORIZED" for each request by HTTP.
  std::string requests() const { return files_.read("log"); }

 private:
  std::string log_file() const { return files_.path() + "/log"; }

  TemporaryFolder files_;
  std::optional<Child> child_;
  std::string http_port_;
  std::string daemon_port_;
};

}  // namespace dt
