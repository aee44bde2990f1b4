"""Items, votes and labels may be patients: no message, warning, log or exception repeats them."""

import io
import logging
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unelisa as ue
from hostile.corpus import ACCEPTED, ITEMS, REFUSED, SECRET
from unelisa.aggregators import AGGREGATORS
from unelisa.cli import app
from unelisa.errors import UnelisaError

LABELS = ("Xylophon5ill", "Xylophon5well")  # labels may be diagnoses
SECRETS = (SECRET, "Xylophon5")


def overhear(make_noise):
    """Return all that a call says: streams, logs, warnings and the exception's whole chain."""
    heard = io.StringIO()
    listener = logging.StreamHandler(heard)
    logging.getLogger().addHandler(listener)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said = make_noise()
    except UnelisaError as error:
        said = f"{error!r} {error.__cause__!r} {error}"
        if not error.__suppress_context__:
            said += repr(error.__context__)
    finally:
        logging.getLogger().removeHandler(listener)
        logging.getLogger().setLevel(level)
    told = [str(warning.message) for warning in caught]
    return "\n".join([heard.getvalue(), str(said), *told])


def assert_discreet(text):
    for secret in SECRETS:
        place = text.find(secret)
        assert place < 0, f"a secret is told: ...{text[max(0, place - 80) : place + 80]}..."


def command(*arguments):
    def call():
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        return f"{result.stdout}\n{result.stderr}\n{result.exception!r}"

    return call


# bombs take seconds to make and are refused as discreetly in tests/hostile
@pytest.mark.parametrize("case", [case for case in (*REFUSED, *ACCEPTED) if "bomb" not in case])
def test_the_whole_hostile_corpus_stays_discreet(case, tmp_path):
    path = REFUSED[case][0](tmp_path) if case in REFUSED else ACCEPTED[case](tmp_path)
    model = tmp_path / "model.npz"
    ue.save(ue.MajorityVote().fit(np.resize([1, -1, -1, 1], (9, 3))), model)
    good, page, quick = tmp_path / "others.csv", tmp_path / "page.html", ("--method", "wawa")
    good.write_text("item,ann,bob\na,yes,no\nb,no,no\n")
    for arguments in (
        ("fit", path, *quick, "--out", tmp_path / "labels.csv", "--report", page),
        ("compare", path, "--truth", path, "--methods", "majority-vote"),
        ("fit", good, "--method", "dawid-skene", "--gold", path),
        ("predict", model, path, "--out", tmp_path / "labels.csv"),
        ("report", model, path, "--out", page),
    ):
        assert_discreet(overhear(command(*arguments)))
    assert_discreet(overhear(lambda: repr(ue.read_votes(path))))
    assert not page.exists() or SECRET not in page.read_text(encoding="utf-8")


def _bare(first, *others, n=90):
    """A table without a header whose first record is a patient's."""
    rows = [first, *(others[i % len(others)].replace("#", f"{SECRET}{i}") for i in range(n))]
    return "\n".join(rows) + "\n"


BARE = {
    "names": _bare(f"{SECRET},yes,no", "#,no,yes", "#,yes,yes"),
    "few names": _bare(f"{SECRET},yes,no", "#,no,yes", n=3),
    "a missing vote": _bare(f"{SECRET},yes,", "#,no,yes"),
    "a missing vote, few": _bare(f"{SECRET},yes,", "#,no,yes", n=2),
    "numbers": _bare(f"{SECRET},1,0", "#,0,1"),
    "three labels": _bare(f"{SECRET},yes,no,maybe", "#,no,yes,yes", n=3),
    "the same name twice": _bare(f"{SECRET},{SECRET},yes", "#,no,yes"),
    "an empty name": _bare(f"{SECRET},yes,no,x", ",no,yes,x"),
    "one row per vote": _bare(f"{SECRET},ann,yes", "#,bob,no"),
    "semicolons": _bare(f"{SECRET};yes;no", "#;no;yes"),
}


@pytest.mark.parametrize("case", BARE)
@pytest.mark.parametrize(
    "named", [(), ("--item", "mrn"), ("--item", "a", "--voter", "b", "--vote", "c")]
)
def test_a_record_taken_for_a_header_is_not_repeated(case, named, tmp_path):
    """Messages name positions: the first line may be a patient."""
    path, good = tmp_path / "votes.csv", tmp_path / "good.csv"
    path.write_text(BARE[case])
    good.write_text("item,ann,bob\na,yes,no\nb,no,no\n")
    for arguments in (
        ("fit", path, "--method", "majority-vote", *named),
        ("fit", good, "--method", "majority-vote", "--truth", path),
        ("fit", good, "--method", "dawid-skene", "--gold", path),
    ):
        assert_discreet(overhear(command(*arguments)))


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    said = np.array(LABELS)[rng.integers(0, 2, (24, 4))]
    table = pd.DataFrame(said, columns=["ann", "bob", "cat", "dan"], dtype=object)
    table.insert(0, "item", ITEMS)
    return table


def long_of(frame):
    return frame.melt("item", var_name="voter", value_name="vote")


BROKEN = {
    "a third label": lambda f: f.replace({"ann": {LABELS[0]: f"{SECRET}third"}}),
    "an item twice": lambda f: pd.concat([f, f.head(1)]),
    "lists": lambda f: f.assign(ann=[[SECRET]] * 24),
    "numbers among text": lambda f: f.assign(ann=[1] * 24),
    "one label": lambda f: f.assign(**dict.fromkeys(("ann", "bob", "cat", "dan"), LABELS[0])),
    "a missing item": lambda f: f.assign(item=[None, *f.item[1:]]),
    "contradictions": lambda f: pd.concat(
        [long_of(f), long_of(f).assign(vote=long_of(f).vote.iloc[::-1].to_numpy())]
    ),
    "a constant voter": lambda f: f.assign(ann=LABELS[0]),
    "a silent voter": lambda f: f.assign(ann=None),
}


@pytest.mark.parametrize("case", BROKEN)
def test_frames_stay_discreet(case, frame):
    broken = BROKEN[case](frame)
    assert_discreet(overhear(lambda: repr(ue.Votes.of(broken))))
    assert_discreet(overhear(lambda: repr(ue.MajorityVote().fit(broken))))


@pytest.mark.parametrize("name", AGGREGATORS)
def test_models_do_not_talk_of_items(name, frame):
    votes = ue.Votes.of(frame)

    def work():
        model = AGGREGATORS[name]().fit(votes)
        return f"{model!r} {votes!r} {model.voters_.drop(columns=[]).to_string()}"

    assert SECRET not in overhear(work)


@pytest.mark.parametrize(
    "gold",
    [
        dict.fromkeys(ITEMS, f"{SECRET}other"),
        {ITEMS[0]: [SECRET]},
        [f"{SECRET}{i}" for i in range(24)],
        [LABELS[0]] * 3,
        {ITEMS[0]: LABELS[0], ITEMS[1]: LABELS[1], ITEMS[2]: LABELS[0]},
    ],
    ids=["other labels", "lists", "names for labels", "too few", "thin"],
)
def test_gold_stays_discreet(gold, frame):
    votes = ue.Votes.of(frame)
    assert_discreet(overhear(lambda: repr(ue.DawidSkene(random_state=0).fit(votes, gold))))


def test_a_model_file_holds_no_item(frame, tmp_path):
    ue.save(ue.DawidSkene(random_state=0).fit(ue.Votes.of(frame)), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as archive:
        held = " ".join(str(archive[name]) for name in archive.files)
    assert SECRET not in held
    assert SECRET.encode() not in Path(tmp_path / "model.npz").read_bytes()
