"""Votes that the command line keeps in a file."""

import pandas as pd


def test_the_answer_is_that_of_a_table_in_memory(run, files):
    pd.read_csv(files.votes).to_parquet(files.folder / "votes.parquet")
    outputs = []
    for memory in ("1GB", "1KB"):
        out, told = files.folder / f"{memory}.csv", files.folder / f"{memory}.json"
        asked = ("--memory", memory, "--out", out, "--json", told)
        result = run("fit", files.folder / "votes.parquet", *asked, "--truth", files.truth)
        assert result.exit_code == 0, result.output
        outputs.append((out.read_text(), told.read_text().count("\n")))
    assert outputs[0] == outputs[1]


def test_nonsense_is_refused(refused, files):
    assert "500MB" in refused("fit", files.votes, "--memory", "much")
