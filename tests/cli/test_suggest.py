import json

import pandas as pd
import pytest

import unelisa as ue


@pytest.fixture
def model(run, files):
    """A model of votes of which a third is missing, which the file of votes then lacks too."""
    table = pd.read_csv(files.votes, index_col="item")
    gaps = [[(i + 2 * s) % 3 == 0 for s in range(table.shape[1])] for i in range(len(table))]
    table.mask(pd.DataFrame(gaps, table.index, table.columns)).to_csv(files.votes)
    path = files.folder / "model.npz"
    assert run("fit", files.votes, "--method", "dawid-skene", "--save", path).exit_code == 0
    return path


def test_the_file_holds_what_the_function_returns(run, files, model):
    out = files.folder / "ask.csv"
    result = run("suggest", model, files.votes, "--n", 10, "--out", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    expected = ue.suggest_votes(ue.load(model), ue.read_votes(files.votes), n=10)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert "10 votes on" in result.stdout
    assert f"the next batch {expected.attrs['stop']:.2f}" in result.stdout
    assert run("suggest", model, files.votes, "--n", 5, "--out", out).exit_code == 0
    assert len(pd.read_csv(out)) == 5


def test_without_a_file_the_rows_go_to_stdout(run, files, model):
    facts = files.folder / "facts.json"
    result = run("suggest", model, files.votes, "--n", 3, "--json", facts)
    assert result.stdout.startswith("item,voter,gain,cost,chance_now\n")
    assert result.stdout.count("\n") == 4
    asked = [line.split(",")[:2] for line in result.stdout.splitlines()[1:]]
    told = json.loads(facts.read_text())
    assert [[row["item"], row["voter"]] for row in told["votes"]] == asked


def test_costs_voters_and_a_human_are_taken(run, files, model):
    costs, out = files.folder / "costs.csv", files.folder / "ask.csv"
    costs.write_text("voter,cost\nw1,2.5\n")
    asked = ("--voters", "w1,w2", "--cost", costs, "--out", out)
    assert run("suggest", model, files.votes, *asked).exit_code == 0
    found = pd.read_csv(out)
    assert set(found["voter"]) <= {"w1", "w2"}
    assert set(found.loc[found["voter"] == "w1", "cost"]) <= {2.5}
    run("suggest", model, files.votes, "--gold-cost", 0.1, "--n", 5, "--out", out)
    assert set(pd.read_csv(out)["voter"]) == {"human"}


def test_nothing_worth_buying_is_said(run, files, model):
    sure = ue.read_votes(files.votes)
    fitted = ue.load(model)
    chances = fitted.predict_proba(sure).max(axis=1)
    table = pd.read_csv(files.votes)
    worst = fitted.voters_.sort_values("weight", key=abs)["voter"].iloc[0]
    table[chances > 0.99].to_csv(files.votes, index=False)
    out = files.folder / "ask.csv"
    result = run("suggest", model, files.votes, "--voters", worst, "--out", out)
    assert "nothing worth buying" in result.stdout
    assert out.read_text() == "item,voter,gain,cost,chance_now\n"


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ("voter,cost\nw1,-2\n", "the cost of w1 must be a positive number"),
        ("voter,cost\nw1,much\n", "the cost in row 2 of costs.csv is not a number"),
        ("voter,cost\nzoe,1\n", "costs.csv names 'zoe', a voter unknown to the model"),
        ("who,price\nw1,1\n", "costs.csv must have columns voter and cost"),
        ("", "costs.csv is empty"),
        (f'voter,cost\nw1,"{"9" * 200_000}x"\n', "row 2 of costs.csv is not a number"),
        ("voter,cost\nw1,1\0\n", "null bytes"),
    ],
)
def test_bad_costs_are_one_sentence(refused, files, model, costs, told):
    path = files.folder / "costs.csv"
    path.write_text(costs)
    assert told in refused("suggest", model, files.votes, "--cost", path)


def test_bad_options_are_one_sentence(refused, files, model):
    ask = ("suggest", model, files.votes)
    assert "--voters names 'zoe'" in refused(*ask, "--voters", "w1,zoe")
    assert "n must be a whole number" in refused(*ask, "--n", 0)
    assert "gold_cost must be a positive number" in refused(*ask, "--gold-cost", -1)
    assert "criterion must be one of" in refused(*ask, "--criterion", "luck")
    absent = files.folder / "absent.csv"
    assert "there is no file absent.csv" in refused(*ask, "--cost", absent)
