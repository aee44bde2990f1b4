import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, MajorityVote
from unelisa.errors import ModelError
from unelisa.storage import load, save


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_loaded_model_says_the_same(name, crowd, tmp_path):
    votes, _ = crowd
    model = AGGREGATORS[name]().fit(votes)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(votes), model.decision_function(votes))
    assert again.voters_.equals(model.voters_)


def test_labels_and_names_survive(tmp_path):
    frame = np.array([["ja", "nein"], ["ja", "ja"], ["nein", "ja"]])
    model = MajorityVote().fit(frame)
    save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").predict(frame).tolist() == model.predict(frame).tolist()


def test_no_pickle_inside(tmp_path):
    save(MajorityVote().fit([[1, -1], [-1, 1]]), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_every_flipped_byte_and_every_shortening_is_refused(tmp_path):
    file = tmp_path / "model.npz"
    save(MajorityVote().fit([[1, -1], [-1, 1]]), file)
    whole = file.read_bytes()
    for place in range(len(whole)):
        for damaged in (
            whole[:place],
            whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :],
        ):
            file.write_bytes(damaged)
            with pytest.raises(ModelError, match=r"model\.npz is damaged"):
                load(file)


def test_a_file_that_is_not_there_and_an_estimator_that_is_not_ours(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        load(tmp_path / "none.npz")
    model = MajorityVote().fit([[1, -1], [-1, 1]])
    model.stranger_ = object()
    with pytest.raises(ModelError, match="object cannot be stored"):
        save(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []
