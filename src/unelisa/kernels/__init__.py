"""The numeric cores: arrays in, arrays out, NumPy and Numba only.

`kernel` compiles on first use, releases the interpreter lock, and divides as NumPy does (checked
divisions prevent vectorization: tanh took six times as long).
"""

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, TypeVar

from unelisa.kernels.compilation import counted_as_compiling

Function = TypeVar("Function", bound=Callable[..., Any])
_loading = RLock()


class Kernel:
    """A function that is compiled when first called, which also imports Numba (.4 seconds)."""

    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._compiled: Any = None

    def __call__(self, *given: Any) -> Any:
        """Return what the compiled function returns."""
        return self.compiled(*given)

    def __reduce__(self) -> str:
        return self.__name__  # pickled as functions are, by name

    @property
    def compiled(self) -> Any:
        """Numba's dispatcher of the function."""
        if self._compiled is None:
            with _loading, counted_as_compiling():
                from unelisa.kernels.caching import compile_lazily  # noqa: PLC0415 - loads Numba

                self._compiled = self._compiled or compile_lazily(self.__wrapped__)
        return self._compiled

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_


def kernel(function: Function) -> Function:
    """Return `function` compiled on first use, without the interpreter lock, cached per user."""
    made: Any = Kernel(function)
    return made  # type: ignore[no-any-return]
