"""A real server on loopback for the tests, and a line to it that can be cut."""

import socket
import threading
from contextlib import contextmanager

import uvicorn


@contextmanager
def served(app, **settings):
    """The address of a service that runs until the block ends."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, **settings))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        thread.join(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[:2]
    finally:
        server.should_exit = True
        thread.join(20)


def whole_message(line):
    """A request or an answer of HTTP with a Content-Length, or none; empty when the other side has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = line.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [part.partition(b":")[2] for part in head.split(b"\r\n") if part.lower().startswith(b"content-length:")]
    while len(body) < int((sizes or [b"0"])[0]):
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


class Line:
    """Passes requests on, and does to each what the list ``fates`` says; after its end all go through.

    "lost": the request is not passed on. "unheard": it is, and its answer is not passed back. "cut": half the answer.
    """

    def __init__(self, place):
        self.place, self.fates, self.bodies, self.clients, self.opened = place, [], [], [], 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(20)
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for client in self.clients:
            client.close()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            self.opened += 1
            threading.Thread(target=self._pass, args=(line,), daemon=True).start()

    def _pass(self, line):
        with line, socket.create_connection(self.place) as onward:
            while request := whole_message(line):
                self.bodies.append(request.partition(b"\r\n\r\n")[2])
                fate = self.fates.pop(0) if self.fates else "through"
                if fate == "lost":
                    return
                onward.sendall(request)
                answer = whole_message(onward)
                if fate == "unheard":
                    return
                line.sendall(answer[: len(answer) // 2] if fate == "cut" else answer)
                if fate == "cut":
                    return
