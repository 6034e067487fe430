"""Servers for the benchmark of the collector: the service as it runs, in a process of its own, and PostgreSQL."""

import multiprocessing
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

IDLE = "/idle"
"""Where the benchmark's own route is: it reads a body as submissions are read, and keeps nothing."""


def application(address):
    """The service's application, and the route that does nothing."""
    from fastapi import Request

    from tacit.collector import Collector, api
    from tacit.collector.app import create_app

    app = create_app(Collector(address), rate=0)

    @app.post(IDLE, status_code=201)
    async def idle(request: Request) -> dict[str, str]:
        submission, _ = api._read(await request.body())
        return {"state": "well" if submission is not None else "unreadable"}

    app.router.routes.insert(0, app.router.routes.pop())  # before all others: no place is looked for longer
    return app


def free_port():
    """A port that nobody has now, below those that the system gives to clients.

    A client that tries again and again while the service is down could be given the service's own port, and then the
    service could not come back to it.
    """
    for port in range(20000 + os.getpid() % 8000, 32000):
        with socket.socket() as place, suppress(OSError):
            place.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("There is no free port.")


def serve(address, port):
    """The service, until it is stopped."""
    import uvicorn

    from tacit.collector.heads import Heads
    from tacit.collector.serving import settle_memory

    app = application(address)
    settle_memory()
    uvicorn.run(app, port=port, http=Heads, log_level="critical", access_log=False)


class Service:
    """The process of the service at a port of this machine; it can be killed, and started again at the same port."""

    def __init__(self, address, port=None):
        self.address, self.port, self.kills, self.process = str(address), port or free_port(), 0, None
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tacit.collector.app"])  # what takes long to load is loaded once

    def start(self):
        """Start it; it may still be on its way when this returns."""
        self.process = self.context.Process(target=serve, args=(self.address, self.port), daemon=True)
        self.process.start()
        return self

    def wait(self, seconds=120):
        """Until it answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if time.monotonic() > end or not self.process.is_alive():
                    raise RuntimeError("The service did not start.") from None
                time.sleep(0.02)

    def kill(self):
        """End it as a loss of power would, as far as the process is concerned."""
        self.process.kill()
        self.process.join()
        self.kills += 1

    def stop(self, seconds=30):
        """Ask it to end, and return its exit status; None if it does not."""
        self.process.terminate()
        self.process.join(seconds)
        return self.process.exitcode

    def __enter__(self):
        return self.start().wait()

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()


@contextmanager
def postgresql(fsync=True):
    """The address of a fresh PostgreSQL server, on a socket of its own; None where there is none."""
    if not all(map(shutil.which, ("initdb", "pg_ctl", "postgres"))):
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short path: sockets have names of at most 107 characters
    names = [one.pw_name for one in pwd.getpwall()]
    user = None if os.geteuid() else next(one for one in ("postgres", "nobody") if one in names)
    if user:
        shutil.chown(folder, user)
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync={'on' if fsync else 'off'}"

    def tell(*words):
        subprocess.run(words, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    try:
        tell("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "tester", "--no-sync")
        tell("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", settings, "start")
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        stop = ["pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop"]
        subprocess.run(stop, user=user, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
