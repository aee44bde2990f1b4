import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import unelisa as ue
from unelisa.ehr.omop.counts import MOST_FEATURES, Tallies, count_patients, find_related
from unelisa.ehr.omop.database import OmopTables, explain_engine, open_database
from unelisa.ehr.omop.records import name_concepts
from unelisa.ehr.omop.requests import CountRequest, parse_request
from unelisa.errors import RecordsError, UnelisaWarning
from unelisa.memory import limit_memory

ALL = ["ICD:714.%", "NLP:%"]
ENTRY = ["ICD:714.%", "LAB:anti-cyclic citrullinated peptide test"]


def counts(database, *features, utilization=None, **more):
    return ue.read_omop(database, features, utilization=utilization, **more)


def test_the_database_gives_the_counts_that_were_drawn(datamart, drawn):
    table = ue.read_omop(datamart, ALL, entry=ENTRY)
    never = [name for name in drawn.counts if name not in table]
    assert (drawn.counts[never] == 0).all(axis=None)
    pd.testing.assert_frame_equal(
        table, drawn.counts[table.columns], check_index_type=False, check_like=True
    )
    assert set(table.dtypes) == {np.dtype(np.int32)}
    assert table.columns[-1] == "note_count"


def test_duckdb_and_postgresql_give_identical_counts(datamart, server):
    asked = [*ALL, "ICD:714.+", "CONCEPT:80809", "CONCEPT:2000000001+", "LAB:2000000002"]
    more = {"entry": ENTRY, "window": ("2003-01-01", "2012-06-30"), "utilization": "visit_count"}
    here = ue.read_omop(datamart, asked, **more)
    there = ue.read_omop(server, asked, schema="cdm", **more)
    pd.testing.assert_frame_equal(here, there)
    assert 0 < len(here) < 240  # the window and the entry rule leave some out


def test_each_feature_counts_once_a_day_and_every_note(tiny):
    table = counts(tiny, "ICD:714.0", "ICD:714.%", "ICD:714.+", "ICD:M05.9")
    assert table.index.tolist() == [1, 2, 3]
    assert table.to_dict("list") == {
        "ICD:714.0": [2, 0, 0],
        "ICD:714.+": [2, 0, 0],
        "ICD:M05.9": [0, 1, 0],
        "ICD:714.1": [1, 0, 0],
    }
    assert counts(tiny, "ICD:714.0", utilization="note_count")["note_count"].tolist() == [3, 1, 0]
    table = counts(tiny, "CONCEPT:11", "CONCEPT:10", "CONCEPT:10+", "CONCEPT:felty syndrome")
    assert table.loc[1].to_list() == [2, 0, 2, 1]
    window = (datetime(2001, 1, 1, 12), date(2002, 2, 1))
    table = counts(tiny, "ICD:714.0", utilization="note_count", window=window)
    assert table.loc[1].to_list() == [1, 2]
    table = counts(tiny, "NLP:%", "NLP:11")
    assert list(table) == ["NLP:11", "NLP:rheumatoid arthritis", "NLP:sore knee"]
    assert table.to_numpy().tolist() == [[2, 2, 0], [0, 0, 1], [0, 0, 0]]


MODIFIERS = {
    "Negation=False; Subject=Patient; Conditional=False; Rule_out=False": True,
    "negated=false, hypothetical=no, family_history=false": True,
    "Uncertain=low": True,
    "negated": False,
    "negation=yes": False,
    "Rule out": False,
    "certainty=hypothetical": False,
    "subject = grandmother": False,
    "uncertain=very low": False,
    "family history": False,
}


def test_modifiers_are_read_as_they_are_meant(tiny):
    rows = (
        f"({100 + k}, 4, 'term {k}', 0, DATE '2020-01-01', 'Y', '{modifiers}')"
        for k, modifiers in enumerate(MODIFIERS)
    )
    with open_database(tiny, read_only=False) as connection:
        connection.raw_sql(
            "INSERT INTO note_nlp (note_nlp_id, note_id, lexical_variant, note_nlp_concept_id, "  # noqa: S608
            f"nlp_date, term_exists, term_modifiers) VALUES {', '.join(rows)}"
        )
    table = counts(tiny, *(f"NLP:term {k}" for k in range(len(MODIFIERS))))
    found = dict(zip(MODIFIERS, table.loc[2].astype(bool), strict=True))
    assert found == MODIFIERS


def test_drugs_values_procedures_observations_eras_and_source_concepts_are_counted(rich):
    asked = {
        "RX:31": [2, 0],
        "RX:methotrexate 15 mg": [1, 1],
        "RX:methotrexate+": [2, 1],
        "RX:30+": [2, 1],
        "LAB:21": [3, 2],
        "LAB:anti-ccp": [3, 2],
        "LAB:21>17": [1, 0],
        "LAB:anti-ccp>=17": [2, 0],
        "LAB:anti+<=-1": [0, 1],
        "LAB:21<0.5": [0, 1],
        "PROC:41": [2, 0],
        "PROC:joint injection": [2, 0],
        "PROC.source:141": [2, 0],
        "PROC.source:arthrocentesis": [2, 0],
        "PROC.code:20610": [2, 0],
        "PROC.code:2061+": [2, 1],
        "PROC.code:2061X": [0, 1],
        "OBS:51": [2, 1],
        "OBS.code:SMOKER": [2, 1],
        "OBS:51>=20": [1, 0],
        "RX.era:30": [1, 1],
        "RX.era:methotrexate": [1, 1],
        "CONCEPT.era:11": [1, 0],
    }
    assert counts(rich, *asked).loc[[1, 2]].to_dict("list") == asked
    written = counts(rich, "LAB:Anti-CCP >= 17", "LAB:anti+<=-1.0", "RX:%")
    drugs = {"RX:methotrexate 10 mg", "RX:methotrexate 15 mg"}
    assert set(written) == {"LAB:anti-ccp>=17", "LAB:anti+<=-1", *drugs}


def test_only_days_around_the_index_day_count(rich):
    """Person 1 has 714.0 on 1 January 2001 and on 2 February 2002, person 2 m05.9 in 2003."""
    asked = ["ICD:714.0", "PROC:41", "LAB:21", "ICD:M05.9"]

    def near(**more):
        table = counts(rich, *asked, index=["ICD:714.0", "ICD:m05.9"], **more)
        assert table.index.tolist() == [1, 2]  # 3 has no index day
        return table[asked].to_numpy().tolist()

    assert near() == [[2, 2, 3, 0], [0, 0, 2, 1]]
    assert near(before=0, after=0) == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert near(before=0, after=4) == [[1, 1, 0, 0], [0, 0, 0, 1]]
    assert near(after=397) == [[2, 2, 0, 0], [0, 0, 1, 1]]
    # the window bounds the index day, not the records around it
    table = counts(rich, *asked, index=["ICD:714.0"], before=400, window=("2002-01-01", None))
    assert table[asked].to_numpy().tolist() == [[2, 2, 3, 0]]
    visits = counts(rich, "ICD:714.0", index=["ICD:714.0"], after=9, utilization="visit_count")
    assert visits["visit_count"].tolist() == [1]


def test_rare_features_of_patterns_are_left_out(rich):
    """Of the two patients with a test, one has 714.0 and 714.1; both have methotrexate 15 mg."""
    among = {"among": ["LAB:21"]}
    everything = counts(rich, "ICD:%", "RX:%", "CONCEPT:11")
    assert list(counts(rich, "ICD:%", "RX:%", "CONCEPT:11", least_share=0.5, **among)) == [
        *everything
    ]
    kept = counts(rich, "ICD:%", "RX:%", "CONCEPT:11", least_share=0.51, **among)
    # what is named is counted however rare
    assert list(kept) == ["CONCEPT:11", "RX:methotrexate 15 mg"]
    pd.testing.assert_frame_equal(kept, everything[kept.columns])
    # of three patients two have it
    assert "RX:methotrexate 15 mg" not in counts(rich, "RX:%", "ICD:714.0", least_share=0.67)
    with pytest.raises(RecordsError, match=r"frequent among has a record that matches 'ICD:715.%'"):
        counts(rich, "ICD:715.%", least_share=0.5, **among)
    with pytest.raises(RecordsError, match=r"no patient has a record of LAB:22, so that"):
        counts(rich, "ICD:714.%", least_share=0.5, among=["LAB:22"])


def test_features_of_few_patients_are_left_out_whatever_the_share(rich):
    """Of the two patients with a test, both have methotrexate 15 mg, and one has the others."""
    request = CountRequest.of(["ICD:%", "RX:%", "CONCEPT:11"], None)
    among = [parse_request("LAB:21")]
    with open_database(rich) as connection:
        tables = OmopTables.of(connection)
        for share in (0.0, 0.05):
            found = count_patients(tables, request.without_rare(share, among, 2))
            assert list(found.table) == ["CONCEPT:11", "RX:methotrexate 15 mg"]
            assert found.screened == {"ICD": (0, 4), "RX": (1, 2)}


def test_a_request_that_cannot_be_is_refused(tiny_file):
    with pytest.raises(RecordsError, match="name the features of index"):
        counts(tiny_file, "ICD:714.0", before=3)
    with pytest.raises(RecordsError, match="before is -1"):
        counts(tiny_file, "ICD:714.0", index=["ICD:714.0"], before=-1)
    with pytest.raises(RecordsError, match="least_share is 1"):
        counts(tiny_file, "ICD:714.0", least_share=1)


def test_features_that_share_records_with_an_anchor_are_found(rich):
    asked = [
        *("ICD:714.0", "ICD:714.1", "CONCEPT:11", "CONCEPT:12", "CONCEPT:10+", "CONCEPT.era:11"),
        *("RX:31", "RX:32", "RX:methotrexate+", "RX.era:30", "PROC:41", "PROC.source:141"),
        *("PROC.code:20610", "PROC:42", "LAB:21", "LAB:21>17"),
    ]
    shared = {
        "ICD:714.0": {"CONCEPT:11", "CONCEPT:10+", "CONCEPT.era:11"},
        "CONCEPT.era:11": {"ICD:714.0", "CONCEPT:11", "CONCEPT:10+"},
        "RX.era:30": {"RX:31", "RX:32", "RX:methotrexate+"},
        "RX:31": {"RX:methotrexate+", "RX.era:30"},
        "PROC:41": {"PROC.source:141", "PROC.code:20610"},
        "LAB:21>17": {"LAB:21"},
    }
    with open_database(rich) as connection:
        tables = OmopTables.of(connection)
        for anchor, related in shared.items():
            request = CountRequest.of(asked, None)
            assert set(find_related(tables, request, [parse_request(anchor)])) == related


def test_records_of_nobody_leave_large_identifiers_as_they_are(tiny_file):
    large = 2**60 + 1
    with duckdb.connect(str(tiny_file)) as connection:
        connection.execute("ALTER TABLE condition_occurrence ALTER person_id DROP NOT NULL")
        for table in ("person", "condition_occurrence"):
            statement = f"UPDATE {table} SET person_id = ? WHERE person_id = 1"  # noqa: S608
            connection.execute(statement, [large])
        connection.execute("UPDATE condition_occurrence SET person_id = NULL WHERE person_id = 9")
    table = counts(tiny_file, "ICD:714.0")
    assert table["ICD:714.0"].to_dict() == {2: 0, 3: 0, large: 2}


def test_a_narrowed_request_counts_only_what_is_named(tiny_file):
    request = CountRequest.of(["ICD:714.%", "CONCEPT:10+", "NLP:%"], None)
    names = ["NLP:11", "CONCEPT:10+", "NLP:sore knee", "ICD:714.8"]
    with open_database(tiny_file) as connection:
        table = count_patients(OmopTables.of(connection), request.narrow(names)).table
    assert sorted(table) == sorted(names)
    assert table[names].to_numpy().tolist() == [[0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_what_is_missing_is_reported_before_anything_is_counted(tiny_file):
    told = []
    with open_database(tiny_file) as connection:
        for asked in (["ICD:714.%", "NLP:%"], "visit_count"), (["ICD:714.%", "LAB:x"], None):
            tables = OmopTables.of(connection)
            tables.names.pop("measurement", None)
            with pytest.raises(RecordsError, match="there is no table"):
                count_patients(tables, CountRequest.of(*asked), told.append)
    assert told == []


@pytest.mark.parametrize(
    ("entry", "patients"),
    [
        (["ICD:714.%"], [1]),
        (["LAB:21"], [2]),
        (["ICD:714.%", "LAB:anti-ccp"], [1, 2]),
        ([], [1, 2, 3]),
    ],
)
def test_the_entry_rule_lets_in_who_has_any_of_it(tiny, entry, patients):
    assert counts(tiny, "CONCEPT:11", entry=entry).index.tolist() == patients


HOSTILE = [
    "x'; DROP TABLE person; --",
    "714.0' OR '1'='1",
    'x"; DELETE FROM person; --',
    "\\'; DROP TABLE person; --",
    "x'); TRUNCATE person; --",
    "714_0",
    "$$;DROP TABLE person;$$",
]


@pytest.mark.parametrize("form", ["ICD:{}", "ICD:{}+", "NLP:{}", "LAB:{}"])
def test_metacharacters_in_codes_are_only_letters(tiny, form):
    table = counts(tiny, *(form.format(code) for code in HOSTILE), "ICD:714.0")
    assert table.shape == (3, len(HOSTILE) + 1)
    assert table.pop("ICD:714.0").tolist() == [2, 0, 0]
    assert table.to_numpy().sum() == 0


def test_patterns_and_persons_without_a_match_are_refused(tiny):
    with pytest.raises(RecordsError, match="no patient has a record that matches 'ICD:715.%'"):
        counts(tiny, "ICD:715.%")
    with pytest.raises(RecordsError, match="no patients are left"):
        counts(tiny, "ICD:714.0", entry=["ICD:nothing"])


def test_codes_written_without_dots_are_proposed_where_those_with_dots_never_occur(tiny):
    """Patient 2 has the code 7140, and nobody 71.4."""
    with pytest.warns(
        UnelisaWarning, match="no patient has the code ICD:71.40; .*: write ICD:7140"
    ):
        assert not counts(tiny, "ICD:71.40").any(axis=None)
    with pytest.raises(RecordsError, match="writes codes without dots: write ICD:714%$"):
        counts(tiny, "ICD:7.14%")
    with pytest.raises(RecordsError, match="compare it with the codes in the table"):
        counts(tiny, "ICD:9.14%")


def test_codes_and_concepts_get_their_names(rich):
    with open_database(rich, read_only=False) as connection:
        connection.raw_sql("UPDATE concept SET vocabulary_id = 'ICD9CM' WHERE concept_code = 'b'")
        asked = ["CONCEPT:11", "CONCEPT:11+", "ICD:B", "ICD:A", "RX:31", "NLP:gout", "LAB:21>5"]
        named = name_concepts(OmopTables.of(connection), asked)
    assert named == {
        **dict.fromkeys(("CONCEPT:11", "CONCEPT:11+"), "Rheumatoid arthritis"),
        "ICD:B": "Felty syndrome",  # and A is a code of another vocabulary
        "RX:31": "Methotrexate 10 MG",
    }


def test_a_patient_twice_is_refused(tiny_file):
    with duckdb.connect(str(tiny_file)) as connection:
        connection.execute("INSERT INTO person SELECT * FROM person WHERE person_id = 2")
    with pytest.raises(RecordsError, match="lists 1 patients more than once"):
        counts(tiny_file, "ICD:714.0")


def test_steps_tell_rows_and_seconds(tiny_file):
    told = []
    with open_database(tiny_file) as connection:
        found = count_patients(
            OmopTables.of(connection), CountRequest.of(["ICD:714.%"], "note_count"), told.append
        )
    queries = ["patients", "ICD counts", "note_count"]
    assert told == [
        one for q, n in zip(queries, (3, 3, 2), strict=True) for one in (q, f"{q}: {n} rows")
    ]
    assert [step.what for step in found.steps] == queries
    assert [step.rows for step in found.steps] == [3, 3, 2]
    assert all(step.seconds > 0 for step in found.steps)


@pytest.mark.shared
def test_gibleed_loads_and_counts(shared_data):
    asked = ["CONCEPT:192671", "CONCEPT:%", "RX:%", "RX:1118084+", "LAB:%"]
    table = counts(shared_data / "omop_gibleed", *asked, utilization="visit_count")
    assert len(table) == 2694
    assert table["CONCEPT:192671"].sum() == 479  # gastrointestinal haemorrhage
    assert table["CONCEPT:192671"].equals(
        table["CONCEPT:gastrointestinal hemorrhage"].rename("CONCEPT:192671")
    )
    assert table["visit_count"].sum() == 1037


@pytest.mark.shared
def test_mimic_demo_loads_and_counts(shared_data):
    folder = shared_data / "omop_mimic_demo"
    table = counts(folder, "ICD:%", "RX:46275280", utilization="visit_count")
    assert len(table) == 100
    assert table["visit_count"].sum() == 852
    assert table.index.min() < 0  # identifiers of 64 bits, some negative
    drugs = pd.read_csv(folder / "drug_exposure.csv.gz", dtype={"drug_source_value": str})
    days = drugs[drugs.drug_concept_id == 46275280].groupby("person_id")
    naive = days.drug_exposure_start_date.nunique().reindex(table.index, fill_value=0)
    assert table["RX:46275280"].tolist() == naive.tolist()
    assert "ICD:78791" in table  # padded with blanks at the source


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


def test_requests_and_features_have_limits():
    tallies = Tallies(pd.RangeIndex(200_000))
    tallies.add([parse_request(f"ICD:{k}") for k in range(1000)], [])
    with limit_memory("100MB"), pytest.raises(RecordsError) as error:
        tallies.arrange()
    assert str(error.value).startswith("a table of 200,000 patients and 1,000 features needs about")
    assert str(error.value).endswith("leave rare ones out with least_share = 0.05")
    tallies = Tallies(PERSONS)
    tallies.add([parse_request(f"ICD:{k}") for k in range(MOST_FEATURES + 1)], [])
    with pytest.raises(RecordsError, match="20001 features were found, more than 20000"):
        tallies.arrange()


def test_duckdb_keeps_to_the_memory_limit_and_its_folder_is_private(tiny_file):
    with limit_memory("1MB"), open_database(tiny_file) as connection:
        asked = "SELECT value FROM duckdb_settings() WHERE name = ?"
        (folder,) = connection.con.execute(asked, ["temp_directory"]).fetchone()
        assert Path(folder).stat().st_mode & 0o077 == 0
        assert not list(Path(folder).iterdir())
        sorted_rows = connection.con.execute(
            "SELECT random() r, range FROM range(3000000) ORDER BY r"
        )
        assert sorted_rows.fetchone()
        assert list(Path(folder).iterdir())  # what 67 MB do not hold
        with pytest.raises(RecordsError, match="UNELISA_MEMORY"), explain_engine("counting"):
            connection.con.execute("SELECT list(range) FROM range(10000000)").fetchall()
    assert not list(Path(folder).iterdir())


def test_the_folder_of_duckdb_is_removed_with_the_process(tiny_file):
    code = (
        "import sys; from unelisa.ehr.omop.database import open_database\n"
        "with open_database(sys.argv[1]) as connection:\n"
        "    asked = \"SELECT value FROM duckdb_settings() WHERE name = 'temp_directory'\"\n"
        "    print(connection.con.execute(asked).fetchone()[0])"
    )
    call = [sys.executable, "-c", code, str(tiny_file)]
    folder = subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()
    assert "unelisa-" in folder
    assert not Path(folder).exists()
