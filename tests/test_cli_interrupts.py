"""Ctrl-C and SIGTERM at any moment: one line, exit code 130 or 143, no traceback, and signals as they were before."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from tacit.audit import all_methods
from tacit.cli import main as cli
from tacit.cli.main import main
from tacit.types import Budget

PRESS = "signal.raise_signal(signal.SIGINT)"
PROGRAM = """
import atexit, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whoever started the tests ignores it
from tacit.audit import all_methods
from tacit.cli import main as cli
from tacit.cli.command import Later

def command(options):
{body}

sys.argv = ["tacit", "methods"]
cli.COMMANDS["methods"] = ("__main__:arguments", "")
arguments = lambda parser: parser.set_defaults(run=command)
{before}
sys.exit(cli.main())
"""
BODIES = {
    "in the command": f"    {PRESS}",
    "again in its cleaning": f"    try: {PRESS}\n    finally: {PRESS}; print('cleaned')",
    "in a finaliser": f"    class Held:\n        def __del__(self): {PRESS}\n    held = Held(); del held\n"
    "    while True: threading.Event().wait(0.01)",
    "in what breaks": f"    try: {PRESS}\n    except KeyboardInterrupt: raise RuntimeError('a pool broke')",
    "as an error": f"    try: {PRESS}\n    except KeyboardInterrupt: raise ImportError('half a module')",
    "from a thread": f"    thread = threading.Thread(target=lambda: {PRESS})\n    thread.start(); thread.join()\n"
    "    while True: threading.Event().wait(0.01)",
}
LINE = "tacit: interrupted.\n"


def ended(body: str, before: str = "") -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(body=body, before=before)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("when", BODIES)
def test_one_line_wherever_it_comes(when: str) -> None:
    done = ended(BODIES[when])
    assert (done.returncode, done.stderr) == (130, LINE)
    assert done.stdout == ("cleaned\n" if "cleaning" in when else "")


@pytest.mark.parametrize("when", BODIES)
def test_a_request_to_end_is_as_clean(when: str) -> None:
    done = ended(BODIES[when].replace("SIGINT", "SIGTERM"))
    assert (done.returncode, done.stderr) == (143, LINE)
    assert done.stdout == ("cleaned\n" if "cleaning" in when else "")


def test_a_request_to_end_that_is_ignored_or_comes_late() -> None:
    ask = PRESS.replace("SIGINT", "SIGTERM")
    done = ended(f"    {ask}\n    return 0", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert (done.returncode, done.stderr) == (0, "")
    done = ended("    print('done')\n    return 0", f"atexit.register(lambda: {ask})")
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGTERM, "", "done\n")
    done = ended(f"    try: {ask}\n    finally:\n        {ask}; {ask}\n        print('late')")
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGTERM, LINE, "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_process_that_was_forked_ends_as_any_other(name: str) -> None:
    """Whoever forked it sends it the signal, and waits for its end."""
    body = f"""
    import os
    child = os.fork()
    if not child:
        try: signal.raise_signal(signal.{name})
        finally: print('cleaned', flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return 0"""
    done = ended(body)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{-signal.Signals[name]}\n")


def test_while_options_are_loaded_and_when_the_process_ends() -> None:
    loading = "def arguments(parser):\n    signal.raise_signal(signal.SIGINT)"
    done = ended("    return 0", loading)
    assert (done.returncode, done.stderr) == (130, LINE)
    done = ended("    print('done')\n    return 0", f"atexit.register(lambda: {PRESS})")
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGINT, "", "done\n")  # which a shell calls 130


def test_a_third_press_ends_it_at_once_with_the_same_line() -> None:
    done = ended(f"    try: {PRESS}\n    finally:\n        {PRESS}; {PRESS}\n        print('late')")
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGINT, LINE, "")


def test_who_ignores_the_signal_goes_on_ignoring_it() -> None:
    done = ended(f"    {PRESS}\n    return 0", "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_disposition_leaks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    before, hook = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    try:
        monkeypatch.setattr(cli, "build_parser", lambda: signal.raise_signal(signal.SIGINT))
        assert main(["methods"]) == 130
        assert capsys.readouterr() == ("", LINE)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert sys.unraisablehook is hook
        codes: list[int] = []
        monkeypatch.undo()
        thread = threading.Thread(target=lambda: codes.append(main(["methods"])))  # where signals are nobody's
        thread.start()
        thread.join()
        assert codes == [0]
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_sentence_about_the_ledger_stays() -> None:
    assert cli._words("interrupted.", []) == LINE.rstrip()
    assert cli._words("interrupted.", [object()]) == "tacit: interrupted. The ledger has been charged."


def test_worker_processes_end_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sends Ctrl-C to all processes: the one that started the others speaks for them."""
    made: list[tuple[object, ...]] = []

    def pool(*settings: object) -> None:
        made.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(all_methods, "ProcessPoolExecutor", pool)
    with pytest.raises(KeyboardInterrupt):
        all_methods.audit_all(Budget(1.0, 1e-5), workers=2)
    assert made[0][2:] == (signal.signal, (signal.SIGINT, signal.SIG_DFL))
