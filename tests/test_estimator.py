import warnings

import numpy as np
import pandas as pd
import pytest

from unelisa.aggregators import AGGREGATORS, MajorityVote, UnElisa
from unelisa.errors import AmbiguousVotesError, ModelError, UnelisaWarning, VotesError, VotesWarning
from unelisa.paper.experts import ExpertSelector
from unelisa.storage import load, save
from unelisa.votes import Votes

FRAME = pd.DataFrame({"ann": [1, 0, 1], "bob": [1, 0, 0], "eve": [0, 0, 1]})


def test_names_absent_or_like_made_up_ones_are_matched():
    model = MajorityVote().fit(FRAME)
    assert model.decision_function(FRAME[["ann", "bob"]]) == pytest.approx([1, -1, 0])
    with pytest.warns(VotesWarning, match="unknown to the model"):
        model.predict(FRAME.assign(new=1))
    frame = FRAME.rename(columns={"ann": "v0", "bob": "v1", "eve": "v2"})
    model = MajorityVote().fit(frame)
    model.weights_ = np.array([3.0, 1.0, 0.5])
    straight = model.decision_function(frame)
    assert model.decision_function(frame[["v2", "v0", "v1"]]) == pytest.approx(straight)
    assert model.decision_function(frame[["v0"]]) == pytest.approx([1, -1, 1])


def test_votes_with_other_labels_are_refused_and_swapped_ones_turned():
    words = [["yes", "no", "yes"], ["no", "no", "yes"], ["no", "yes", "no"]]
    model = MajorityVote().fit(Votes.of(words, coding=("no", "yes")))
    turned = Votes.of(words, coding=("yes", "no"))
    assert model.predict(turned).tolist() == model.predict(Votes.of(words)).tolist()
    with pytest.raises(VotesError, match="other labels"):
        model.predict(Votes.of([["good", "bad", "bad"]]))


def test_voters_without_names_are_matched_by_position_in_every_fit_anew():
    model = MajorityVote().fit(FRAME.to_numpy())
    assert model.predict(FRAME.to_numpy()).tolist() == model.predict(Votes.of(FRAME)).tolist()
    with pytest.raises(VotesError, match="X has 2 features, but MajorityVote is expecting 3"):
        model.predict(FRAME.to_numpy()[:, :2])
    model = MajorityVote().fit(FRAME)
    model.fit(FRAME.to_numpy())
    assert not hasattr(model, "feature_names_in_")


def test_models_of_raw_codes_read_them_alike():
    model = MajorityVote().fit(FRAME.to_numpy())
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(np.zeros((1, 3))).tolist() == [0]
    assert model.predict(np.ones((1, 3))).tolist() == [1]
    codes = np.array([[1, -1, 0], [-1, 1, 1], [1, 1, -1]])
    signs = MajorityVote().fit(Votes.of(codes, coding="pm1"))
    assert signs.decision_function(np.array([[0, 1, 1]])) == pytest.approx([1.0])
    codes = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    model = MajorityVote().fit(codes)
    with pytest.raises(VotesError, match="if -1 means abstained, pass Votes.of"):
        model.predict(-codes)


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("n_starts", [0, -1, 2.5, "5", None, True]),
        ("random_state", [-1, 0.5, "seed", True, [1, 2]]),
        ("n_jobs", [0, "2", 1.5, True]),
        ("orient", [True, None, 0.5, ["v0"]]),
        ("fit_intercept", [1, "yes", None, 0.0]),
    ],
)
def test_settings_that_are_no_numbers_of_their_kind_are_refused(setting, values):
    for value in values:
        with pytest.raises(ModelError, match=f"{setting} must be") as caught:
            UnElisa(**{setting: value}).fit(FRAME)
        assert ". " not in str(caught.value)


def test_a_model_of_snorkels_codes_reads_raw_ones_alike(tmp_path):
    codes = np.array([[1, 0, -1], [0, 0, 1], [1, 1, 0], [-1, 0, 0]])
    model = MajorityVote().fit(Votes.of(codes, coding="snorkel"))
    assert model.predict(codes)[1:].tolist() == [0, 1, 0]  # the first is a tie
    assert model.predict(np.array([[1, 1, 0]])).tolist() == [1]
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.coding_ == "snorkel"
    assert again.predict(codes).tolist() == model.predict(codes).tolist()


def state_of(model):
    """What a model holds, and where: arrays that are the same objects are the same state."""
    return {name: id(value) for name, value in vars(model).items()}


def fail_late(cls, error, monkeypatch):
    """Let a fit fail when nearly everything is learned."""
    late = "_describe_voters" if hasattr(cls, "_describe_voters") else "_enter"
    done = getattr(cls, late)

    def fail(self, *given):
        done(self, *given)
        raise error

    monkeypatch.setattr(cls, late, fail)


@pytest.mark.parametrize("error", [VotesError("late"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("cls", [*AGGREGATORS.values(), ExpertSelector])
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_fit_that_fails_or_is_interrupted_leaves_the_model_as_it_was(
    cls, error, crowd, monkeypatch
):
    votes, _ = crowd
    model, before = cls().fit(votes), cls()
    kept, expected = state_of(model), state_of(before)
    other = pd.DataFrame(-votes.values[:200, :5]).add_prefix("w")
    fail_late(cls, error, monkeypatch)
    for one, held in ((model, kept), (before, expected)):
        with pytest.raises(type(error)):
            one.fit(other)
        assert state_of(one) == held
    assert model.n_features_in_ == 9


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_an_interrupt_in_the_midst_of_the_regressions_changes_no_label(crowd, monkeypatch):
    votes, _ = crowd
    model = UnElisa().fit(votes)
    labels = model.predict(votes)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unelisa.aggregators.unelisa.best_reliability", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(votes.take_items(np.arange(300)))
    assert np.array_equal(model.predict(votes), labels)


@pytest.mark.parametrize("cls", [*AGGREGATORS.values(), ExpertSelector])
def test_no_estimator_guesses_what_three_codes_mean(cls):
    codes = np.random.default_rng(0).choice([-1, 0, 1], (40, 5))
    complete = np.where(codes == 0, 1, codes)
    with pytest.raises(AmbiguousVotesError) as refusal:
        cls().fit(codes)
    assert "coding='pm1' if -1 is no and 0 is abstained" in str(refusal.value)
    assert "coding='snorkel' if -1 is abstained and 0 is no" in str(refusal.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        cls().fit(Votes.of(codes, coding="pm1"))
        cls().fit(Votes.of(codes, coding="snorkel"))
        model = cls().fit(complete)
    for name in {"predict", "decision_function", "predict_proba"} & set(dir(model)):
        with pytest.raises(VotesError, match="if 0 means abstained, pass Votes.of"):
            getattr(model, name)(codes)
    if hasattr(model, "score"):
        with pytest.raises(VotesError, match="if 0 means abstained, pass Votes.of"):
            model.score(codes, np.ones(40))


def test_a_model_reads_later_tables_by_the_columns_of_its_fit():
    names = {"item": "picture", "voter": "rater", "vote": "opinion"}
    long = pd.DataFrame({"item": [1, 1, 2, 2, 3], "voter": list("ababa"), "vote": list("ynyyn")})
    renamed = long.rename(columns=names)
    model = MajorityVote().fit(Votes.of(renamed, **names))
    assert model.columns_[:3] == ("picture", "rater", "opinion")
    wanted = model.predict(Votes.of(long, coding=("n", "y"))).tolist()
    assert model.predict(renamed).tolist() == wanted
    assert model.predict(long).tolist() == wanted  # by the usual names
