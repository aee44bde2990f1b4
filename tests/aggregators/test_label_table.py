import numpy as np
import pytest

from unelisa import LatentIsing, Votes
from unelisa.aggregators.label_table import tabulate_labels


def test_every_item_has_a_label_its_probability_and_where_it_comes_from():
    votes = Votes.of([["a", "b"], ["b", None], [None, None]])
    chances = np.array([[1.0, 0.0], [0.1, 0.9], [0.4, 0.6]])
    table = tabulate_labels(votes, np.array(["a", "b", "b"]), chances, np.array([-1, 0, 0]))
    assert table["status"].tolist() == ["gold", "model", "no votes"]
    assert table["probability"].tolist() == [1.0, 0.9, 0.6]


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_gold_items_have_their_gold_label_for_certain():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    values = np.where(rng.random((300, 6)) < 0.75, truth[:, None], -truth[:, None])
    known = {i: int(truth[i]) for i in range(0, 300, 10)}
    known[1] = int(-truth[1])  # whatever the votes say
    table = LatentIsing().fit(values, y=[known.get(i) for i in range(300)]).labels(values)
    gold = table[table["status"] == "gold"]
    assert dict(zip(gold["item"], gold["label"], strict=True)) == known
    assert (gold["probability"] == 1).all()
