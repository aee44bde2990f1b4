import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from report.judging import HOSTILE, divided_crowd, divided_model, findings_of, fit_quietly, page_of
from unelisa.aggregators import AGGREGATORS, DawidSkene, LatentIsing, UnElisa
from unelisa.analysis.comparison import MethodScore
from unelisa.analysis.judged import Judged
from unelisa.report import labels
from unelisa.report.findings import VERSION
from unelisa.report.page import render_report
from unelisa.votes import Votes

VOID = {"meta", "link", "br", "img", "input", "hr"}


class _Checker(HTMLParser):
    """Collects the tags and attributes of a page, and complains where tags do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attrs).get("type", "runs"), ""])

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _check(page):
    checker = _Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def _without_scripts(page):
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def _hostile_votes(votes):
    items = np.array([HOSTILE[i % 9] + str(i) for i in range(votes.n_items)], dtype=object)
    return Votes.of_values(votes.values, items, np.array(HOSTILE, dtype=object), ("<no>", "<yes>"))


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_every_method_has_plain_findings_and_a_well_formed_page(name, crowd):
    votes, truth = crowd
    model = AGGREGATORS[name]().fit(votes)
    rows = [MethodScore(name, 0.9, 0.9, None, None, 0.1, None), MethodScore("other")._asdict()]
    more = {"seconds": 0.1, "notes": ["a note"], "show_items": True}
    findings = findings_of(model, votes, truth, rows, **more)
    assert json.loads(json.dumps(findings, allow_nan=False)) == findings
    assert findings["version"] == VERSION
    assert findings["method"] == name
    assert [row["method"] for row in findings["comparison"]] == [name, "other"]
    assert findings["warnings"][-1] == "a note"
    assert sum(findings["histogram"]["counts"]) == votes.n_items
    assert findings["items"]["positive"] == (model.predict(votes) == 1).sum()
    page = render_report(findings, Judged.of(model, votes))
    tags = _check(page).tags
    traced = findings["by_prevalence"] is not None
    assert traced == (name == "latent-ising")
    listed = bool(findings["differing"]) + bool(findings["hard"]) + traced
    assert tags.count("table") == 4 + listed
    drawn = bool(findings["graph"]["links"] or findings["graph"]["families"])
    panels = 3 if hasattr(model, "predict_proba") else 2
    assert tags.count("svg") == panels + traced + drawn + 10  # a scale, and a dot for each voter
    assert ('id="graph"' in page) == ("Cytoscape Consortium" in page) == drawn
    assert "Against the known truth" in page
    assert findings["answer"] in page
    assert page.count('<tr id="voter-') == 9


def test_nothing_is_fetched_and_only_our_scripts_run(crowd):
    votes, _ = crowd
    model = UnElisa(random_state=0).fit(votes)
    page = page_of(model, votes)
    checker = _check(page)
    policy = next(value for _, value in checker.attributes if value and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    running = [text for kind, text in checker.scripts if kind == "runs"]
    assert len(running) == 2
    for text in running:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    shown = re.sub(r"sha256-[\w+/=]+", "", _without_scripts(page))  # a hash may hold //
    assert re.search(r"https?:|//|url\(|@import", shown) is None
    sources = [value for name, value in checker.attributes if name in ("src", "href")]
    addresses = {f"#{value}" for name, value in checker.attributes if name == "id"}
    assert set(sources) - {"data:,"} <= addresses
    assert not {"style"} & {name for name, _ in checker.attributes}  # the policy would drop it


def test_hostile_names_stay_text(crowd):
    votes = _hostile_votes(crowd[0])
    model, tame = UnElisa(random_state=0).fit(votes), UnElisa(random_state=0).fit(crowd[0])
    page = page_of(model, votes, show_items=True)
    checker = _check(page)
    plain = _check(page_of(tame, crowd[0], show_items=True))
    assert checker.tags == plain.tags
    assert not [name for name, _ in checker.attributes if name.startswith("on")]
    assert "{{ 7 * 7 }}" in page
    assert "x" * 81 not in page
    assert "&lt;yes&gt;" in page


def test_items_are_named_only_where_that_is_asked_for(crowd):
    items = np.array([f"patient-{i}" for i in range(600)], dtype=object)
    votes = Votes.of_values(crowd[0].values, items, crowd[0].voters)
    model = UnElisa(random_state=0).fit(votes)
    hidden = page_of(model, votes)
    assert "patient-" not in hidden
    assert "labels-by-row.csv" in hidden
    shown = page_of(model, votes, show_items=True)
    table = shown[shown.index('<details id="uncertain"') :]
    listed = re.findall(r"<bdi>(patient-\d+)</bdi>", table)
    gaps = np.abs(model.predict_proba(votes)[:, 1] - 0.5)
    least = np.sort(gaps)[:200]
    assert np.allclose(sorted(gaps[int(name[8:])] for name in listed), least)


def test_reports_break_on_nothing(crowd, tmp_path, monkeypatch):
    votes, truth = crowd
    model = UnElisa(random_state=11).fit(votes)
    model.report(tmp_path / "voters.html")
    model.report(tmp_path / "full.html", votes.values, truth, comparison=[MethodScore("unelisa")])
    alone = (tmp_path / "voters.html").read_text(encoding="utf-8")
    assert _check(alone).tags.count("svg") == 1
    assert not any(x in alone for x in ("items labeled", "Save the labels", "Sensitivity</button>"))
    full = (tmp_path / "full.html").read_text(encoding="utf-8")
    assert " of 600 items labeled “1”" in full
    assert "<dt>Seed</dt><dd>11</dd>" in full
    assert {path.name for path in tmp_path.iterdir()} == {"voters.html", "full.html"}
    assert "Against the known truth" in full
    items = np.array(["\ud800"] * 600, dtype=object)
    votes = Votes.of_values(crowd[0].values, items, crowd[0].voters)
    with pytest.warns(match="no expert"):
        model = UnElisa(penalty=10.0, random_state=0).fit(votes)
    page = page_of(model, votes, show_items=True)
    assert "No experts were found" in page
    page.encode("utf-8")
    _check(page)
    monkeypatch.setattr(labels, "LARGEST", 10)
    assert "too many labels to include in this page" in page_of(model, votes)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize(
    ("n_voters", "n_items", "megabytes"), [(80, 5_000, 1.5), (300, 100_000, 2.1)]
)
def test_pages_stay_small(n_voters, n_items, megabytes):
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), n_items)
    values = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):  # weak voters leave every posterior its own six digits
        values[:, s] = np.where(rng.random(n_items) < 0.5 + 0.1 * (s < 20), truth, -truth)
    items = np.array([f"PAT-{i:09d}" for i in rng.permutation(n_items)], dtype=object)
    votes = Votes.of_values(
        values, items, np.array([f"worker-{s:09d}" for s in range(n_voters)], object)
    )
    model = DawidSkene(n_starts=1, max_iter=3, random_state=0).fit(votes)
    page = page_of(model, votes, show_items=True)
    assert "Save the labels (labels.csv)" in page
    assert len(page.encode()) < 1e6 * megabytes


def test_families_and_readings_stand_on_the_page_and_hostile_names_stay_text():
    tame, votes = divided_model(), divided_crowd()
    hostile = ["", "a", "b; c", "d", *HOSTILE[:-1]]
    renamed = Votes.of_values(votes.values, votes.items, np.array(hostile, object), votes.classes)
    model = fit_quietly(LatentIsing(), renamed)
    page = page_of(model, renamed, show_items=True)
    checker, plain = _check(page), _check(page_of(tame, votes, show_items=True))
    assert checker.tags == plain.tags
    assert not {"style"} & {name for name, _ in checker.attributes}
    assert "x" * 201 not in page
    assert plain.tags.count("article") == 2
    classes = [value for name, value in plain.attributes if name == "class" and value]
    assert sum("kin family-0" in value and "line" not in value for value in classes) > 6
    assert sum(value.startswith("hub ") for value in classes) == 1


VENDOR = files("unelisa.report").joinpath("vendor")


def test_the_graph_library_is_the_one_of_the_checksums_and_can_be_inside_a_page():
    lines = VENDOR.joinpath("cytoscape.sha256").read_text().splitlines()
    assert len(lines) == 2
    for digest, name in map(str.split, lines):
        assert hashlib.sha256(VENDOR.joinpath(name).read_bytes()).hexdigest() == digest
    assert VENDOR.joinpath("cytoscape.VERSION").read_text().startswith("3.")
    assert "Permission is hereby granted" in VENDOR.joinpath("cytoscape.LICENSE").read_text("utf-8")
    script = VENDOR.joinpath("cytoscape.min.js").read_text("utf-8").lower()
    assert not {part for part in ("</script", "<!--", "\r") if part in script}
