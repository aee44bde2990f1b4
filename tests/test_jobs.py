import joblib
import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.jobs import count_jobs


def test_jobs_are_counted_as_scikit_learn_does():
    assert count_jobs(None) == 1
    assert count_jobs(3) == 3
    assert count_jobs(-1) == joblib.effective_n_jobs(-1)
    assert count_jobs(-10_000) == 1
    with joblib.parallel_config(n_jobs=2, backend="threading"):
        assert count_jobs(None) == 2
    for wrong in (0, "2", 1.5, True, np.True_):
        with pytest.raises(ModelError, match="n_jobs"):
            count_jobs(wrong)
