"""The shape of classes, for tests/architecture.py: how large one is, and that one file defines its functions."""
import re

import words

MEMBERS_MAX = 20
FUNCTIONS_MAX = 40

# Classes over a limit: "HEADER CLASS MEMBERS FUNCTIONS FILES" a line. The numbers are those of the class, so that they
# can only fall.
LARGE_CLASSES = "tests/large_classes.txt"
# The build chooses among these and the files that have the same functions.
CHOSEN_FILES = re.compile(r"gpu/cuda/no_cuda\.cc|.*_(portable|x86_64|aarch64)\.cc")
# The headers of users have no .cc.
HEADER_ONLY = "comm/include/dtrain/"

CODE = (".cc", ".h", ".cu", ".cuh")
CLASS_HEAD = re.compile(r"(?:template\s*<.*>\s*)?(class|struct)\s+(\w+)(?:\s+final)?\s*(?::[^:].*)?", re.S)
NAMESPACE = re.compile(r"(inline\s+)?namespace\b|extern\s*\"\"")
NO_MEMBER = re.compile(r"(using|friend|typedef|enum|struct|class|union|static_assert)\b"
                       r"|template\s*<.*>\s*(class|struct|friend|using)\b", re.S)
# The first name of X::Y::f( before any other parenthesis.
DEFINITION = re.compile(r"[^(=]*?\b([A-Z]\w*)::(?:\w+::)*(?:~?\w+|operator\W*\w*)\s*\(")


class Class:
    """A class with a body: how many data members and functions it declares."""

    def __init__(self, kind, name, line):
        self.kind, self.name, self.line = kind, name, line
        self.members = self.functions = 0


def is_function(head):
    """True for the declaration of a function, with or without a body."""
    plain = None
    while plain != head:
        plain, head = head, re.sub(r"<[^<>]*>", "", head)
    return "operator" in head or "(" in head.split("=")[0]


def begins_value(head):
    """True when the brace after this text begins a value: an argument, a default or a member of a constructor."""
    return head.count("(") > head.count(")") or head.endswith("=") or bool(
        re.search(r"\)\s*(noexcept\s*)?:[^:].*\w$", head, re.S))


def count(declares, within, head):
    """Counts a declaration, or what stands before the body of a function."""
    if not declares or re.search(r"=\s*delete$", head):
        return
    if is_function(head):
        within.functions += 1
    elif not head.startswith("static"):
        within.members += 1


def shape_of(text):
    """(classes, defined): the classes with a body that no other class holds, and whose functions the file defines."""
    code = words.LITERALS.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)
    code = re.sub(r"^[ \t]*#.*(\\\n.*)*", "", code, flags=re.M)
    code = re.sub(r"\b(public|private|protected):|(?<=operator)[<>=-]+", lambda match: " " * len(match.group()), code)
    stack, classes, defined, start = [], [], set(), 0
    for match in re.finditer(r"[{};]", code):
        head = re.sub(r'^(\s*"")*\s*', "", code[start:match.start()]).strip()
        mark, block = match.group(), stack[-1] if stack else "namespace"
        within = block if isinstance(block, Class) else None
        declares = within and head and not NO_MEMBER.match(head)
        if mark == "}":
            start = start if block == "value" else match.end()
            stack = stack[:-1]
        elif block == "value" or mark == "{" and begins_value(head):
            stack += ["value"] if mark == "{" else []
        else:
            definition = DEFINITION.match(head) if block == "namespace" else None
            if definition and (mark == "{" or head.endswith("default")):
                defined.add(definition.group(1))
            type_head = CLASS_HEAD.fullmatch(head)
            if mark == ";":
                count(declares, within, head)
            elif type_head:
                stack.append(Class(type_head.group(1), type_head.group(2), line_of(code, match.start())))
                classes += [stack[-1]] if block == "namespace" else []
            elif declares and not is_function(head):
                stack.append("value")
                continue
            else:
                count(declares, within, head)
                stack.append("namespace" if NAMESPACE.match(head) else "block")
            start = match.end()
    return classes, defined


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_classes(tree):
    """A class has at most MEMBERS_MAX data members and FUNCTIONS_MAX functions, and one file defines these. A struct
    may have more members: it is a record. Those of LARGE_CLASSES have the numbers that stand there."""
    large = {}
    for line in tree.get(LARGE_CLASSES, "").splitlines():
        path, name, *numbers = line.split()
        large[path, name] = [int(number) for number in numbers]
    classes, files = {}, {}
    for path, text in tree.items():
        if not path.endswith(CODE) or path.startswith(HEADER_ONLY):
            continue
        declared, defined = shape_of(text)
        classes.update({(path, found.name): found for found in declared})
        # The functions of classes of the .cc itself have other names than those of headers.
        for name in defined - {found.name for found in declared} if path.endswith((".cc", ".cu")) and not CHOSEN_FILES.fullmatch(path) else ():
            files.setdefault(name, set()).add(path)
    for (path, name), found in classes.items():
        homes = files.get(name, set()) if path.endswith((".h", ".cuh")) else set()
        shape = [found.members, found.functions, max(1, len(homes))]
        fits = (found.members <= MEMBERS_MAX or found.kind == "struct") and found.functions <= FUNCTIONS_MAX
        wanted = large.pop((path, name), None)
        if wanted and fits and len(homes) <= 1:
            yield f"{path}:{found.line}: {name} is no large class any more: strike it from {LARGE_CLASSES}"
        elif wanted and shape != wanted:
            yield f"{path}:{found.line}: {name} has {shape}, and {LARGE_CLASSES} has {wanted}; the numbers may only fall"
        elif not wanted and not fits:
            yield (f"{path}:{found.line}: {name} has {found.members} members and {found.functions} functions; "
                   f"at most {MEMBERS_MAX} and {FUNCTIONS_MAX}")
        elif not wanted and len(homes) > 1:
            yield f"{path}:{found.line}: functions of {name} are in {', '.join(sorted(homes))}; one file only"
    for path, name in large:
        yield f"{LARGE_CLASSES}: there is no {name} in {path}"


RULES = [check_classes]


def class_of(members, functions, kind="class"):
    """The text of a class of that size, with what is neither a member nor a function."""
    return (f"namespace dt {{\n{kind} A final : public B {{\n public:\n  using C = int;\n  enum class D {{ x, y }};\n"
            "  A(const A&) = delete;\n  static constexpr int most = 3;\n  struct E {\n    int a = 0;\n    void f();\n  };\n"
            + "  std::map<int, std::function<void(int)>> a_ = {};\n" * members
            + "  static int f(const B& b = {}, int c = most);\n" * (functions - 1)
            + "  int g() const { return f({}); }\n};\n}\n")


# For each rule trees that it must refuse, with as many findings as the number says.
BAD = [
    (check_classes, 0, {"base/a.h": class_of(20, 40), "base/b.h": class_of(21, 40, "struct")}),
    (check_classes, 2, {"base/a.h": class_of(21, 40), "base/b.h": class_of(1, 41, "struct")}),
    (check_classes, 1, {"base/a.h": class_of(1, 1), "base/a.cc": "namespace dt {\nA::A(int b) : b_{b}, c_(b) {\n}\n}\n",
                        "base/b.cc": "namespace dt {\nA::B A::f(const C& c) {\n  return D::g(c);\n}\n}\n"}),
    (check_classes, 0, {"base/a.h": class_of(1, 1), "base/a.cc": "namespace dt {\nA::~A() = default;\n}\n",
                        "base/b.cc": "namespace dt {\nint f(int b) {\n  return A::f(b);\n}\nconst int x = A::f();\n}\n"}),
    (check_classes, 0, {"base/a.h": class_of(1, 1), "base/a_x86_64.cc": "void A::f() {\n}\n",
                        "base/a_portable.cc": "void A::f() {\n}\n"}),
    (check_classes, 0, {"base/a.h": class_of(21, 42), LARGE_CLASSES: "base/a.h A 21 42 1\n"}),
    (check_classes, 2, {"base/a.h": class_of(20, 40), "base/b.h": class_of(21, 42),
                        LARGE_CLASSES: "base/a.h A 20 40 1\nbase/b.h A 22 42 1\n"}),
    (check_classes, 1, {LARGE_CLASSES: "base/a.h A 21 42 1\n"}),
]
