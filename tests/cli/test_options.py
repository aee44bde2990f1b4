import pytest

from unelisa.aggregators import AGGREGATORS, MajorityVote
from unelisa.cli import options
from unelisa.errors import ModelError, VotesError
from unelisa.storage import load, save


def test_all_methods_unless_some_are_named():
    assert tuple(AGGREGATORS) == options.METHODS
    assert options.find_methods(None) == list(AGGREGATORS)
    assert options.find_methods("majority-vote, unelisa") == ["majority-vote", "unelisa"]
    with pytest.raises(ModelError, match="choose latent-ising"):
        options.find_methods("")


def test_a_form_reads_votes_as_declared(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("who,what,said\nann,x,0\nbob,x,2\n")
    form = options.VotesForm(labels="2, 0", item="what", voter="who", vote="said")
    votes = form.read(path)
    assert votes.classes == (2, 0)
    assert votes.values.tolist() == [[1, -1]]
    path.write_text("item,ann,bob\nx,cat,dog\ny,cat,bird\n")
    with pytest.raises(VotesError, match="in data row 2, column 'bob': it is not in --labels"):
        options.VotesForm(labels="cat,dog").read(path)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_the_coding_of_the_fit_serves_where_none_is_given(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,ann,bob\nx,-1,0\ny,1,1\n")
    model = MajorityVote().fit(options.VotesForm(coding="snorkel").read(path))
    assert options.VotesForm().read_as_fitted([path], model).values.tolist() == [[0, -1], [1, 1]]
    with pytest.raises(VotesError, match="other labels"):
        options.VotesForm(coding="pm1").read_as_fitted([path], model)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("foo=1", "majority-vote has no setting 'foo'; it has none"),
        ("foo", "--set takes name=value, found 'foo'"),
    ],
)
def test_a_setting_that_is_none_is_named(setting, told):
    with pytest.raises(ModelError, match=told):
        options.build_method("majority-vote", 0, 1, settings=[setting])
    with pytest.raises(ModelError, match="no setting 'foo'; it has .*fit_intercept"):
        options.build_method("unelisa", 0, 1, settings=["foo=1"])


@pytest.mark.parametrize("labels", ["yes", "a,b,c", ",yes", ""])
def test_labels_are_two(tmp_path, labels):
    with pytest.raises(VotesError, match="two labels"):
        options.VotesForm(labels=labels).read(tmp_path / "votes.csv")


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_method_is_found_by_each_of_its_names(name):
    class_name = AGGREGATORS[name].__name__
    for spelled in (name, name.upper(), name.replace("-", "_"), class_name, class_name.lower()):
        assert options.find_method(spelled) == name


def test_an_order_declares_all_classes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,ann,bob\nx,3,1\ny,2,1\nz,1,1\n")
    votes = options.VotesForm(order="1, 2,3").read(path)
    assert votes.classes == (1, 2, 3)
    assert votes.ordered
    with pytest.raises(VotesError, match=r"in data row 2, column 'ann': it is not in --order 1,3"):
        options.VotesForm(order="1,3").read(path)
    with pytest.raises(VotesError, match="without --coding and --labels"):
        options.VotesForm(order="1,2,3", labels="1,2").read(path)
    with pytest.raises(VotesError, match="takes all classes"):
        options.VotesForm(order="1").read(path)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_the_columns_and_classes_of_the_fit_serve_where_some_are_absent(tmp_path):
    path, later = tmp_path / "votes.csv", tmp_path / "later.csv"
    path.write_text("item,ann,bob\nx,poor,fair\ny,good,good\n")
    later.write_text("item,ann,bob\nw,fair,fair\n")
    model = MajorityVote().fit(options.VotesForm(order="poor,fair,good").read(path))
    assert options.VotesForm().read_as_fitted([later], model).values.tolist() == [[2, 2]]
    turned = options.VotesForm(order="good,fair,poor").read_as_fitted([later], model)
    assert model.predict(turned).tolist() == ["fair"]
    with pytest.raises(VotesError, match="other labels"):
        options.VotesForm(order="fair,fine,poor").read_as_fitted([later], model)
    named, usual = tmp_path / "named.csv", tmp_path / "usual.csv"
    named.write_text("mrn,ann,bob\nx,0,1\ny,1,1\n")
    usual.write_text("item,ann,bob\nx,0,1\ny,1,1\n")
    votes = options.VotesForm(item="mrn").read(named)
    save(MajorityVote().fit(votes), tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    assert model.columns_.item == "mrn"
    for path in (named, usual):
        assert options.VotesForm().read_as_fitted([path], model).items.tolist() == ["x", "y"]
    with pytest.raises(VotesError, match="no column 'id'"):
        options.VotesForm(item="id").read_as_fitted([named], model)
