"""The passes of the latent model on a device such as a GPU: the sums of its kernels, in torch.

Each agrees to rounding with the pass of the same name; what is between them stays on the CPU.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unelisa.latent import consensus, crowd, prior, reading, sum_answers
from unelisa.latent.consensus import Consensus, ConsensusReading
from unelisa.latent.worth import STEP
from unelisa.votes import Votes, ballots
from unelisa.votes.blocks import compare_voters, tally_votes, weigh_votes
from unelisa.votes.coding import encode_classes
from unelisa.votes.device import DeviceBlocks, Lists, twin_of

Floats = NDArray[np.float64]
Sums = tuple[Floats, ...]


def to_device(votes: Votes, device: str = "cuda") -> Votes:
    """Return the votes with a copy on a device of torch, where `LatentIsing` then works on them.

    Labels are those of the CPU, probabilities agree to rounding. The copy takes about 40 bytes per
    vote of the device's memory. Needs torch: ``pip install "unelisa[gpu]"``.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(random_state=0).votes
    >>> there = ue.to_device(votes, "cpu")
    >>> bool((ue.LatentIsing().fit_predict(there) == ue.LatentIsing().fit_predict(votes)).all())
    True
    """
    return replace(votes, blocks=DeviceBlocks.of(votes.blocks, device))


@twin_of(ballots._list_runs)
def _list_runs(lists: Lists) -> Lists:
    return lists


@twin_of(ballots._set_prior_odds)
def _set_prior_odds(lists: Lists, odds: Floats) -> Lists:
    if not odds.size:
        return replace(lists, log_priors=None)
    logs = lists.send(odds)
    return replace(
        lists, log_priors=logs if logs.ndim == 2 else torch.stack([-logs / 2, logs / 2], 1)
    )


@twin_of(compare_voters)
def _compare_voters(lists: Lists, n_classes: int) -> Sums:
    said = lists.add_by_item(_spread(lists.send(np.ones(lists.n_voters)), n_classes), n_classes)
    total = said.sum(1, keepdim=True)
    flags = torch.cat([total > 1, total > said], dim=1).double()
    found = lists.add_by_cell(flags, n_classes)
    against = found[:, :, 1:].diagonal(dim1=1, dim2=2).sum(1)
    cells = lists.sort(n_classes).sizes
    columns = [*cells.unbind(1), found[:, :, 0].sum(1), against]
    met = flags[:, 0].sum()
    return _fetch(torch.stack(columns, dim=1).long(), met.long())


@twin_of(weigh_votes)
def _weigh_votes(lists: Lists, signed: Floats, observed: Floats) -> Floats | None:
    if _count_classes(lists) > 2:
        return None
    no, yes = lists.send(observed - signed), lists.send(observed + signed)
    rows = torch.stack([no, yes], dim=1).view(-1, 1)
    return _fetch(lists.add_by_item(rows, 2)[:, 0])[0]


@twin_of(tally_votes)
def _tally_votes(lists: Lists, x: Floats) -> Sums | None:
    if _count_classes(lists) > 2:
        return None
    no, yes = lists.add_by_cell(lists.send(x)[:, None], 2)[:, :, 0].unbind(1)
    return _fetch(yes - no, yes + no)


@twin_of(ballots.count_votes)
def _count_votes(lists: Lists, n_voters: int, n_classes: int) -> Sums:  # noqa: ARG001
    counts = lists.counts.double()
    return _fetch(lists.sort(n_classes).sizes, counts @ (counts - 1))


@twin_of(crowd._sum_marks)
def _sum_marks(lists: Lists, first: Floats, second: Floats, n_voters: int) -> Sums:  # noqa: ARG001
    n_classes = _count_classes(lists)
    codes = lists.send(encode_classes(n_classes))
    marks = torch.stack([lists.send(first), lists.send(second)], dim=1)
    found = lists.add_by_cell(marks, n_classes)
    signed = (found * codes[:, None]).sum(1)
    return _fetch(lists.sort(n_classes).sizes.sum(1), *signed.unbind(1), found[:, :, 0].sum(1))


@twin_of(crowd._mark_items)
def _mark_items(lists: Lists, voters: Floats, salts: NDArray[np.uint64], bits: int) -> Floats:
    sums = lists.add_by_item(_spread(lists.send(voters), len(salts)), len(salts))
    return crowd._join_classes(_fetch(sums)[0], salts, bits)


@twin_of(crowd._sum_marked)
def _sum_marked(lists: Lists, marks: Floats, n_voters: int, n_classes: int) -> Sums:  # noqa: ARG001
    return _fetch(lists.add_by_cell(lists.send(marks)[:, None], n_classes)[:, :, 0])


@twin_of(crowd._count_dissents)
def _count_dissents(lists: Lists, heads: NDArray[np.int32], n_classes: int) -> Sums:
    said = lists.add_by_item(_spread(lists.send(np.ones(lists.n_voters)), n_classes), n_classes)
    most, next_most = said.topk(2, dim=1).values.unbind(1)
    head = torch.as_tensor(heads.astype(np.int64), device=lists.device)
    own = head[lists.voters.long()]
    sizes = torch.bincount(head, minlength=len(head))
    shared = sizes[own] > 1
    items, classes = lists.items[shared], lists.sort(n_classes).own[shared] % n_classes
    keys = (own[shared] * lists.n_items + items) * n_classes + classes
    keys, agreed = torch.unique(keys, return_counts=True)
    cells = keys % (lists.n_items * n_classes)
    heads_of, answered = keys // (lists.n_items * n_classes), said.flatten()[cells]
    items = cells // n_classes
    rest = torch.where(answered == most[items], next_most[items], most[items])
    dissents = torch.bincount(heads_of[rest > answered - agreed], minlength=len(head))
    apart = torch.bincount(heads_of[agreed != sizes[heads_of]], minlength=len(head))
    return _fetch(dissents.double(), apart.double())


@twin_of(consensus.sum_expected)
def _sum_expected(lists: Lists, parameters: tuple[Any, ...]) -> Sums:
    n_classes, n_eases = parameters[-1].shape
    posterior, likelihood = _infer(lists, parameters)
    heard = lists.counts > 0
    states = (posterior * heard[:, None]).sum(0).view(n_classes, n_eases)
    found = lists.add_by_cell(posterior, n_classes).view(-1, n_classes, n_classes, n_eases)
    right = found.diagonal(dim1=1, dim2=2).sum(2)  # voters x eases: the class that was said
    return _fetch(found.sum(1), right, states, (likelihood * heard).sum())


@twin_of(consensus.expect_ease)
def _expect_ease(lists: Lists, fitted: Consensus) -> Floats:
    posterior, _ = _infer(replace(lists, log_priors=None), fitted.parameters)
    ease = posterior.view(lists.n_items, fitted.n_classes, -1).sum(1) @ lists.send(fitted.ease)
    return _fetch(torch.where(lists.counts > 0, ease, torch.nan))[0]


@twin_of(reading._weigh_run)
def _weigh_run(lists: Lists, one: reading.Reading) -> Floats | None:
    return _fetch(_weigh(lists, one))[0] if isinstance(one, ConsensusReading) else None


@twin_of(sum_answers)
def _sum_answers(
    lists: Lists,
    gold: NDArray[np.int8],
    one: reading.Reading,
    n_voters: int,  # noqa: ARG001
) -> Sums | None:
    if not isinstance(one, ConsensusReading):
        return None
    logs, heard = _weigh(lists, one), lists.counts > 0
    chances = logs.exp()
    labels = torch.bincount(chances.argmax(dim=1), minlength=one.n_classes).double()
    own = chances * heard[:, None]
    totals = own.sum(0), (own * (1 - chances)).sum(0), labels
    sizes = np.array([len(logs), int(heard.sum()), np.count_nonzero(gold)], dtype=np.float64)
    said, met = zip(*_sum_forms(lists, logs, one), strict=True)
    votes = lists.sort(one.n_classes).sizes
    return sizes, *_fetch(torch.stack(totals), votes, torch.stack(said), torch.stack(met))


def _sum_forms(lists: Lists, logs: Tensor, one: reading.Reading) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield `Cases.said` and `Cases.met` for every form of the probabilities."""
    n_classes, experience = one.n_classes, one.experience
    factors = (1.0, 1.0) if experience is None else (experience.flatter, experience.steeper)
    steps = torch.eye(n_classes, dtype=logs.dtype, device=logs.device) * STEP
    shifted = (logs + sign * step for step in steps for sign in (1, -1))
    for form in (logs, *(factor * logs for factor in factors), *shifted):
        found = lists.add_by_cell(form.softmax(1), n_classes)
        yield found.diagonal(dim1=1, dim2=2), found.sum(1)


def _infer(lists: Lists, parameters: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Return the posterior of class and ease per item, and the logs of its normalizers."""
    cells, log_states = map(lists.send, parameters)
    n_classes, n_eases = log_states.shape
    logs = lists.add_by_item(cells, n_classes) + log_states.flatten()
    if lists.log_priors is not None:
        logs += lists.log_priors.repeat_interleave(n_eases, dim=1)
    total = logs.logsumexp(1)
    return (logs - total[:, None]).exp_(), total


def _weigh(lists: Lists, one: ConsensusReading) -> Tensor:
    """Return the log-probabilities of all items, with correction and prior odds."""
    logs, correction = _average(lists, one.model), one.correction
    logs = logs.flip(1) if one.swapped else logs
    logs = correction.slope * logs.log_softmax(1) + lists.send(correction.offsets)
    if correction.votes.any():
        said = _spread(lists.send(correction.votes), one.n_classes)
        logs = logs + lists.add_by_item(said, one.n_classes)
    return (logs if lists.log_priors is None else logs + lists.log_priors).log_softmax(1)


def _average(lists: Lists, fitted: Consensus) -> Tensor:
    n_classes = fitted.n_classes
    votes = lists.add_by_item(_spread(lists.send(fitted.counts), n_classes), n_classes)
    posterior, _ = _infer(replace(lists, log_priors=None), fitted.parameters)
    posterior = posterior.view(lists.n_items, n_classes, -1)
    chances = posterior[:, :, 0]
    if len(fitted.ease) > 1:
        right = torch.tanh(lists.send(fitted.ease))
        unsure = posterior.sum(1) @ (1 - right) / n_classes
        chances = posterior @ right + unsure[:, None]
    unheard = lists.send(fitted.log_unheard).softmax(0)
    chances = torch.where((lists.counts > 0)[:, None], chances, unheard)
    if n_classes > 2:
        chances = torch.where(votes == 0, prior.UNHEARD * chances, chances)
        chances = chances / chances.sum(1, keepdim=True)
    shares = (votes + 1) / (votes.sum(1, keepdim=True) + n_classes)
    logs = prior.MODEL_POWER * chances.clamp(min=prior.LEAST_CHANCE).log()
    return logs + prior.SHARE_POWER * shares.log()


def _spread(values: Tensor, n_classes: int) -> Tensor:
    """Return rows per cell: the voter's value for the class that it said, 0 for the others."""
    unit = torch.eye(n_classes, dtype=values.dtype, device=values.device)
    return (values[:, None, None] * unit).reshape(-1, n_classes)


def _count_classes(lists: Lists) -> int:
    """Return how many classes the codes may have; two of -1 and +1."""
    if bool((lists.codes.abs() <= 1).all()):
        return 2
    return max(3, int(lists.codes.view(torch.uint8).max()))


def _fetch(*found: Tensor) -> Sums:
    return tuple(one.cpu().numpy() for one in found)
