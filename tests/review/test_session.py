import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from review.reviewing import review, say, small_crowd
from unelisa.errors import ModelError
from unelisa.review.gold_file import Answer
from unelisa.review.pools import rank_useful
from unelisa.review.session import compare_reviewers, find_open, list_checks
from unelisa.sources.labels import read_labels

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gold.csv"


def rows(path):
    return path.read_text().splitlines()[1:]


def test_the_most_useful_item_comes_first_and_its_votes_after_the_answer(path):
    votes, truth, model = small_crowd()
    best = int(rank_useful(model.predict_proba(votes))[0])
    with review(path) as session:
        assert session.find_next() == best
        assert session.describe(best)["votes"] is None
        assert say(session, best, int(truth[best]))
        assert rows(path) == [f"item {best},{('ham', 'spam')[truth[best]]},ann,useful,"]
        assert session.describe(best)["votes"]["opinions"]
        assert session.find_next() != best
    with review(path, show_votes=True) as session:
        assert session.describe(session.find_next())["votes"] is not None


def test_a_review_continues_where_it_stopped(path):
    with review(path) as session:
        for _ in range(4):
            say(session, session.find_next(), 1, "seen")
        upcoming = session.find_next()
    with review(path) as session:
        assert session.count == 4
        assert session.collect().n_labels == 4
        answered = set(session._last)
        assert upcoming not in answered
        assert session.find_next() not in answered


def test_skip_back_and_change(path):
    with review(path) as session:
        first = session.find_next()
        say(session, first, None)
        second = session.find_next()
        say(session, second, 0, "a note")
        assert session.find_previous(None) == second
        assert session.find_previous(second) == first
        assert session.find_previous(first) is None
        assert session.describe(second)["note"] == "a note"
        assert say(session, second, 0, "a note")  # nothing new: not written twice
        assert len(rows(path)) == 2
        assert say(session, second, 1, "a note")
        assert [row.split(",")[1] for row in rows(path)] == ["", "ham", "spam"]
        told = session.sum_up(session.coming.result())
        assert (told["labeled"], told["skipped"]) == (1, 1)


def test_two_tabs_do_not_overwrite_each_other(path):
    with review(path) as session:
        item = session.find_next()
        assert session.answer(item, 1, "", None, new=True)
        assert session.answer(item, 1, "", None, new=True)  # a repeated request
        assert not session.answer(item, 0, "", None, new=True)  # another tab
        assert not session.answer(item, 0, "", 0, new=False)  # it saw another answer
        with review(path, "ann") as there:  # in another process
            assert there.answer(item, 1, "", None, new=True)
            assert not there.answer(item, 0, "", None, new=True)
        assert len(rows(path)) == 1
        session._done.update(range(len(session.pool.items)))
        assert session.find_next() is None  # the review ends


def test_after_ten_answers_the_model_has_learned(path):
    _, truth, _ = small_crowd()
    with review(path) as session:
        before = session.coming.result()
        for _ in range(10):
            item = session.find_next()
            say(session, item, int(truth[item]))
        after = session.coming.result()
        assert not np.array_equal(before.chances, after.chances)
        assert session.sum_up(after)["labeled"] == 10


def test_a_sample_asks_again_about_items_that_were_chosen(path):
    with review(path) as session:
        useful = [session.find_next()]
        say(session, useful[0], 1)
    with review(path, aim="rate") as session:
        assert session.count == 0
        assert session.describe(useful[0])["votes"] is None  # asked as if for the first time
        say(session, useful[0], 0)
        assert session.collect().sampled.sum() == 1
    votes, _, _ = small_crowd()
    assert read_labels(path, votes).signs[useful[0]] == -1


def test_reviewers_check_each_other_and_look_again(path):
    with review(path, "ann") as session:
        asked = []
        for _ in range(5):
            asked.append(session.find_next())
            say(session, asked[-1], 1)
    with review(path, "bob") as session:
        for _ in range(4):
            item = session.find_next()
            assert item not in asked
            say(session, item, 1)
        check = session.find_next()
        assert check == asked[0]
        assert session.describe(check)["votes"] is None
        say(session, check, 0)
        told = session.sum_up(session.coming.result())
        assert told["disputed"] == 1
        assert told["labeled"] == 8
    with review(path, "ann") as session:
        for _ in range(4):
            say(session, session.find_next(), 1)
        again = session.find_next()
        assert again == check
        assert session.describe(again)["again"]
        say(session, again, 1)  # the same answer, after a second look
        assert len(rows(path)) == 15
        assert session.find_next() != check


def test_reviewers_at_the_same_time_follow_each_other(path):
    with review(path, "ann") as ann, review(path, "bob") as bob:
        first = ann.find_next()
        say(ann, first, 1)
        second = bob.find_next()
        assert second != first
        say(bob, second, 0)
        assert ann.find_next() not in {first, second}
        assert len(ann.gold.answers) == len(bob.gold.answers) == 2
        # ann has the same item on her page: both labels count, and they disagree
        say(ann, second, 1)
        bob.find_next()
        assert bob.sum_up(bob.coming.result())["disputed"] == 1
    assert len(rows(path)) == 3


def test_one_reviewer_under_two_spellings_is_refused(path):
    """Otherwise one person would be a majority."""
    with review(path, "ann") as session:
        say(session, session.find_next(), 1)
    with (
        pytest.raises(ModelError, match="differs only in upper and lower case"),
        review(path, "Ann"),
    ):
        pass
    with review(path, "anna") as session:
        assert session.count == 0


def told(*answers):
    """Answers written as ("ann", item, label)."""
    return [Answer(item, label, who, "useful") for who, item, label in answers]


def test_kappa_is_that_of_scikit_learn_and_disagreements_are_asked_once():
    pairs = [(0, 0), (1, 1), (2, 1), (0, 0), (2, 2), (1, 0)]
    for said, kappa in (
        (pairs, cohen_kappa_score(*zip(*pairs, strict=True))),
        ([(1, 1)] * 3, None),
    ):
        own = told(*(("ann", k, one) for k, (one, _) in enumerate(said)))
        other = told(*(("bob", k, one) for k, (_, one) in enumerate(said)))
        (pair,) = compare_reviewers([*own, *other])
        assert pair.kappa == (kappa and pytest.approx(kappa))
    # reviewers are compared by their first answers
    answers = told(("ann", 1, 0), ("bob", 1, 1), ("ann", 1, 1), ("ann", 2, 0), ("bob", 2, 0))
    (pair,) = compare_reviewers([*answers, *told(("eve", 3, 0), ("ann", 4, None))])
    assert pair[:4] == ("ann", "bob", 2, 1)
    assert find_open(answers) == set()
    assert find_open(answers[:2]) == {1}
    answers = told(("ann", 1, 0), ("bob", 1, 1))
    assert list(list_checks(answers, "ann")) == [1]
    assert list(list_checks(answers, "bob")) == []  # ann looks again first
    kept = [*answers, *told(("ann", 1, 0))]
    assert list(list_checks(kept, "ann")) == []
    assert list(list_checks(kept, "eve")) == [1]  # a third reviewer can settle it
    changed = [*answers, *told(("ann", 1, 1))]
    assert list(list_checks(changed, "ann")) == []
    answers = told(("ann", 1, 0), ("ann", 2, 0), ("bob", 2, 1), ("ann", 3, None))
    assert list(list_checks(answers, "eve")) == [2, 1]
