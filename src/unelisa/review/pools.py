"""What can be asked about: items with votes and a model, or the charts of a phenotype."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.certified_draws import Drawn, draw_gold, plan_certification
from unelisa.analysis.certify import certify
from unelisa.analysis.judged import LEVEL
from unelisa.analysis.rate import estimate_rate
from unelisa.base import clone
from unelisa.errors import ModelError, VotesError
from unelisa.latent.trust import LEAST_LABELS
from unelisa.review.order import mix_chances, rank_useful, spread_sample
from unelisa.review.standing import (
    Facts,
    Known,
    Study,
    bound_mean,
    compare_readings,
    expect_accuracy,
    fix_known,
    list_rates,
    look_ahead,
    look_at_width,
    measure_accuracy,
)
from unelisa.sources.files import reading
from unelisa.sources.labels import CHOSEN, RANDOM, REVIEWER, USEFUL, list_rows
from unelisa.sources.text import TextTable
from unelisa.votes import Votes
from unelisa.votes.ballots import Floats
from unelisa.votes.coding import encode_classes

Aim = Literal["labels", "rate", "certify"]
CHARTS = ("person_id", "label", "probability", "drawn")  # what `unelisa phenotype --charts` writes
NOTE = "note"
ENOUGH = 0.95  # share of the items that can be certified that is certified or gold
EVERY = 10  # answers between two looks at where the review stands


class Opinion(NamedTuple):
    """Who gave a label to an item."""

    label: int  # place among the classes
    voters: list[str]


@dataclass(eq=False)
class VotesPool:
    """The items of some votes, with a model that was fitted to the votes alone.

    With the aim "labels" the most useful items come first, and the model is fitted again to the
    labels so far. With the aim "rate" the items are a stratified random sample, and the model stays
    as it is: `estimate_rate` needs both. With the aim "certify" they are those of `draw_gold`,
    until `share` of the labels is certified with `promise`, an error and a confidence.
    """

    model: Any
    votes: Votes
    aim: Aim = "labels"
    seed: int = 0
    promise: tuple[float, float] = (0.05, 0.95)
    share: float | None = None

    header = ("item", "label", REVIEWER, CHOSEN, NOTE)

    def __post_init__(self) -> None:
        name = type(self.model).__name__
        if not hasattr(self.model, "predict_proba") or "orient" not in self.model.get_params():
            raise ModelError(
                f"{name} does not learn from gold labels; review with LatentIsing or DawidSkene"
            )
        self.votes = self.model._reenter(self.votes)
        self.items = self.votes.items
        self.classes = tuple(self.model.classes_.tolist())
        self.words = tuple(map(str, self.classes))

    def tell_choice(self, item: int) -> str:  # noqa: ARG002 - charts differ
        """Return how an item is chosen, as the file records it."""
        if self.aim == "certify":
            return self.drawn.design
        return {"labels": USEFUL, "rate": RANDOM}[self.aim]

    @cached_property
    def drawn(self) -> Drawn:
        """The items that are asked about for a certificate."""
        error, _ = self.promise
        return draw_gold(self.model, self.votes, error, share=self.share, seed=self.seed)

    def list_opinions(self, item: int) -> list[Opinion]:
        """Return who voted for which class on an item; classes with votes only."""
        (part,) = self.votes.take_items([item]).parts()
        said = part.values[0]
        codes = np.array(encode_classes(len(self.classes)), dtype=np.int8)
        found = [(k, part.voters[said == code]) for k, code in enumerate(codes)]
        return [Opinion(k, [str(name) for name in who]) for k, who in found if len(who)]

    def study(self, known: Known) -> Study:
        """Return the order of the items and where the review stands."""
        looks = {"labels": self._learn, "rate": self._sample, "certify": self._certify}
        return looks[self.aim](known)

    def _learn(self, known: Known) -> Study:
        model: Any = self.model
        if known.n_labels:
            model = clone(self.model).fit(self.votes, known.name(self.model.classes_))
        chances = fix_known(model.predict_proba(self.votes), known)
        sample = known.only_sample()
        rates = (
            estimate_rate(self.model, self.votes, sample.name(self.model.classes_), LEVEL)
            if sample.n_labels >= LEAST_LABELS
            else estimate_rate(model, self.votes, level=LEVEL)
        )
        readings = compare_readings(self.model, model)
        facts: Facts = {
            "expected": expect_accuracy(model, chances),
            "measured": None,
            "rates": list_rates(rates),
            "sampled": sample.n_labels if sample.n_labels >= LEAST_LABELS else 0,
            "readings": readings,
            "cautions": _list_news(self.model, model),
            "outlook": look_ahead(chances, known, _find_obstacle(model, readings)),
        }
        ranking = rank_useful(self._weigh_readings(model, chances, known), self.seed)
        return Study(ranking, chances, facts)

    def _weigh_readings(self, model: Any, chances: Floats, known: Known) -> Floats:
        """Return probabilities over all readings, until there are labels enough to choose."""
        others = range(1, len(getattr(model, "readings_", ())))
        if not others or known.n_labels >= LEAST_LABELS:
            return chances
        tables = [model.read(k).predict_proba(self.votes) for k in others]
        return mix_chances([chances, *tables])

    def _sample(self, known: Known) -> Study:
        chances, sample = self.model.predict_proba(self.votes), known.only_sample()
        gold = sample.name(self.model.classes_) if sample.n_labels else None
        rates = list_rates(estimate_rate(self.model, self.votes, gold, LEVEL))
        facts: Facts = {
            "expected": None,
            "measured": measure_accuracy(chances, sample),
            "rates": rates,
            "sampled": sample.n_labels,
            "readings": [],
            "cautions": [],
            "outlook": look_at_width(rates, sample),
        }
        return Study(spread_sample(chances, self.seed), chances, facts)

    def _certify(self, known: Known) -> Study:
        chances, sample = self.model.predict_proba(self.votes), known.only_sample()
        gold = sample.name(self.model.classes_) if sample.n_labels else None
        facts: Facts = {
            "expected": None,
            "measured": measure_accuracy(chances, sample),
            "rates": [],
            "sampled": sample.n_labels,
            "readings": [],
            "cautions": [],
            "outlook": self._look_at_certificate(gold),
        }
        return Study(self.drawn.places, chances, facts)

    def _look_at_certificate(self, gold: Any) -> Facts:
        """Return how much is certified by the answers so far."""
        if gold is None:
            (*_, last) = plan_certification(self.model, self.votes, *self.promise, share=self.share)
            words = (
                f"About {last.answers:,} answers would certify {last.certified:.0%} of the items."
            )
            return {"enough": False, "more": last.answers, "words": words}
        found = certify(self.model, self.votes, gold, *self.promise, drawn=self.drawn.design)
        done = (found.n_certified + found.n_gold) / len(self.items)
        words = f"Certified now: {done:.0%} of the items. {str(found)[:1].upper()}{str(found)[1:]}."
        most = len(self.drawn.places) / len(self.items)
        return {"enough": done >= ENOUGH * most, "more": EVERY, "words": words}


def _list_news(first: Any, latest: Any) -> list[str]:
    """Return what the labels have added to what is to be known of a model."""
    before = getattr(first, "cautions_", [])
    return [caution for caution in getattr(latest, "cautions_", []) if caution not in before]


def _find_obstacle(model: Any, readings: list[Facts]) -> str:
    """Return why the expected accuracy is not to be relied on; nothing if it is."""
    if getattr(model, "reliable_", True):
        return ""
    open_ = any(row["state"] == "possible" for row in readings)
    return "the votes still allow another reading" if open_ else "the labels are not reliable yet"


@dataclass(eq=False)
class ChartsPool:
    """Charts that `unelisa phenotype --charts` drew: patients, P(case) and the share drawn.

    They come in a random order. The file that is written has the columns that `unelisa phenotype
    --gold` reads; a chart weighs 1 / the share of its stratum that was drawn.
    """

    items: NDArray[Any]
    probabilities: Floats
    drawn: list[str]
    seed: int = 0

    header = ("person_id", "label", REVIEWER, "drawn", NOTE)
    aim = "rate"
    classes = (0, 1)
    words = ("not a case", "case")

    @classmethod
    def read(cls, path: Path, seed: int = 0) -> "ChartsPool":
        """Return the charts in a file."""
        person, _, *known = CHARTS  # there are no labels yet
        with reading(path):
            rows = list(list_rows(TextTable(path), (person, *known)))
        try:
            people, chances, drawn = zip(*rows, strict=True)
            shares = np.array(list(map(float, drawn)))
            probabilities = np.array(list(map(float, chances)))
            sound = bool(np.all((shares > 0) & (shares <= 1) & (np.abs(probabilities) <= 1)))
        except ValueError:
            sound = False
        if not sound or len(set(people)) < len(people):
            raise VotesError(
                f"{path.name} must hold each patient once, with a probability and the share drawn, "
                "as unelisa phenotype --charts writes them"
            )
        return cls(np.array(people, dtype=object), probabilities, list(drawn), seed)

    def tell_choice(self, item: int) -> str:
        """Return the share of similar charts that was drawn, as the file records it."""
        return self.drawn[item]

    def list_opinions(self, item: int) -> list[Opinion]:  # noqa: ARG002 - votes differ
        """Return nothing: charts have no votes."""
        return []

    def study(self, known: Known) -> Study:
        """Return a random order, and what the labels so far say."""
        chances = np.column_stack([1 - self.probabilities, self.probabilities])
        weights = 1 / np.array(list(map(float, self.drawn)))
        rows = np.flatnonzero(known.labels >= 0)
        case = bound_mean(known.labels[rows] == 1, weights[rows])
        rates = [] if case is None else [{"class": self.words[1], **case}]
        facts: Facts = {
            "expected": None,
            "measured": measure_accuracy(chances, known, weights),
            "rates": rates,
            "sampled": known.n_labels,
            "readings": [],
            "cautions": [],
            "outlook": look_at_width(rates, known),
        }
        return Study(np.random.default_rng(self.seed).permutation(len(chances)), chances, facts)


def is_charts(path: Path) -> bool:
    """Return whether a file holds the charts that `unelisa phenotype --charts` wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(80).split(b"\n")[0].strip() == ",".join(CHARTS).encode()
