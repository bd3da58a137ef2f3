#!/usr/bin/env python3
"""Checks the shape of the code: who includes whom, how long things are, where things may stand.

Every rule is a function from a tree (path -> text) to findings, and has a sample in `BAD` that it
must refuse: those run first. Mutable globals, names and nesting are clang-tidy's part (.clang-tidy:
cppcoreguidelines-avoid-non-const-global-variables, readability-*).
"""
import os
import re
import sys

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# Which folders a folder may include; itself always. tests/ may include all.
ARROWS = {
    "base": set(),
    "gpu": {"base"},
    "rendezvous": {"base"},
    "comm": {"base", "gpu", "rendezvous"},
    "launcher": {"base", "gpu", "rendezvous"},
    "cmd": {"base", "gpu", "rendezvous", "comm", "launcher"},
    "man": {"base", "launcher", "cmd"},
    "examples": set(),
}
# What programs outside include, as <dtrain/…>; once installed the two stand side by side.
PUBLIC = {"comm/dtrain.h", "comm/dtrain.hpp"}
# Inside these a floor includes itself and lower ones; the files at the root stand above all.
FLOORS = {
    "comm": {"transport": 0, "schedule": 1, "engine": 2, "ps": 3, "strategy": 3, "": 4},
    "launcher": {"ssh": 0, "config": 1, "": 2, "check": 3},
}

# The one place of each third-party library: a pattern of paths, and how many files may match it.
HOMES = {
    "CLI": r"cmd/options\.cc",
    "toml++": r"launcher/config/config\w*\.cc",
    "openssl": r"base/crypto\.cc",
    "libssh2": r"launcher/ssh/ssh\.cc",
    "nlohmann": r"base/json\.cc",
    "fmt": r"base/format\.(h|cc)",
    "tl": r"base/result\.h",
    "hwloc": r"launcher/topology\.cc",
    "doctest": r"tests/.*",
    "benchmark": r"tests/.*",
    "dtrain": r"(examples|tests)/.*",
}
# Third-party headers that have no folder of their own.
FLAT_HEADERS = {"hwloc.h": "hwloc", "libssh2.h": "libssh2"}
MANY_FILES = {"fmt", "doctest", "benchmark", "dtrain"}
SYSTEM_FOLDERS = {"arpa", "linux", "net", "netinet", "sys"}

# Where the preprocessor may decide or define: the public C header, CUDA, these macros, and the one
# condition by which the public C++ header refuses an older standard.
PREPROCESSOR_FILES = r"comm/dtrain\.h|gpu/.*\.cuh?"
MACROS = {
    "base/result.h": {"TRY"},
    "launcher/config/config_file.cc": {"TOML_ASSERT"},
    "tests/unit/main.cc": {"DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN"},
}
CONDITIONS = {"comm/dtrain.hpp": {"#if __cplusplus <= 201703L"}}

# Code whose header no test includes, and what tests it instead.
TESTED_ELSEWHERE = {
    "base/version.cc": "tests/cli/run_test.sh",
    "cmd/": "tests/cli/run_test.sh",
    "comm/engine/": "tests/sim/engine_sim_test.cc",
    "comm/schedule/": "tests/unit/comm_schedule_test.cc",
    "examples/digits/main.cc": "tests/cli/digits_test.sh",
    "examples/linear_regression/main.cc": "tests/cli/examples_test.sh",
    "gpu/nvml.cc": "tests/unit/gpu_list_test.cc",
    "launcher/stage.cc": "tests/cli/output_test.sh",
    "launcher/ssh/known_hosts_report.cc": "tests/unit/launcher_known_hosts_test.cc",
    "launcher/ssh/ssh_options.cc": "tests/unit/launcher_ssh_config_test.cc",
    "man/pages.cc": "tests/cli/man_test.sh",
    "rendezvous/store_requests.cc": "tests/unit/rendezvous_store_test.cc",
    "launcher/agent_link.cc": "tests/net/hosts_test.sh",
    "launcher/check/check.cc": "tests/cli/check_test.sh",
    "launcher/check/inquiry.cc": "tests/net/check_test.sh",
    "launcher/agent.cc": "tests/cli/run_test.sh",
    "launcher/agent_session.cc": "tests/cli/faults_test.sh",
    "launcher/config/config_file.cc": "tests/unit/launcher_config_test.cc",
    "base/host_name.cc": "tests/cli/run_test.sh",
    "launcher/child_main.cc": "tests/unit/launcher_child_test.cc",
    "launcher/job.cc": "tests/cli/run_test.sh",
    "launcher/kernel_call": "tests/unit/launcher_child_test.cc",
    "launcher/local.cc": "tests/cli/run_test.sh",
    "launcher/local_tasks.cc": "tests/unit/launcher_agent_session_test.cc",
    "launcher/own_host.cc": "tests/unit/launcher_agent_session_test.cc",
    "launcher/no_udev.cc": "tests/unit/launcher_topology_test.cc",
    "launcher/oom.cc": "tests/cli/faults_test.sh",
    "launcher/surveyor.cc": "tests/cli/placement_test.sh",
    "launcher/task_input.cc": "tests/cli/output_test.sh",
    "launcher/run.cc": "tests/cli/run_test.sh",
    "launcher/remote_hosts.cc": "tests/unit/launcher_remote_way_test.cc",
    "launcher/ssh_way.cc": "tests/unit/launcher_remote_way_test.cc",
    "launcher/ssh/ssh.cc": "tests/unit/launcher_ssh_session_test.cc",
    "launcher/ssh/ssh_absent.cc": "tests/unit/launcher_ssh_session_test.cc",
    "rendezvous/acceptor.cc": "tests/unit/rendezvous_server_test.cc",
    "rendezvous/membership.cc": "tests/unit/rendezvous_server_test.cc",
    "rendezvous/store_requests.cc": "tests/unit/rendezvous_store_test.cc",
    "rendezvous/waits.cc": "tests/unit/rendezvous_store_test.cc",
}

SLEEPLESS = ("base/", "gpu/", "rendezvous/", "comm/", "launcher/", "cmd/", "tests/unit/")

CODE = (".cc", ".h", ".hpp", ".c", ".cu", ".cuh")
HEADERS = (".h", ".hpp", ".cuh")
TEXT = CODE + (".sh", ".py", ".cmake", ".txt", ".md")

LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.S)


def bare(text):
    """The code without comments and literals; the lines stay where they are."""
    def blank(match):
        return '""' + "\n" * match.group().count("\n")
    return LITERALS.sub(blank, text)


def code_of(tree):
    return {path: text for path, text in tree.items() if path.endswith(CODE)}


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text, form):
    """(line, path) of #include "path" or <path>."""
    pattern = {'"': r'^#include "([^"]+)"', "<": r"^#include <([^>]+)>"}[form]
    for match in re.finditer(pattern, text, re.M):
        yield line_of(text, match.start()), match.group(1)


def floor(path):
    parts = path.split("/")
    return FLOORS[parts[0]].get(parts[1] if len(parts) > 2 else "")


def check_arrows(tree):
    """Includes follow the arrows between folders and between the floors of some."""
    for path, text in code_of(tree).items():
        top = path.split("/")[0]
        for line, target in includes(text, '"'):
            where = f"{path}:{line}"
            target_top = target.split("/")[0]
            if path in PUBLIC and f"{top}/{target}" in PUBLIC:
                continue
            if target not in tree:
                yield f"{where}: \"{target}\" is no file of ours; includes start at the root"
            elif top == "tests":
                continue
            elif target_top != top and target_top not in ARROWS.get(top, set()):
                yield f"{where}: {top} must not include {target_top}"
            elif top == target_top and top in FLOORS and floor(target) > floor(path):
                yield f"{where}: {path} stands below {target} in {top}"
            elif top == target_top == "comm" and floor(target) == floor(path) and \
                    target.split("/")[1] != path.split("/")[1] and floor(path) == 3:
                yield f"{where}: {path} and {target} stand side by side in comm"


def find_cycle(graph):
    """A cycle as a list of nodes, or none."""
    state = {}

    def visit(node, trail):
        state[node] = "open"
        for next_node in sorted(graph.get(node, ())):
            if state.get(next_node) == "open":
                return (trail + [node])[(trail + [node]).index(next_node):] + [next_node]
            if next_node not in state:
                found = visit(next_node, trail + [node])
                if found:
                    return found
        state[node] = "done"
        return None

    for node in sorted(graph):
        if node not in state:
            found = visit(node, [])
            if found:
                return found
    return None


def check_cycles(tree):
    """No include cycle between files, nor between folders."""
    files, folders = {}, {}
    for path, text in code_of(tree).items():
        for _, target in includes(text, '"'):
            files.setdefault(path, set()).add(target)
            here, there = os.path.dirname(path), os.path.dirname(target)
            if here != there:
                folders.setdefault(here, set()).add(there)
    for graph in (files, folders):
        cycle = find_cycle(graph)
        if cycle:
            yield "include cycle: " + " -> ".join(cycle)


def check_file_size(tree):
    """A file has at most FILE_LINES_MAX lines."""
    for path, text in tree.items():
        lines = text.count("\n")
        if lines > FILE_LINES_MAX:
            yield f"{path}: {lines} lines; at most {FILE_LINES_MAX}"


NO_BODY = re.compile(r"\b(namespace|class|struct|union|enum|concept)\b|extern\s*\"\"\s*$|=\s*$")


def check_function_size(tree):
    """A block of statements has at most FUNCTION_LINES_MAX lines: functions, lambdas and tests."""
    for path, text in code_of(tree).items():
        code = bare(text)
        stack, header_start = [], 0
        for match in re.finditer(r"[{};]", code):
            if match.group() == "{":
                header = code[header_start:match.start()]
                stack.append((line_of(code, match.start()), bool(NO_BODY.search(header))))
            elif match.group() == "}" and stack:
                begin, no_body = stack.pop()
                lines = line_of(code, match.start()) - begin + 1
                if not no_body and lines > FUNCTION_LINES_MAX:
                    yield f"{path}:{begin}: {lines} lines; a function has at most {FUNCTION_LINES_MAX}"
            header_start = match.end()


def check_homes(tree):
    """Each third-party library is included in one place."""
    users = {}
    for path, text in code_of(tree).items():
        for line, target in includes(text, "<"):
            library = FLAT_HEADERS.get(target, target.split("/")[0])
            if library == target or library in SYSTEM_FOLDERS:
                continue
            if library == "dtrain":
                if not path.startswith(("examples/", "tests/")) or f"comm/{target[7:]}" not in PUBLIC:
                    yield f"{path}:{line}: <{target}> is for users; inside, includes start at the root"
                continue
            users.setdefault(library, set()).add(path)
            if library not in HOMES:
                yield f"{path}:{line}: <{target}> has no home; give its library one in {__name__}"
            elif not re.fullmatch(HOMES[library], path):
                yield f"{path}:{line}: <{target}> belongs in {HOMES[library]} only"
    for library, paths in users.items():
        if len(paths) > 1 and library not in MANY_FILES:
            yield f"{library} is included by {', '.join(sorted(paths))}; one file only"


def check_preprocessor(tree):
    """No #if and no macro outside the public headers and CUDA; the build chooses files instead."""
    for path, text in code_of(tree).items():
        if re.fullmatch(PREPROCESSOR_FILES, path):
            continue
        for match in re.finditer(r"^[ \t]*#[ \t]*(if\w*|elif\w*|else|define|undef)\b[ \t]*(\w*).*",
                                 bare(text), re.M):
            if match.group(1) == "define" and match.group(2) in MACROS.get(path, set()):
                continue
            if match.group() in CONDITIONS.get(path, set()):
                continue
            yield f"{path}:{line_of(text, match.start())}: #{match.group(1)} {match.group(2)}"


def check_header_guards(tree):
    """Headers say #pragma once; the public C header has a guard, which every C compiler knows."""
    for path, text in code_of(tree).items():
        wanted = "#ifndef DTRAIN_H" if path == "comm/dtrain.h" else "#pragma once"
        if path.endswith(HEADERS) and not re.search(f"^{wanted}", text, re.M):
            yield f"{path}: no {wanted}"


def check_type_names(tree):
    """No two headers give one name to different types: to the linker they would be one, and tests
    link all folders into one program. dtrain.hpp has a namespace of its own."""
    homes = {}
    for path, text in code_of(tree).items():
        if not path.endswith(HEADERS) or path in PUBLIC or path.startswith(("tests/", "examples/")):
            continue
        for match in re.finditer(r"^(?:struct|class|enum(?: class)?) (\w+)\b[^;(]*\{", text, re.M):
            home = homes.setdefault(match.group(1), path)
            if home != path:
                yield f"{path}:{line_of(text, match.start())}: {match.group(1)} is a type of {home}, too"


def check_tests_exist(tree):
    """For each .cc file some test has its name or includes its header; or it is named above."""
    tests = {path: text for path, text in tree.items()
             if path.startswith("tests/") and path.endswith("_test.cc")}
    included = {target for text in tests.values() for _, target in includes(text, '"')}
    names = [os.path.basename(path) for path in tests]
    for path in tree:
        top, name = path.split("/")[0], os.path.basename(path)[:-3]
        if not path.endswith(".cc") or top == "tests" or path.startswith(tuple(TESTED_ELSEWHERE)):
            continue
        if path[:-3] + ".h" in included:
            continue
        if not any(re.fullmatch(rf"{top}_(\w+_)?{name}_test\.cc", test) for test in names):
            yield f"{path}: no tests/unit/{top}_{name}_test.cc, and no test includes its header"
    for path, test in TESTED_ELSEWHERE.items():
        if any(known.startswith(path) for known in tree) and test not in tree:
            yield f"{path}: {test}, which should test it, is not there"


def check_words(tree):
    """Nothing is left to be done later, and every silenced check is named."""
    later = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    for path, text in tree.items():
        for match in later.finditer(text):
            yield f"{path}:{line_of(text, match.start())}: {match.group()}"
    for path, text in code_of(tree).items():
        for match in re.finditer(r"NOLINT(NEXTLINE|BEGIN|END)?(?![A-Z(])", text):
            yield f"{path}:{line_of(text, match.start())}: NOLINT without the name of a check"


def check_close(tree):
    """Only base/fd.cc calls close(2)."""
    call = re.compile(r"([\w>.:~&*]*\s*)(?<![\w.>~])(::)?\bclose\s*\(")
    for path, text in code_of(tree).items():
        if path == "base/fd.cc" or path.startswith("tests/"):
            continue
        code = bare(text)
        for match in call.finditer(code):
            before = match.group(1).strip()
            declares = re.search(r"[\w>&*]$", before) and before not in ("return", "else")
            member = re.search(r"(->|\.|\w::)$", before)
            # Without <unistd.h> there is only a member function of that name.
            if not declares and not member and (match.group(2) or "<unistd.h>" in text):
                yield f"{path}:{line_of(code, match.start(1))}: close(2); let an Fd do it"


def check_sleep(tree):
    """Nobody sleeps to wait for something."""
    call = re.compile(r"\b(usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\("
                      r"|\bsleep\s*\([^,()]*\)")
    for path, text in code_of(tree).items():
        if path.startswith(SLEEPLESS):
            code = bare(text)
            for match in call.finditer(code):
                yield f"{path}:{line_of(code, match.start())}: {match.group()}"


RULES = [check_arrows, check_cycles, check_file_size, check_function_size, check_homes,
         check_preprocessor, check_header_guards, check_type_names, check_tests_exist, check_words,
         check_close, check_sleep]

H = "#pragma once\n"
# For each rule trees that it must refuse, with as many findings as the number says.
BAD = [
    (check_arrows, 1, {"base/a.cc": '#include "launcher/b.h"\n', "launcher/b.h": H}),
    (check_arrows, 1, {"comm/a.cc": '#include "launcher/b.h"\n', "launcher/b.h": H}),
    (check_arrows, 1, {"launcher/a.cc": '#include "comm/b.h"\n', "comm/b.h": H}),
    (check_arrows, 1, {"rendezvous/a.cc": '#include "gpu/b.h"\n', "gpu/b.h": H}),
    (check_arrows, 1, {"launcher/a.cc": '#include "b.h"\n', "launcher/b.h": H}),
    (check_arrows, 1, {"comm/transport/a.cc": '#include "comm/engine/b.h"\n', "comm/engine/b.h": H}),
    (check_arrows, 1, {"comm/engine/a.cc": '#include "comm/b.h"\n', "comm/b.h": H}),
    (check_arrows, 1, {"launcher/ssh/a.cc": '#include "launcher/b.h"\n', "launcher/b.h": H}),
    (check_arrows, 0, {"launcher/a.cc": '#include "launcher/ssh/b.h"\n', "launcher/ssh/b.h": H}),
    (check_arrows, 1, {"comm/ps/a.cc": '#include "comm/strategy/b.h"\n', "comm/strategy/b.h": H}),
    (check_arrows, 1, {"examples/a.cc": '#include "base/b.h"\n', "base/b.h": H}),
    (check_cycles, 1, {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/a.h"\n'}),
    (check_cycles, 1, {"comm/x/a.h": '#include "comm/y/b.h"\n', "comm/y/b.h": H,
                       "comm/y/c.h": '#include "comm/x/d.h"\n', "comm/x/d.h": H}),
    (check_file_size, 1, {"base/a.cc": "\n" * 501, "base/b.cc": "\n" * 500}),
    (check_function_size, 1, {"base/a.cc": "void f() {" + "\n" * 70 + "}\n"
                                           "void g() {" + "\n" * 69 + "}\n"}),
    (check_function_size, 1, {"base/a.cc": "A::A() : b_{1}, c_(2) {" + "\n" * 70 + "}\n"}),
    (check_function_size, 0, {"base/a.cc": "namespace a {\nstruct B {" + "\n" * 99 + "};\n}\n"
                                           "const int t[] = {" + "\n" * 99 + "};\n"}),
    (check_function_size, 0, {"base/a.cc": "void f() {\n// {\n\"{\"; '{'; 1'000; }" + "\n" * 99}),
    (check_homes, 1, {"cmd/run.cc": "#include <CLI/CLI.hpp>\n"}),
    (check_homes, 2, {"examples/a/a.cc": "#include <dtrain/dtrain.hpp>\n#include <dtrain/engine.h>\n",
                      "launcher/a.cc": "#include <dtrain/dtrain.h>\n"}),
    (check_homes, 1, {"launcher/plan.cc": "#include <hwloc.h>\n#include <vector>\n"}),
    (check_homes, 1, {"launcher/crew.cc": "#include <libssh2.h>\n#include <netdb.h>\n"}),
    (check_homes, 1, {"base/a.cc": "#include <boost/any.hpp>\n#include <sys/stat.h>\n"}),
    (check_homes, 1, {"launcher/config/config.cc": "#include <toml++/toml.h>\n",
                      "launcher/config/config_file.cc": "#include <toml++/toml.h>\n"}),
    (check_homes, 1, {"comm/a.cc": "#include <doctest/doctest.h>\n",
                      "tests/unit/b.cc": "#include <doctest/doctest.h>\n"}),
    (check_preprocessor, 3, {"base/a.cc": "#ifdef __linux__\n#endif\n # if 1\n#define A 1\n"}),
    (check_preprocessor, 1, {"base/result.h": "#define TRY(x) x\n#define TRY_AGAIN(x) x\n"}),
    (check_preprocessor, 0, {"comm/dtrain.h": "#ifdef __cplusplus\n#endif\n"}),
    (check_preprocessor, 1, {"comm/dtrain.hpp": "#if __cplusplus <= 201703L\n#endif\n#if A\n#endif\n"}),
    (check_header_guards, 2, {"base/a.h": "int a();\n", "comm/dtrain.h": H}),
    (check_type_names, 1, {"base/a.h": "struct A {\n};\nstruct B;\n",
                           "comm/a.h": "class A final : public X {\n};\nstruct B {};\n"}),
    (check_tests_exist, 1, {"base/a.cc": "", "tests/unit/base_b_test.cc": ""}),
    (check_tests_exist, 0, {"base/x/a.cc": "", "tests/unit/base_x_a_test.cc": ""}),
    (check_tests_exist, 0, {"gpu/a.cc": "", "tests/sim/b_test.cc": '#include "gpu/a.h"\n'}),
    (check_tests_exist, 1, {"cmd/main.cc": ""}),
    (check_words, 1, {"base/a.cc": "// TO" "DO: later\n"}),
    (check_words, 1, {"base/a.cc": "f();  // NOLINT\ng();  // NOLINT(bugprone-x): because\n"}),
    (check_close, 3, {"base/a.cc": "#include <unistd.h>\nvoid f() {\n  close(fd);\n  ::close(1);\n  return close(2);\n}\n"}),
    (check_close, 0, {"base/a.h": "  void close();\n", "base/fd.cc": "::close(1);",
                      "base/c.cc": "void C::end() { close(peer); }",
                      "base/b.cc": "stream.close(); p->close(); T::close(); fclose(f); // close(1)\n"}),
    (check_sleep, 3, {"tests/unit/a.cc": "usleep(1);\nsleep(1);\nstd::this_thread::sleep_for(s);\n"
                                         "spawn(\"sleep(1)\");\n"}),
]


def self_test():
    """Every rule refuses its samples: a rule that never fires proves nothing."""
    wrong = []
    for rule, count, tree in BAD:
        found = list(rule(tree))
        if len(found) != count:
            wrong.append(f"{rule.__name__}: expected {count} findings in {tree}, found {found}")
    for rule in RULES:
        if not any(sample_rule is rule and count > 0 for sample_rule, count, _ in BAD):
            wrong.append(f"{rule.__name__} has no bad sample")
    return wrong


def read_tree(root):
    tree = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f != "build" and not f.startswith(".")]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(TEXT):
                with open(path, encoding="utf-8") as file:
                    tree[os.path.relpath(path, root)] = file.read()
    return tree


def main():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    tree = read_tree(root)
    findings = self_test() + [finding for rule in RULES for finding in rule(tree)]
    for finding in findings:
        print(finding)
    print(f"{len(RULES)} rules, {len(tree)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
