"""`unelisa reproduce worth`: how often the intervals of `voters_` hold, and their page."""

from pathlib import Path

from studies import screens
from studies.commands import (
    Docs,
    LabeledSets,
    ResultsFolder,
    SignedSets,
    Stored,
    Study,
    require_data,
    run_study,
    running,
)
from studies.rate.runs import find_rate_sets
from studies.records import Json
from studies.worth.page import render_worth
from studies.worth.runs import STAMP, collect_worth, count_targets, run_worth
from unelisa.cli import options
from unelisa.cli.files import make_folder

STUDY = Study(
    "worth", "voters", ("part",), render_worth, screens.show_worth, "worth.md", {"voters": STAMP}
)


def worth(
    data: SignedSets = None,
    classes: LabeledSets = None,
    folder: ResultsFolder = Path("results/worth"),
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Count how often the intervals of voters' accuracies hold."""

    def collect(old: Json | None) -> Json:
        sets = find_rate_sets(require_data(data), classes)
        make_folder(folder)
        with running(count_targets(sets)) as advance:
            run_worth(sets, folder, advance)
        return collect_worth(folder, old)

    run_study(STUDY, collect, out, stored, json)
