"""The consensus: the truth is what the voters agree on.

`model.py` is the model and its EM. Which dependence it allows is its structure: plain, a tilt
(`tilt.py`), a discount (`discount.py`, with `affinity.py`). Each is a `Candidate`; the contest in
`contest.py` keeps the one that predicts the votes best. A further structure is one file here and
one line in `contest.STRUCTURES`. Rules whose silence is an answer (`rules.py`) are always plain.
"""

from dataclasses import replace

from unelisa.latent.consensus.candidate import Kind
from unelisa.latent.consensus.contest import CLEAR_ERRORS, Choice, choose_structure
from unelisa.latent.consensus.reading import ConsensusReading
from unelisa.latent.consensus.rules import fit_rules
from unelisa.latent.crowd import Crowd, Sample
from unelisa.latent.reading import DECIDE, TWO_READINGS

__all__ = ["RULES", "ConsensusReading", "Kind", "read_consensus"]

RULES = (
    "the requested structure is replaced by plain: one-sided voters cast most votes, and with "
    "their silence as the other answer only plain is fitted"
)


def read_consensus(crowd: Crowd, sample: Sample, kinds: tuple[Kind, ...]) -> ConsensusReading:
    """Return what the voters agree on, in the best of the structures asked for."""
    if crowd.silence.any():
        reading = ConsensusReading.of(crowd, fit_rules(crowd.ballots, crowd.silence), ())
        return reading.noting(RULES) if "plain" not in kinds else reading
    choice = choose_structure(crowd.ballots, sample, kinds)
    reading = ConsensusReading.of(crowd, choice.candidate, choice.table)
    if choice.candidate.kind not in kinds:
        reading = reading.noting(_explain_refusal(choice, kinds[0]))
    rival = choice.rival
    if rival is None:
        return reading
    table = tuple({**row, "kept": row["structure"] == rival.left.name} for row in choice.table)
    other = ConsensusReading.of(crowd, rival.left, table)
    kept = "is kept" if rival.lead > CLEAR_ERRORS else "is not kept"
    return replace(reading, two_readings=True, others=(other,)).noting(
        f"{TWO_READINGS}: '{rival.name}' agrees with the majority on {rival.agreement:.0%} of the "
        f"items; it scores {rival.lead:+.1f} standard errors against the majority's reading and "
        f"{kept}; {DECIDE}"
    )


def _explain_refusal(choice: Choice, kind: Kind) -> str:
    """Return why plain is kept although another structure was requested."""
    tried = [row for row in choice.table if row["structure"].startswith(kind)]
    why = "predicts the votes worse than plain"
    if not any(row["admissible"] for row in tried):
        why = "leaves no truth (uninformative voters, a vanishing class, or a tilt in its place)"
    return f"structure {kind!r} was requested, but it {why}: plain is kept"
