import unelisa


def test_the_version_is_shown(run):
    assert run("--version").stdout == f"unelisa {unelisa.__version__}\n"


def test_without_a_command_the_help_is_shown(run):
    result = run()
    assert result.exit_code == 0
    assert "simulate" in result.stdout


def test_every_command_has_help(run):
    for command in ("demo", "fit", "predict", "compare", "simulate", "report"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def test_unknown_commands_and_options_are_refused(refused):
    assert "No such command 'guess'" in refused("guess")
    assert "--guess" in refused("--guess")
    assert "--guess" in refused("fit", "votes.csv", "--guess")


def test_a_fault_of_ours_is_owned_without_quoting_the_votes(run, files, monkeypatch):
    def stumble(*_):
        raise KeyError("patient Zaphod")

    monkeypatch.setattr("unelisa.cli.fit.fit_model", stumble)
    result = run("fit", files.votes, "--out", files.folder / "labels.csv")
    assert result.exit_code == 1
    assert "this is a fault of unelisa" in result.stderr
    assert "KeyError in test_boundary.py" in result.stderr
    assert "Zaphod" not in result.output
    assert not (files.folder / "labels.csv").exists()


def test_too_little_memory_is_a_sentence(refused, files, monkeypatch):
    def fill(*_):
        raise MemoryError

    monkeypatch.setattr("unelisa.cli.fit.fit_model", fill)
    assert "not enough memory" in refused("fit", files.votes)


def test_an_interruption_that_a_library_wrapped_is_one(run, files, monkeypatch):
    def wrap(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interruption:
            raise ImportError("half imported") from interruption

    monkeypatch.setattr("unelisa.cli.fit.fit_model", wrap)
    result = run("fit", files.votes)
    assert result.exit_code == 130
    assert result.stderr == "Error: interrupted: no further file was written\n"


def test_a_file_name_cannot_command_the_terminal(run, tmp_path):
    result = run("fit", tmp_path / "\x1b[2Jnew\nline.csv")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1
