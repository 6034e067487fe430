"""Clients for the benchmark of the collector: plain HTTP/1.1 over sockets, many at once in one event loop."""

import asyncio
import json
import time
from dataclasses import dataclass

PATIENCE = 300
"""Seconds before a client gives up."""
PAUSE = 0.1
"""Seconds before a client tries again what was not answered."""


@dataclass(frozen=True)
class Answer:
    """What came back for a body: a status and plain data, after how many seconds."""

    status: int
    data: dict
    seconds: float = 0.0


def request(place, body):
    """The bytes of a request."""
    head = f"POST {place} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


class Client:
    """One connection, which is made again when it breaks."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def ask(self, raw):
        """Send a request, and return the status and the bytes of the answer; OSError where none comes."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            self.writer.write(raw)
            head = await self.reader.readuntil(b"\r\n\r\n")
            words = head.lower()
            size = int(words.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            body = await self.reader.readexactly(size)
            if b"connection: close" in words:
                self.close()
            return int(head[9:12]), body
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            self.close()
            raise OSError("no answer") from error

    async def insist(self, raw):
        """The same until there is a receipt or a refusal that will not change."""
        begun = time.perf_counter()
        while time.perf_counter() - begun < PATIENCE:
            try:
                status, body = await self.ask(raw)
                if status != 503:
                    return Answer(status, json.loads(body), time.perf_counter() - begun)
            except OSError:
                pass
            await asyncio.sleep(PAUSE)
        raise TimeoutError("A request was not answered for minutes.")

    def close(self):
        """Let the connection go."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def storm(port, requests, clients=64, told=None):
    """Send all requests in order, as fast as answers come, by so many clients; returns the answers in order.

    ``told`` is called after every answer with the number of answers so far.
    """
    answers, waiting, done = [None] * len(requests), iter(range(len(requests))), 0

    async def work():
        nonlocal done
        client = Client(port)
        for number in waiting:
            answers[number] = await client.insist(requests[number])
            done += 1
            if told is not None:
                told(done)
        client.close()

    await asyncio.gather(*(work() for _ in range(clients)))
    return answers


async def steady(port, requests, moments, clients=64):
    """Send each request at its moment, whether or not earlier ones were answered; returns seconds from the moments.

    A request that finds no client free waits, and that counts: nobody is spared a slow answer.
    """
    free, begun, seconds = asyncio.Queue(), time.perf_counter(), [0.0] * len(requests)
    for _ in range(clients):
        free.put_nowait(Client(port))

    async def one(number, client):
        answer = await client.insist(requests[number])
        seconds[number] = time.perf_counter() - begun - moments[number]
        free.put_nowait(client)
        return answer

    tasks = []
    for number, moment in enumerate(moments):
        await asyncio.sleep(max(0.0, moment - (time.perf_counter() - begun)))
        tasks.append(asyncio.create_task(one(number, await free.get())))
    answers = await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().close()
    return answers, seconds


def run(work):
    """Run clients in a fast event loop."""
    import uvloop

    return uvloop.run(work)
