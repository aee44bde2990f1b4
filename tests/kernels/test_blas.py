"""One BLAS thread while anybody holds it, as many as before afterwards."""

import multiprocessing
import os
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info, threadpool_limits

from unelisa.estimator import fit_aside
from unelisa.kernels import blas
from unelisa.kernels.threads import one_blas_thread


def count_blas():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads():
    """Three threads, so that a limit of one is seen on a machine of any size."""
    np.ones((2, 2)) @ np.ones((2, 2))  # BLAS is loaded
    with threadpool_limits(3, user_api="blas"):
        if count_blas() != {3}:
            pytest.skip("the BLAS library here knows no number of threads")
        yield


def test_a_fit_has_one_thread():
    class Counting(BaseEstimator):
        @fit_aside
        def fit(self):
            self.threads_ = count_blas()

    assert Counting().fit().threads_ == {1}
    assert count_blas() == {3}


def test_blas_is_held_to_one_thread_until_the_last_holder_leaves():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert count_blas() == {1}
    second.__exit__(None, None, None)
    assert count_blas() == {3}


def test_holders_within_holders_and_after_an_error():
    with pytest.raises(KeyError), one_blas_thread():
        with one_blas_thread():
            assert count_blas() == {1}
        assert count_blas() == {1}
        raise KeyError
    assert count_blas() == {3}
    assert (blas._holders.count, blas._holders.limit) == (0, None)


def test_the_last_out_need_not_be_the_first_in():
    """Each in a thread of its own: the later one gives back what the first one found."""
    both_in, first_out, found = threading.Event(), threading.Event(), []

    def hold():
        with one_blas_thread():
            both_in.set()
            assert first_out.wait(30)
            found.append(count_blas())

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert both_in.wait(30)
    first_out.set()
    other.join(30)
    assert found == [{1}]
    assert count_blas() == {3}


def _look_in_child(connection):
    before = blas._holders.count, count_blas()
    with one_blas_thread():
        held = count_blas()
    connection.send((*before, held, count_blas()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_holders():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with one_blas_thread():
        child = context.Process(target=_look_in_child, args=(theirs,))
        child.start()
        assert ours.poll(60)
        assert ours.recv() == (0, {3}, {1}, {3})
        child.join(60)
        assert count_blas() == {1}  # the child's freedom is not the parent's
    assert child.exitcode == 0
