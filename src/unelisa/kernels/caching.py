"""Machine code of kernels, kept on disk between processes where that is safe."""

import hashlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)
from numba.core.event import Listener, register

from unelisa.kernels.compilation import COMPILE, LOCK, defer_interruptions, pass_on

# Sums may be reordered and contracted, so that they vectorize; infinities keep their meaning
# (with Numba's fastmath=True the compiler would assume there are none).
FAST = frozenset({"reassoc", "contract", "nsz", "arcp"})


class _Forward(Listener):  # type: ignore[misc]
    """Passes Numba's events of one kind on to our own listeners."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        pass_on(self._kind, True)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        pass_on(self._kind, False)


defer_interruptions()
for one in (COMPILE, LOCK):
    register(one, _Forward(one))


def compile_lazily(function: Callable[..., Any]) -> Any:
    """Return Numba's dispatcher, which compiles each signature when it is first called."""
    compiled = njit(nogil=True, error_model="numpy", fastmath=set(FAST))(function)
    # the class of njit's results; with NUMBA_DISABLE_JIT=1 njit gives the function back
    if hasattr(compiled, "_cache") and cache_folder() is not None:
        compiled._cache = _KernelCache(function)
    return compiled


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder of this user's compiled kernels, or None if there is no safe one.

    Numba's files are pickles: anyone who can write them can run code here. So the folder must be
    owned by this user, writable by nobody else, and below folders that others cannot rename.
    """
    folder = _wanted_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        safe = _is_private(folder) and all(_is_firm(parent) for parent in folder.resolve().parents)
    except OSError:
        return None
    return folder if safe and os.access(folder, os.W_OK) else None


def _wanted_folder() -> Path | None:
    """Return where the cache would be; the name distinguishes installations."""
    place = hashlib.sha256(str(Path(__file__).resolve().parent).encode()).hexdigest()[:16]
    try:
        if config.CACHE_DIR:
            root = Path(config.CACHE_DIR).absolute()
        elif sys.platform == "win32":
            root = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            root = Path.home() / "Library" / "Caches"
        else:
            root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home folder at all
        return None
    return root / "unelisa" / f"kernels-{place}" if root.is_absolute() else None


def _is_private(folder: Path) -> bool:
    """Return whether this is a real folder, owned and writable by this user only."""
    if not hasattr(os, "getuid"):  # Windows: the profile folder is private by its access list
        return True
    found = folder.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return mine and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_firm(folder: Path) -> bool:
    """Return whether nobody else can replace entries of the folder (own, or sticky like /tmp)."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    if found.st_uid not in (0, os.getuid()):
        return False
    if found.st_mode & stat.S_ISVTX:
        return True
    # a group with the user's own number is the user alone, by the convention of most systems
    shared = found.st_mode & stat.S_IWGRP and found.st_gid not in (0, os.getuid())
    return not shared and not found.st_mode & stat.S_IWOTH


@lru_cache(maxsize=1)
def _source_stamp() -> str:
    """Return a hash of all kernels: a kernel is stale if one that it calls has changed."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Where one kernel is cached and what its sources were, for Numba."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno
        self._py_file = function.__code__.co_filename  # Numba names it in warnings

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return _source_stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator":  # noqa: ARG003
        return cls(py_func)


class _CacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's cache files with checksums; data files are named by their key, not numbered."""

    def save(self, key: Any, data: Any) -> None:
        """Write the data, then the index: a reader never finds an entry without its data."""
        overloads = self._load_index()
        digest = hashlib.sha256(repr((key, self._source_stamp)).encode()).hexdigest()[:24]
        name = self._index_name.removesuffix("nbi") + digest + ".nbc"
        self._save_data(name, data)
        overloads[key] = name
        self._save_index(overloads)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _load_index(self) -> Any:
        return super()._load_index() if _is_intact(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not _is_intact(self._data_path(name)):
            raise FileNotFoundError(name)
        return super()._load_data(name)


def _is_intact(path: str) -> bool:
    """Return whether a file ends with the checksum of what comes before; unpickling stops there."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-32]).digest() == content[-32:]


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """One kernel's cache; a full disk or a broken file leads to compilation, never to an error."""

    _impl_class = _CacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _CacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
