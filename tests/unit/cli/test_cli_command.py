"""The command itself: version, help, exit codes, and what it loads."""

import os
import subprocess
import sys
from types import ModuleType

import pytest

import dynamo_regime
from dynamo_regime.admin.server import AdminServer
from tests.unit.admin.two_pools import TwoPools
from tests.unit.cli.conftest import Run


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_version_is_the_wheels(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"dynamo-regime {dynamo_regime.__version__}\n")


def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("status", "set", "frontend"))


def test_an_unknown_command_is_wrong_use(run: Run) -> None:
    result = run("stat")
    assert result.exit_code == 2
    assert "stat" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("exit_code", [0, 3])
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--version"],
        ["--http-port", "0", "-x", "--", "--admin=1", "positional", "--router-mode", "kv"],
    ],
)
def test_frontend_gets_all_arguments_untouched_and_its_exit_code_is_ours(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], exit_code: int
) -> None:
    received: list[list[str]] = []

    def main(argv: list[str]) -> int:
        received.append(argv)
        return exit_code

    frontend = ModuleType("dynamo_regime.frontend")
    frontend.__dict__["main"] = main
    monkeypatch.setitem(sys.modules, "dynamo_regime.frontend", frontend)
    result = run("frontend", *arguments)
    assert received == [arguments]
    assert result.exit_code == exit_code


def test_as_a_process_it_ends_with_one_line_and_no_traceback() -> None:
    result = python("-m", "dynamo_regime", "status", "--admin", "127.0.0.1:1")
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("dynamo-regime: no admin listener answers at http://127.0.0.1:1 (")


def test_ctrl_c_while_it_loads_is_one_line_and_130() -> None:
    pressed = """
import sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
from dynamo_regime.cli import main
main()
"""
    result = python("-c", pressed)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "dynamo-regime: interrupted\n"


def test_it_starts_without_loading_what_only_some_commands_need() -> None:
    heavy = ("httpx", "fastapi", "uvicorn", "rich.table", "dynamo_regime.frontend")
    result = python(
        "-c", f"import sys, dynamo_regime.cli.app; print([m for m in {heavy} if m in sys.modules])"
    )
    assert result.stdout == "[]\n"


def test_a_terminal_without_greek_still_shows_that_a_swap_was_made(
    listener: AdminServer, pools: TwoPools
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "dynamo_regime", "set", "--temperature", "0.9"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "DYNAMO_REGIME_ADMIN": listener.url},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert {policy.temperature for policy in pools.policies()} == {0.9}
