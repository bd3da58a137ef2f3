"""Works and futures of torch.distributed over works of the engine."""

from __future__ import annotations

import atexit
import datetime
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._C._distributed_c10d import Work as TorchWork

from dtrain import _core
from dtrain._errors import ArgumentError, Error
from dtrain.torch import _memory

# A thread that waits for some works looks so often for further ones.
_LOOK_AGAIN_S = 0.002
# The end of the interpreter waits so long for a callback of a future.
_CALLBACK_S = 10


class Waited:
    """Operations for which streams wait, and no thread. They keep their tensors until they are done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: list[Work] = []

    def keep(self, work: Work) -> None:
        """Keep a work until it is done."""
        with self._lock:
            self._works.append(work)

    def raise_failure(self) -> None:
        """Drop the works that are done, or raise the failure of the first that has failed."""
        if not self._works:
            return
        with self._lock:
            done = [work for work in self._works if work.first_pending() is None]
            self._works = [work for work in self._works if work not in done]
        for work in done:
            work.raise_failure()


class Work(TorchWork):
    """An operation of a process group. Its outputs are complete when the work is.

    For tensors of a GPU, wait() makes the current stream wait, where nothing is left to do behind the operation.
    """

    def __init__(
        self,
        cores: Sequence[_core.Work],
        outputs: list[Any],
        finish: Callable[[], object] | None,
        futures: Futures,
        waited: Waited | None = None,
    ) -> None:
        super().__init__()
        self._waited = waited
        self._cores = list(cores)
        self._outputs = outputs
        self._finish = finish
        self._lock = threading.RLock()
        self._ended = False
        self._error: Exception | None = None
        self._futures = futures
        self._completed: Any = None
        self._future: Any = None

    def cores(self) -> list[_core.Work]:
        """Return the works of the engine that were not waited for."""
        return list(self._cores)

    def outputs(self) -> list[Any]:
        """Return the tensors that the operation changes or makes."""
        return self._outputs

    def first_pending(self) -> _core.Work | None:
        """Return a work of the engine that is not done, or None."""
        return next((core for core in self._cores if not core.done()), None)

    def end(self) -> None:
        """Bring the outputs into their places, once. All works of the engine are done."""
        with self._lock:
            if self._ended:
                return
            try:
                for core in self._cores:
                    core.wait(-1.0)
                if self._finish is not None:
                    self._finish()
            except Exception as error:
                self._error = _with_hint(error)
            self._finish = None
            self._ended = True
            self._cores = []

    def raise_failure(self) -> None:
        """Raise the error of an operation that is done, if it has one."""
        self.end()
        if self._error is not None:
            raise self._error

    def needs_host(self) -> bool:
        """Return whether the outputs are brought into their places when the operation is done."""
        return self._finish is not None

    def wait(self, timeout: datetime.timedelta = datetime.timedelta(0)) -> bool:
        """Return once the operation is done, or raise its error. A timeout above 0 ends the waiting alone.

        With tensors of a GPU and no timeout, it returns when the results are queued. The current stream waits for them.
        """
        seconds = timeout.total_seconds()
        if seconds <= 0 and self._stream_waits():
            return True
        for core in list(self._cores):
            if not _wait(core, seconds if seconds > 0 else -1.0):
                raise TimeoutError(f"the operation is not done after {seconds} s; it continues")
        self.raise_failure()
        return True

    def _stream_waits(self) -> bool:
        """Make the current stream wait. False where this thread must do it, or the operation has failed."""
        tensor = next(_tensors_of(self._outputs), None)
        if self._waited is None or self._finish is not None or tensor is None or not self._cores:
            return False
        stream = _memory.stream_of(tensor)
        if not stream:
            return False
        try:
            for core in self.cores():
                core.wait_stream(stream)
        except ArgumentError:
            raise
        except Error:
            return False
        self._waited.keep(self)
        return True

    def get_future(self) -> Any:
        """Return a future of the outputs. It completes although no thread waits for it."""
        with self._lock:
            if self._future is None:
                # It keeps the streams of these devices in order.
                gpus = {tensor.device for tensor in _tensors_of(self._outputs) if tensor.is_cuda}
                self._completed = torch.futures.Future(devices=list(gpus))
                # An error in a callback is one for C++, too. One by set_exception() is a value there.
                self._future = self._completed.then(self._value)
                if self.first_pending() is None:
                    self.complete_future()
                else:
                    self._futures.add(self)
            return self._future

    def complete_future(self) -> None:
        """Complete the future."""
        self.end()
        self._completed.set_result(None)

    def _value(self, _: object) -> list[Any]:
        if self._error is not None:
            raise self._error
        return self._outputs


def _tensors_of(outputs: Sequence[Any]) -> Iterator[Any]:
    for output in outputs:
        if isinstance(output, list):
            yield from output
        else:
            yield output


def _with_hint(error: Exception) -> Exception:
    """Return an error that names torch's argument where a timeout has passed."""
    if not isinstance(error, Error) or error.code != "timeout":
        return error
    hint = "give new_group or init_process_group a longer timeout where ranks may be late"
    return Error(f"{error}; {hint}", error.code, error.rank)


class Received(list[Any]):
    """The output of a receive, and the rank that has sent it."""

    source = -1


def _wait(core: _core.Work, seconds: float) -> bool:
    try:
        return core.wait(seconds)
    except RuntimeError:
        return True  # Work.end() has the error


class Futures:
    """Completes futures on one thread, which starts with the first of them.

    Callbacks of a future run on that thread. A callback may ask for a further future, and wait for it. Another thread
    then takes the place of the first, which ends after the callback.

    After its end, the interpreter ends a thread that wants to run Python. In a callback, the thread is within C++ of
    torch, which would abort the process. So callbacks that have begun end before, and no others begin.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._works: list[Work] = []
        self._thread: threading.Thread | None = None
        self._completing: set[threading.Thread] = set()
        self._at_exit = False
        atexit.register(self._end)

    def add(self, work: Work) -> None:
        """Complete the future of a work when it is done."""
        with self._changed:
            self._works.append(work)
            if self._thread is None or self._thread is threading.current_thread():
                self._thread = threading.Thread(target=self._run, name="dtrain-futures", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _run(self) -> None:
        while not self._at_exit:
            with self._changed:
                while not self._works and self._thread is threading.current_thread():
                    self._changed.wait()
                if self._thread is not threading.current_thread():
                    return
                works = list(self._works)
            done = _first_done(works)
            if done is not None:
                with self._changed:
                    self._works.remove(done)
                self._complete(done)

    def _complete(self, work: Work) -> None:
        thread = threading.current_thread()
        self._completing.add(thread)  # before it reads _at_exit; _end() does both in the other order
        if not self._at_exit:
            work.complete_future()
        self._completing.discard(thread)

    def _end(self) -> None:
        # Without the lock: another thread may have held it when this process was forked.
        self._at_exit = True
        for thread in list(self._completing):
            thread.join(_CALLBACK_S)


def _first_done(works: Sequence[Work]) -> Work | None:
    """Return the first work that is done. Where none is, wait a moment for one, and return None."""
    cores = []
    for work in works:
        core = work.first_pending()
        if core is None:
            return work
        cores.append(core)
    _core.wait_any(cores, _LOOK_AGAIN_S)
    return None
