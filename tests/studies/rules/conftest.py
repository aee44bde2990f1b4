"""An archive with stated figures."""

import pytest

from studies.records import make_archive
from unelisa.ehr.rules.evaluation import QUANTITIES


@pytest.fixture
def archive():
    """One cell in which all is told, and one in which nothing is."""
    told = {"told": 20, "error": 0.03, "held": 18, "width": 0.2}
    nothing = {"told": 0, "error": None, "held": 0, "width": None}
    cells = []
    for prevalence, records, reliable in ((0.22, told, 10), (0.01, nothing, 0)):
        figure = {"n": 30, "agreement": 0.4, "records": records, "charts": told}
        place = {"part": "reporting", "simulator": "arthritis", "prevalence": prevalence}
        figures = dict.fromkeys(QUANTITIES, figure)
        cells.append(
            {**place, "rules": "3 nested", "worlds": 10, "reliable": reliable, "figures": figures}
        )
    reviewed = {"ppv": [0.85, 0.6, 0.9, 0.8], "held": 10, "error": 0.02, "platt": 0.03}
    labels = {
        **{key: cells[0][key] for key in ("part", "simulator", "prevalence")},
        **{"worlds": 10, "reliable": 9, "silent": [0.01, 0.002]},
        "none": {"ppv": [0.9, 0.5, 0.95, 0.8], "held": 9, "error": 0.04},
        **{n: {**reviewed, "flagged": flagged} for n, flagged in (("50", 15), ("100", 30))},
    }
    return make_archive(cells=cells, labels=[labels])
