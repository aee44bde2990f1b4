import pytest

from unelisa.kernels.threads import one_blas_thread


@pytest.fixture(autouse=True)
def _as_in_a_fit():
    """BLAS has one thread during a fit, of which these tests call parts."""
    with one_blas_thread():
        yield
