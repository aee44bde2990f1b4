import pytest

import unelisa as ue
from analysis.suggestions.crowds import draw_crowd, fit


@pytest.fixture(scope="package", params=[2, 3], ids=["two classes", "three classes"])
def copied(request):
    """A consensus with a family, and its votes."""
    votes = draw_crowd(request.param)
    return fit(ue.LatentIsing(), votes), votes
