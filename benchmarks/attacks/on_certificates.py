"""Certificates, charts and reviews: other spellings of names, and files whose rows contradict."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import unelisa as ue
from unelisa.cli.phenotype_reviews import read_charts, read_drawn, read_reviews
from unelisa.ehr.charts import certify_flagged, read_reviewed
from unelisa.errors import UnelisaError

Outcomes = Iterator[tuple[str, str]]
ITEMS = [str(700_001 + i) for i in range(200)]
# the first are the same name, the others are not: then there is an error, or a warning
SAME: dict[str, Callable[[str], Any]] = {
    "a whole number": int,
    "a float": float,
    "NumPy's number": np.int64,
    "with .0": "{}.0".format,
    "with spaces": " {} ".format,
    "with a line feed": "{}\n".format,
    "with a no-break space": "\u00a0{}".format,
}
OTHER: dict[str, Callable[[str], Any]] = {
    "with .00": "{}.00".format,
    "with a zero-width space": "{}\u200b".format,
    "with a byte order mark": "\ufeff{}".format,
    "in full width": lambda name: "".join(chr(ord(c) + 0xFEE0) for c in name),
    "in Arabic digits": lambda name: "".join(chr(ord(c) - 48 + 0x660) for c in name),
    "with a zero before": "0{}".format,
    "with a plus": "+{}".format,
    "with an exponent": "{}e0".format,
    "in quotes": "'{}".format,
    "as bytes": str.encode,
}
WORDS = ("nan", "", "abc", "14%", "0,5", "None", "inf", "-1", "0", "2", "1e999")


def attack_certificates(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Spell items otherwise, and pass weights, strata and shares without sense."""
    truth = rng.integers(0, 2, 200)
    said = np.where(rng.random((200, 6)) < 0.85, truth[:, None], 1 - truth[:, None])
    for names in (ITEMS, list(map(int, ITEMS))):
        frame = pd.DataFrame(said, index=names, columns=list("abcdef"))
        for what, (given, call) in _list_calls(frame, truth.tolist()).items():
            usual = call(given)
            for how, spell in {**SAME, **OTHER}.items():
                renamed = {spell(name): value for name, value in given.items()}
                yield f"{what}: {how}", _compare(partial(call, renamed), usual, how in SAME)
            for value in (None, np.nan, "x", [1], -1.0, np.inf, b"1"):
                broken = dict.fromkeys(given, value)
                yield f"{what}: all {value!r}", _compare(partial(call, broken), None)


def _list_calls(frame: pd.DataFrame, truth: list[int]) -> dict[str, Any]:
    """Return what is given to a function by item, and the function of it alone."""
    votes = ue.Votes.of(frame, coding="01")
    model = ue.LatentIsing().fit(votes)
    gold = {name: truth[i] for i, name in enumerate(ITEMS) if i % 3 == 0}
    group = {name: "ab"[i % 2] for i, name in enumerate(ITEMS)}
    weight = {name: 1.0 + i for i, name in enumerate(ITEMS)}
    drawn = ue.draw_gold(model, votes, 0.2, weights=weight)
    answers = {str(votes.items[k]): truth[k] for k in drawn.places[:60]}
    how = {"drawn": drawn.design}
    return {
        "gold of certify": (gold, lambda x: ue.certify(model, votes, x, 0.2).certificate),
        "strata": (group, lambda x: ue.certify(model, votes, gold, 0.2, strata=x).certificate),
        "weights": (
            weight,
            lambda x: ue.certify(model, votes, answers, 0.2, weights=x, **how).certificate,
        ),
        "weights of the draw": (weight, lambda x: ue.draw_gold(model, votes, weights=x).design),
        "groups": (group, lambda x: ue.certify_rates(model, votes, gold, x).to_json()),
        "gold of a rate": (gold, lambda x: ue.estimate_rate(model, votes, x).to_json()),
        "charts of a cohort": (gold, lambda x: ue.certify_cohort(group, x)),
        "patients of a cohort": (group, lambda x: ue.certify_cohort(x, gold)),
    }


def attack_charts(ground: Path, place: Path, rng: np.random.Generator) -> Outcomes:  # noqa: ARG001
    """Change the files of charts and of reviews: another answer is an error or a warning."""
    place.mkdir(parents=True, exist_ok=True)
    charts, reviews = place / "charts.csv", place / "reviews.csv"
    case, chances = rng.random(200) < 0.8, np.full(200, 0.9)
    drawn = np.sort(rng.choice(200, 80, replace=False))
    table = pd.DataFrame({"person_id": np.array(ITEMS)[drawn], "label": case[drawn].astype(int)})
    table = table.assign(probability="0.9", drawn="0.4").astype(str)
    rows = [
        (name, who, ("no", "yes")[int(case[i] == (rng.random() < 0.9))], "0.2")
        for i, name in enumerate(ITEMS)
        for who in "abcde"
    ]
    said = pd.DataFrame(rows, columns=["person_id", "reviewer", "isCase", "drawn"])

    def certify() -> Any:
        people, flagged = np.array(ITEMS), np.ones(200, dtype=bool)
        facts, _ = certify_flagged(people, chances, flagged, read_drawn(charts), 0.4)
        return {key: value for key, value in facts.items() if key != "charts_sha256"}

    def review() -> Any:
        found = read_reviewed(read_reviews(reviews, read_charts(charts)), np.array(ITEMS))
        return [found.signs.tolist(), found.weights.tolist(), found.errors.tolist()]

    table.to_csv(charts, index=False)
    said.to_csv(reviews, index=False)
    usual = {"certify": certify(), "reviews": review()}
    for file, good in ((charts, table), (reviews, said)):
        calls = {"certify": certify, "reviews": review} if file == charts else {"reviews": review}
        for what, changed, outcome in _change(good):
            changed.to_csv(file, index=False)
            for name, call in calls.items():
                strict = outcome != "refused" or name == "certify" or file == reviews
                before = None if outcome == "any" or not strict else usual[name]
                yield f"{file.name}, {name}: {what}", _compare(call, before, outcome == "same")
        good.to_csv(file, index=False)


def _change(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield changed tables, and whether the answer may change without a word."""
    yield "in another order", table.sample(frac=1, random_state=0), "same"
    yield "columns in another order", table[table.columns[::-1]], "same"
    for what, spell in {**SAME, **OTHER}.items():
        if what != "as bytes":
            spelled = table.assign(person_id=list(map(spell, table["person_id"])))
            yield what, spelled, "same" if what in SAME else "other"
    label = "label" if "label" in table else "isCase"
    for column in ("person_id", "drawn", label):
        for word in WORDS:
            outcome = "any" if column == label else "refused"
            yield f"{column} {word!r}", table.assign(**{column: word}), outcome
            cells = table[column].where(np.arange(len(table)) != 3, word)
            yield f"one {column} {word!r}", table.assign(**{column: cells}), outcome
    swap = {"0": "1", "1": "0", "no": "yes", "yes": "no"}
    for what, rows in {"all": table, "the first": table[:1]}.items():
        again = rows.assign(**{label: rows[label].map(swap)})
        yield f"{what} again, otherwise", pd.concat([table, again]), "refused"
    if label == "label":  # a chart that was drawn cannot be left out
        yield "one left out", table[1:], "refused"
        yield "half of them left out", table[::2], "refused"


def _compare(call: Callable[[], Any], usual: Any, same: bool = False) -> str:
    """Return what is wrong: a crash, another answer without a word, or an item in a message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, words = call(), ""
        except UnelisaError as error:
            found, words = None, str(error)
        except Exception as error:
            return repr(error)[:200]
    told = [words, *(str(one.message) for one in caught)]
    if any(name in text for name in ITEMS for text in told):
        return "a message names an item"
    if found is None:
        return f"refused: {words[:100]}" if same else ""
    return "" if usual is None or found == usual or caught else "another answer without a word"
