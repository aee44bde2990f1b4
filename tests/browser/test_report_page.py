"""The page in a real browser, opened as people open it: from a file."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from browser.conftest import BROKEN_WORDS
from report.judging import HOSTILE, divided_crowd, divided_model, findings_of
from report.test_answer import CERTIFICATE
from report.test_health import facts, rules  # noqa: F401 - fixtures
from unelisa.aggregators import DawidSkene, LatentIsing, UnElisa
from unelisa.analysis.comparison import compare_methods
from unelisa.report.health import render_phenotype, render_rules
from unelisa.report.page import render_report, write_report
from unelisa.simulation.designs import simulate_classes
from unelisa.votes import Votes

WORDS = "td, th, caption, p, li, dt, dd, summary, button, label, h2, h3, figcaption"
CONTRAST = """
() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const back = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("main *")) {
    const own = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = parse(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(back(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push([element.tagName, element.className, ratio]);
  }
  return bad;
}
"""


@pytest.fixture
def opened(visit, folder):
    return visit(folder / "report.html")


def _column(page, title):
    heads = page.eval_on_selector_all("#voters th", "heads => heads.map(x => x.textContent)")
    return page.eval_on_selector_all(
        "#voters tbody tr:not([hidden])",
        f"rows => rows.map(row => row.cells[{heads.index(title)}].textContent.trim())",
    )


def test_the_graph_is_drawn_and_the_answer_stands_on_top(opened):
    assert "400 items labeled" in opened.page.inner_text(".answer")
    assert opened.graph("cy.nodes().length") == 26
    assert opened.page.is_visible("#graph canvas >> nth=0")
    assert not opened.page.is_visible("#graph-still")
    color = "cy.$('node.expert')[0].style('background-color')"
    assert opened.graph(color) == "rgb(11,92,173)"
    opened.page.emulate_media(color_scheme="dark")
    found = "document.getElementById('graph')._cyreg.cy"
    opened.page.wait_for_function(f"() => {found}{color[2:]} === 'rgb(108,176,255)'")


def test_dots_show_a_card_under_the_pointer_and_keep_it_on_a_click(opened):
    page = opened.page
    assert page.locator("#dots li").count() == 25
    first, second = (page.locator("#dots li").nth(k) for k in range(2))
    first.hover()
    assert page.inner_text("#card h3") == first.locator("a").inner_text()
    assert {"Votes", "Coverage", "Agreement", "PPV", "Reason"} <= set(
        page.locator("#card dt").all_inner_texts()
    )
    second.locator(".value").click()
    first.hover()
    assert page.inner_text("#card h3") == second.locator("a").inner_text()
    assert "%" in second.locator(".value").inner_text()
    verdicts = set(_column(page, "Verdict"))
    assert {word.strip() for word in page.locator(".dots .key span").all_inner_texts()} == verdicts


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_a_checker_of_accessibility_finds_nothing_serious(visit, folder, divided, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    path = folder / "report.html" if width > 400 else divided
    page = visit(path, width, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = axe.run(page, options={"resultTypes": ["violations"]}).response
    assert len(found["passes"]) > 10
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in serious] == []


def test_search_finds_a_voter_and_opens_its_card(opened):
    opened.page.fill("#query", "ORKER 1")
    assert opened.page.locator("#matches button").count() == 8
    opened.page.fill("#query", "worker 1")
    opened.page.keyboard.press("Enter")
    assert opened.page.inner_text("#card h3") == "worker 1"
    assert opened.graph("cy.$('.chosen').data('label')") == "worker 1"
    opened.page.fill("#query", "nobody")
    assert "No voter matches" in opened.page.inner_text("#matches")


def click_node(opened, node):
    """Click a node, again where a busy machine had not drawn it; return the graph's box."""
    graph = opened.page.locator("#graph")
    graph.scroll_into_view_if_needed()
    for _ in range(20):
        place, box = opened.graph(f"{node}.renderedPosition()"), graph.bounding_box()
        opened.page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
        if opened.page.locator("#card h3").count():
            break
        opened.page.wait_for_timeout(250)
    return box


def test_a_click_on_a_voter_opens_its_card_and_one_beside_it_closes_it(opened):
    box = click_node(opened, "cy.$('node.contrarian')[0]")
    card = opened.page.inner_text("#card")
    assert "contrarian" in card
    assert "contradicts the truth" in card
    assert "Sensitivity" in card
    opened.page.mouse.click(box["x"] + 5, box["y"] + 5)
    assert "Click a voter" in opened.page.inner_text("#card")
    link = opened.page.locator("#voters td.links a").first  # links lead from voter to voter
    wanted = link.inner_text()
    link.click()
    assert opened.page.inner_text("#card h3") == wanted
    opened.page.locator("#card dd.links a").first.click()
    assert opened.page.inner_text("#card h3") != wanted
    opened.page.click("#card .close")
    assert "Click a voter" in opened.page.inner_text("#card")


def test_sorting_sorts_both_ways(opened):
    accuracies = [float(x.split("%")[0]) for x in _column(opened.page, "Accuracy")]
    assert accuracies == sorted(accuracies)  # the worst are in sight
    for order, reverse in (("descending", True), ("ascending", False)):
        opened.page.click("#voters th:has-text('Sensitivity') button")
        values = [float(x.rstrip("%")) for x in _column(opened.page, "Sensitivity")]
        assert values == sorted(values, reverse=reverse)
        head = opened.page.locator("#voters th:has-text('Sensitivity')")
        assert head.get_attribute("aria-sort") == order
    opened.page.click("#voters th:has-text('Voter') button")
    assert _column(opened.page, "Voter") == [f"worker {s}" for s in range(25)]  # 2 before 10


def test_filters_leave_what_was_asked_for(opened):
    opened.page.select_option("#verdict", "contrarian")
    assert set(_column(opened.page, "Verdict")) == {"contrarian"}
    assert " of 25 voters" in opened.page.inner_text("#shown")
    opened.page.select_option("#verdict", "")
    opened.page.fill("#filter", "worker 24")
    assert _column(opened.page, "Voter")[0:1] != []
    assert all(
        "worker 24" in row
        for row in opened.page.locator("#voters tbody tr:visible").all_inner_texts()
    )


def test_pruned_voters_and_links_can_be_hidden(opened):
    def drawn(selector):
        return opened.graph(f"cy.$('{selector}').filter(e => e.style('display') != 'none').length")

    near, pruned, links = opened.graph("cy.zoom()"), drawn("node.pruned"), drawn("edge.link")
    assert min(pruned, links) > 10
    opened.page.uncheck("#show-pruned")
    assert drawn("node.pruned") == drawn("edge.faded") == 0
    assert drawn("node.expert") > 2
    between = "cy.$('edge.link').filter(e => !e.connectedNodes('.pruned').length).length"
    assert drawn("edge.link") == opened.graph(between) > 0
    assert opened.graph("cy.zoom()") > 1.2 * near
    opened.page.uncheck("#show-links")
    opened.page.check("#show-pruned")
    assert drawn("node.pruned") == pruned
    assert drawn("edge.link") == 0
    assert opened.graph("cy.zoom()") == pytest.approx(near, rel=0.05)
    opened.page.check("#show-links")
    assert drawn("edge.link") == links


def test_the_saved_labels_are_those_of_the_command_line_and_every_voter_is_saved(opened, folder):
    def save(button):
        with opened.page.expect_download() as download:
            opened.page.click(f"button:has-text('{button}')")
        name = download.value.suggested_filename
        opened.page.wait_for_function(
            f"() => document.getElementById('status').textContent === '{name} saved.'"
        )
        return name, download.value.path().read_bytes()

    assert save("Save the labels") == ("labels.csv", (folder / "labels.csv").read_bytes())
    name, saved = save("Save the table")
    rows = list(csv.DictReader(saved.decode().splitlines()))
    assert name == "voters.csv"
    assert sorted(row["voter"] for row in rows) == sorted(_column(opened.page, "Voter"))
    assert all(row["accuracy_low"] <= row["accuracy"] for row in rows)


def test_the_keyboard_is_enough(opened):
    page = opened.page
    page.focus("#query")
    page.keyboard.type("worker 3")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text("#card h3") == "worker 3"
    page.focus("#graph")
    before = opened.graph("cy.zoom()")
    page.keyboard.press("+")
    assert opened.graph("cy.zoom()") > before
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    assert "Click a voter" in page.inner_text("#card")
    page.focus("#voters th:first-child button")
    page.keyboard.press("Enter")
    assert page.get_attribute("#voters th:first-child", "aria-sort") == "ascending"
    page.focus("#zoom-in")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("width", [1280, 1200, 1130, 1000, 390])
def test_no_word_of_a_table_breaks_and_no_label_of_a_chart_is_cut(visit, folder, width):
    page = visit(folder / "report.html", width).page
    page.click("#by-prevalence summary")
    for table in ("#voters", "#by-prevalence table", ".confusion", ".methods"):
        assert page.locator(table).count() == 1
        assert page.locator(table).is_visible()
    assert page.evaluate(BROKEN_WORDS, WORDS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = "[...document.querySelectorAll('.panels text')].filter((t) => t.getBBox().x < 0).length"
    assert page.evaluate(cut) == 0


def test_print_shows_the_still_graph_in_light_colors(opened):
    opened.page.uncheck("#show-pruned")
    opened.page.emulate_media(media="print", color_scheme="dark")
    assert opened.page.is_visible("#graph-still")
    assert not opened.page.is_visible("#graph")
    assert not opened.page.is_visible(".tools >> nth=0")
    assert not opened.page.is_visible("#graph-still circle.pruned >> nth=0")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert opened.page.evaluate(CONTRAST) == []


def test_without_scripts_the_facts_are_there(visit, folder):
    opened = visit(folder / "report.html", unfold=False, java_script_enabled=False)
    assert not opened.page.is_visible("#graph-still")
    opened.page.click("#graph-section summary")
    assert opened.page.is_visible("#graph-still")
    assert not opened.page.is_visible(".tools >> nth=0")
    assert opened.page.locator("#voters tbody tr").count() == 25


def test_hostile_names_neither_run_nor_break(visit, tmp_path, crowd):
    items = np.array([f"{HOSTILE[i % 9]}{i or ''}" for i in range(600)], dtype=object)
    votes = Votes.of_values(crowd[0].values, items, np.array(HOSTILE, dtype=object), HOSTILE[:2])
    model = UnElisa(random_state=0).fit(votes)
    write_report(model, votes, tmp_path / "page.html", show_items=True)
    for width in (1280, 390):
        opened = visit(tmp_path / "page.html", width)
        assert opened.page.locator("#voters tbody tr").count() == 9
        assert opened.page.locator("img").count() == 0
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        for voter in range(9):
            opened.page.locator(f"#voter-{voter} td.name a").click()
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.page.fill("#query", "<script>")
        opened.page.keyboard.press("Enter")
        assert opened.page.inner_text("#card h3") == HOSTILE[0]


def test_three_hundred_voters_stand_in_pages_and_can_be_found(visit, tmp_path, crowd_of_300):
    model = DawidSkene(n_starts=1, random_state=0).fit(crowd_of_300)
    write_report(model, crowd_of_300, tmp_path / "page.html")
    for width, rows in ((1280, 50), (400, 10)):
        page = visit(tmp_path / "page.html", width).page
        assert page.locator("#graph").count() == 0  # a burst of spokes
        assert page.locator("#dots li").count() == 300
        assert page.locator("#dots li:visible").count() == 50
        assert page.locator("#voters tbody tr:visible").count() == rows
        assert page.evaluate("document.body.scrollHeight") < 12_000
        page.click(".dots .pager button:has-text('Next')")
        assert "51 to 100 of 300" in page.inner_text(".dots .pager")
        page.fill("#filter", "v29")
        assert page.locator("#voters tbody tr:visible").count() == min(rows, 11)
        page.fill("#query", "v299")
        page.keyboard.press("Enter")
        assert page.inner_text("#card h3") == "v299"
        assert page.is_visible("#card .close")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(media="print")
    assert page.locator("#dots li:visible").count() == 300


def test_one_finger_scrolls_the_page_even_over_the_graph(visit, folder):
    opened = visit(folder / "report.html", 390, has_touch=True, is_mobile=True)
    page, touch = opened.page, opened.page.context.new_cdp_session(opened.page)
    page.locator("#graph").scroll_into_view_if_needed()
    before, place = page.evaluate("scrollY"), opened.graph("cy.pan().y")
    box = page.locator("#graph").bounding_box()

    def send(kind, *heights):
        points = [{"x": box["x"] + 40, "y": box["y"] + height} for height in heights]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", 250)
    for height in range(240, 140, -10):
        send("touchMove", height)
    send("touchEnd")
    page.wait_for_function("before => scrollY > before + 20", arg=before)
    assert opened.graph("cy.pan().y") == place


@pytest.fixture(scope="session")
def divided(tmp_path_factory):
    """The page on a crowd with a family and two readings."""
    page = tmp_path_factory.mktemp("divided") / "page.html"
    write_report(divided_model(), divided_crowd(), page, show_items=True)
    return page


@pytest.mark.parametrize("width", [1280, 390])
def test_families_and_readings_are_on_the_page(visit, divided, width):
    page = visit(divided, width).page
    assert page.locator("#voters tr.kin").count() == 6
    assert page.locator("#dots li.kin").count() == 6
    assert page.locator(".readings article").count() == 2
    assert page.locator("#differing tbody tr:visible").count() == min(
        page.locator("#differing tbody tr").count(), 50 if width > 400 else 10
    )
    assert "yes " in page.locator("#differing td.reason").first.inner_text()
    assert page.locator("#uncertain tbody tr").count() == 200
    assert page.locator("#hardest tbody tr").count() == 200
    assert "These labels cannot be relied on" in page.inner_text(".warnings")
    link = page.locator(".readings article:last-child .who a").first
    wanted = link.inner_text()
    link.click()
    assert page.inner_text("#card h3") == wanted
    if width > 400:
        page.click("#voters th:has-text('Family') button")
        assert len(set(_column(page, "Family")[:6])) == 1
    page.select_option("#verdict", "family")
    assert set(_column(page, "Verdict")) == {"family"}


def test_a_family_is_one_node_between_the_truth_and_its_voters(visit, divided):
    opened = visit(divided)
    assert opened.graph("cy.nodes('.hub').length") == 1
    assert opened.graph("cy.nodes('#truth').connectedEdges('.tie').length") == 7
    assert opened.graph("cy.nodes('.related').length") == 6
    click_node(opened, "cy.nodes('.hub')[0]")
    assert opened.page.inner_text("#card h3").startswith("family of worker ")
    assert opened.page.locator("#card li a").count() == 6
    assert opened.graph("cy.nodes('.away').filter('[voter]').length") == 6
    opened.page.locator("#card li a").first.click()
    assert "Family" in opened.page.inner_text("#card dl")
    assert opened.graph("cy.nodes('#truth.away').length") == 0
    legend = set(opened.page.locator(".key .dot + *, .key span").all_inner_texts())
    assert {"expert", "counted", "family"} <= {word.strip() for word in legend}


def test_many_voters_on_their_own_are_one_node_beside_the_families(visit, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.choice(np.array([-1, 1]), (1000, 1))
    values = np.where(rng.random((1000, 40)) < 0.75, truth, -truth)
    values[:, :6] = np.where(rng.random((1000, 6)) < 0.99, values[:, :1], -values[:, :1])
    votes = Votes.of(np.where(values > 0, "control", "case"))
    model = LatentIsing().fit(votes)
    assert len(model.families_) == 1
    write_report(model, votes, tmp_path / "page.html", show_items=True)
    for width in (1280, 400):
        opened = visit(tmp_path / "page.html", width)
        assert opened.graph("cy.nodes('[voter]').length") == 6
        assert opened.graph("cy.nodes('#truth').connectedEdges('.tie').length") == 2
        assert opened.graph("cy.nodes('.rest').data('label')") == "34 voters on their own"
        assert "The 34 voters without edges" in opened.page.inner_text("#graph-section")
        assert opened.page.evaluate(BROKEN_WORDS, WORDS) == []
    opened.page.fill("#query", "v39")
    opened.page.keyboard.press("Enter")
    assert opened.page.inner_text("#card h3") == "v39"
    assert opened.graph("cy.nodes('.rest.chosen').length") == 1


@pytest.fixture(scope="module")
def page_of_classes(tmp_path_factory):
    """A report on 20 voters and five classes, one of which has a hostile name."""
    drawn = simulate_classes(5, 20, 300, random_state=3)
    votes = replace(
        drawn.votes, classes=("ant", "bee", "cow", "<img src=x onerror=alert(1)>", "elk")
    )
    path = tmp_path_factory.mktemp("classes") / "report.html"
    model = DawidSkene().fit(votes)
    rows = list(compare_methods(votes, drawn.truth, ["majority-vote", "dawid-skene"]))
    write_report(model, votes, path, truth=drawn.truth, comparison=rows, show_items=True)
    return path, model


@pytest.fixture(scope="module")
def pages(folder, divided, page_of_classes, tmp_path_factory):
    """One page of each kind."""
    certified = tmp_path_factory.mktemp("certified") / "page.html"
    page = render_report(
        {**findings_of(divided_model(), divided_crowd()), "certificate": CERTIFICATE}
    )
    certified.write_text(page, encoding="utf-8")
    own = {"report": folder / "report.html", "divided": divided, "classes": page_of_classes[0]}
    return {**own, "certified": certified}


def test_confusions_of_classes_are_drawn_for_all_and_for_the_chosen_voter(visit, page_of_classes):
    path, model = page_of_classes
    opened = visit(path)
    assert opened.page.locator("#class-shares rect.bar").count() == 5
    assert opened.page.locator("#confusion-all .cell").count() == 25
    assert opened.page.locator("#confusion-truth .cell").count() == 25
    assert opened.page.locator("#pairs tbody tr").count() > 0
    opened.page.fill("#query", "v7")
    opened.page.keyboard.press("Enter")
    own = model.confusions_.query("voter == 'v7'").probability.to_numpy()
    shown = opened.page.locator("#card .cell text").all_text_contents()
    assert [int(text) for text in shown] == np.floor(100 * own.round(3) + 0.5).tolist()
    shades = opened.page.eval_on_selector_all(
        "#card .cell rect", "cells => cells.map(cell => Number(cell.getAttribute('fill-opacity')))"
    )
    assert np.allclose(shades, 0.5 * np.sqrt(own.round(3)))
    title = opened.page.locator("#card .cell title").first.text_content()
    assert title == f"ant called ant: {100 * own[0].round(3):.1f}%"
    opened.page.click("#card .close")
    assert opened.page.locator("#card .cell").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["report", "divided", "classes", "certified"])
def test_every_text_is_readable_and_nothing_sticks_out(visit, pages, name, scheme, width):
    opened = visit(pages[name], width, color_scheme=scheme)
    opened.page.fill("#query", opened.page.inner_text("#dots li a >> nth=0"))
    opened.page.keyboard.press("Enter")  # its card opens
    assert opened.page.evaluate(CONTRAST) == []
    assert opened.page.evaluate(BROKEN_WORDS, WORDS) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    back = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(20, 23, 26)" if scheme == "dark" else "rgb(247, 247, 244)")


@pytest.fixture(scope="session")
def fifteen(tmp_path_factory):
    """Pages on fifteen voters, two of whom repeat each other and one is a contrarian."""
    path, rng = tmp_path_factory.mktemp("fifteen"), np.random.default_rng(0)
    truth = rng.random(600) < 0.4
    right = rng.random((600, 15)) < rng.uniform(0.62, 0.93, 15)
    said = np.where(right, truth[:, None], ~truth[:, None])
    said[:, 13] = np.where(rng.random(600) < 0.97, said[:, 12], said[:, 13])
    said[:, 14] = ~said[:, 14]
    table = np.where(said, "spam", "ham").astype(object)
    table[rng.random(table.shape) < 0.3] = None
    votes = Votes.of(table)
    model = LatentIsing().fit(votes)
    model.report(path / "plain.html", votes)
    model.report(path / "items.html", votes, np.where(truth, "spam", "ham"), show_items=True)
    drawn = simulate_classes(5, 15, 300, random_state=3)
    rows = list(compare_methods(drawn.votes, drawn.truth, ["majority-vote", "dawid-skene", "wawa"]))
    write_report(
        LatentIsing().fit(drawn.votes),
        drawn.votes,
        path / "classes.html",
        truth=drawn.truth,
        comparison=rows,
        show_items=True,
    )
    coins = Votes.of(rng.choice([-1, 1], (300, 8)))
    LatentIsing().fit(coins).report(path / "coins.html", coins)
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (400, "light")])
def test_pages_for_physicians_are_readable(visit, tmp_path, facts, rules, width, scheme):  # noqa: F811
    (tmp_path / "phenotype.html").write_text(render_phenotype(facts), encoding="utf-8")
    (tmp_path / "rules.html").write_text(render_rules(rules), encoding="utf-8")
    for name in ("phenotype", "rules"):
        page = visit(tmp_path / f"{name}.html", width, unfold=False, color_scheme=scheme).page
        height = page.evaluate("document.documentElement.scrollHeight")
        assert height <= (3500 if width > 400 else 5500)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(BROKEN_WORDS, WORDS) == []
        sizes = "all => all.map((one) => one.getBoundingClientRect().height)"
        assert min(page.locator("svg text:not(:empty)").evaluate_all(sizes)) > 9  # pixels


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["plain", "items", "classes", "coins"])
def test_a_page_is_short_until_it_is_unfolded(visit, fifteen, name, width, scheme):
    page = visit(fifteen / f"{name}.html", width, unfold=False, color_scheme=scheme).page
    narrow = 6500 if name == "classes" else 5500
    assert page.evaluate("document.documentElement.scrollHeight") <= (
        3500 if width > 400 else narrow
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(BROKEN_WORDS, WORDS) == []
    voter = page.locator("#dots li").first.locator("a").inner_text()
    shown = page.locator("main").inner_text().replace("\u2068", "").split()
    assert shown.count(voter) == 1  # every voter once
    links = page.locator(".toc a")
    assert links.count() >= 5
    for address in links.evaluate_all("all => all.map((one) => one.getAttribute('href'))"):
        assert page.locator(address).count() == 1
    told = page.inner_text("main")
    assert not {"nats", "coherence", "branches"} & set(told.lower().split())
    if name == "coins":
        figures = page.locator(".figures dd").all_inner_texts()
        assert figures[0] == "cannot be estimated"
        assert "%" not in "".join(figures)
        above, below = (page.locator(one).bounding_box()["y"] for one in (".warnings", ".figures"))
        assert above < below
    count = "document.querySelectorAll('details[open]').length"  # what is folded opens for paper
    assert page.evaluate(count) == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(count) == page.locator("details").count() > 3
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(count) == 0
    picture = fifteen / f"{name}-{width}-{scheme}.png"
    page.screenshot(path=picture, full_page=True)
    assert picture.read_bytes().startswith(b"\x89PNG")
