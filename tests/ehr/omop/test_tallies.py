import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from unelisa.ehr.omop.counts import MOST_FEATURES, Tallies
from unelisa.ehr.omop.requests import parse_request
from unelisa.errors import RecordsError
from unelisa.memory import limit_memory

PERSONS = pd.Index([3, 5, 9], name="person_id")


def batch(*rows):
    names = ("person", "feature", "days", "records")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_counts_of_several_batches_become_one_table():
    tallies = Tallies(PERSONS)
    asked = [parse_request("ICD:%"), parse_request("ICD:never")]
    first, second = batch((9, "B", 2, 5), (3, "A", 1, 1)), batch((5, "A", 4, 4), (7, "C", 8, 8))
    tallies.add(asked, [first, second])
    tallies.add([parse_request("RX:12")], [])
    table = tallies.arrange()
    assert list(table) == ["ICD:NEVER", "ICD:A", "ICD:B", "ICD:C", "RX:12"]
    assert table.to_numpy().tolist() == [[0, 1, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 2, 0, 0]]
    assert table.index.equals(PERSONS)
    assert set(table.dtypes) == {np.dtype(np.int32)}
    # person 7 is unknown; of the other records, ten, seven are counted days
    assert tallies.repeated == {"ICD": (10, 7), "RX": (0, 0)}


def test_a_table_beyond_the_memory_limit_is_refused_with_what_to_do():
    tallies = Tallies(pd.RangeIndex(200_000))
    tallies.add([parse_request(f"ICD:{k}") for k in range(1000)], [])
    with limit_memory("100MB"), pytest.raises(RecordsError) as error:
        tallies.arrange()
    assert str(error.value).startswith("a table of 200,000 patients and 1,000 features needs about")
    assert str(error.value).endswith("leave rare ones out with least_share = 0.05")


def test_too_many_features_are_refused():
    tallies = Tallies(PERSONS)
    tallies.add([parse_request(f"ICD:{k}") for k in range(MOST_FEATURES + 1)], [])
    with pytest.raises(RecordsError, match="20001 features were found, more than 20000"):
        tallies.arrange()
