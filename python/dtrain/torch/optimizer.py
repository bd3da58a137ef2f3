"""Optimizers that step with the gradients of all ranks."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from dtrain._errors import ArgumentError
from dtrain.horovod.common.process_sets import ProcessSet, global_process_set
from dtrain.horovod.common.reductions import factor_of, op_of
from dtrain.torch.compression import Compression
from dtrain.torch.mpi_ops import (
    Adasum,
    Average,
    allreduce_async,
    allreduce_async_,
    grouped_allreduce_async_,
    sparse_allreduce_async,
    synchronize,
)

__all__ = ["DistributedOptimizer"]

# To start a reduction costs as much as to reduce some 10 KB.
_SMALL_BYTES = 64 << 10
_GROUP_LENGTH = 64


class _Pending:
    """A reduction under way, of the gradients of some parameters."""

    def __init__(self, finish: Callable[[], None], parameters: Sequence[Any]) -> None:
        self.finish = finish
        self.parameters = parameters


class _Group:
    """Parameters whose gradients are reduced together, once all of them were computed."""

    __slots__ = ("left", "members", "start")

    def __init__(self, members: Sequence[Any], start: Callable[[list[Any]], None]) -> None:
        self.members = list(members)
        self.left = len(self.members)
        self.start = start


class Reducer:
    """Reduces the gradients of an optimizer's parameters while they are computed."""

    def __init__(self, names: dict[Any, str], passes: int, terms: dict[str, Any]) -> None:
        self.names = names
        self.passes = passes
        self.compression = terms["compression"]
        self.op = terms["op"]
        self.predivide = terms["gradient_predivide_factor"]
        self.sparse_as_dense = terms["sparse_as_dense"]
        self.process_set = terms["process_set"]
        self._left = dict.fromkeys(names, passes)
        self._groups: dict[Any, _Group] = {}
        self._ready: set[Any] = set()
        self._pending: list[_Pending] = []
        self._hooks: list[Any] = []
        self._hooked: set[Any] = set()

    def watch(self, parameters: Sequence[Any], groups: Sequence[Sequence[Any]] | None = None) -> None:
        """Reduce the gradient of each parameter as soon as backward has computed it, or that of its whole group.

        Without groups, small ones that stand near each other are copied to one tensor, and back.
        """
        start = self._start_flat if groups is None else self._start_group
        for group in _groups_of_small(parameters) if groups is None else groups:
            self._groups.update(dict.fromkeys(group, _Group(group, start)))
        for parameter in parameters:
            if not parameter.requires_grad or parameter in self._hooked:
                continue
            self._hooked.add(parameter)
            if hasattr(parameter, "register_post_accumulate_grad_hook"):
                self._hooks.append(parameter.register_post_accumulate_grad_hook(self._computed))
                continue
            # torch before 2.1 has such a hook only at the node that accumulates, which lives while it is referred to.
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            node.register_hook(lambda *_, parameter=parameter: self._computed(parameter))
            self._hooks.append(node)

    def add(self, names: dict[Any, str]) -> None:
        """Know further parameters by their names. A parameter that is known keeps its name."""
        new = {parameter: name for parameter, name in names.items() if parameter not in self.names}
        self.names.update(new)
        self._left.update(dict.fromkeys(new, self.passes))

    def set_passes(self, passes: int) -> None:
        """Reduce after so many backward passes."""
        self.passes = passes
        self._left = dict.fromkeys(self.names, passes)

    def reset(self) -> None:
        """Forget what was computed."""
        self._ready.clear()
        self._pending.clear()
        self._left = dict.fromkeys(self.names, self.passes)
        for group in self._groups.values():
            group.left = len(group.members)

    @property
    def busy(self) -> bool:
        """Whether a backward pass was made and its gradients were not waited for."""
        return bool(self._pending or self._ready)

    def _computed(self, parameter: Any) -> None:
        if self._left[parameter] <= 0:
            raise AssertionError(
                f"the gradient of {self.names[parameter]} was computed more than {self.passes} times before step();"
                " set backward_passes_per_step to the number of backward passes for one step"
            )
        self._left[parameter] -= 1
        self._ready.add(parameter)
        if self._left[parameter] > 0:
            return
        group = self._groups.get(parameter)
        if group is None:
            self._start_one(parameter)
            return
        group.left -= 1
        if group.left == 0:
            group.start(group.members)

    def _terms(self) -> dict[str, Any]:
        divided = self.predivide if self.op == Average else 1.0
        return {
            "op": self.op,
            "prescale_factor": 1.0 / divided,
            "postscale_factor": divided,
            "process_set": self.process_set,
        }

    def _start_one(self, parameter: Any) -> None:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        name = f"gradient.{self.names[parameter]}"
        self._ready.discard(parameter)
        gradient = parameter.grad
        if gradient.is_sparse and not self.sparse_as_dense:
            result = sparse_allreduce_async(gradient, name, self.op, self.process_set)
            self._pending.append(_Pending(lambda: _set_sparse(parameter, result()), [parameter]))
            return
        dense = gradient.to_dense() if gradient.is_sparse else gradient
        small, ctx = self.compression.compress(dense)
        handle = allreduce_async_(small, name=name, **self._terms())
        self._pending.append(
            _Pending(lambda: self._put(parameter, self.compression.decompress(synchronize(handle), ctx)), [parameter])
        )

    def _dense_gradients(self, members: list[Any]) -> list[Any] | None:
        """Return the gradients of a group. A sparse one is reduced alone, and with it all others of its group."""
        for member in members:
            if member.grad is None:
                member.grad = torch.zeros_like(member)
        self._ready.difference_update(members)
        gradients = [member.grad for member in members]
        if not any(gradient.is_sparse for gradient in gradients):
            return gradients
        for member in members:
            self._start_one(member)
        return None

    def _start_group(self, members: list[Any]) -> None:
        gradients = self._dense_gradients(members)
        if gradients is None:
            return
        pairs = [self.compression.compress(gradient) for gradient in gradients]
        name = f"gradients.{self.names[members[0]]}"
        handle = grouped_allreduce_async_([small for small, _ in pairs], name=name, **self._terms())

        def finish() -> None:
            for member, result, (_, ctx) in zip(members, synchronize(handle), pairs, strict=True):
                self._put(member, self.compression.decompress(result, ctx))

        self._pending.append(_Pending(finish, members))

    def _start_flat(self, members: list[Any]) -> None:
        gradients = self._dense_gradients(members)
        if gradients is None:
            return
        small, ctx = self.compression.compress(_flatten_dense_tensors(gradients))
        # A rank that reduces them one by one uses this name, too, so that both get an error instead of a wait.
        handle = allreduce_async_(small, name=f"gradient.{self.names[members[0]]}", **self._terms())

        def finish() -> None:
            result = self.compression.decompress(synchronize(handle), ctx)
            gradients = [member.grad for member in members]
            _copy_each(gradients, _unflatten_dense_tensors(result, gradients))

        self._pending.append(_Pending(finish, members))

    def _put(self, parameter: Any, result: Any) -> None:
        if parameter.grad.is_sparse:
            _set_sparse(parameter, result.to_sparse())
        elif result is not parameter.grad:
            parameter.grad.copy_(result)

    def finish(self, parameters: Sequence[Any]) -> None:
        """Reduce the gradients that were not yet, and wait for all. All ranks then have the same."""
        started = {parameter for pending in self._pending for parameter in pending.parameters}
        left = [one for one in parameters if one not in started and (one.requires_grad or one in self._ready)]
        groups: dict[_Group, list[Any]] = {}
        for parameter in left:
            group = self._groups.get(parameter)
            if group is None:
                self._start_one(parameter)
            else:
                groups.setdefault(group, []).append(parameter)
        for group, members in groups.items():
            group.start(members)
        pending, self._pending = self._pending, []
        self.reset()
        for one in pending:
            one.finish()


def _copy_each(targets: list[Any], sources: Sequence[Any]) -> None:
    if hasattr(torch, "_foreach_copy_"):
        torch._foreach_copy_(targets, sources)
        return
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def _set_sparse(parameter: Any, result: Any) -> None:
    parameter.grad = result.to(parameter.grad.dtype)


def _groups_of_small(parameters: Sequence[Any]) -> list[list[Any]]:
    """Return groups of small parameters of one kind that stand near each other: backward computes them in a row."""
    kinds: dict[Any, list[Any]] = {}
    for one in parameters:
        if one.requires_grad and one.numel() * one.element_size() <= _SMALL_BYTES:
            kinds.setdefault((one.dtype, one.device), []).append(one)
    return [
        rows[begin : begin + _GROUP_LENGTH]
        for rows in kinds.values()
        for begin in range(0, len(rows) - 1, _GROUP_LENGTH)  # one that is left over is reduced alone
    ]


def _split(parameters: list[Any], number: int) -> list[list[Any]]:
    """Return so many groups of parameters, which differ by one in length at most."""
    number = max(1, min(number, len(parameters)))
    ends = [len(parameters) * place // number for place in range(number + 1)]
    return [parameters[begin:end] for begin, end in itertools.pairwise(ends)]


class _Distributed:
    """The methods that a wrapped optimizer has instead of its own. Its class is one of the optimizer's class, too."""

    _dtrain_wrapped = True
    _dtrain: Reducer
    param_groups: list[dict[str, Any]]

    def _begin(self, reducer: Reducer, plain: Any) -> None:
        self._plain = plain
        self._dtrain = reducer
        self._parameter_names = reducer.names
        self._synchronized = False
        self._should_synchronize = True

    @property
    def backward_passes_per_step(self) -> int:
        """How many backward passes there are for one step."""
        return self._dtrain.passes

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Reduce after so many backward passes."""
        self._dtrain.set_passes(passes)

    def load_state_dict(self, state_dict: Any) -> None:
        """Load a state. Gradients under way are dropped."""
        self._dtrain.reset()
        self._synchronized = False
        self._should_synchronize = True
        super().load_state_dict(state_dict)  # type: ignore[misc]

    def synchronize(self) -> None:
        """Wait until all gradients are those of all ranks."""
        if self._dtrain.process_set.included() and self._dtrain.op != Adasum:
            self._dtrain.finish([one for group in self.param_groups for one in group["params"]])
        self._synchronized = True

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Make step() use the gradients as they are, after synchronize() was called."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, whose names are their places. All ranks add them in the same order."""
        super().add_param_group(param_group)  # type: ignore[misc]
        place = len(self.param_groups) - 1
        added = self.param_groups[place]["params"]
        self._dtrain.add(_names_by_place(place, added))
        if self._dtrain.process_set.included() and self._dtrain.op != Adasum:
            self._dtrain.watch(added)

    def step(self, closure: Any = None) -> Any:
        """Wait for the gradients of all ranks, and step.

        `closure` computes the gradients and returns the loss. They are those of all ranks each time that the optimizer
        has called it.
        """
        if self._dtrain.op == Adasum:
            return self._step_by_adasum(closure)
        if self._should_synchronize:
            if closure is None:
                self._synchronize_for_step()
            else:
                closure = functools.partial(self._evaluated, closure)
        self._synchronized = False
        # A scheduler of the optimizer that was wrapped looks there whether it has made a step.
        self._plain._opt_called = True
        self._plain._step_count = getattr(self._plain, "_step_count", 0) + 1
        return super().step(closure)  # type: ignore[misc]

    # Torch puts its hooks around a step without this mark. The step of the optimizer's own class has them.
    step.hooked = True  # type: ignore[attr-defined]

    def _synchronize_for_step(self) -> None:
        if self._synchronized:
            warnings.warn(
                "optimizer.step() called without optimizer.skip_synchronize() after optimizer.synchronize(): the"
                " gradients are reduced twice; write `with optimizer.skip_synchronize():` around step()",
                stacklevel=3,
            )
        self.synchronize()
        self._synchronized = False

    def _evaluated(self, closure: Callable[[], Any]) -> Any:
        """Return the loss of a closure, once the gradients that it has computed are those of all ranks."""
        loss = closure()
        self._synchronize_for_step()
        if not isinstance(self, torch.optim.LBFGS) or not self._dtrain.process_set.included():
            return loss
        # The loss decides how often it calls the closure, which each rank must do as often.
        own = torch.as_tensor(loss).detach()
        terms = self._dtrain.op, 1.0, 1.0, self._dtrain.process_set
        return synchronize(allreduce_async(own, None, "loss", *terms))

    def _step_by_adasum(self, closure: Any) -> Any:
        """Step with the own gradients, and combine what the steps of all ranks have changed."""
        trained = [one for group in self.param_groups for one in group["params"] if one.requires_grad]
        before = [one.detach().clone() for one in trained]
        loss = super().step(closure)  # type: ignore[misc]
        self._dtrain.reset()
        if not self._dtrain.process_set.included() or not trained:
            return loss
        changes = [one.detach() - old for one, old in zip(trained, before, strict=True)]
        handles = [
            allreduce_async(
                change, None, f"change.{self._dtrain.names[one]}", Adasum, 1.0, 1.0, self._dtrain.process_set
            )
            for one, change in zip(trained, changes, strict=True)
        ]
        with torch.no_grad():
            for one, old, handle in zip(trained, before, handles, strict=True):
                one.copy_(old + synchronize(handle))
        return loss

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Zero the gradients, after step() or synchronize()."""
        if self._dtrain.busy:
            raise AssertionError(
                "optimizer.zero_grad() was called after loss.backward(), and before optimizer.step() or"
                " optimizer.synchronize(): the gradients are being reduced"
            )
        super().zero_grad(*args, **kwargs)  # type: ignore[misc]


def _names_by_place(place: int, parameters: Sequence[Any]) -> dict[Any, str]:
    return {parameter: f"allreduce.noname.{place}.{index}" for index, parameter in enumerate(parameters)}


def _names_of(optimizer: Any, named_parameters: Any) -> dict[Any, str]:
    if named_parameters is None:
        rows = [
            (name, parameter)
            for place, group in enumerate(optimizer.param_groups)
            for parameter, name in _names_by_place(place, group["params"]).items()
        ]
    else:
        rows = list(named_parameters)
    if any(not isinstance(row, tuple) or len(row) != 2 for row in rows):
        raise ArgumentError("named_parameters: give pairs of name and parameter, as model.named_parameters() does")
    names = [name for name, _ in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError(f"named_parameters: each name may be there once, but these are there twice: {twice}")
    by_parameter = {parameter: name for name, parameter in sorted(rows, key=lambda row: row[0])}
    missing = sum(one not in by_parameter for group in optimizer.param_groups for one in group["params"])
    if missing:
        raise ArgumentError(f"named_parameters: {missing} parameters of the optimizer have no name")
    return by_parameter


def _groups_of(groups: Any, parameters: list[Any]) -> list[list[Any]] | None:
    if groups is None or groups == 0:
        return None
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if isinstance(groups, int) and not isinstance(groups, bool) and groups > 0:
        return _split(trained, groups)
    if not isinstance(groups, list):
        raise ArgumentError(f"groups: give a number above 0, or a list of lists of parameters, not {groups!r}")
    members = [one for group in groups for one in group]
    if any(not isinstance(one, torch.Tensor) for one in members):
        raise ArgumentError("groups: give a list of lists of parameters")
    if len({id(one) for one in members}) != len(members):
        raise ArgumentError("groups: each parameter may be in one group")
    known = {id(one) for one in trained}
    chosen = [[one for one in group if id(one) in known] for group in groups]
    return [group for group in chosen if group]


def DistributedOptimizer(  # noqa: N802
    optimizer: Any,
    named_parameters: Any = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Any = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return an optimizer that steps with the gradients of all ranks, which are reduced during backward.

    It is of a class derived from that of `optimizer`, and has its state, its options and its hooks. `groups` is a
    number, or a list of lists of parameters: the gradients of a group are reduced together. Without it, small ones
    are reduced in groups of 64; with an empty list, each is reduced alone.
    """
    if op_of(op) != Average and gradient_predivide_factor != 1.0:
        raise ArgumentError("gradient_predivide_factor: only with op=Average")
    factor_of("gradient_predivide_factor", gradient_predivide_factor)
    if num_groups:
        warnings.warn("num_groups is deprecated; use groups", DeprecationWarning, stacklevel=2)
        groups = num_groups if groups is None else groups
    if not isinstance(backward_passes_per_step, int) or backward_passes_per_step < 1:
        raise ArgumentError(f"backward_passes_per_step: give a number from 1, not {backward_passes_per_step!r}")
    if not isinstance(process_set, ProcessSet):
        raise ArgumentError(f"process_set: give a ProcessSet, not {process_set!r}")
    if not (hasattr(compression, "compress") and hasattr(compression, "decompress")):
        raise ArgumentError(f"compression: give one of hvd.Compression, not {compression!r}")
    names = _names_of(optimizer, named_parameters)
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    chosen = _groups_of(groups, parameters)
    terms = {
        "compression": compression,
        "op": op,
        "gradient_predivide_factor": gradient_predivide_factor,
        "sparse_as_dense": sparse_as_dense,
        "process_set": process_set,
    }
    reducer = Reducer(names, backward_passes_per_step, terms)
    derived: Any = type(type(optimizer).__name__, (_Distributed, type(optimizer)), {})
    wrapped = derived.__new__(derived)
    # A scheduler has put a step of its own there, which would not wait for the gradients.
    wrapped.__dict__.update({name: value for name, value in optimizer.__dict__.items() if name != "step"})
    wrapped._begin(reducer, optimizer)
    if process_set.included() and op != Adasum:
        reducer.watch(parameters, chosen)
    return wrapped
