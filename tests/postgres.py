"""A PostgreSQL server for tests that need a real one; they are skipped, with the reason, where there is none."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running():
    """The address of a fresh server, on a socket of its own."""
    if not all(map(shutil.which, ("initdb", "pg_ctl", "postgres"))):
        pytest.skip("PostgreSQL's initdb, pg_ctl and postgres are not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short path: sockets have names of at most 107 characters
    user = _owner()
    if user:
        shutil.chown(folder, user)
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"

    def tell(*words):
        done = subprocess.run(words, user=user, capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode:
            pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip().splitlines()[-1:]}")

    tell("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "tester", "--no-sync")
    try:
        tell("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", settings, "start")
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        subprocess.run(
            ["pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop"], user=user, capture_output=True, check=False
        )
        shutil.rmtree(folder, ignore_errors=True)


def _owner():
    """Who runs the server: PostgreSQL refuses to be run as root."""
    if os.geteuid():
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"
