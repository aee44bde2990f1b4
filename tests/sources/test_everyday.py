"""Files as other tools and people write them: read as meant, or refused with advice that works."""

import shlex

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from unelisa.cli import app
from unelisa.cli.screen import spell_hints
from unelisa.errors import VotesError, VotesWarning
from unelisa.sources.labels import read_labels
from unelisa.sources.tables import read_votes
from unelisa.votes import Votes

SAID = {"x1": ("yes", "no"), "x2": ("yes", "yes"), "x3": ("no", "no"), "x4": ("no", "yes")}
TABLE = [[1, -1], [1, 1], [-1, -1], [-1, 1]]


def write(tmp_path, header, rows, name="votes.csv", mark=","):
    path = tmp_path / name
    lines = [header, *(mark.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def long_rows(between=()):
    return [
        (item, *between, who, vote)
        for item, votes in SAID.items()
        for who, vote in zip(("ann", "bob"), votes, strict=True)
    ]


@pytest.mark.parametrize(
    "header",
    [
        "HITId,WorkerId,Answer.label",
        "ASSIGNMENT:task_id,ASSIGNMENT:worker_id,OUTPUT:result",
        "Task ID,Participant id,Response",
        "item-id,Annotator ID,LABEL",
        "task_id,PROLIFIC_PID,answer",
    ],
)
def test_columns_of_other_tools_are_known(header, tmp_path):
    votes = read_votes(write(tmp_path, header, long_rows()))
    assert votes.values.tolist() == TABLE
    assert votes.voters.tolist() == ["ann", "bob"]


def test_columns_and_voters_are_chosen_by_name(tmp_path):
    rows = [(*row, "ok") for row in long_rows()]
    path = write(tmp_path, "HITId,WorkerId,Answer.sick,Answer.note", rows)
    with pytest.raises(VotesError, match=r"'Answer.sick', 'Answer.note'.* vote='Answer.sick'"):
        read_votes(path)
    assert read_votes(path, vote="Answer.sick").values.tolist() == TABLE
    path = write(tmp_path, "item,note,voter,vote", long_rows(("hello",)))
    assert read_votes(path, voters=["bob"], coding=("no", "yes")).voters.tolist() == ["bob"]
    assert read_votes(path, drop=["ann", "note"], coding=("no", "yes")).voters.tolist() == ["bob"]
    with pytest.raises(VotesError, match="no voter 'eve'; the voters are 'ann', 'bob'"):
        read_votes(path, drop=["eve"])


@pytest.mark.parametrize("names", [["p7", "p1", "p9", "p4"], [1007, 1001, 1009, 1004]])
def test_a_first_column_of_ids_names_the_items(names, tmp_path):
    rows = [(name, *said) for name, said in zip(names, SAID.values(), strict=True)]
    votes = read_votes(write(tmp_path, "case,ann,bob", rows))
    assert votes.items.tolist() == [str(name) for name in names]
    assert votes.values.tolist() == TABLE
    frame = pd.DataFrame(rows, columns=["case", "ann", "bob"])
    for table in (frame, pl.from_pandas(frame)):
        assert Votes.of(table).items.tolist() == names


@pytest.mark.parametrize(
    "table",
    [
        {"a": [3, 5, 8], "b": [5, 3, 8]},  # shared labels
        {"a": [11, 35, 70], "b": [20, 50, 90]},  # ratings on sliders
        {"a": [0.1, 0.7, 0.9], "b": ["no", "yes", "no"]},  # scores
        {"a": ["2020-01-01", "2020-01-02", "2020-01-03"], "b": ["no", "yes", "no"]},
        {"a": ["no", "yes"], "b": ["non", "oui"]},
        {"a": ["x", "y", None], "b": ["no", "yes", "no"]},
        {"a": ["x", "y", "y"], "b": ["no", "yes", "no"]},
    ],
)
def test_a_first_column_that_may_be_votes_does_not(table):
    try:
        votes = Votes.of(pd.DataFrame(table))
    except VotesError:
        return
    assert votes.voters.tolist() == ["a", "b"]


def test_a_named_index_goes_before_the_first_column():
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": ["x", "y", "y"]}, index=["p", "q", "r"])
    assert Votes.of(frame).items.tolist() == ["p", "q", "r"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252"])
@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_bytes_and_marks_of_european_spreadsheets(encoding, mark, tmp_path):
    lines = ["fall;Änne;bob", *(f"{item};{a};{b}" for item, (a, b) in SAID.items()), ""]
    (tmp_path / "votes.csv").write_bytes("\r\n".join(lines).replace(";", mark).encode(encoding))
    if encoding == "utf-8-sig":
        votes = read_votes(tmp_path / "votes.csv")
    else:
        with pytest.warns(VotesWarning, match="votes.csv is not UTF-8 text; it is read as Win"):
            votes = read_votes(tmp_path / "votes.csv")
    assert votes.voters.tolist() == ["Änne", "bob"]
    assert votes.values.tolist() == TABLE


def test_late_letters_of_latin_1_are_found(tmp_path):
    """Far behind the part of a file that is looked at first."""
    rows = "".join(f"x{i},yes,no\n" for i in range(200_000))
    (tmp_path / "votes.csv").write_bytes(f"item,a,b\n{rows}Zoë,no,yes\n".encode("latin-1"))
    with pytest.warns(VotesWarning, match="is not UTF-8"):
        assert read_votes(tmp_path / "votes.csv").items[-1] == "Zoë"


def test_decimal_commas_and_workbooks_are_read(tmp_path):
    rows = [(item, *("1,0" if x == "yes" else "0,0" for x in said)) for item, said in SAID.items()]
    votes = read_votes(write(tmp_path, "item;ann;bob", rows, mark=";"))
    assert votes.values.tolist() == TABLE
    assert votes.classes == (0, 1)
    book = openpyxl.Workbook()
    book.active.append(["case", "ann", "bob", None])
    for k, said in enumerate(SAID.values()):
        book.active.append([float(k + 1), *said, None])
    book.active.append([None])
    book.save(tmp_path / "votes.xlsx")
    votes = read_votes(tmp_path / "votes.xlsx")
    assert votes.items.tolist() == ["1", "2", "3", "4"]
    assert votes.values.tolist() == TABLE
    book.create_sheet("more")
    book.save(tmp_path / "votes.xlsx")
    with pytest.warns(VotesWarning, match="has 2 sheets, of which the first is read"):
        read_votes(tmp_path / "votes.xlsx")


def test_columns_without_votes_are_named_and_can_be_left_out(tmp_path):
    """The advice of the error works, in Python and on the command line."""
    extra = [(3.5, "2024-01-02", "fine, I think"), (8.25, "2024-01-03", "hm")]
    extra += [(2.75, "2024-01-05", "sure"), (12.5, "2024-01-09", "unclear, cannot tell")]
    rows = [
        (item, *said, minutes, day, f'"{note}"')
        for (item, said), (minutes, day, note) in zip(SAID.items(), extra, strict=True)
    ]
    path = write(tmp_path, 'case,ann,bob,minutes,day,"note, free"', rows)
    with pytest.raises(VotesError, match="columns 4, 5, 6 can hardly hold votes") as caught:
        read_votes(path)
    assert "sure" not in str(caught.value)
    path.write_text(path.read_text().replace("case,", "item,", 1))
    with pytest.raises(VotesError, match="columns 'minutes', 'day', 'note, free' can") as caught:
        read_votes(path)
    hint = caught.value.hints[0]
    assert read_votes(path, **{hint.parameter: hint.value}).values.tolist() == TABLE
    assert read_votes(path, voters=["bob", "ann"]).voters.tolist() == ["bob", "ann"]
    option = spell_hints(caught.value).split("; pass ")[1].split(" to leave out")[0]
    out = tmp_path / "labels.csv"
    for more in (shlex.split(option), ["--voters", "ann,bob"]):
        command = ["fit", str(path), "--method", "wawa", "--out", str(out), "--force", *more]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    with pytest.raises(VotesError, match="there is no column 'eve'; the columns are"):
        read_votes(path, drop=["eve"])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("minutes", [1, 3, 7, 12, 5, 31, 2, 9]),  # some are labels of the votes, too
        ("sex", list("mffmfmfm")),
        ("status", ["Approved"] * 8),
        ("score", [0.1, 0.5, 0.2, 0.9, 0.3, 0.4, 0.8, 0.7]),
    ],
)
def test_one_column_that_is_no_voter_is_refused_not_made_classes(name, cells):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (8, 3)), columns=["ann", "bob", "cem"])
    frame.insert(0, "item", [f"x{i}" for i in range(8)])
    with pytest.raises(VotesError, match=f"column '{name}' can hardly hold votes.*drop="):
        Votes.of(frame.assign(**{name: cells}))
    assert Votes.of(frame.assign(**{name: cells}), drop=[name]).voters.tolist() == [
        "ann",
        "bob",
        "cem",
    ]


def test_ratings_and_ordered_categories_keep_their_order(tmp_path):
    scale = pd.CategoricalDtype(["poor", "fair", "good", "great"], ordered=True)
    said = pd.Series(["good", "poor", "fair", "good", "poor"]).astype(scale)
    frame = pd.DataFrame({"item": list("vwxyz"), "ann": said, "bob": said[::-1].to_numpy()})
    votes = Votes.of(frame)
    assert (votes.classes, votes.ordered) == (("poor", "fair", "good"), True)
    frame.to_parquet(tmp_path / "votes.parquet")
    frame.to_feather(tmp_path / "votes.feather")
    for kind in ("parquet", "feather"):
        assert read_votes(tmp_path / f"votes.{kind}").classes == ("poor", "fair", "good")
    other = said.cat.reorder_categories(["great", "good", "fair", "poor"], ordered=True)
    with pytest.raises(VotesError, match="order their categories in different ways; pass order="):
        Votes.of(frame.assign(bob=other))
    enum = pl.DataFrame({"a": pl.Series(["b", "a", "c"], dtype=pl.Enum(["c", "b", "a"]))})
    assert Votes.of(enum).classes == ("c", "b", "a")
    rows = [(f"x{i}", i % 5 + 1, (i * 3) % 5 + 1) for i in range(20)]
    path = write(tmp_path, "item,ann,bob", rows)
    with pytest.warns(VotesWarning, match=r"whole numbers 1 to 5.*order=\[1, 2, 3, 4, 5\]"):
        assert not read_votes(path).ordered
    assert read_votes(path, order=[1, 2, 3, 4, 5]).ordered  # as it says: warnings are errors


@pytest.mark.parametrize("labels", [("ja", "nein"), ("+", "-"), ("case", "control")])
def test_a_word_for_no_that_counts_as_positive_is_said(labels):
    table = pd.DataFrame({"ann": labels, "bob": labels[::-1]})
    with pytest.warns(VotesWarning, match="seems to be the negative one; declare both"):
        Votes.of(table)
    assert Votes.of(table, coding=labels[::-1]).classes == labels[::-1]


@pytest.mark.parametrize("labels", [("yes", "Yes"), ("no", "no ", "yes", "No")])
def test_spellings_of_one_label_are_not_classes(labels):
    with pytest.raises(VotesError, match="upper and lower case or spaces only"):
        Votes.of(pd.DataFrame({"ann": labels, "bob": labels[::-1]}))


@pytest.mark.parametrize("spelled", [1, 1.0, "1", " 1", "1.0", b"1"])
def test_an_item_has_one_name_however_it_is_spelled(spelled, tmp_path):
    """In long and wide frames, in files, among labels, and where tables are joined."""
    rows = pd.DataFrame({"item": [spelled, 2], "ann": ["yes", "no"], "bob": ["no", "yes"]})
    rows["item"] = rows["item"].astype(object)
    names = [str(name) for name in Votes.of(rows).items.tolist()]
    assert names == ["1", "2"]
    long = rows.melt("item", var_name="voter", value_name="vote")
    long.loc[len(long)] = ["1", "cem", "yes"]
    assert [str(name) for name in Votes.of(long).items.tolist()] == ["1", "2"]
    with pytest.raises(VotesError, match="appears twice"):
        Votes.of(pd.concat([rows, rows.assign(item=["1", "3"])]))
    indexed = rows.set_index("item").rename_axis(None)
    assert [str(name) for name in Votes.of(indexed).items.tolist()] == ["1", "2"]
    labels = write(tmp_path, "item,label", [("1", "yes"), ("2.0", "no")], "gold.csv")
    assert read_labels(labels, Votes.of(rows)).signs.tolist() == [1, -1]


@pytest.mark.parametrize("path", [None, 7, b"votes.csv", {"votes.csv"}, [None], object(), "0"])
def test_what_is_no_path_is_refused_in_a_sentence(path):
    words = "there is no file 0" if path == "0" else "read from a path or a list of paths, found"
    with pytest.raises(VotesError, match=words):
        read_votes(path)


def test_tables_whose_columns_have_no_names(tmp_path):
    """As pandas writes and numbers them: read where it can mean one thing, else with advice."""
    codes = pd.DataFrame([[1, 0, 1], [0, 0, 1], [1, 1, 0]])
    path = write(tmp_path, ",0,1,2", codes.itertuples())  # the index is a column without a name
    assert read_votes(path).items.tolist() == ["0", "1", "2"]
    assert Votes.of(codes).voters.tolist() == ["0", "1", "2"]
    long = pd.DataFrame(long_rows())
    with pytest.raises(
        VotesError, match="item='0' if it names the items, with voter and vote if each"
    ):
        Votes.of(long)
    for names in ((0, 1, 2), ("0", "1", "2")):
        item, voter, vote = names
        assert Votes.of(long, item=item, voter=voter, vote=vote).values.tolist() == TABLE
    with pytest.raises(VotesError, match="no header.*add a line such as item,voter,vote"):
        read_votes(write(tmp_path, "x0,ann,yes", long_rows()))
    with pytest.raises(VotesError, match="two columns have the same name as text"):
        Votes.of(codes.rename(columns={2: "1"}))


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ([{"no", "yes"}, 5, "no,yes", frozenset("ab")], "order must be a list of all labels from"),
        ([[None, "yes"], [["no"], "yes"], [float("nan"), "yes"]], "declared labels must be texts"),
    ],
)
def test_an_order_without_an_order_or_of_what_is_no_label_is_refused(orders, words):
    for order in orders:
        with pytest.raises(VotesError, match=words):
            Votes.of([["no", "yes"]], order=order)


def test_ids_are_never_quoted(tmp_path):
    """Not even where a wrong column is read as votes with declared labels."""
    path = write(tmp_path, "item,voter,vote", [("x", "ann", "Zaphod7"), ("y", "ann", "no")])
    for option in (["--order", "no,maybe,yes"], ["--labels", "no,yes"]):
        result = CliRunner().invoke(app, ["fit", str(path), *option])
        assert result.exit_code == 2
        assert "in data row 1" in result.stderr
        assert "Zaphod7" not in result.stderr


def test_lines_that_repeat_the_header_or_hold_nothing_are_left_out(tmp_path):
    rows = long_rows()
    for header in ("item,worker,answer", "item,ann,bob"):
        wide = header.endswith("bob")
        own = [(item, *said) for item, said in SAID.items()] if wide else rows
        path = write(tmp_path, header, [*own[:2], header.split(","), *own[2:], ("", "", "")])
        with pytest.warns(VotesWarning, match="votes.csv that repeat the header are left out"):
            votes = read_votes(path)
        assert votes.values.tolist() == TABLE
        assert votes.voters.tolist() == ["ann", "bob"]


def test_an_empty_last_column_is_no_voter(tmp_path):
    rows = [(item, *said, "") for item, said in SAID.items()]
    assert read_votes(write(tmp_path, "item,ann,bob,", rows)).voters.tolist() == ["ann", "bob"]
    rows[2] = (*rows[2][:3], "yes")
    assert read_votes(write(tmp_path, "item,ann,bob,", rows)).n_voters == 3


def test_items_without_names_may_have_no_votes(tmp_path):
    votes = read_votes(write(tmp_path, "ann,bob", [("yes", "no"), ("", ""), ("no", "no")]))
    assert votes.values.tolist() == [[1, -1], [0, 0], [-1, -1]]


@pytest.mark.parametrize("item", [None, "case"])
def test_an_index_of_pandas_is_no_voter(item, tmp_path):
    rows = [(k, name, *said) for k, (name, said) in enumerate(SAID.items())]
    for name in ("", "Unnamed: 0"):
        votes = read_votes(write(tmp_path, f"{name},case,ann,bob", rows), item=item)
        assert votes.items.tolist() == list(SAID)
        assert votes.voters.tolist() == ["ann", "bob"]


def test_long_columns_of_any_name_are_proposed_as_options(tmp_path):
    """German, French and other names: one error, whose options read the file."""
    rng = np.random.default_rng(0)
    rows = [
        (f"A{i}", who, rng.choice(["gut", "mangelhaft"]), f"Text {i}", f"{rng.random():.3f}")
        for i in range(12)
        for who in ("anna", "ben", "carl")
    ]
    path = write(tmp_path, "Artikel;Prüfer;Urteil;Text;Dauer", rows, mark=";")
    with pytest.raises(VotesError) as refusal:
        read_votes(path)
    assert "item='Artikel', voter='Prüfer', vote='Urteil'" in str(refusal.value)
    option = spell_hints(refusal.value).partition("; pass ")[2]
    result = CliRunner().invoke(app, ["fit", str(path), *shlex.split(option)])
    assert result.exit_code == 0, result.output


def test_columns_of_confidences_are_named(tmp_path):
    header = "case,ann,ann_sure,bob,bob_sure"
    rows = [(name, a, "0.75", b, "0.5") for name, (a, b) in SAID.items()]
    path = write(tmp_path, header, rows)
    with pytest.raises(VotesError, match="numbers where others hold labels") as refusal:
        read_votes(path)
    votes = read_votes(path, drop=refusal.value.hints[0].value)
    assert votes.values.tolist() == TABLE


def test_a_title_above_the_header_of_a_workbook_is_left_out(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Round 3"], [], ["item", "rater", "label"], *long_rows()):
        book.active.append(row)
    book.save(tmp_path / "round.xlsx")
    with pytest.warns(VotesWarning, match="above the header of round.xlsx"):
        assert read_votes(tmp_path / "round.xlsx").values.tolist() == TABLE


def test_records_within_records_are_fields(tmp_path):
    path = tmp_path / "votes.jsonl"
    lines = [
        f'{{"task": "{item}", "annotator": {{"id": "{who}"}}, "answer": {{"label": "{vote}"}}}}'
        for item, who, vote in long_rows()
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_votes(path).values.tolist() == TABLE
    path.write_text('{"id": "x1", "said": {"all": ["yes", "no"]}}\n', encoding="utf-8")
    with pytest.raises(VotesError, match=r"holds a list, in field 'said.all'; write one line per"):
        read_votes(path)


def test_a_headerless_file_of_few_rows_is_refused_without_its_cells(tmp_path):
    path = write(tmp_path, "case 7,ann,yes", [("case 7", "bob", "no"), ("case 8", "ann", "no")])
    with pytest.raises(VotesError, match="seems to have no header") as refusal:
        read_votes(path)
    rows = [(f"case {i // 3}", "abc"[i % 3], "no") for i in range(30)]
    path = write(tmp_path, "case 0,a,yes", rows)
    with pytest.raises(VotesError) as other:
        read_votes(path)
    assert "case" not in f"{refusal.value}{other.value}"


def test_dates_are_no_votes(tmp_path):
    rows = [(f"i{k // 2}", "ab"[k % 2], f"2024-05-{k + 1:02}", "yn"[k % 3 % 2]) for k in range(12)]
    path = write(tmp_path, "item,voter,answer,seen_at", rows)
    with pytest.raises(VotesError, match=r"column 'answer' holds dates, .*\(--vote\)"):
        read_votes(path)
    assert read_votes(path, vote="seen_at").classes == ("n", "y")
