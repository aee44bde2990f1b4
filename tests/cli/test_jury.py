"""Panels of judges on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

JUDGES = {"large": 0.9, "medium": 0.85, "other": 0.8, "fourth": 0.78, "guesses": 0.5}


@pytest.fixture
def panel(tmp_path):
    """Six judges, of whom two repeat each other, on two systems; scores from 0 to 1 besides."""
    rng = np.random.default_rng(1)
    lines = []
    for system, rate in (("model-a", 0.8), ("model-b", 0.5)):
        for i in range(200):
            good = rng.random() < rate
            said = {judge: good == (rng.random() < right) for judge, right in JUDGES.items()}
            said["copy"] = said["fourth"] == (rng.random() < 0.97)
            for judge, passed in said.items():
                label = "pass" if passed else "fail"
                row = {"item": f"q{i}", "judge": judge, "label": label, "system": system}
                lines.append({**row, "text": "Xylophon7"})
    path = tmp_path / "panel.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_it_prints_what_the_panel_is_worth(run, panel):
    result = run("jury", panel)
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "6 judges are worth about " in told
    assert "400 items on 200 questions, read as long." in told
    assert "Krippendorff's alpha 0." in told
    assert "This assumes that no judge favors a system" in told
    assert result.stdout.index("model-a") < result.stdout.index("6 judges")
    assert "Estimated pass rate" in result.stdout
    for judge in (*JUDGES, "copy"):
        assert judge in result.stdout
    assert "model-a" in result.stdout
    assert "The judges disagree on" in result.stdout
    told = " ".join(result.stdout.split())
    assert "model-a is ahead of model-b by" in told
    assert "question by question, on 200 questions" in told
    assert "can be dropped" in told
    assert "q17" not in result.stdout
    assert "Xylophon7" not in result.output


def test_items_are_named_on_request(run, panel):
    assert "judges against the others" in run("jury", panel, "--show-items").stdout


def test_every_output_at_once(run, panel, tmp_path):
    labels, page, found = (tmp_path / name for name in ("labels.csv", "page.html", "found.json"))
    result = run("jury", panel, "--out", labels, "--report", page, "--json", found)
    assert result.exit_code == 0, result.output
    assert labels.read_text().count("\n") == 401
    text = page.read_text()
    assert "The panel" in text
    assert "This assumes that no judge favors a system" in text
    said = json.loads(found.read_text())
    share, *ends = (f"{said['pass_rate'][key]:.1%}" for key in ("share", "low", "high"))
    interval = " to ".join(ends)
    assert f"Estimated pass rate {share} ({interval})" in " ".join(result.stdout.split())
    assert f"Estimated pass rate {share} ({interval})." in text
    for row in said["pass_rate"]["systems"]:
        assert f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})" in text
    assert said["n_judges"] == len(said["judges"]) == 6
    assert 2 < said["effective_judges"] < 6
    judge = {"name", "accuracy", "low", "high", "lean", "family"}
    assert all(judge <= row.keys() for row in said["judges"])
    rate = {"share", "low", "high", "systems", "differences", "assumption", "favors"}
    assert rate == said["pass_rate"].keys()
    ends = (said[f"effective_judges{end}"] for end in ("_low", "", "_high"))
    assert [*ends] == sorted(said[f"effective_judges{end}"] for end in ("_low", "", "_high"))
    assert 0 < said["alpha"] < 1
    assert [row["rank_low"] for row in said["pass_rate"]["systems"]] == [1, 2]
    (pair,) = said["pass_rate"]["differences"]
    assert (pair["better"], pair["worse"], pair["paired"]) == ("model-a", "model-b", 200)
    assert pair["low"] < pair["difference"] < pair["high"]
    cheaper = said["cheaper_panel"]
    assert "copy" in cheaper["drop"] or "fourth" in cheaper["drop"]
    assert cheaper["labels_kept"] >= 0.99
    assert (said["labels_needed"] is None) == said["reliable"]
    assert [row["system"] for row in said["pass_rate"]["systems"]] == ["model-a", "model-b"]
    assert said["reliable"] in (True, False)
    assert run("jury", panel, "--json", found, "--out", labels).exit_code == 0  # ours, replaced


@pytest.mark.parametrize(("systems", "gold"), [(1, 0), (1, 60), (2, 40)])
def test_one_pass_rate_with_one_interval_everywhere(systems, gold, run, tmp_path):
    rng, rows = np.random.default_rng(3), []
    for system, rate in [("a", 0.7), ("b", 0.5)][:systems]:
        for i, good in enumerate(rng.random(200) < rate):
            for judge, right in JUDGES.items():
                label = int(good == (rng.random() < right))
                known = int(good) if i < gold else None
                rows.append(
                    {"item": i, "judge": judge, "label": label, "system": system, "gold": known}
                )
    log, page, found = (tmp_path / name for name in ("log.csv", "page.html", "found.json"))
    pd.DataFrame(rows).to_csv(log, index=False)
    told = " ".join(run("jury", log, "--report", page, "--json", found).stdout.split())
    rate, text = json.loads(found.read_text())["pass_rate"], page.read_text()
    share, low, high = (f"{rate[key]:.1%}" for key in ("share", "low", "high"))
    assert f"Estimated pass rate {share} ({low} to {high})" in told
    assert f"Estimated pass rate {share} ({low} to {high})" in text
    assert f"90% interval {low} to {high}" in text  # beside the share of "pass" at the top
    own = [row["share"] for row in rate["systems"]]
    assert np.mean(own) == pytest.approx(rate["share"], abs=0.005)
    if systems == 1:
        assert {key: rate["systems"][0][key] for key in ("low", "high")} == {
            key: rate[key] for key in ("low", "high")
        }


def test_too_few_judges_have_no_worth_and_no_pass_rate(run, tmp_path):
    log, page, found = (tmp_path / name for name in ("log.csv", "page.html", "found.json"))
    rows = [f"i{i},{judge},{int(i % 3 > 0)}\n" for i in range(60) for judge in ("x", "y")]
    for judges in (1, 2):
        log.write_text("item,judge,label\n" + "".join(rows[:: 3 - judges]))
        result = run("jury", log, "--report", page, "--json", found, "--force")
        told, said = " ".join(result.stdout.split()), json.loads(found.read_text())
        assert "at least three are needed to estimate what a panel is worth" in told
        assert "The pass rate cannot be estimated; by the labels" in told
        assert "The pass rate cannot be estimated; by the labels" in page.read_text()
        assert "Worst" not in told
        assert said["effective_judges"] is None
        assert said["pass_rate"]["low"] is None
    assert (said["judges"][0]["lean"] is None) == (judges == 1)


def test_json_on_stdout_is_all_there_is(run, panel):
    assert json.loads(run("jury", panel, "--json", "-").stdout)["source"] == "long"


def test_gold_labels_come_from_a_file(run, refused, panel, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"model-a / q{i},pass\n" for i in range(15)))
    out = tmp_path / "labels.csv"
    result = run("jury", panel, "--gold", gold, "--out", out)
    assert "Cohen's kappa with the gold labels: copy " in result.stdout
    labels = pd.read_csv(out).set_index("item")
    known = labels.loc[[f"model-a / q{i}" for i in range(15)]]
    assert (known.label == "pass").all()
    assert (known.probability == 1).all()
    gold.write_text("item,label\nelsewhere,pass\n")
    assert "none of the items" in refused("jury", panel, "--gold", gold)


def test_two_judges_are_not_to_be_trusted(run, tmp_path):
    path = tmp_path / "two.csv"
    rows = [f"i{i},{judge},{i % 2}\n" for i in range(40) for judge in ("x", "y")]
    path.write_text("item,judge,label\n" + "".join(rows))
    result = run("jury", path)
    assert result.exit_code == 0, result.output
    assert "Do not trust this panel" in result.stdout
    assert "human labels of random items would" in " ".join(result.stdout.split())


def test_options_are_spelled_as_options(refused, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"run_id": "Xylophon7", "key": "strict", "score": 0.7}\n')
    told = refused("jury", path)
    assert "scores of 1 judge on 1 answer are too few" in told
    assert refused("jury", path, "--out", tmp_path / "x.csv").endswith("passes with --cut")
    assert "Xylophon7" not in told
    path.write_text('{"item": 1, "judge": 2, "run_id": 1, "key": "k", "score": 0}\n')
    assert refused("jury", path).endswith("pass --source langsmith, or --source long")
    assert "there is no source 'x'" in refused("jury", path, "--source", "x")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"eval": {}, "samples": 7}', "PK\x03\x04"])
def test_bad_logs_give_one_sentence(content, refused, tmp_path):
    path = tmp_path / "log.eval"
    path.write_text(content)
    assert "log.eval" in refused("jury", path)


def test_an_output_is_not_an_input(refused, panel):
    assert "is an input" in refused("jury", panel, "--json", panel)


def test_preferences_give_a_leaderboard(run, tmp_path):
    rng = np.random.default_rng(0)
    path, found = tmp_path / "pairs.jsonl", tmp_path / "found.json"
    with path.open("w") as file:
        for i in range(150):
            names = ["large", "small"] if rng.random() < 0.5 else ["small", "large"]
            for judge, right in (("expert_1", 0.9), ("bob", 0.8), ("coin", 0.5)):
                winner = "large" if rng.random() < right else "small"
                row = {"question_id": i, "model_a": names[0], "model_b": names[1]}
                file.write(json.dumps({**row, "winner": winner, "judge": judge}) + "\n")
    result = run("jury", path, "--json", found)
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "450 comparisons on 150 questions" in told
    assert "do not visibly prefer what is shown first" in told
    said = json.loads(found.read_text())
    assert said["kind"] == "preferences"
    assert [row["rank_low"] for row in said["systems"]] == [1, 2]
    assert said["systems"][0]["system"] == "large"
    assert [row["name"] for row in said["judges"]] == ["expert_1", "bob", "coin"]
    assert said["human_agreement"]["rank_correlation"] == pytest.approx(1.0)
    assert "strengths with those of people (150 comparisons): 1.00" in told


@pytest.mark.parametrize(
    ("name", "best", "judges"),
    [
        ("prodigy-compare-1.18.jsonl", "A", ["ab-ann", "ab-bob"]),
        ("prodigy-tournament-1.18.jsonl", "plain.jinja2", ["t-ann", "t-bob"]),
        ("argilla-server-ranking-2.8.jsonl", "a", ["ranker-v1", "u1", "u2"]),
    ],
)
def test_comparisons_and_rankings_of_frameworks_give_a_leaderboard(
    name, best, judges, run, tmp_path
):
    log, found = Path(__file__).parents[1] / "jury" / "fixtures" / name, tmp_path / "found.json"
    told = " ".join(run("jury", log, "--json", found).stdout.split())
    said = json.loads(found.read_text())
    assert said["systems"][0]["system"] == best
    assert sorted(row["name"] for row in said["judges"]) == judges
    assert "too few for intervals" in told
    assert "Xylophon7" not in told


def test_one_of_several_criteria_is_asked_for(run, refused, tmp_path):
    fixtures = Path(__file__).parents[1] / "jury" / "fixtures"
    log, found = fixtures / "openai-evals-1.0.2-criteria.jsonl", tmp_path / "found.json"
    assert "--question relevance" in refused("jury", log)
    result = run("jury", log, "--question", "correctness", "--labels", "N,Y", "--json", found)
    assert "1 judgment failed and count as abstentions" in " ".join(result.stdout.split())
    assert json.loads(found.read_text())["failures"] == {"letters-fact.dev.v0": 1}


def test_random_gold_labels_bound_the_pass_rate_of_each_system(run, refused, panel, tmp_path):
    rng, truth = np.random.default_rng(1), {}
    for system, rate in (("model-a", 0.8), ("model-b", 0.5)):
        for i in range(200):  # as the panel was drawn
            truth[f"{system} / q{i}"] = bool(rng.random() < rate)
            rng.random(len(JUDGES) + 1)
    drawn = np.random.default_rng(0).choice(list(truth), 160, replace=False)
    gold, found = tmp_path / "gold.csv", tmp_path / "found.json"
    rows = [f"{name},{'pass' if truth[name] else 'fail'}\n" for name in drawn]
    gold.write_text("item,label\n" + "".join(rows))
    asked = "jury", panel, "--gold", gold, "--json", found
    result = run(*asked, "--gold-drawn", "random")
    assert result.exit_code == 0, result.output
    assert "With 95% confidence all of these bounds hold" in " ".join(result.stdout.split())
    systems = json.loads(found.read_text())["certified"]
    assert [row["group"] for row in systems] == ["model-a", "model-b"]
    for row in systems:
        share = np.mean([good for name, good in truth.items() if name.startswith(row["group"])])
        assert row["low"] <= share <= row["high"] < row["low"] + 0.45
    assert run(*asked, "--force").exit_code == 0
    assert json.loads(found.read_text())["certified"] is None
    useful = [row.replace("\n", ",ann,useful,\n") for row in rows]
    gold.write_text("item,label,reviewer,chosen,note\n" + "".join(useful))
    chosen = refused("jury", panel, "--gold", gold, "--gold-drawn", "random")
    assert "not drawn at random" in chosen
    assert "needs gold labels" in refused("jury", panel, "--gold-drawn", "random")
    assert "random or by-hand" in refused("jury", panel, "--gold-drawn", "somehow")


def test_scores_on_a_scale_give_means_and_with_a_cut_labels(run, tmp_path):
    rng = np.random.default_rng(0)
    path, found = tmp_path / "scores.csv", tmp_path / "found.json"
    rows = []
    for system, mean in (("x", 60), ("y", 70)):
        for i, quality in enumerate(rng.normal(mean, 8, 80)):
            for judge, adds in (("ann", 0), ("bob", 6), ("cid", -6)):
                rows.append((i, judge, round(quality + adds + rng.normal(0, 4), 1), system))
    frame = pd.DataFrame(rows, columns=["item", "who", "points", "system"])
    frame.to_csv(path, index=False)
    named = "--judge", "who", "--item", "item", "--score", "points", "--system", "system"
    result = run("jury", path, *named, "--json", found)
    assert result.exit_code == 0, result.output
    said = json.loads(found.read_text())
    assert [row["system"] for row in said["systems"]] == ["y", "x"]
    assert said["systems"][0]["mean"]["low"] > said["systems"][1]["mean"]["high"]
    assert said["cut"] == 50
    assert "reach 50" in result.stdout
    assert said["systems"][0]["pass_rate"]["value"] > 0.95
    assert run("jury", path, *named, "--cut", 65, "--json", found).exit_code == 0
    assert json.loads(found.read_text())["kind"] == "votes"


def test_whole_scores_are_classes_with_means_and_a_cut_is_suggested(run, tmp_path):
    rng, rows = np.random.default_rng(0), []
    path, found = tmp_path / "scores.csv", tmp_path / "found.json"
    for system, mean in (("x", 2.6), ("y", 3.4)):
        for i, quality in enumerate(rng.normal(mean, 0.8, 80)):
            scores = np.clip(np.round(quality + rng.normal(0, 0.5, 3)), 1, 5).astype(int)
            rows += [(i, judge, s, system) for judge, s in zip("abc", scores, strict=True)]
    frame = pd.DataFrame(rows, columns=["item", "judge", "score", "system"])
    frame.to_csv(path, index=False)
    told = " ".join(run("jury", path, "--json", found).stdout.split())
    assert "read as 5 ordered classes, of which 5 passes" in told
    assert "such as 3" in told
    means = json.loads(found.read_text())["scores"]["systems"]
    assert [(row["system"], row["rank_high"]) for row in means] == [("y", 1), ("x", 2)]
    assert means[0]["mean"]["value"] == pytest.approx(3.4, abs=0.25)
    run("jury", path, "--cut", 3, "--json", found)
    assert "scores" not in json.loads(found.read_text())


def test_scores_on_different_scales_have_no_cut_and_are_said(run, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "scores.csv"
    quality = rng.normal(3, 1, 80)
    frame = pd.DataFrame({"item": np.arange(80)})
    for name, unit in (("a", 1), ("b", 1), ("c", 20)):
        frame[name] = np.clip(np.round(unit * (quality + rng.normal(0, 0.5, 80))), 1, 5 * unit)
    frame.melt("item", var_name="judge", value_name="score").to_csv(path, index=False)
    told = " ".join(run("jury", path).stdout.split())
    assert "a and c score on different scales; read them separately" in told
    assert "reach" not in told


def test_coins_are_worth_nothing(run, tmp_path):
    rng = np.random.default_rng(3)
    path, found = tmp_path / "coins.csv", tmp_path / "found.json"
    rows = [f"i{i},j{j},{rng.integers(2)}\n" for i in range(300) for j in range(6)]
    path.write_text("item,judge,label\n" + "".join(rows))
    result = run("jury", path, "--json", found)
    assert "agreement does not surely exceed chance" in " ".join(result.stdout.split())
    said = json.loads(found.read_text())
    assert said["effective_judges"] is None
    assert said["reliable"] is False


def test_gold_of_each_system_corrects_leniency_and_gives_kappas(run, panel, tmp_path):
    gold, found = tmp_path / "gold.csv", tmp_path / "found.json"
    rows = [f"{x} / q{i},{y}\n" for x in ("model-a", "model-b") for i in range(20)
            for y in (["pass"] if i % 3 else ["fail"])]  # fmt: skip
    gold.write_text("item,label\n" + "".join(rows))
    assert run("jury", panel, "--gold", gold, "--json", found).exit_code == 0
    said = json.loads(found.read_text())
    assert "were drawn at random" in said["pass_rate"]["assumption"]
    assert said["human_kappa"]["large"]["n"] == 40
