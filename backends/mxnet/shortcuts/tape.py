"""Functions compiled as one operator, by a tape of the operators that they run."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
from mxnet import autograd, base
from mxnet import np as mnp
from mxnet.ndarray import register
from mxnet.symbol.numpy import _Symbol

_recording = threading.RLock()  # one tape at a time, since each puts a function in the place of MXNet's own


class _Tape:
    """Builds the graph of a function's operators while it runs on arrays, as MXNet 2 does (deferred compute).

    ``leaves`` are the arrays that it reads and that no operator of its own made. ``complete`` says whether the graph
    holds all that the function does.
    """

    def __init__(self, function: Callable[[], Any]):
        self.recording = autograd.is_recording()
        self.leaves: list[mnp.ndarray] = []
        self.complete = True
        self._symbols: dict[int, _Symbol] = {}
        self._alive: list[mnp.ndarray] = []  # an id is an array's own as long as it lives
        self._thread = threading.get_ident()
        with _recording:
            self._invoke, register._imperative_invoke = register._imperative_invoke, self._record
            try:
                result = function()
            finally:
                register._imperative_invoke = self._invoke
        outputs = result if isinstance(result, list) else [result]
        symbols = [self._symbol(array) for array in outputs]
        self.symbol = mx.sym.Group([symbol.as_nd_ndarray() for symbol in symbols]).as_np_ndarray()

    def _record(self, operator: int, inputs: Sequence[Any], keys: Any, values: Any, out: Any, *kind: bool) -> Any:
        """Run in place of the one function through which all operators run, those of other threads too."""
        if threading.get_ident() != self._thread:
            return self._invoke(operator, inputs, keys, values, out, *kind)
        symbols = [self._symbol(array) for array in inputs]
        result = self._invoke(operator, inputs, keys, values, out, *kind)
        results = result if isinstance(result, (list, tuple)) else [result]
        if out is not None:  # it writes into an array that may be of others
            self.complete = False
        try:
            node = self._node(operator, symbols, keys, values)
        except base.MXNetError:  # an operator of any number of inputs
            self.complete = False
            return result
        self._alive.extend(results)
        self._symbols.update((id(array), node if len(results) == 1 else node[i]) for i, array in enumerate(results))
        return result

    def _symbol(self, array: mnp.ndarray) -> _Symbol:
        """Return what made the array, or a variable for one from outside."""
        if id(array) not in self._symbols:
            self._symbols[id(array)] = mx.sym.var(f"leaf{len(self.leaves)}").as_np_ndarray()
            self.leaves.append(array)
        return self._symbols[id(array)]

    def _node(self, operator: int, symbols: Sequence[_Symbol], keys: Sequence[str], values: Sequence[Any]) -> _Symbol:
        try:
            handle = self._operator(operator, keys, values)
        except base.MXNetError:  # one of any number of inputs, which has to know how many
            handle = self._operator(operator, [*keys, "num_args"], [*values, len(symbols)])
        node = _Symbol(handle)
        name = base.c_str(f"node{len(self._alive)}")
        base.check_call(base._LIB.NNSymbolCompose(handle, name, len(symbols), None, base.c_handle_array(symbols)))
        if self.recording and not autograd.is_recording():  # what autograd.pause() means
            node = mx.sym.BlockGrad(node.as_nd_ndarray()).as_np_ndarray()
        return node

    @staticmethod
    def _operator(operator: int, keys: Sequence[str], values: Sequence[Any]) -> base.SymbolHandle:
        handle = base.SymbolHandle()
        attributes = len(keys), base.c_str_array(keys), base.c_str_array([str(value) for value in values])
        base.check_call(base._LIB.MXSymbolCreateAtomicSymbol(ctypes.c_void_p(operator), *attributes, ctypes.byref(handle)))
        return handle


def compiled(
    function: Callable[[], Any], arrays: Sequence[mnp.ndarray], static: bool
) -> Callable[[Sequence[mnp.ndarray]], Any] | None:
    """``function``, which reads ``arrays``, as one operator of arrays of these shapes, such as hybridize makes of a block.

    None where that cannot be, because the function makes an array other than by operators: a second run would show
    another one. To be called inside autograd.record() where it is to be differentiated. It returns one array, or a list.

    Args:
        static: keep the memory of all intermediate results for the next call.
    """
    function()  # fills whatever caches there are
    first, second = _Tape(function), _Tape(function)
    same = [id(leaf) for leaf in first.leaves] == [id(leaf) for leaf in second.leaves]
    if not (same and first.complete and second.complete):
        return None
    places = {id(array): i for i, array in enumerate(arrays)}
    leaves = [second.leaves[int(name.removeprefix("leaf"))] for name in second.symbol.list_inputs()]
    sources = [places.get(id(leaf), leaf) for leaf in leaves]
    fixed = [i for i, source in enumerate(sources) if not isinstance(source, int)]
    replaced = [i for i, source in enumerate(sources) if isinstance(source, int)]
    flags = {"data_indices": replaced, "param_indices": fixed, "static_alloc": static, "static_shape": static}
    operator, one_at_a_time = mx.nd.CachedOp(second.symbol, flags.items()), threading.Lock()

    def call(arrays: Sequence[mnp.ndarray]) -> Any:
        with one_at_a_time:  # two threads at once infer the shapes of its one graph, and each spoils the other's
            return operator(*(arrays[source] if isinstance(source, int) else source for source in sources))

    return call
