#include "launcher/connect/agent_start.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "launcher/agent/agent_binary.h"
#include "launcher/process/child.h"
#include "launcher/protocol/message.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace dt {
namespace {

using Step = AgentStart::Step;

TEST_CASE("the output of a host before its agent runs is not taken for the agent's") {
  struct Case {
    std::string text;
    Step step;
    std::string rest;  ///< the unused bytes: frames
  };
  const std::string magic(agent_magic);
  const std::vector<Case> cases = {
      {"", Step::wait, ""},
      {"Welcome to node07\n", Step::wait, ""},
      {"Welcome", Step::wait, "Welcome"},
      {magic, Step::agent, ""},
      {magic + "frames", Step::agent, "frames"},
      {"motd\n\nmore\n" + magic + "x", Step::agent, "x"},
      {"prompt without an end" + magic + "x", Step::agent, "x"},
      {"dtrain-push x86_64\nrest", Step::push, "rest"},
      {"noise dtrain-push x86_64\n", Step::push, ""},
      {"dtrain-push aarch64\n", Step::failed, ""},
      {"dtrain-cannot /home: full\ndtrain-push x86_64\n", Step::push, ""},
      {"dtrain-run /home/u/.cache/dtrain/5/dtrain\n", Step::wait, ""},
      {"dtrain-run /home/u/.cache/dtrain/5/dtrain\n" + magic + "x", Step::agent, "x"},
      {std::string(70000, 'x') + magic + "x", Step::agent, "x"},
      {std::string(70000, 'x'), Step::wait, std::string(2048, 'x')},
      {std::string(size_t{17} << 20, 'x'), Step::failed, std::string(2048, 'x')},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text.substr(0, 60));
    AgentStart start("x86_64");
    const AgentStart::Taken taken = start.take(as_bytes(c.text));
    CHECK(taken.step == c.step);
    CHECK(c.text.substr(taken.used) == c.rest);
  }
}

TEST_CASE("the reason for a host without an agent is the output of the host") {
  const auto why_after = [](const std::string& text) {
    AgentStart start("x86_64");
    start.take(as_bytes(text));
    return start.why();
  };
  CHECK(why_after("") == "it closed the connection without any output");
  CHECK(why_after("This account is currently not available.\n") ==
        "it printed this instead of starting dtrain's agent:\n"
        "  This account is currently not available.");
  CHECK(why_after("\x1b[2Jgone\n") ==
        "it printed this instead of starting dtrain's agent:\n  \\x1B[2Jgone");
  CHECK(why_after("dtrain-cannot /home/u/.cache/dtrain: no room for 5 bytes\n"
                  "dtrain-cannot /tmp/dtrain-7: it belongs to somebody else\n") ==
        "dtrain could not be put anywhere there:\n"
        "  /home/u/.cache/dtrain: no room for 5 bytes\n"
        "  /tmp/dtrain-7: it belongs to somebody else");
  CHECK(why_after("dtrain-push riscv64\n") ==
        "its processor is riscv64, and this dtrain is built for x86_64; leave it out, or start the "
        "job "
        "on a machine of its kind");
}

TEST_CASE("a host that asks for the executable too often gets it no more") {
  AgentStart start("x86_64");
  const std::string line = "dtrain-push x86_64\n";
  for (int i = 0; i < 4; ++i)
    CHECK(start.take(as_bytes(line)).step == Step::push);
  CHECK(start.take(as_bytes(line)).step == Step::failed);
}

/// Runs the command in a login shell of one kind with its own home, as sshd does.
class Login {
 public:
  Login(const std::string& shell, const std::string& command, const std::string& home,
        const std::string& path = "/usr/bin:/bin") {
    Pipe in = *make_pipe();
    Pipe out = *make_pipe();
    auto started = Child::start({.path = shell,
                                 .arguments = {shell, "-c", command},
                                 .environment = {"HOME=" + home, "PATH=" + path},
                                 .cwd = home,
                                 .input = in.read.get(),
                                 .output = out.write.get()});
    REQUIRE(started);
    child_.emplace(*std::move(started));
    to_ = std::move(in.write);
    from_ = std::move(out.read);
  }
  void send(ByteSpan bytes) { REQUIRE(write_all(to_.get(), bytes)); }
  /// Reads until the next step other than wait.
  Step next(AgentStart& start) {
    for (;;) {
      const AgentStart::Taken taken = start.take(as_bytes(received_));
      received_.erase(0, taken.used);
      if (taken.step != Step::wait) return taken.step;
      std::array<char, 4096> buffer;
      const ssize_t n = read(from_.get(), buffer.data(), buffer.size());
      if (n <= 0) return Step::wait;
      received_.append(buffer.data(), static_cast<size_t>(n));
    }
  }
  void end_input() { to_.reset(); }
  int end() {
    end_input();
    return child_->reap()->shell_status();
  }

 private:
  std::optional<Child> child_;
  Fd to_;
  Fd from_;
  std::string received_;
};

/// A stand-in for dtrain on the host: prints the magic line.
AgentBinary small_binary() {
  const std::string text =
      format("#!/bin/sh\n[ \"$1\" = agent ] && echo '{}'\n", agent_magic.substr(0, 14));
  return AgentBinary::of(as_bytes(text));
}

TEST_CASE("every login shell starts the agent, and gets the executable once") {
  for (const char* shell :
       {"/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/zsh", "/usr/bin/tcsh", "/usr/bin/fish"}) {
    if (access(shell, X_OK) != 0) continue;
    CAPTURE(shell);
    const TemporaryFolder home;
    const AgentBinary binary = small_binary();
    for (const Step expected : {Step::push, Step::agent}) {
      Login login(shell, agent_command(binary), home.path());
      AgentStart start(own_architecture());
      CHECK(login.next(start) == expected);
      if (expected == Step::push) {
        login.send(binary.bytes());
        CHECK(login.next(start) == Step::agent);
      }
      CHECK(login.end() == 0);
    }
    const std::filesystem::path put =
        format("{}/.cache/dtrain/{}/dtrain", home.path(), binary.sha256());
    CHECK((std::filesystem::status(put).permissions() & std::filesystem::perms::all) ==
          std::filesystem::perms::owner_all);
  }
}

TEST_CASE("a folder that cannot be used is named, and the next one is used") {
  const TemporaryFolder home;
  // A file at the folder's place: not even root can make the folder.
  std::ofstream(home.path() + "/.cache") << "in the way";
  const AgentBinary binary = small_binary();
  Login login("/bin/sh", agent_command(binary), home.path());
  AgentStart start(own_architecture());
  CHECK(login.next(start) == Step::push);
  CHECK(start.why().find(".cache/dtrain: ") != std::string::npos);
  login.send(binary.bytes());
  CHECK(login.next(start) == Step::agent);
  CHECK(login.end() == 0);
  std::filesystem::remove_all(format("/tmp/dtrain-{}/{}", getuid(), binary.sha256()));
}

TEST_CASE("a host that disconnects while it gets the executable keeps no half of it") {
  const TemporaryFolder home;
  const AgentBinary binary = small_binary();
  Login login("/bin/sh", agent_command(binary), home.path());
  AgentStart start(own_architecture());
  CHECK(login.next(start) == Step::push);
  login.send(binary.bytes().first(5));
  CHECK(login.end() != 0);
  CHECK(std::filesystem::is_empty(format("{}/.cache/dtrain/{}", home.path(), binary.sha256())));
  std::filesystem::remove_all(format("/tmp/dtrain-{}/{}", getuid(), binary.sha256()));
}

/// Starts the agent over a shell, and returns how often the shell asked for the executable.
int pushes_until_agent(const std::string& home, const AgentBinary& binary,
                       CachedExecutable cached) {
  Login login("/bin/sh", agent_command(binary, cached), home);
  AgentStart start(own_architecture());
  int pushes = 0;
  Step step = login.next(start);
  for (; step == Step::push; step = login.next(start)) {
    ++pushes;
    login.send(binary.bytes());
  }
  CHECK(step == Step::agent);
  CHECK(login.end() == 0);
  return pushes;
}

TEST_CASE("a cached copy that is not the executable is found by its digest and replaced") {
  const TemporaryFolder home;
  const AgentBinary binary = small_binary();
  const std::string put = format("{}/.cache/dtrain/{}/dtrain", home.path(), binary.sha256());
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 1);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 0);
  // The size is right, so that only the digest shows the difference.
  std::string wrong(binary.bytes().size(), '#');
  wrong.back() = '\n';
  std::ofstream(put, std::ios::trunc) << wrong;
  Login login("/bin/sh", agent_command(binary), home.path());
  AgentStart start(own_architecture());
  CHECK(login.next(start) == Step::wait);
  CHECK(start.ran_cached_copy());
  CHECK(login.end() == 0);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::untrusted) == 1);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 0);
}

TEST_CASE("an agent that is not kept leaves nothing, and touches no copy") {
  const TemporaryFolder home;
  const AgentBinary binary = small_binary();
  const std::string cache = home.path() + "/.cache/dtrain";
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::unused) == 1);
  CHECK_FALSE(std::filesystem::exists(cache));
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 1);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::unused) == 1);
  CHECK(std::filesystem::exists(format("{}/{}/dtrain", cache, binary.sha256())));
}

TEST_CASE("a folder of /tmp that others may write to is not used") {
  const TemporaryFolder home;
  std::ofstream(home.path() + "/.cache") << "in the way";
  const std::string folder = format("/tmp/dtrain-{}", getuid());
  const bool was_there = std::filesystem::exists(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const AgentBinary binary = small_binary();
  Login login("/bin/sh", agent_command(binary), home.path());
  AgentStart start(own_architecture());
  login.next(start);
  CHECK(start.why().find(folder + ": it is there, but not a folder of yours with mode 700") !=
        std::string::npos);
  login.end();
  if (was_there) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  } else {
    std::filesystem::remove(folder);
  }
}

void write_program(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_CASE("a folder of the home that others may write to is not used") {
  const TemporaryFolder home;
  const AgentBinary binary = small_binary();
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 1);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 0);
  const std::string folder = home.path() + "/.cache/dtrain";
  using std::filesystem::perms;
  for (const perms others : {perms::group_write, perms::others_write}) {
    std::filesystem::permissions(folder, perms::owner_all | others);
    Login login("/bin/sh", agent_command(binary), home.path());
    AgentStart start(own_architecture());
    CHECK(login.next(start) == Step::push);
    CHECK_FALSE(start.ran_cached_copy());
    CHECK(start.why().find(folder + ": it must be yours, and no other may write there") !=
          std::string::npos);
    login.end();
  }
  std::filesystem::permissions(folder, perms::owner_all | perms::group_read | perms::group_exec);
  CHECK(pushes_until_agent(home.path(), binary, CachedExecutable::trusted) == 0);
  std::filesystem::remove_all(format("/tmp/dtrain-{}/{}", getuid(), binary.sha256()));
}

TEST_CASE("a folder of /tmp that is replaced by a link after the check is not used") {
  const TemporaryFolder home;
  const AgentBinary binary = small_binary();
  const std::string user =
      format("unit-{}", getpid());  // for a fake id(1): no other user has this folder
  const std::string folder = "/tmp/dtrain-" + user;
  const std::string evil = home.path() + "/evil";
  write_program(format("{}/{}/dtrain", folder, binary.sha256()), "echo good; cat >/dev/null");
  write_program(format("{}/{}/dtrain", evil, binary.sha256()), "echo evil; cat >/dev/null");
  for (const std::string& one : {folder, evil})
    std::filesystem::permissions(one, std::filesystem::perms::owner_all);
  write_program(home.path() + "/bin/id", "echo " + user);
  write_program(home.path() + "/bin/ls",
                format("/bin/ls \"$@\"; mv {0} {1}/was; ln -s {1}/evil {0}", folder, home.path()));
  Login login("/bin/sh", agent_command(binary), home.path(), home.path() + "/bin:/usr/bin:/bin");
  AgentStart start(own_architecture());
  login.end_input();
  CHECK(login.next(start) == Step::wait);
  CHECK(start.ran_cached_copy());
  CHECK(start.why().find("good") != std::string::npos);
  CHECK(start.why().find("evil") == std::string::npos);
  CHECK(std::filesystem::is_symlink(folder));
  std::filesystem::remove(folder);
}

TEST_CASE("this executable has a digest and goes into the command with its size") {
  const auto own = AgentBinary::own();
  REQUIRE(own);
  CHECK(own->sha256().size() == 64);
  CHECK(own->bytes().size() == std::filesystem::file_size("/proc/self/exe"));
  const std::string command = agent_command(*own);
  CHECK(command.starts_with(
      format("exec /bin/sh -c 's={} n={} fresh= once=;", own->sha256(), own->bytes().size())));
  CHECK(std::ranges::count(command, '\'') == 2);
  CHECK(command.find('!') == std::string::npos);
  CHECK(command.find('\\') == std::string::npos);
}

}  // namespace
}  // namespace dt
