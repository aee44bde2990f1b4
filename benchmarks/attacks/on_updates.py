"""More votes for a fitted model, and items under several spellings: numbers must stay right."""

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import unelisa as ue
from unelisa.errors import UnelisaError

Outcomes = Iterator[tuple[str, str]]
NEAR = 2e-7  # what P moves by with the order of items or voters, at most
ALIKE = 0.02  # share of labels that an update in steps may have otherwise than one fit
N, M, GOLD = 300, 6, 40


class Crowd:
    """Votes of a drawn crowd as a wide table, with the truth."""

    def __init__(self, rng: np.random.Generator, *, contrary: bool = False) -> None:
        n_classes = 2 if contrary else int(rng.choice([2, 2, 3]))
        self.names = np.array(["no", "yes", "maybe"][:n_classes], dtype=object)
        truth = rng.integers(0, n_classes, N)
        skill = rng.uniform(0.12, 0.4, M) if contrary else rng.uniform(0.6, 0.9, M)
        right = rng.random((N, M)) < skill
        wrong = (truth[:, None] + rng.integers(1, n_classes, (N, M))) % n_classes
        said = self.names[np.where(right, truth[:, None], wrong)]
        said[rng.random((N, M)) < rng.choice([0.0, 0.3])] = None
        self.truth = self.names[truth]
        self.table = pd.DataFrame(said, columns=[f"w{s}" for s in range(M)])
        self.table.insert(0, "item", [f"i{i}" for i in range(N)])
        self.gold = dict(zip(self.table["item"][:GOLD], self.truth[:GOLD], strict=True))

    def score(self, model: Any) -> float:
        """Return the share of right labels beyond the gold ones."""
        return float(np.mean((model.predict(self.table) == self.truth)[GOLD:]))


def attack_updates(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:
    """Update models in every way: the answer is that of one fit, or the update is refused."""
    place.mkdir()
    for number in range(25):
        crowd = Crowd(rng)
        yield from _ask(f"crowd {number}", UPDATES, crowd, place)
        yield from _ask(f"contrary crowd {number}", GOLDEN, Crowd(rng, contrary=True), place)
    for number in range(4):
        yield f"two updates at once, {number}", _quietly(_race, ground, place)


def _ask(name: str, ways: dict[str, Any], crowd: Crowd, place: Path) -> Outcomes:
    for way, attack in ways.items():
        yield f"{name}: {way}", _quietly(attack, crowd, place)


def _quietly(attack: Callable[..., str], *arguments: Any) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attack(*arguments)
    except UnelisaError as error:
        return "" if "\n" not in str(error) else "more than one line"
    except Exception as error:  # what breaks is counted
        return repr(error)[:200]


def _fit(table: Any, gold: Any = None) -> Any:
    return ue.LatentIsing().fit(table, gold)


def _compare(one: Any, other: Any, table: Any, most: float = NEAR) -> str:
    apart = float(np.abs(one.predict_proba(table) - other.predict_proba(table)).max())
    return "" if apart <= most else f"P moved by {apart:.1e}"


def _in_steps(crowd: Crowd, _: Path) -> str:
    model = _fit(crowd.table[:200])
    for first in range(200, N, 25):
        model.update(crowd.table[first : first + 25])
    apart = np.mean(model.predict(crowd.table) != _fit(crowd.table).predict(crowd.table))
    return "" if apart <= ALIKE else f"{apart:.1%} of the labels differ"


def _again(crowd: Crowd, _: Path) -> str:
    model = _fit(crowd.table[:250]).update(crowd.table[250:])
    before = model.predict_proba(crowd.table)
    after = model.update(crowd.table[100:]).predict_proba(crowd.table)
    return "" if np.abs(before - after).max() < 1e-6 else "the same votes count twice"


def _swapped(crowd: Crowd, _: Path) -> str:
    parts = crowd.table[200:250], crowd.table[250:]
    one, other = (_fit(crowd.table[:200]) for _ in range(2))
    for part in parts:
        one.update(part)
    for part in parts[::-1]:
        other.update(part)
    return _compare(one, other, crowd.table, 1e-3)


def _changed_and_back(crowd: Crowd, _: Path) -> str:
    model = _fit(crowd.table)
    before = model.predict_proba(crowd.table)
    other = crowd.table[:50].copy()
    other["w0"] = other["w0"].map({"no": "yes", "yes": "no"})
    model.update(other).update(crowd.table[:50])
    apart = np.abs(model.predict_proba(crowd.table) - before).max()
    return "" if apart < 1e-3 else f"P moved by {apart:.1e}"


def _sound(crowd: Crowd, place: Path) -> str:
    """Accuracies and intervals are shares in their order, and the model can be saved."""
    model = _fit(crowd.table[:260]).update(crowd.table[260:])
    low, high = model.expected_accuracy_interval_
    if not 0 <= low <= model.expected_accuracy_ <= high <= 1:
        return f"expected accuracy {model.expected_accuracy_} outside {low} to {high}"
    ue.save(model, place / "m.npz", keep_votes=True)
    return _compare(model, ue.load(place / "m.npz"), crowd.table, 0.0)


def _refused(change: Callable[[pd.DataFrame], Any], **options: Any) -> Callable[..., str]:
    """A refused update leaves the model as it was."""

    def attack(crowd: Crowd, _: Path) -> str:
        model = ue.LatentIsing().fit(crowd.table[:250], **options)
        before = model.predict_proba(crowd.table)
        try:
            model.update(change(crowd.table[250:].copy()))
        except UnelisaError:
            same = np.array_equal(before, model.predict_proba(crowd.table))
            return "" if same else "a refused update changed the model"
        return "not refused"

    return attack


def _rename(table: pd.DataFrame) -> pd.DataFrame:
    table.iloc[0, 1] = "never heard"
    return table


UPDATES: dict[str, Callable[..., str]] = {
    "in steps": _in_steps,
    "the same votes again": _again,
    "two updates in both orders": _swapped,
    "votes changed and changed back": _changed_and_back,
    "saved and loaded": _sound,
    "a class that is unknown": _refused(_rename),
    "after sample weights": _refused(lambda table: table, sample_weight=np.ones(250)),
    "after a prior": _refused(lambda table: table, prior=np.zeros(250)),
}


def _keeps_gold(way: str) -> Callable[..., str]:
    def attack(crowd: Crowd, place: Path) -> str:
        model = _fit(crowd.table[:250], crowd.gold)
        before = crowd.score(model)
        if way == "with earlier votes":
            model.update(crowd.table[250:], earlier=crowd.table[:250])
        elif way == "in memory":
            model.update(crowd.table[250:])
        else:
            ue.save(model, place / "g.npz", keep_votes=way == "from a file with votes")
            earlier = {} if way == "from a file with votes" else {"earlier": crowd.table[:250]}
            model = ue.load(place / "g.npz").update(crowd.table[250:], **earlier)
            model = model.update(crowd.table[200:])
        after = crowd.score(model)
        return "" if after > before - 0.1 else f"accuracy fell from {before:.2f} to {after:.2f}"

    return attack


GOLDEN = {
    f"gold is kept {way}": _keeps_gold(way)
    for way in ("in memory", "with earlier votes", "from a file with votes", "from a file")
}


def _race(ground: Path, place: Path) -> str:
    """Two commands add votes to one model file: both are in it, or one of them was refused."""
    votes = ue.read_votes(ground / "votes.csv")
    model = ue.LatentIsing().fit(votes)
    ue.save(model, place / "both.npz", keep_votes=True)
    late = pd.read_csv(ground / "late.csv")
    for name, rows in (("one", late[:5]), ("two", late[5:])):
        rows.to_csv(place / f"{name}.csv", index=False)
    command = [sys.executable, "-m", "unelisa", "update", str(place / "both.npz")]
    save = ["--save", str(place / "both.npz"), "--quiet"]
    running = [
        subprocess.Popen([*command, str(place / f"{name}.csv"), *save], stderr=subprocess.DEVNULL)
        for name in ("one", "two")
    ]
    codes = sorted(process.wait() for process in running)
    if codes not in ([0, 0], [0, 2]):
        return f"exit codes {codes}"
    n_items = ue.load(place / "both.npz")._recall().votes.n_items
    wanted = votes.n_items + 5 * codes.count(0)
    return "" if n_items == wanted else f"{n_items} items, {wanted} wanted"


# one item under other spellings: of the table that is fitted, and of the one that follows
SPELLINGS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "int, text": (int, str),
    "text, int": (str, int),
    "int, float": (int, float),
    "float, text": (float, str),
    "text, 1.0": (str, lambda i: f"{i}.0"),
    "text, blanks": (str, lambda i: f" {i} "),
    "int, NumPy's text": (int, np.str_),
    "int, NumPy's int": (int, np.int64),
    "text, a narrow float": (str, np.float32),
}


def attack_identity(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Spell, order and pad items, voters and classes otherwise: the answer stays."""
    place.mkdir()
    for number in range(20):
        crowd = Crowd(rng)
        for name, spellings in SPELLINGS.items():
            for what, attack in (("votes", _spell_votes), ("gold labels", _spell_gold)):
                yield f"{what} {number}: {name}", _quietly(attack, crowd, *spellings)
        for method in ue.AGGREGATORS:
            for what, attack in TURNS.items():
                yield f"{method} {number}: {what}", _quietly(attack, crowd, method, rng)


def _spell_votes(crowd: Crowd, first: Callable[[int], Any], then: Callable[[int], Any]) -> str:
    one, other = (
        crowd.table.assign(item=pd.Series([spell(i) for i in range(N)], dtype=object))
        for spell in (first, then)
    )
    model = _fit(one)
    before = model.predict_proba(one)
    model.update(other[:100])
    n_items = model._memory.votes.n_items
    if n_items != N:
        return f"{n_items} items, {N} wanted"
    return "" if np.abs(model.predict_proba(other) - before).max() < 1e-6 else "P moved"


def _spell_gold(crowd: Crowd, first: Callable[[int], Any], then: Callable[[int], Any]) -> str:
    table = crowd.table.assign(item=pd.Series([first(i) for i in range(N)], dtype=object))
    models = [
        _fit(table, {spell(i): crowd.truth[i] for i in range(GOLD)}) for spell in (first, then)
    ]
    return _compare(*models, table, 0.0)


def _turned(crowd: Crowd, method: str, rng: np.random.Generator, *, voters: bool) -> str:
    order = rng.permutation(M if voters else N)
    columns = ["item", *(f"w{s}" for s in order)] if voters else list(crowd.table)
    other = crowd.table[columns] if voters else crowd.table.iloc[order]
    one, two = (ue.AGGREGATORS[method]().fit(table) for table in (crowd.table, other))
    scores = one.decision_function(crowd.table), two.decision_function(crowd.table)
    apart = np.abs(np.subtract(*scores)).max() / max(1.0, np.abs(scores[0]).max())
    return "" if apart < 1e-5 else f"scores moved by {apart:.1e}"


def _padded(crowd: Crowd, method: str, rng: np.random.Generator) -> str:
    empty = pd.DataFrame({"item": [f"e{i}" for i in range(int(rng.choice([1, 30])))]})
    more = pd.concat([crowd.table, empty], ignore_index=True)
    one, two = (ue.AGGREGATORS[method]().fit(table) for table in (crowd.table, more))
    scores = one.decision_function(crowd.table), two.decision_function(crowd.table)
    return "" if np.array_equal(*scores) else "items without votes change the others"


def _renamed(crowd: Crowd, method: str, _: Any) -> str:
    names = {"no": "A", "yes": "B", "maybe": "C"}
    turned = dict(zip(names, ("C", "B", "A"), strict=True))
    labels = []
    for way in (names, turned):
        table = crowd.table.replace(way)
        back = {there: here for here, there in way.items()}
        found = ue.AGGREGATORS[method]().fit(table).predict(table)
        labels.append(np.array([back[label] for label in found]))
    clear = crowd.table[crowd.table.columns[1:]].nunique(axis=1) == 1
    return "" if (labels[0] == labels[1])[clear].all() else "names of classes decide labels"


TURNS: dict[str, Callable[..., str]] = {
    "items in another order": lambda *crowd: _turned(*crowd, voters=False),
    "voters in another order": lambda *crowd: _turned(*crowd, voters=True),
    "items without votes": _padded,
    "other names of the classes": _renamed,
}
