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
