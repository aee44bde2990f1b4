"""Saving and loading a fitted model as one NumPy archive (.npz), without pickle.

Its comment is the SHA-256 of what precedes. Reading runs no code from the file: only classes that
declare what they store (`unelisa.schema`) are built, from values that are checked.
"""

import hashlib
import io
import json
import zipfile
from copy import copy
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np

import unelisa
from unelisa.aggregators import Aggregator, LatentIsing
from unelisa.base import Estimator
from unelisa.errors import ModelError
from unelisa.estimator import VotesEstimator, check_settings
from unelisa.memory import refuse_beyond, weigh_json
from unelisa.outputs import whole_file
from unelisa.schema import SCHEMAS, check_parts, find_class, list_parts, list_settings

if TYPE_CHECKING:
    from unelisa.ehr.phenotyper import Phenotyper

Model = Union[Aggregator, "Phenotyper"]

FORMAT = 1
MARK = b"unelisa:sha256:"
# in files of release 0.1.0
FORMER_CLASSES = {"GroupedEvidence": "GroupedExpert"}
# parts of LatentIsing before release 0.3.0
FORMER_READINGS = {"Affinity", "Answers", "ClassAnswers", "Pool", "ClassPool", "Reading", "Ledger"}
FORMER_FIELDS = {"Phenotyper": {"_correlations", "_directions", "_ties"}}  # also in its facts


def save(model: Model, path: str | Path, *, keep_votes: bool = False) -> None:
    """Write a fitted model, an aggregator or a `Phenotyper`, to a file.

    Parameters
    ----------
    keep_votes
        Whether the file holds the votes of the fit too, with the names of the items (which may be
        patients), so that the loaded model can be updated. `LatentIsing` only.

    Examples
    --------
    >>> import tempfile, pathlib, unelisa as ue
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> votes = ue.simulate_votes(random_state=0).votes
    >>> ue.save(ue.UnElisa(random_state=0).fit(votes), file)
    >>> ue.load(file).predict(votes).shape == (len(votes),)
    True
    """
    if not isinstance(model, Aggregator) and not isinstance(model, unelisa.Phenotyper):
        raise ModelError(
            f"a model file holds an aggregator or a Phenotyper, found a {type(model).__name__}"
        )
    if not hasattr(model, "classes_"):
        raise ModelError("the model is not fitted: call fit before saving it")
    if keep_votes and not isinstance(model, LatentIsing):
        raise ModelError(f"a {type(model).__name__} keeps no votes; only LatentIsing is updated")
    if isinstance(model, LatentIsing):
        kept = {"_kept_votes": model.keep_votes()} if keep_votes else {}
        model = copy(model)  # without the votes that the model in use refers to
        model.__dict__.pop("_kept_votes", None)
        model.__dict__.update(kept)
    arrays: dict[str, Any] = {}
    text = json.dumps({"format": FORMAT, "model": _pack(model, arrays)})
    try:
        _check(_unpack(json.loads(text)["model"], arrays), type(model))
    except ModelError as error:
        raise ModelError(f"the model cannot be saved: it {error}") from None
    archive = io.BytesIO()
    np.savez_compressed(archive, model=np.array(text), **arrays)
    with whole_file(path) as draft:
        draft.write_bytes(_seal(archive.getvalue()))


@overload
def load(path: str | Path) -> Aggregator: ...
@overload
def load(path: str | Path, kind: "type[Phenotyper]") -> "Phenotyper": ...
def load(path: str | Path, kind: type[Any] = Aggregator) -> Any:
    """Return the model in a file; raise `ModelError` if the file is damaged.

    Parameters
    ----------
    kind
        `Phenotyper` for a model of patients; by default an aggregator of votes.

    Examples
    --------
    >>> import tempfile, pathlib, unelisa as ue
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> ue.save(ue.MajorityVote().fit([[1, -1], [-1, 1]]), file)
    >>> ue.load(file).predict([[1, 1]])
    array([1])
    """
    file = Path(path)
    if file.exists() and not file.is_file():
        # reading a pipe would wait, and a device may never end
        raise ModelError(f"{file.name} is not a regular file; pass the file of a model")
    try:
        refuse_beyond(file.stat().st_size, file.name, ModelError)
        content = _unseal(file.read_bytes())
    except OSError as error:
        raise ModelError(f"{file.name} cannot be read: {error.strerror}") from None
    if content is None:
        raise ModelError(f"{file.name} is damaged or not an unelisa model; save the model again")
    try:
        return _check(_read(content), kind)
    except ModelError as error:
        raise ModelError(f"{file.name} {error}") from None
    except Exception:  # zip, zlib, NumPy and JSON raise a dozen kinds for a forged archive
        raise ModelError(f"{file.name} is intact, but does not contain a known model") from None


def _read(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        refuse_beyond(sum(part.file_size for part in packed.infolist()), "", ModelError)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = str(arrays["model"])
    refuse_beyond(2 * weigh_json(text), "", ModelError)  # what is built of it takes as much again
    described = json.loads(text)
    if described["format"] > FORMAT:
        raise ModelError("was written by a newer version of unelisa; upgrade to read it")
    return _unpack(described["model"], arrays)


def _check(model: Any, kind: type[Any]) -> Any:
    """Return the model if it is of the requested kind and every part is as declared."""
    if not isinstance(model, kind):
        kinds = f"{type(model).__name__}, not one of kind {kind.__name__}"
        raise ModelError(f"holds a {kinds}: pass `kind` to `load`")
    check_parts(model)
    if isinstance(model, VotesEstimator):
        check_settings(model.get_params(deep=False))
    return model


def _seal(archive: bytes) -> bytes:
    """Return the archive with the checksum of all its bytes as its comment."""
    size = len(MARK) + 64
    body = archive[:-2] + size.to_bytes(2, "little")  # a zip ends with the size of its comment
    return body + MARK + hashlib.sha256(body).hexdigest().encode()


def _unseal(content: bytes) -> bytes | None:
    """Return the content if its checksum is right, else None."""
    size = len(MARK) + 64
    body, seal = content[:-size], content[-size:]
    whole = seal == MARK + hashlib.sha256(body).hexdigest().encode()
    return content if whole and zipfile.is_zipfile(io.BytesIO(content)) else None


def _pack(value: Any, arrays: dict[str, Any]) -> Any:
    """Return JSON for a value; arrays go into `arrays` and are referred to by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, dict):
        return {"dict": [[_pack(k, arrays), _pack(v, arrays)] for k, v in value.items()]}
    if type(value) in SCHEMAS:
        state = {name: _pack(part, arrays) for name, part in list_parts(value).items()}
        return {"class": type(value).__name__, "state": state}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_pack(part, arrays) for part in value]}
    if isinstance(value, np.random.Generator):
        return None  # the state of a generator is not stored
    raise ModelError(f"a {type(value).__name__} cannot be stored in a model file")


def _pack_array(value: Any, arrays: dict[str, Any]) -> Any:
    if value.dtype == object:
        return {"names": [_pack(part, arrays) for part in value.tolist()]}
    name = f"a{len(arrays)}"
    arrays[name] = value
    return {"array": name, "columns_first": bool(value.flags.f_contiguous and value.ndim > 1)}


def _unpack(packed: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(packed, dict):
        return packed
    if "array" in packed:
        array = arrays[packed["array"]]
        return np.asfortranarray(array) if packed["columns_first"] else array
    if "names" in packed:
        names = np.empty(len(packed["names"]), dtype=object)
        names[:] = [_unpack(part, arrays) for part in packed["names"]]
        return names
    if "dict" in packed:
        return {_unpack(k, arrays): _unpack(v, arrays) for k, v in packed["dict"]}
    if "class" in packed:
        return _rebuild(packed, arrays)
    kind = tuple if "tuple" in packed else list
    return kind(_unpack(part, arrays) for part in packed[kind.__name__])


def _rebuild(packed: dict[str, Any], arrays: dict[str, Any]) -> Any:
    kind = packed["class"]
    if kind in FORMER_READINGS:
        raise ModelError("was written by an older version, whose model was replaced; fit it again")
    if kind in unelisa.__all__:
        getattr(unelisa, kind)  # its module declares what it stores
    cls = find_class(FORMER_CLASSES.get(kind, kind))
    dropped = FORMER_FIELDS.get(kind, set())
    parts = {k: part for k, part in packed["state"].items() if k not in dropped}
    state = {k: _unpack(part, arrays) for k, part in parts.items()}
    if not issubclass(cls, Estimator):
        return cls(**state)
    model: Estimator = object.__new__(cls)  # its parameters are in the state too
    # an older file lacks the parameters that came later
    defaults = {k: v for k, v in list_settings(cls).items() if v is not Parameter.empty}
    vars(model).update(defaults | state)
    return model
