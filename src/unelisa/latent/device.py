"""The passes of the latent model on a device such as a GPU: the sums of its kernels, in torch.

Each agrees to rounding with the function of the same name; samples are the same items. What is of
the size of the voters, or of a sample, stays on the CPU, but for EM.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unelisa.latent import consensus, crowd, prior, reading, sum_answers
from unelisa.latent.consensus import Consensus, ConsensusReading
from unelisa.latent.worth import STEP
from unelisa.progress import each
from unelisa.votes import Votes, ballots
from unelisa.votes.ballots import Ballots
from unelisa.votes.blocks import compare_voters, tally_votes, weigh_votes
from unelisa.votes.coding import encode_classes
from unelisa.votes.device import DeviceBlocks, Lists, twin_of

COLUMNS = 32  # of numbers per item that are summed at a time
Floats = NDArray[np.float64]
Sums = tuple[Floats, ...]


def to_device(votes: Votes, device: str = "cuda") -> Votes:
    """Return the votes with a copy on a device of torch, where `LatentIsing` then works on them.

    Labels are those of the CPU, probabilities agree to rounding. Copy and fit take about 75 bytes
    per vote of the device's memory. Needs torch: ``pip install "unelisa[gpu]"``.

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
    if lists.most_classes > 2:
        return None
    no, yes = lists.send(observed - signed), lists.send(observed + signed)
    rows = torch.stack([no, yes], dim=1).view(-1, 1)
    return np.asarray(_fetch(lists.add_by_item(rows, 2)[:, 0])[0])


@twin_of(tally_votes)
def _tally_votes(lists: Lists, x: Floats) -> Sums | None:
    if lists.most_classes > 2:
        return None
    no, yes = lists.add_by_cell(lists.send(x)[:, None], 2)[:, :, 0].unbind(1)
    return _fetch(yes - no, yes + no)


@twin_of(ballots.count_votes)
def _count_votes(lists: Lists, n_voters: int, n_classes: int) -> Sums:  # noqa: ARG001
    counts = lists.counts.double()
    return _fetch(lists.sort(n_classes).sizes, counts @ (counts - 1))


@twin_of(ballots._take_run)
def _take_run(lists: Lists, items: NDArray[np.intp]) -> Ballots:
    taken = lists.take(items)
    order = torch.argsort(taken.items * taken.n_voters + taken.voters)  # voters rise in every item
    starts, voters, codes = _fetch(taken.starts, taken.voters[order], taken.codes[order])
    odds = np.zeros(len(items))
    if (logs := taken.log_priors) is not None:
        odds = _fetch(logs if logs.shape[1] > 2 else logs.diff(dim=1)[:, 0])[0]
    return Ballots(starts, voters, codes, odds)


@twin_of(crowd.mark_voters)
def _mark_voters(lists: Lists) -> Sums:
    n_classes = lists.most_classes
    codes = lists.send(encode_classes(n_classes))
    places = torch.arange(2 * lists.n_items, device=lists.device).view(-1, 2)
    marks = _shift(_scatter(places), 64 - crowd.MARK_BITS).double() + 1
    found = lists.add_by_cell(marks, n_classes)
    signed = (found * codes[:, None]).sum(1)
    return _fetch(lists.sort(n_classes).sizes.sum(1), *signed.unbind(1), found[:, :, 0].sum(1))


@twin_of(crowd.order_items)
def _order_items(lists: Lists, cast: Floats) -> NDArray[np.intp]:
    def order() -> NDArray[np.intp]:
        keys, items = _number_items(lists, lists.send(cast))
        few = min(crowd.MOST_DRAWN, len(keys))
        # as unsigned numbers
        first = (keys ^ _LEAST).topk(few, largest=False, sorted=True).indices
        return np.asarray(_fetch(items[first])[0])

    return lists.keep(f"order of {cast.shape[1]}", order)


def _number_items(lists: Lists, cast: Tensor) -> tuple[Tensor, Tensor]:
    """Return the keys of `crowd.number_items`, in the order of marks, and the item of each."""
    salts = _scatter(cast.sum(0).argsort(stable=True).argsort())
    short = _mark_items(lists, _join_classes(cast, salts, crowd.SHORT), salts, crowd.SHORT)
    table = lists.add_by_cell(short[:, None].double(), len(salts))[:, :, 0]
    long = _mark_items(lists, _join_classes(table, salts, crowd.SHORT), salts, crowd.LONG)
    rising, items = torch.sort(long, stable=True)
    marks, places = rising >> crowd.LONG - crowd.SHORT, torch.arange(len(long), device=long.device)
    first = torch.ones_like(marks, dtype=torch.bool)
    first[1:] = marks[1:] != marks[:-1]
    before = places - torch.where(first, places, 0).cummax(0).values
    return _scatter(marks + before * _STEP), items


def _mark_items(lists: Lists, voters: Tensor, salts: Tensor, bits: int) -> Tensor:
    sums = lists.add_by_item(_spread(voters.double(), len(salts)), len(salts))
    return _join_classes(sums, salts, bits)


def _join_classes(sums: Tensor, salts: Tensor, bits: int) -> Tensor:
    return _shift(_scatter(_scatter(_scatter(sums.long()) ^ salts).sum(1)), 64 - bits)


def _scatter(values: Tensor) -> Tensor:
    """Return what `crowd._scatter` does, the same 64 bits as signed numbers."""
    keys = values + _STEP
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ _shift(keys, shift)) * _sign(factor)
    return keys ^ _shift(keys, 31)


def _shift(keys: Tensor, bits: int) -> Tensor:
    return (keys >> bits) & ((1 << 64 - bits) - 1)  # zeros come in, not signs


def _sign(bits: int) -> int:
    return bits - (bits >> 63 << 64)


_LEAST, _STEP = -(1 << 63), _sign(int(crowd.STEP))


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


@twin_of(consensus.run_rounds)
def _run_rounds(lists: Lists, model: Consensus, cast: Floats, rounds: int) -> Consensus:
    there, given, last = _send(lists, model), lists.send(cast), -np.inf
    n_heard = lists.n_items - len(lists.silent)
    for _ in each(range(rounds)):
        met, right, states, found = _sum_expected(lists, there)
        likelihood = float(found + there.counts @ (given * there.biases).sum(1))
        there = _maximize(there, given, met, right, states)
        if abs(likelihood - last) < consensus.TOLERANCE * max(n_heard, 1):
            break
        last = likelihood
    found = {name: _fetch(one)[0] for name, one in vars(there).items()}
    return Consensus(**{**found, "center": float(found["center"])})


def _sum_expected(lists: Lists, there: Consensus) -> tuple[Tensor, ...]:
    n_classes, n_eases = len(there.log_classes), len(there.ease)
    posterior, likelihood = _infer(lists, there)
    if len(lists.silent):
        posterior[lists.silent], likelihood[lists.silent] = 0.0, 0.0
    states = posterior.sum(0).view(n_classes, n_eases)
    found = lists.add_by_cell(posterior, n_classes).view(-1, n_classes, n_classes, n_eases)
    right = found.diagonal(dim1=1, dim2=2).sum(2)  # voters x eases: the class that was said
    return found.sum(1), right, states, likelihood.sum()


def _maximize(there: Any, cast: Tensor, met: Tensor, right: Tensor, states: Tensor) -> Any:
    """Return the model after the M-step of `kernels.consensus.step_voters`."""
    firm, firm_biases = 1 / prior.WEIGHT_SPREAD**2, 1 / prior.BIAS_SPREAD**2
    chances = _choose(there).softmax(3).diagonal(dim1=1, dim2=3).transpose(1, 2)
    slope = right @ there.ease - (met * there.ease * chances).sum((1, 2))
    slope = slope - (there.weights - there.center) * firm
    curvature = (met * there.ease**2 * chances * (1 - chances)).sum((1, 2)) + firm
    weights = there.weights + (slope / curvature).clamp(-1, 1)
    chances = _choose(replace(there, weights=weights)).softmax(3)
    slopes = cast - there.biases * firm_biases - (met[..., None] * chances).sum((1, 2))
    curves = (met[..., None] * chances * (1 - chances)).sum((1, 2)) + firm_biases
    heard, shares = cast.sum(1) > 0, states.sum(0) + consensus.FEW
    counts = there.counts * heard
    return replace(
        there,
        weights=weights,
        biases=there.biases + (0.7 * slopes / curves).clamp(-1, 1),
        ease_shares=shares / shares.sum(),
        center=(counts @ weights + prior.MEAN_WEIGHT) / (counts.sum() + 1),
        standard_errors=torch.where(heard, curvature.rsqrt(), torch.nan),
    )


def _choose(there: Any) -> Tensor:
    """Return the logits of all answers: voters x classes x eases x answers."""
    agree = there.ease[:, None] * torch.eye(len(there.log_classes)).to(there.ease)[:, None]
    return there.biases[:, None, None] + there.weights[:, None, None, None] * agree


def _send(lists: Lists, model: Consensus) -> Any:
    """Return a model on the device."""
    return replace(model, **{name: lists.send(one) for name, one in vars(model).items()})


@twin_of(consensus.expect_ease)
def _expect_ease(lists: Lists, model: Consensus) -> Floats:
    there = _send(lists, model)
    posterior, _ = _infer(replace(lists, log_priors=None), there)
    ease = posterior.view(lists.n_items, model.n_classes, -1).sum(1) @ there.ease
    ease[lists.silent] = torch.nan
    return np.asarray(_fetch(ease)[0])


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
    logs, n_heard = _weigh(lists, one), lists.n_items - len(lists.silent)
    chances = logs.exp()
    labels = torch.bincount(chances.argmax(dim=1), minlength=one.n_classes).double()
    chances[lists.silent] = 0.0
    totals = chances.sum(0), (chances * (1 - chances)).sum(0), labels
    sizes = np.array([len(logs), n_heard, np.count_nonzero(gold)], dtype=np.float64)
    said, met = _sum_forms(lists, logs, one)
    votes = lists.sort(one.n_classes).sizes
    return sizes, *_fetch(torch.stack(totals), votes, said, met)


def _sum_forms(lists: Lists, logs: Tensor, one: reading.Reading) -> tuple[Tensor, Tensor]:
    """Return `Cases.said` and `Cases.met`: forms of the probabilities x voters x classes."""
    n_classes, experience = one.n_classes, one.experience
    factors = (1.0, 1.0) if experience is None else (experience.flatter, experience.steeper)
    steps = torch.eye(n_classes, dtype=logs.dtype, device=logs.device) * STEP
    changes = [(factor, torch.zeros_like(steps[0])) for factor in (1.0, *factors)]
    changes += [(1.0, sign * step) for step in steps for sign in (1, -1)]
    parts, many = [], max(1, COLUMNS // n_classes)
    for low in range(0, len(changes), many):
        some = changes[low : low + many]
        forms = [(factor * logs + shift).softmax(1) for factor, shift in some]
        found = lists.add_by_cell(torch.cat(forms, dim=1), n_classes)
        parts.append(found.view(-1, n_classes, len(forms), n_classes))
    found = torch.cat(parts, dim=2)  # voters x said x forms x classes
    return found.diagonal(dim1=1, dim2=3).transpose(0, 1), found.sum(1).transpose(0, 1)


def _infer(lists: Lists, there: Any) -> tuple[Tensor, Tensor]:
    """Return the posterior of class and ease per item, and the logs of its normalizers."""
    n_classes, n_eases = len(there.log_classes), len(there.ease)
    logits, norms = _choose(there), there.biases[:, :, None, None]
    raised = logits.permute(0, 3, 1, 2) - norms - logits.logsumexp(3)[:, None]
    cells = (there.counts[:, None, None, None] * raised).reshape(-1, n_classes * n_eases)
    logs = lists.add_by_item(cells, n_classes)
    logs += (there.log_classes[:, None] + there.ease_shares.log()).flatten()
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


def _average(lists: Lists, model: Consensus) -> Tensor:
    n_classes, there = model.n_classes, _send(lists, model)
    votes = lists.add_by_item(_spread(there.counts, n_classes), n_classes)
    posterior, _ = _infer(replace(lists, log_priors=None), there)
    posterior = posterior.view(lists.n_items, n_classes, -1)
    chances = posterior[:, :, 0]
    if len(there.ease) > 1:
        right = there.ease.tanh()
        unsure = posterior.sum(1) @ (1 - right) / n_classes
        chances = posterior @ right + unsure[:, None]
    chances[lists.silent] = there.log_unheard.softmax(0)
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


def _fetch(*found: Tensor) -> tuple[Any, ...]:
    return tuple(one.cpu().numpy() for one in found)
