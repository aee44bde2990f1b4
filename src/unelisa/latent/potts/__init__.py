"""More than two classes: the Potts form of the consensus.

`model.py` is the model and its EM, `coefficients.py` what it learns of each voter, `crowd.py` whose
votes are read. `contest.py` decides which hidden nodes there are besides the class (ease,
families), `doubt.py` how far the result can be believed, `pool.py` averages what the votes do not
identify, `checks.py` lists what speaks against the result, `reading.py` is what comes back, and
`gold.py` is for gold labels.
"""

from dataclasses import replace
from typing import get_args

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.errors import ModelError
from unelisa.latent.consensus import FIT_VOTES, LEAST_WEIGHT, NO_DOUBT, SEARCH_VOTES
from unelisa.latent.consensus.contest import list_candidates
from unelisa.latent.consensus.doubt import Doubt
from unelisa.latent.consensus.model import Families, Floats
from unelisa.latent.crowd import Sample
from unelisa.latent.potts.checks import find_class_reasons
from unelisa.latent.potts.coefficients import MOST_CELLS
from unelisa.latent.potts.contest import (
    ClassChoice,
    ClassKind,
    count_branches,
    hold_contest,
    weigh_majority,
)
from unelisa.latent.potts.crowd import ClassCrowd
from unelisa.latent.potts.doubt import measure_class_doubt
from unelisa.latent.potts.model import order_form
from unelisa.latent.potts.pool import ClassPool, ClassTerms, fit_class_pool
from unelisa.latent.potts.reading import ClassReading, sum_classes
from unelisa.progress import until

__all__ = ["ClassReading", "read_classes"]


def read_classes(
    ballots: ItemBlocks, n_classes: int, *, ordered: bool, structure: str
) -> ClassReading:
    """Return what the voters agree on, in the structure asked for or in the one they need."""
    kinds = get_args(ClassKind)
    if structure not in ("auto", *kinds):
        known = ", ".join(repr(kind) for kind in kinds)
        raise ModelError(
            f"structure {structure!r} takes two classes, found {n_classes}; choose 'auto', {known}"
        )
    crowd = ClassCrowd.of(ballots, n_classes)
    rules = bool(crowd.silence.any())
    # Potts units: a = 2 a'
    least = 2 * LEAST_WEIGHT if rules else -np.inf
    forms = [np.eye(n_classes), order_form(n_classes)] if ordered else [np.eye(n_classes)]
    if rules:
        forms = [np.column_stack([form, np.zeros(n_classes)]) for form in forms]
    samples = spoken, filled = crowd.draw_votes(SEARCH_VOTES)
    asked = kinds if structure == "auto" else (structure,)
    eased = len(crowd.kept) * forms[0].size <= MOST_CELLS
    if not eased:
        asked = tuple(kind for kind in asked if kind != "ease") or ("plain",)
    with until(0.4):
        choice = hold_contest(samples, forms[-1], asked, least)
    terms = ClassTerms(forms, least, eased)
    majority = weigh_majority(spoken, choice.once, n_classes)
    best = choice.best
    doubt = NO_DOUBT if rules else measure_class_doubt(filled, best.model, best.truth, majority)
    with until(0.95):
        pool = _fit_pool(crowd, choice, best.model.family, doubt, terms)
    if choice.few is not None:
        pool = replace(pool, weights=np.zeros(len(pool.members)), share=1.0, family=choice.few)
    reading = _describe(crowd, filled, choice, pool, (majority, doubt))
    if structure not in ("auto", reading.structure.split(",")[0]):
        reading = reading.noting(
            f"structure {structure!r} was requested, but the votes do not admit it: "
            f"{reading.structure!r} is kept"
        )
    if choice.rival is None:
        return reading
    other = _fit_pool(crowd, choice, choice.rival.model.family, NO_DOUBT, terms)
    rival = _read(crowd, choice._replace(best=choice.rival), other)
    rival = replace(rival, agreement=choice.best.agreement(choice.rival))
    return replace(reading, others=(rival,))


def _fit_pool(
    crowd: ClassCrowd,
    choice: ClassChoice,
    family: Families,
    doubt: Doubt,
    terms: ClassTerms,
) -> ClassPool:
    """Return the pool on some families; many votes are fitted in part."""
    samples = spoken, _ = crowd.draw_votes(FIT_VOTES)
    part = spoken.ballots.n_items < crowd.ballots.n_items
    counted = np.ones(spoken.n_voters) if family.max(initial=-1) < 0 else choice.once
    start = weigh_majority(spoken, counted, crowd.answers.shape[1])
    pool = fit_class_pool(
        *(samples, family, start, doubt.share),
        terms._replace(whole=crowd.ballots if part else None),
    )
    members = tuple(one.without(crowd.votes == 0) for one in pool.members)
    return replace(pool, members=members, kept=crowd.kept)


def _describe(
    crowd: ClassCrowd,
    sample: Sample,
    choice: ClassChoice,
    pool: ClassPool,
    against: tuple[Floats, Doubt],
) -> ClassReading:
    """Return the pool as the reading that is taken, with what speaks against it."""
    sums = crowd.spoken.sum(sum_classes, pool, crowd.silence)
    reasons = tuple(find_class_reasons(sample, choice, sums, *against))
    reading = replace(_read(crowd, choice, pool), reasons=reasons)
    if choice.few is not None:
        branches = count_branches(choice.few)
        reading = replace(reading, branches=branches, experts=np.zeros_like(reading.experts))
    return reading


def _read(crowd: ClassCrowd, choice: ClassChoice, pool: ClassPool) -> ClassReading:
    """Return a pool on the structure of the choice's best candidate as a reading."""
    best = choice.best
    return ClassReading(
        structure=best.kind + (", silence filled in" if crowd.silence.any() else ""),
        model=pool.best,
        pool=pool,
        experts=np.ones(len(pool.family), dtype=np.bool_),
        silence=crowd.silence,
        family=pool.family,
        branches=best.branches,
        coherence=np.nan,
        evidence=best.evidence - choice.tried[0].evidence,
        table=list_candidates(choice.tried, choice.best),
    )
