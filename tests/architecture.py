#!/usr/bin/env python3
"""Checks the shape of the code: who includes whom, how long things are, where things may stand.

Every rule is a function from a tree (path -> text) to findings, and has a sample in `BAD` that it
must refuse: those run first. Mutable globals, names and nesting are clang-tidy's part (.clang-tidy:
cppcoreguidelines-avoid-non-const-global-variables, readability-*).
"""
import os
import re
import sys

import class_shape
import python_shape
import words
from rooms import ARROWS, FLAT_HEADERS, FLOORS, HOMES, MANY_FILES, PUBLIC, SYSTEM_FOLDERS

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
FOLDER_SOURCES_MAX = 40

# Where the preprocessor may decide or define: the public C header, CUDA, these macros, and the one
# condition by which the public C++ header refuses an older standard.
PREPROCESSOR_FILES = r"comm/include/dtrain/\w+\.h|(gpu|examples)/.*\.cuh?"
MACROS = {
    "base/result.h": {"TRY"},
    "launcher/config/files/toml_document.cc": {"TOML_ASSERT"},
    "tests/unit/main.cc": {"DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN"},
}
CONDITIONS = {"comm/include/dtrain/dtrain.hpp": {"#if __cplusplus <= 201703L"}}

# Code that no unit test has the name of, and no test includes the header of: "FILE TEST" a line. The list
# may only shrink.
TESTED_ELSEWHERE = "tests/tested_elsewhere.txt"
TESTED_ELSEWHERE_MAX = 33

SLEEPLESS = ("base/", "choices/", "gpu/", "rendezvous/", "comm/", "launcher/", "cmd/", "tests/unit/")

CODE = (".cc", ".h", ".hpp", ".c", ".cu", ".cuh")
HEADERS = (".h", ".hpp", ".cuh")
TEXT = CODE + (".sh", ".py", ".cmake", ".txt", ".md")



def bare(text):
    """The code without comments and literals; the lines stay where they are."""
    def blank(match):
        return '""' + "\n" * match.group().count("\n")
    return words.LITERALS.sub(blank, text)


def code_of(tree):
    return {path: text for path, text in tree.items() if path.endswith(CODE)}


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text, form):
    """(line, path) of #include "path" or <path>."""
    pattern = {'"': r'^#include "([^"]+)"', "<": r"^#include <([^>]+)>"}[form]
    for match in re.finditer(pattern, text, re.M):
        yield line_of(text, match.start()), match.group(1)


def floors(path, target):
    """The floors of two files below the nearest folder that holds both, and has floors."""
    here, there = path.split("/"), target.split("/")
    depth = 0
    while depth < min(len(here), len(there)) - 1 and here[depth] == there[depth]:
        depth += 1
    order = FLOORS.get("/".join(here[:depth]))
    if not order:
        return None
    names = (parts[depth] if len(parts) > depth + 1 else "" for parts in (here, there))
    return [order.index(name) if name in order else None for name in names]


def check_arrows(tree):
    """Includes follow the arrows between folders and between their floors."""
    for path, text in code_of(tree).items():
        top = path.split("/")[0]
        for line, target in includes(text, '"'):
            where = f"{path}:{line}"
            target_top = target.split("/")[0]
            if path.startswith(PUBLIC) and PUBLIC + target in tree:
                continue
            if target not in tree or target.endswith(".cc"):
                yield f"{where}: \"{target}\" is no header of ours; includes start at the root"
                continue
            if top == "tests":
                continue
            allowed = ARROWS.get("/".join(path.split("/")[:2]), ARROWS.get(top, set()))
            if target_top != top and not allowed & {target_top, target}:
                yield f"{where}: {top} must not include {target_top}"
            pair = floors(path, target) if target_top == top else None
            if pair and None not in pair and pair[1] > pair[0]:
                yield f"{where}: {path} stands below {target}"


def check_c_calls(tree):
    """Within comm/, only the C functions of an api_*.cc and comm/api/ use those of the public headers."""
    for path, text in code_of(tree).items():
        if not path.startswith("comm/") or path.startswith((PUBLIC, "comm/api/")) or "/api_" in path:
            continue
        for found in re.finditer(r"\b(dtrain_\w+)\(", bare(text)):
            yield f"{path}:{line_of(text, found.start())}: call the C++ behind {found[1]}()"


def check_floors(tree):
    """Each source of a folder with floors stands on one of them."""
    for path in code_of(tree):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            order = FLOORS.get("/".join(parts[:depth]))
            name = parts[depth] if len(parts) > depth + 1 else ""
            if order and name not in order:
                yield f"{path}: no floor of {'/'.join(parts[:depth])}; they are {', '.join(order)}"


def check_folder_size(tree):
    """A folder holds at most FOLDER_SOURCES_MAX sources itself."""
    folders = {}
    for path in code_of(tree):
        folders.setdefault(os.path.dirname(path), []).append(path)
    for folder, paths in folders.items():
        if len(paths) > FOLDER_SOURCES_MAX:
            yield f"{folder}: {len(paths)} sources; at most {FOLDER_SOURCES_MAX}"


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

    return next(filter(None, (visit(node, []) for node in sorted(graph) if node not in state)), None)


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
                if not path.startswith(("examples/", "tests/")) or f"comm/include/{target}" not in tree:
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
        wanted = "#ifndef DTRAIN_H" if path == "comm/include/dtrain/dtrain.h" else "#pragma once"
        if path.endswith(HEADERS) and not re.search(f"^{wanted}", text, re.M):
            yield f"{path}: no {wanted}"


def check_type_names(tree):
    """No two headers give one name of a namespace to different types: to the linker they would be one,
    and tests link all folders into one program."""
    homes = {}
    for path, text in ((p, t) for p, t in code_of(tree).items() if p.endswith(HEADERS)):
        space = re.search(r"^namespace ([\w:]+)", text, re.M)
        for match in re.finditer(r"^(?:struct|class|enum(?: class)?) (\w+)\b[^;(]*\{", text, re.M):
            home = homes.setdefault((space and space.group(1), match.group(1)), path)
            if home != path:
                yield f"{path}:{line_of(text, match.start())}: {match.group(1)} is a type of {home}, too"


TRY_HEAD = re.compile(r"(return|[\w:<>,*&\s\[\].>|\"-]+=|(if|while) \((!|(const )?[\w:<>*& ]+(\[[\w, ]+\])? =)?"
                      r"|for \([^;]*:)?")


def check_try(tree):
    """TRY is a whole statement, initialiser, condition or returned value: where it leaves in the middle
    of an expression, GCC does not fix what else of that was evaluated."""
    for path, text in code_of(tree).items():
        code = re.sub(r"^#define.*", "", bare(text), flags=re.M)
        for match in re.finditer(r"\bTRY\(", code):
            end, depth = match.end(), 1
            while depth > 0 and end < len(code):
                depth += {"(": 1, ")": -1}.get(code[end], 0)
                end += 1
            start = max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1
            head = code[start:match.start()].strip()
            head = re.sub(r'^("" *\s*)+', "", head)  # comments
            head = re.sub(r"^(case [\w:]+:|default:|else\b)\s*", "", head)
            while re.match(r"(if|for|while) \(", head) and head.count("(") == head.count(")"):
                head = re.sub(r"^\w+ \(.*\)\s*", "", head, flags=re.S)
            if head.count(")") > head.count("("):  # the end of a for (;;)
                head = head.rsplit(")", 1)[1].strip()
            closed = ")" if re.match(r"if|while|for", head) else ";"
            if not TRY_HEAD.fullmatch(head) or not code[end:].lstrip().startswith(closed):
                yield f"{path}:{line_of(code, match.start())}: TRY within an expression"


def check_tests_exist(tree):
    """Each .cc file has a unit test of its name and folder, or a test includes its header; else it stands
    in TESTED_ELSEWHERE, with the test that covers it. Those of python/core/ have their tests in python/tests/."""
    tests = {path: text for path, text in tree.items()
             if path.startswith("tests/") and path.endswith("_test.cc")}
    included = {target for text in tests.values() for _, target in includes(text, '"')}
    elsewhere = dict(line.split() for line in tree.get(TESTED_ELSEWHERE, "").splitlines())
    for path in tree:
        if not path.endswith(".cc") or path.startswith(("tests/", "python/core/")):
            continue
        has_test = path[:-3] + ".h" in included or f"tests/unit/{path[:-3]}_test.cc" in tests
        if not has_test and path not in elsewhere:
            yield f"{path}: no tests/unit/{path[:-3]}_test.cc, and no test includes its header"
        if has_test and path in elsewhere:
            yield f"{path} has a unit test now: strike it from {TESTED_ELSEWHERE}, and lower the limit"
    for path, test in elsewhere.items():
        if path not in tree or test not in tree:
            yield f"{TESTED_ELSEWHERE}: {path} or {test} is not there"
    if len(elsewhere) > TESTED_ELSEWHERE_MAX:
        yield f"{TESTED_ELSEWHERE}: {len(elsewhere)} files; at most {TESTED_ELSEWHERE_MAX}, and falling"


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
    """Only base/io/fd.cc calls close(2)."""
    call = re.compile(r"([\w>.:~&*]*\s*)(?<![\w.>~])(::)?\bclose\s*\(")
    for path, text in code_of(tree).items():
        if path == "base/io/fd.cc" or path.startswith("tests/"):
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


RULES = [check_arrows, check_c_calls, check_floors, check_cycles, check_folder_size, check_file_size, check_function_size,
         check_homes, check_preprocessor, check_header_guards, check_type_names, check_tests_exist, check_words,
         check_close, check_sleep, check_try, words.check_sentences, words.check_median_length, *class_shape.RULES,
         *python_shape.RULES]

H = "#pragma once\n"
# For each rule trees that it must refuse, with as many findings as the number says.
BAD = [
    (check_arrows, 2, {"base/a.cc": '#include "launcher/b.h"\n#include "base/c.cc"\n', "launcher/b.h": H, "base/c.cc": ""}),
    (check_arrows, 1, {"comm/a.cc": '#include "launcher/b.h"\n', "launcher/b.h": H}),
    (check_arrows, 1, {"launcher/a.cc": '#include "comm/b.h"\n', "comm/b.h": H}),
    (check_arrows, 1, {"rendezvous/a.cc": '#include "gpu/b.h"\n', "gpu/b.h": H}),
    (check_arrows, 1, {"launcher/job/a.cc": '#include "b.h"\n', "launcher/job/b.h": H}),
    (check_arrows, 1, {"comm/transport/a.cc": '#include "comm/engine/b.h"\n', "comm/engine/b.h": H}),
    (check_arrows, 1, {"comm/engine/a.cc": '#include "comm/api/b.h"\n', "comm/api/b.h": H}),
    (check_arrows, 1, {"comm/engine/a.cc": '#include "comm/training/ps/b.h"\n', "comm/training/ps/b.h": H}),
    (check_arrows, 0, {"comm/training/ps/a.cc": '#include "comm/engine/b.h"\n', "comm/engine/b.h": H}),
    (check_arrows, 1, {"launcher/ssh/a.cc": '#include "launcher/job/b.h"\n', "launcher/job/b.h": H}),
    (check_arrows, 0, {"launcher/job/a.cc": '#include "launcher/ssh/b.h"\n', "launcher/ssh/b.h": H}),
    (check_arrows, 1, {"launcher/ssh/keys/a.cc": '#include "launcher/ssh/b.h"\n', "launcher/ssh/b.h": H}),
    (check_arrows, 0, {"launcher/ssh/a.cc": '#include "launcher/ssh/keys/b.h"\n', "launcher/ssh/keys/b.h": H}),
    (check_arrows, 1, {"base/a.cc": '#include "base/io/b.h"\n', "base/io/b.h": H}),
    (check_arrows, 2, {"cmd/bench/a.cc": '#include "comm/b.h"\n#include "cmd/b.h"\n#include "comm/include/dtrain/dtrain.h"\n',
                       "comm/b.h": H, "cmd/b.h": H, "comm/include/dtrain/dtrain.h": H}),
    (check_c_calls, 1, {"comm/training/a.cc": "// dtrain_init()\nrank = dtrain_rank(context);\n",
                        "comm/training/api_a.cc": "dtrain_rank(context);\n", "comm/api/b.cc": "dtrain_rank(context);\n"}),
    (check_floors, 3, {"launcher/a.cc": "", "launcher/ps/b.cc": "", "launcher/job/c.cc": "", "comm/d.cc": ""}),
    (check_folder_size, 1, {f"base/{i}.cc": "" for i in range(41)} | {f"cmd/{i}.cc": "" for i in range(40)}),
    (check_try, 4, {"base/a.cc": "void f() {\n  g(TRY(h()), TRY(h()));\n  x = TRY(h()).y;\n"
                                 "  if (TRY(h()) == 1) return;\n}\n"}),
    (check_try, 0, {"base/a.cc": "void f() {\n  TRY(h());\n  auto [a, b] = TRY(h());\n  m.y = TRY(h({1}));\n"
                                 "  if (!TRY(h())) return TRY(g());\n  if (a) TRY(h());\n"
                                 "  for (const X& x : TRY(h())) f(x);\n  if (const X x = TRY(h())) f(x);\n}\n"}),
    *class_shape.BAD,
    *python_shape.BAD,
    (check_arrows, 1, {"python/core/a.cc": '#include "comm/api/context.h"\n#include "comm/include/dtrain/dtrain.h"\n',
                       "comm/api/context.h": H, "comm/include/dtrain/dtrain.h": H}),
    (check_arrows, 1, {"examples/a.cc": '#include "base/b.h"\n', "base/b.h": H}),
    (words.check_sentences, 3, {"base/a.h": "/// Of those that go on for ever.\nint a();\n"}),
    (words.check_sentences, 2, {"base/a.h": "/// Closes whoever is late.\nint a();  ///< Who waits here.\n"}),
    (words.check_sentences, 3, {"base/a.h": "/*\n * Of a rank.\n *\n *   Of code\n * Those of a\n * rank.\n */\n"
                                            "f(/*x=*/1); /* no,\n              who is */\n/* Fine. */\nf(\"/* Who */\");\n"}),
    (words.check_sentences, 1, {"README.md": "# A\n\n" + "word " * 30 + "end.\n\n```\nOf code\n```\n"}),
    (words.check_sentences, 0, {"base/a.h": "/// Returns the user who asked, or `whoever` did. Why? \"What\" is quoted.\nint a();\n"}),
    (words.check_median_length, 2, {"docs/a.md": "word " * 15 + "end.\n", "docs/b.md": "word " * 14 + "end.\n",
                                    "base/a.h": "/// " + "Word " * 15 + "end. " + "Word " * 15 + "end. End.\n"}),
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
                      "launcher/a.cc": "#include <dtrain/dtrain.h>\n", "comm/include/dtrain/dtrain.hpp": H}),
    (check_homes, 1, {"launcher/plan/plan.cc": "#include <hwloc.h>\n#include <vector>\n"}),
    (check_homes, 1, {"launcher/connect/agent_group.cc": "#include <libssh2.h>\n#include <netdb.h>\n"}),
    (check_homes, 1, {"base/a.cc": "#include <boost/any.hpp>\n#include <sys/stat.h>\n"}),
    (check_homes, 2, {"launcher/config/config.cc": "#include <toml++/toml.h>\n",
                      "launcher/config/files/toml_document.cc": "#include <toml++/toml.h>\n"}),
    (check_homes, 1, {"comm/a.cc": "#include <doctest/doctest.h>\n",
                      "tests/unit/b.cc": "#include <doctest/doctest.h>\n"}),
    (check_preprocessor, 3, {"base/a.cc": "#ifdef __linux__\n#endif\n # if 1\n#define A 1\n"}),
    (check_preprocessor, 1, {"base/result.h": "#define TRY(x) x\n#define TRY_AGAIN(x) x\n"}),
    (check_preprocessor, 0, {"comm/include/dtrain/dtrain.h": "#ifdef __cplusplus\n#endif\n"}),
    (check_preprocessor, 1, {"comm/include/dtrain/dtrain.hpp": "#if __cplusplus <= 201703L\n#endif\n#if A\n#endif\n"}),
    (check_header_guards, 2, {"base/a.h": "int a();\n", "comm/include/dtrain/dtrain.h": H}),
    (check_type_names, 1, {"base/a.h": "struct A {\n};\nstruct B;\n", "b.h": "namespace c {\nstruct A {\n",
                           "tests/sim/a.h": "class A final : public X {\n};\nstruct B {};\n"}),
    (check_tests_exist, 1, {"base/a.cc": "", "tests/unit/base/b_test.cc": ""}),
    (check_tests_exist, 0, {"base/x/a.cc": "", "tests/unit/base/x/a_test.cc": ""}),
    (check_tests_exist, 2, {"base/a.cc": "", "tests/unit/base/a_test.cc": "",
                            TESTED_ELSEWHERE: "base/a.cc tests/unit/base/a_test.cc\nbase/b.cc tests/c.sh\n"}),
    (check_tests_exist, 0, {"gpu/a.cc": "", "tests/sim/b_test.cc": '#include "gpu/a.h"\n'}),
    (check_tests_exist, 1, {"cmd/main.cc": ""}),
    (check_words, 1, {"base/a.cc": "// TO" "DO: later\n"}),
    (check_words, 1, {"base/a.cc": "f();  // NOLINT\ng();  // NOLINT(bugprone-x): because\n"}),
    (check_close, 3, {"base/a.cc": "#include <unistd.h>\nvoid f() {\n  close(fd);\n  ::close(1);\n  return close(2);\n}\n"}),
    (check_close, 0, {"base/a.h": "  void close();\n", "base/io/fd.cc": "::close(1);",
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
