import subprocess
import sys
from pathlib import Path

import pytest

from unelisa.ehr.omop.database import explain_engine, open_database
from unelisa.errors import RecordsError
from unelisa.memory import limit_memory


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
