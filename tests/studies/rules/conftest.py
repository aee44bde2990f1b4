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
    for prevalence, records, reliable in ((0.22, told, 10), (0.005, nothing, 0)):
        figure = {"n": 30, "agreement": 0.4, "records": records, "charts": told}
        place = {"part": "reporting", "simulator": "arthritis", "prevalence": prevalence}
        figures = dict.fromkeys(QUANTITIES, figure)
        cells.append(
            {**place, "rules": "3 nested", "worlds": 10, "reliable": reliable, "figures": figures}
        )
    return make_archive(cells=cells)
