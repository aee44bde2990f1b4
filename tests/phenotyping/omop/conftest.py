"""A simulated datamart and a tiny hand-made one, each on DuckDB and on a PostgreSQL server."""

import duckdb
import psycopg
import pytest

from postgres_server import find_programs, load_tables, start_server
from unelisa.datamart import simulate_ehr, write_datamart
from unelisa.datamart.cdm import create_table

# person 1 has everything that must count and much that must not; 2 little; 3 nothing
TINY = """
INSERT INTO person (person_id, gender_concept_id, year_of_birth, race_concept_id,
  ethnicity_concept_id) VALUES (1, 0, 1950, 0, 0), (2, 0, 1960, 0, 0), (3, 0, 1970, 0, 0);
INSERT INTO condition_occurrence (condition_occurrence_id, person_id, condition_concept_id,
  condition_start_date, condition_type_concept_id, condition_source_value) VALUES
  (1, 1, 11, DATE '2001-01-01', 0, '714.0'), (2, 1, 11, DATE '2001-01-01', 0, '714.0'),
  (3, 1, 12, DATE '2001-01-01', 0, '714.1'), (4, 1, 11, DATE '2002-02-02', 0, '714.0'),
  (5, 2, 13, DATE '2003-03-03', 0, 'm05.9'), (6, 2, 99, DATE '2003-03-03', 0, '7140'),
  (7, 9, 11, DATE '2001-01-01', 0, '714.0');
INSERT INTO note (note_id, person_id, note_date, note_type_concept_id, note_class_concept_id,
  note_text, encoding_concept_id, language_concept_id) VALUES
  (1, 1, DATE '2001-01-01', 0, 0, '', 0, 0), (2, 1, DATE '2001-01-01', 0, 0, '', 0, 0),
  (3, 1, DATE '2005-05-05', 0, 0, '', 0, 0), (4, 2, DATE '2001-01-01', 0, 0, '', 0, 0);
INSERT INTO note_nlp (note_nlp_id, note_id, lexical_variant, note_nlp_concept_id, nlp_date,
  term_exists, term_modifiers) VALUES
  (1, 1, 'RA', 11, DATE '2020-01-01', 'Y', NULL),
  (2, 2, 'rheum. arthritis', 11, DATE '2020-01-01', 'Y', 'negation=false, subject=patient'),
  (3, 3, 'RA', 11, DATE '2020-01-01', NULL, NULL),
  (4, 4, 'RA', 11, DATE '2020-01-01', 'N', NULL),
  (5, 4, 'RA', 11, DATE '2020-01-01', 'Y', 'Negation = true'),
  (6, 4, 'RA', 11, DATE '2020-01-01', 'Y', 'subject=mother'),
  (7, 4, 'RA', 11, DATE '2020-01-01', NULL, 'conditional=true'),
  (8, 4, 'RA', 11, DATE '2020-01-01', 'Y', 'rule_out=true'),
  (9, 4, 'Sore Knee', 0, DATE '2020-01-01', 'Y', NULL),
  (10, 4, 'RA', 11, DATE '2020-01-01', 'Y', 'family history');
INSERT INTO measurement (measurement_id, person_id, measurement_concept_id, measurement_date,
  measurement_type_concept_id) VALUES (1, 2, 21, DATE '2004-04-04', 0);
INSERT INTO drug_exposure VALUES (1, 1, 31, DATE '2001-01-01'), (2, 1, 32, DATE '2001-01-01'),
  (3, 1, 31, DATE '2001-01-09'), (4, 2, 32, DATE '2002-02-02');
INSERT INTO concept (concept_id, concept_name, domain_id, vocabulary_id, concept_class_id,
  concept_code, valid_start_date, valid_end_date) VALUES
  (11, 'Rheumatoid arthritis', 'c', 'v', 'k', 'a', DATE '1970-01-01', DATE '2099-01-01'),
  (12, 'Felty syndrome', 'c', 'v', 'k', 'b', DATE '1970-01-01', DATE '2099-01-01'),
  (21, 'Anti-CCP', 'c', 'v', 'k', 'd', DATE '1970-01-01', DATE '2099-01-01'),
  (31, 'Methotrexate 10 MG', 'c', 'v', 'k', 'e', DATE '1970-01-01', DATE '2099-01-01'),
  (32, 'Methotrexate 15 MG', 'c', 'v', 'k', 'f', DATE '1970-01-01', DATE '2099-01-01'),
  (0, 'No matching concept', 'c', 'v', 'k', 'z', DATE '1970-01-01', DATE '2099-01-01');
INSERT INTO concept_ancestor VALUES (10, 11, 1, 1), (10, 12, 1, 1), (10, 10, 0, 0),
  (30, 31, 1, 1), (30, 32, 1, 1);
"""
TINY_TABLES = (
    "person",
    "condition_occurrence",
    "note",
    "note_nlp",
    "measurement",
    "drug_exposure",
    "concept",
    "concept_ancestor",
    "cohort",
)


# the simulated datamart has no such table
DRUGS = (
    "CREATE TABLE drug_exposure (drug_exposure_id bigint, person_id bigint, "
    "drug_concept_id integer, drug_exposure_start_date date)"
)


def tiny_statements():
    tables = [DRUGS if name == "drug_exposure" else create_table(name) for name in TINY_TABLES]
    return [*tables, *filter(str.strip, TINY.split(";"))]


@pytest.fixture(scope="session")
def drawn():
    return simulate_ehr(240, random_state=5)


@pytest.fixture(scope="session")
def datamart(drawn, tmp_path_factory):
    file = tmp_path_factory.mktemp("datamart") / "ra.duckdb"
    write_datamart(drawn, file)
    return file


@pytest.fixture(scope="session")
def server(datamart):
    """The address of a server that holds the simulated datamart in the schema cdm."""
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed (.ci/install-postgresql)")
    with start_server() as address:
        load_tables(datamart, address, "cdm")
        yield address


@pytest.fixture
def tiny_file(tmp_path):
    file = tmp_path / "tiny.duckdb"
    with duckdb.connect(str(file)) as connection:
        for statement in tiny_statements():
            connection.execute(statement)
    return file


@pytest.fixture
def tiny_server(server):
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS " + ", ".join(TINY_TABLES))
        for statement in tiny_statements():
            connection.execute(statement)
    return server


@pytest.fixture(params=["duckdb", "postgres"])
def tiny(request):
    """The tiny datamart on either engine."""
    return request.getfixturevalue("tiny_file" if request.param == "duckdb" else "tiny_server")
