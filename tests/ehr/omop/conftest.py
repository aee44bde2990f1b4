"""A simulated datamart and a tiny hand-made one, each on DuckDB and on a PostgreSQL server."""

import duckdb
import psycopg
import pytest

from postgres_server import find_programs, load_tables, start_server
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.database import open_database
from unelisa.ehr.omop.datamart import TABLES

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

# tables of other domains, in another order of columns than the model's; a view of person 1 and 2
MORE = """
CREATE TABLE procedure_occurrence (person_id bigint, procedure_date date, procedure_concept_id
  integer, procedure_source_concept_id integer, procedure_source_value varchar);
INSERT INTO procedure_occurrence VALUES (1, DATE '2001-01-05', 41, 141, '20610'),
  (1, DATE '2001-02-05', 41, 141, '20610'), (2, DATE '2001-01-05', 42, 142, '2061x ');
CREATE TABLE observation (person_id bigint, observation_date date, observation_concept_id integer,
  observation_source_value varchar, value_as_number numeric);
INSERT INTO observation VALUES (1, DATE '2001-01-05', 51, 'smoker', 20), (1, DATE '2001-01-06', 51,
  'smoker', 3), (2, DATE '2001-01-05', 51, 'smoker', NULL);
CREATE TABLE drug_era (person_id bigint, drug_concept_id integer, drug_era_start_date date);
INSERT INTO drug_era VALUES (1, 30, DATE '2001-01-01'), (2, 30, DATE '2002-02-02');
CREATE TABLE condition_era (person_id bigint, condition_concept_id integer,
  condition_era_start_date date);
INSERT INTO condition_era VALUES (1, 11, DATE '2001-01-01');
INSERT INTO measurement (measurement_id, person_id, measurement_concept_id, measurement_date,
  measurement_type_concept_id, value_as_number) VALUES (2, 1, 21, DATE '2004-01-01', 0, 5.0),
  (3, 1, 21, DATE '2004-01-02', 0, 17.0), (4, 1, 21, DATE '2004-01-03', 0, 17.5),
  (5, 2, 21, DATE '2004-01-03', 0, -1);
INSERT INTO concept (concept_id, concept_name, domain_id, vocabulary_id, concept_class_id,
  concept_code, valid_start_date, valid_end_date) VALUES
  (30, 'Methotrexate', 'c', 'v', 'k', 'g', DATE '1970-01-01', DATE '2099-01-01'),
  (41, 'Joint injection', 'c', 'v', 'k', 'h', DATE '1970-01-01', DATE '2099-01-01'),
  (141, 'Arthrocentesis', 'c', 'v', 'k', 'i', DATE '1970-01-01', DATE '2099-01-01');
CREATE TABLE visit_occurrence (person_id bigint, visit_start_date date);
INSERT INTO visit_occurrence VALUES (1, DATE '2001-01-01'), (1, DATE '2150-01-01'), (2, NULL);
CREATE TABLE observation_period (person_id bigint, observation_period_start_date date,
  observation_period_end_date date);
INSERT INTO observation_period VALUES (1, DATE '2000-01-01', DATE '2001-06-30'),
  (1, DATE '2001-12-01', DATE '2004-12-31'), (2, DATE '2003-01-01', DATE '2003-12-31');
"""
MORE_TABLES = (
    *("procedure_occurrence", "observation", "drug_era", "condition_era"),
    *("visit_occurrence", "observation_period"),
)

# the simulated datamart has no such table
DRUGS = (
    "CREATE TABLE drug_exposure (drug_exposure_id bigint, person_id bigint, "
    "drug_concept_id integer, drug_exposure_start_date date)"
)


def tiny_statements():
    tables = [DRUGS if name == "drug_exposure" else TABLES[name] for name in TINY_TABLES]
    return [*tables, *filter(str.strip, TINY.split(";"))]


@pytest.fixture(scope="session")
def drawn():
    return simulate_ehr(240, random_state=5)


@pytest.fixture(scope="session")
def datamart(drawn, store_datamart):
    return store_datamart(drawn)


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
        connection.execute("DROP TABLE IF EXISTS " + ", ".join(TINY_TABLES + MORE_TABLES))
        for statement in tiny_statements():
            connection.execute(statement)
    return server


@pytest.fixture(params=["duckdb", "postgres"])
def tiny(request):
    """The tiny datamart on either engine."""
    return request.getfixturevalue("tiny_file" if request.param == "duckdb" else "tiny_server")


@pytest.fixture
def rich(tiny):
    """The tiny datamart with the tables of other domains, visits and observation periods."""
    with open_database(tiny, read_only=False) as connection:
        for statement in filter(str.strip, MORE.split(";")):
            connection.raw_sql(statement)
    return tiny
