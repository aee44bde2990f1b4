"""`unelisa update`: a saved model takes more votes."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.cli import options
from unelisa.cli.screen import busy, tell_written
from unelisa.errors import ModelError, VotesError, replay_warnings
from unelisa.outputs import holding, make_plain
from unelisa.report.wording import count_noun

if TYPE_CHECKING:
    from unelisa.aggregators import LatentIsing
    from unelisa.votes import Votes


@options.takes_form
def update(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: Path,
    votes: list[Path],
    save: Path | None = None,
    earlier: list[Path] | None = None,
    gold: Path | None = None,
    keep_votes: bool = False,
    out: Path | None = None,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Add votes to a saved model: on old or new items, of old or new voters, or changed.

    The model is fitted again to all votes, with the gold labels that it was saved with. A vote
    replaces an earlier one of the same voter on the same item. A model that was saved with its
    votes is saved with them again. Column names and coding are those of the fit unless given here.

    --save model.npz: Save the updated model; may be MODEL itself.
    --earlier OLD.csv: The votes so far, for a model that was saved without them; may be repeated.
    --gold GOLD.csv: Gold labels of old or new items, beside those that the model was saved with.
    --out labels.csv: Write the labels of all items, as `fit` does.
    """
    from unelisa.aggregators import LatentIsing
    from unelisa.analysis.judged import Judged
    from unelisa.storage import load
    from unelisa.storage import save as save_model

    old = earlier or []
    run.check(save, tables=(out,), inputs=(*votes, *old, gold))
    run.check(tables=(out,), inputs=(model,))  # --save may replace it
    loaded = _digest(model)
    fitted = load(model)
    if not isinstance(fitted, LatentIsing):
        name = type(fitted).__name__
        raise ModelError(f"only latent-ising is updated, found {name}; fit all votes again")
    keeps = keep_votes or hasattr(fitted, "_kept_votes")
    known = form.read_as_fitted(old, fitted) if old else None
    more = form.read_as_fitted(votes, fitted)
    before = fitted.n_features_in_
    with warnings.catch_warnings(record=True) as caught, busy("updating"):
        fitted.update(more, earlier=known, y=read_gold(gold, fitted))
    replay_warnings(caught)
    whole = fitted._memory.votes
    facts = _list_facts(fitted, whole) | {"new_voters": whole.n_voters - before}
    with busy("writing"), holding(model), run.files() as files:
        if out is not None:
            files.write_labels(out, Judged.of(fitted, whole))
        if save is not None:
            save_model(fitted, files.draft(save), keep_votes=keeps)
        files.write_json(run.json, facts)
        _check_unchanged(model, save, loaded)
    screen = run.screen(out)
    for line in _describe(facts):
        screen.print(line)
    tell_written(screen, out, save, run.json)
    if save is None and out is None:
        screen.print("Nothing was saved; add --save model.npz.")


def _list_facts(model: "LatentIsing", votes: "Votes") -> dict[str, Any]:
    from unelisa.aggregators import find_drift

    drift = find_drift(model, votes).to_dict("records")
    return {
        "items": votes.n_items,
        "voters": votes.n_voters,
        "votes": int(votes.vote_counts().sum()),
        "drift": [{key: make_plain(value) for key, value in row.items()} for row in drift],
    }


def read_gold(path: Path | None, model: "LatentIsing") -> dict[Any, Any] | None:
    """Return the labels in a file by item, whichever votes the items have."""
    from unelisa.sources.labels import LabelTable

    if path is None:
        return None
    try:
        table = LabelTable(path, tuple(model.classes_.tolist())).read()
    except VotesError as error:
        raise VotesError(f"{path.name} cannot be used as labels of these votes: {error}") from None
    labels = table.name_codes(table.values[:, 0])
    return {item: one for item, one in zip(table.items, labels, strict=True) if one is not None}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _check_unchanged(model: Path, save: Path | None, loaded: str) -> None:
    """Raise where the file that is to be replaced is no longer the one that was loaded."""
    if save is not None and save.exists() and save.samefile(model) and _digest(model) != loaded:
        raise ModelError(
            f"{model.name} was changed by another program while it was updated, and is left as it "
            "is: run the update again"
        )


def _describe(facts: dict[str, Any]) -> Iterator[str]:
    new = f", {facts['new_voters']} of them new" if facts["new_voters"] else ""
    many = count_noun(facts["votes"], "vote"), count_noun(facts["items"], "item")
    yield f"{many[0]} on {many[1]} by {count_noun(facts['voters'], 'voter')}{new}"
    tested = [row for row in facts["drift"] if row["p_value"] is not None]
    drifted = sum(row["drifted"] for row in tested)
    found = f"that of {drifted} changed" if drifted else "none changed"
    yield f"accuracy over time was tested for {count_noun(len(tested), 'voter')}: {found}"
