import copy
import hashlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, MajorityVote
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.errors import ModelError, UnelisaError
from unelisa.paper.experts import ExpertSelector
from unelisa.schema import SCHEMAS
from unelisa.simulation.designs import simulate_classes
from unelisa.storage import FORMAT, MARK, _seal, load, save

MODELS = Path(__file__).parent / "models"
THREE_CLASSES = {
    f"{name}, 3 classes": method
    for name, method in AGGREGATORS.items()
    if method.takes.any_class and name != "latent-ising"
}


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_loaded_model_says_the_same(name, crowd, tmp_path):
    votes, _ = crowd
    model = AGGREGATORS[name]().fit(votes)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(votes), model.decision_function(votes))
    assert again.voters_.equals(model.voters_)


def test_labels_and_names_survive(tmp_path):
    frame = np.array([["ja", "nein"], ["ja", "ja"], ["nein", "ja"]])
    model = MajorityVote().fit(frame)
    save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").predict(frame).tolist() == model.predict(frame).tolist()


def test_no_pickle_inside(tmp_path):
    save(MajorityVote().fit([[1, -1], [-1, 1]]), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_every_flipped_byte_and_every_shortening_is_refused(tmp_path):
    file = tmp_path / "model.npz"
    save(MajorityVote().fit([[1, -1], [-1, 1]]), file)
    whole = file.read_bytes()
    for place in range(len(whole)):
        for damaged in (
            whole[:place],
            whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :],
        ):
            file.write_bytes(damaged)
            with pytest.raises(ModelError, match=r"model\.npz is damaged"):
                load(file)


def test_a_forged_file_is_refused_or_read_never_anything_else(tmp_path):
    """Every second byte overwritten in turn, and the checksum made right again."""
    file = tmp_path / "model.npz"
    save(MajorityVote().fit([[1, -1], [-1, 1]]), file)
    body = file.read_bytes()[: -len(MARK) - 64]
    outcomes = set()
    for place in range(0, len(body), 2):
        forged = body[:place] + bytes([body[place] ^ 0xFF]) + body[place + 1 :]
        file.write_bytes(forged + MARK + hashlib.sha256(forged).hexdigest().encode())
        try:
            outcomes.add(type(load(file)))
        except ModelError as error:
            outcomes.add(str(error).count("\n"))
    assert outcomes == {0, MajorityVote}


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.npz")
    for path in (tmp_path / "model.npz", tmp_path, Path("/dev/zero")):
        with pytest.raises(ModelError, match="not a regular file"):
            load(path)


def test_a_file_that_is_not_there_and_an_estimator_that_is_not_ours(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        load(tmp_path / "none.npz")
    model = MajorityVote().fit([[1, -1], [-1, 1]])
    model.stranger_ = object()
    with pytest.raises(ModelError, match="object cannot be stored"):
        save(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_fitted_aggregator_is_not_saved(tmp_path):
    for model, told in [
        (MajorityVote(), "not fitted"),
        (ExpertSelector().fit(np.resize([1, -1, 1], (20, 4))), "or a Phenotyper, found a"),
        ("model", "or a Phenotyper, found a str"),
    ]:
        with pytest.raises(ModelError, match=told):
            save(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", sorted(MODELS.glob("*.npz")), ids=lambda file: file.stem)
def test_a_model_of_an_earlier_version_still_speaks(file):
    """Written once by the version in the file's name, together with what it said then."""
    told = json.loads(file.with_suffix(".json").read_text())
    if file.stem.startswith("latent-ising"):
        with pytest.raises(ModelError, match="whose model was replaced; fit it again"):
            load(file)
        return
    model = load(file)
    assert model.predict(np.array(told["votes"])).tolist() == told["labels"]
    assert model.decision_function(np.array(told["votes"])) == pytest.approx(told["scores"])


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("unelisa.storage.FORMAT", FORMAT + 1)
    save(MajorityVote().fit([[1, -1], [-1, 1]]), tmp_path / "model.npz")
    monkeypatch.undo()
    with pytest.raises(ModelError, match="written by a newer version of unelisa"):
        load(tmp_path / "model.npz")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "not json",
        '{"format": "x", "model": 1}',
        '{"format": 1}',
        '{"format": 1, "model": {"class": "MajorityVote"}}',
        '{"format": 1, "model": {"class": "os.system", "state": {}}}',
        '{"format": 1, "model": {"class": "VoterGraph", "state": {"x": 1}}}',
        '{"format": 1, "model": {"array": "a9", "columns_first": false}}',
        '{"format": 1, "model": {"stranger": 1}}',
    ],
)
def test_a_whole_file_with_strange_content_is_refused(text, tmp_path):
    archive = io.BytesIO()
    np.savez_compressed(archive, model=np.array(text))
    (tmp_path / "model.npz").write_bytes(_seal(archive.getvalue()))
    with pytest.raises(ModelError, match=r"model\.npz"):
        load(tmp_path / "model.npz")


def test_a_model_whose_parts_do_not_fit_each_other_is_refused(tmp_path):
    model = MajorityVote().fit([[1, -1], [-1, 1]])
    model.weights_ = np.ones(3)
    with pytest.raises(ModelError, match=r"MajorityVote.weights_, which is not .* voters = 2"):
        save(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_phenotyper_comes_back_whole(tmp_path):
    counts = simulate_ehr(2000, random_state=3).counts
    anchors = ["ICD:714.0", "NLP:rheumatoid arthritis"]
    model = Phenotyper(anchors, utilization="note_count", random_state=0).fit(counts)
    save(model, tmp_path / "ra.npz")
    back = load(tmp_path / "ra.npz", Phenotyper)
    assert np.array_equal(back.predict_proba(counts), model.predict_proba(counts))
    assert back.get_params() == model.get_params()
    assert back.features_.equals(model.features_)
    assert back.ppv_ == model.ppv_
    with pytest.raises(ModelError, match="holds a Phenotyper, not one of kind Aggregator"):
        load(tmp_path / "ra.npz")


def forge_array(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays of a wrong size, dtype or content."""
    yield array[:0]
    yield np.concatenate([array, array[:1]])
    yield np.concatenate([array, array])
    yield array[:, None]
    yield np.zeros_like(array)
    yield array.astype(str)
    yield array.astype(array.dtype.newbyteorder(">"))
    if array.dtype.kind in "iuf" and array.size:
        for value in (-2, np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max):
            forged = array.copy()
            forged.flat[-1] = value
            yield forged
    if array.dtype.kind == "f":
        yield array.astype(np.float32)


def list_places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in nested dicts and lists."""
    inside = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from list_places(value, (*path, key))


def forge_text(text: str, rng: np.random.Generator, n_forged: int) -> Iterator[str]:
    """Yield descriptions in which one value, at random, is replaced by something else."""
    places = list(list_places(json.loads(text)))
    classes = [{"class": cls.__name__, "state": {}} for cls in SCHEMAS]
    strange = [None, True, -1, 3, float("nan"), "x", {"list": []}, {"names": []}, {"dict": []}]
    strange += [{"tuple": [{"list": []}]}, {"dict": [["x", 1]]}]
    strange += [{"array": "a0", "columns_first": True}, *classes]
    for place in rng.choice(len(places), n_forged):
        described = json.loads(text)
        *above, last = places[place]
        inside = described
        for key in above:
            inside = inside[key]
        names = [cls.__name__ for cls in SCHEMAS]
        inside[last] = rng.choice(names) if last == "class" else copy.copy(rng.choice(strange))
        yield json.dumps(described)


def write_forged(path: Path, text: str, arrays: dict[str, np.ndarray]) -> None:
    """Write a model file with a right checksum."""
    archive = io.BytesIO()
    np.savez(archive, model=np.array(text), **arrays)
    path.write_bytes(_seal(archive.getvalue()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*AGGREGATORS, *THREE_CLASSES, "phenotyper"])
def test_a_forged_model_is_refused_or_says_something_of_the_right_shape(name, crowd, tmp_path):
    """Every array, and 150 values of the description, replaced; the checksum is made right."""
    rng, file = np.random.default_rng(0), tmp_path / "model.npz"
    if name == "phenotyper":
        data: Any = simulate_ehr(300, random_state=3).counts.iloc[:, -40:]
        model: Any = Phenotyper(list(data.columns[:2]), utilization="note_count", random_state=0)
    elif name in THREE_CLASSES:
        data, model = simulate_classes(3, 8, 100, random_state=0).votes, THREE_CLASSES[name]()
    else:
        data, model = crowd[0], AGGREGATORS[name]()
    model.fit(data)
    save(model, file)
    with np.load(file) as archive:
        arrays = {key: archive[key] for key in archive.files}
    text = str(arrays.pop("model"))
    shape = model.decision_function(data).shape
    forged = [(text, {**arrays, k: bad}) for k, a in arrays.items() for bad in forge_array(a)]
    forged += [(other, arrays) for other in forge_text(text, rng, 150)]
    refused = 0
    for other, content in forged:
        write_forged(file, other, content)
        try:
            scores = load(file, type(model)).decision_function(data)
        except UnelisaError:
            refused += 1
        else:
            assert scores.shape == shape
            assert np.isfinite(scores).all()
    assert refused > len(forged) / 3


def test_a_discount_of_release_0_1_0_must_be_fitted_again():
    with pytest.raises(ModelError, match="fit it again"):
        load(MODELS / "latent-ising-discount-0.1.0.model")
