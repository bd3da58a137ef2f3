"""dtrain.run in a kernel of Jupyter, which has no standard output of its own and asks for colours."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupyter_client
import pytest
from jobs import environment


class Notebook:
    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, cell: str) -> dict[str, str]:
        """Run a cell; return what it printed by stream, its value as `value`, and its error as `error`."""
        found: dict[str, str] = {}

        def add(message: dict[str, Any]) -> None:
            content = message["content"]
            kind = message["msg_type"]
            if kind == "stream":
                found[content["name"]] = found.get(content["name"], "") + content["text"]
            elif kind == "execute_result":
                found["value"] = content["data"]["text/plain"]
            elif kind == "error":
                found["error"] = f"{content['ename']}: {content['evalue']}"

        self._client.execute_interactive(cell, output_hook=add, timeout=120)
        return found


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    (tmp_path / "beside.py").write_text("value = 7\n")
    manager, client = jupyter_client.manager.start_new_kernel(startup_timeout=120, cwd=str(tmp_path))
    yield Notebook(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_cell_gets_results_and_sees_output_and_errors(notebook: Notebook) -> None:
    notebook.run("""
import os, sys
import dtrain
base = 40
class Point:
    def __init__(self, x): self.x = x
def job(point):
    import beside
    world = dtrain.init()
    print("printed by", world.rank)
    return point.x + base + world.rank + beside.value
""")
    assert notebook.run("os.environ['CLICOLOR_FORCE']")["value"] == "'1'"
    found = notebook.run("dtrain.run(job, (Point(2),), np=2)")
    assert found["value"] == "[49, 50]"
    assert sorted(line[-12:] for line in found["stdout"].splitlines()) == ["printed by 0", "printed by 1"]
    assert notebook.run("dtrain.run(lambda: 'x' * 200_000, np=2) == ['x' * 200_000] * 2") == {"value": "True"}
    found = notebook.run("dtrain.run(lambda: 1 / 0, np=2)")
    assert found["error"].startswith("RunError: rank ")
    assert "ZeroDivisionError: division by zero" in found["error"]
