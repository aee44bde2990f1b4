from datetime import date

import ibis
import pytest

from unelisa.ehr.omop.records import as_day, as_number, as_text, as_value


def evaluate(expression):
    return ibis.duckdb.connect().to_pyarrow(expression).as_py()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2001-12-31", date(2001, 12, 31)),
        ("20011231", date(2001, 12, 31)),
        (" 2001-12-31 23:59:59", date(2001, 12, 31)),
        (20011231, date(2001, 12, 31)),
        ("", None),
    ],
)
def test_days_are_read(written, read):
    assert evaluate(as_day(ibis.literal(written))) == read


@pytest.mark.parametrize("written", ["31.12.2001", "2001-1-1", "12/31/2001", "2001-13-01"])
def test_what_is_not_a_day_fails(written):
    with pytest.raises(Exception, match="[Cc]onver"):
        evaluate(as_day(ibis.literal(written)))


def test_values_numbers_and_texts_are_read():
    assert evaluate(as_value(ibis.literal(" 6.5 "))) == 6.5
    assert evaluate(as_value(ibis.literal(""))) is None
    assert evaluate(as_number(ibis.literal("12"))) == 12
    assert evaluate(as_text(ibis.literal(12))) == "12"
