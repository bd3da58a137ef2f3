"""Checks the shape of Python code, as tests/architecture.py does for the rest: imports, lengths, words."""
import ast
import io
import re
import sys
import tokenize

import words

FUNCTION_LINES_MAX = 70
PACKAGE = "python/dtrain/"
CHECKED = ("python/", "examples/python_numpy/")
# numpy and torch have their arrays already where the package meets one, so it finds them in sys.modules.
IMPORTABLE = {"dtrain", *sys.stdlib_module_names}
# Parts of the package that a script imports because it uses a framework, and what they import besides.
OF_FRAMEWORKS = {
    PACKAGE + "torch/": {"torch"},
    PACKAGE + "tensorflow/": {"tensorflow", "keras", "numpy"},
    PACKAGE + "keras/": {"tensorflow", "keras", "numpy"},
}


def python_of(tree):
    return {path: ast.parse(text) for path, text in tree.items() if path.startswith(CHECKED) and path.endswith(".py")}


def check_python_imports(tree):
    """The package imports itself and the standard library; its part for a framework also that."""
    for path, module in python_of(tree).items():
        allowed = IMPORTABLE.union(*(more for part, more in OF_FRAMEWORKS.items() if path.startswith(part)))
        for node in ast.walk(module) if path.startswith(PACKAGE) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "dtrain"]
            for name in names:
                if name.split(".")[0] not in allowed:
                    yield f"{path}:{node.lineno}: the package must not import {name}"


def check_python_functions(tree):
    """A function has at most FUNCTION_LINES_MAX lines."""
    for path, module in python_of(tree).items():
        for node in ast.walk(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    yield f"{path}:{node.lineno}: {lines} lines; at most {FUNCTION_LINES_MAX}"


def docstrings(module):
    """(line, paragraph) of each docstring, without code, which is indented."""
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            for block in ast.get_docstring(node).split("\n\n"):
                yield node.body[0].lineno, " ".join(line for line in block.split("\n") if not line.startswith("    "))


def comments(text):
    """(line, text) of each comment; lines that follow each other are one."""
    blocks = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#( noqa| type:|!)", token.string):
            line, content = token.start[0], token.string.lstrip("# ").split("  # noqa")[0]
            if blocks and blocks[-1][1] == line - 1 and token.line.lstrip().startswith("#"):
                blocks[-1] = (blocks[-1][0], line, f"{blocks[-1][2]} {content}")
            else:
                blocks.append((line, line, content))
    return [(first, content) for first, _, content in blocks]


def check_python_words(tree):
    """Comments and docstrings are sentences that a stranger understands: tests/words.py."""
    for path, module in python_of(tree).items():
        for line, block in [*docstrings(module), *comments(tree[path])]:
            for fault in words.faults(block):
                yield f"{path}:{line}: {fault}"


LISTED = re.compile(PACKAGE + r"_(binary|collectives|context|run|store|work)\.py")
LIST = "docs/python.md"


def check_python_listed(tree):
    """docs/python.md has each public function; one with a form that ends in _async is listed without."""
    text = tree.get(LIST, "")
    for path, module in python_of(tree).items():
        classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)] if LISTED.fullmatch(path) else []
        for node in (node for one in classes for node in one.body if isinstance(node, ast.FunctionDef)):
            name = node.name.removesuffix("_async")
            if not name.startswith("_") and not re.search(rf"[`. ]{name}\b", text):
                yield f"{path}:{node.lineno}: {LIST} does not list {name}"


RULES = [check_python_imports, check_python_functions, check_python_listed, check_python_words]

BAD = [
    (check_python_imports, 3, {"python/dtrain/a.py": "import numpy.linalg\nfrom torch import nn\ndef f():\n    import jax\n",
                               "python/tests/a.py": "import numpy\n"}),
    (check_python_imports, 0, {"python/dtrain/a.py": "import os.path\nfrom dtrain import _core\nfrom . import b\n",
                               "python/dtrain/torch/a.py": "from torch import nn\n"}),
    (check_python_functions, 1, {"python/dtrain/a.py": "def f():\n" + "    pass\n" * 70 + "def g():\n" + "    pass\n" * 69}),
    (check_python_listed, 1, {"python/dtrain/_work.py": "class A:\n    def b(self): pass\n    def c_async(self): pass\n",
                              "docs/python.md": "| `c()` |\n"}),
    (check_python_words, 3, {"python/dtrain/a.py": '"""Those of a rank go on."""\nx = 1  # What it is.\n# Fine\n'}),
]
