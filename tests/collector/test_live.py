"""Streams of a study's numbers: one question for all who listen, signs of life, and their ends."""

import asyncio
import json

import pytest
from sqlalchemy.exc import OperationalError

from tacit.collector import live
from tacit.collector.live import END, Live


class Numbers:
    """Numbers that change when they are told to, and count how often they were asked for."""

    def __init__(self):
        self.count, self.asked = 0, 0

    def __call__(self, slug):
        self.asked += 1
        return {"study": slug, "count": self.count}


def data(event):
    return json.loads(event.removeprefix("data: "))


async def events(stream, number):
    """The next events that are no signs of life."""
    found = []
    async for event in stream:
        if event.startswith("data") or event == END:
            found.append(event)
        if len(found) == number:
            break
    return found


def run(test):
    asyncio.run(asyncio.wait_for(test(), 30))


def test_numbers_come_when_they_change():
    async def test():
        numbers = Numbers()
        stream = Live(numbers, every=0.001, heartbeat=0.005).stream("a", lambda: True)
        (first,) = await events(stream, 1)
        assert data(first) == {"study": "a", "count": 0}
        numbers.count = 7
        (second,) = await events(stream, 1)
        assert data(second)["count"] == 7
        quiet = [await anext(stream) for _ in range(5)]
        assert quiet == [": still here\n\n"] * 5
        await stream.aclose()

    run(test)


def test_all_listeners_share_one_question():
    async def test():
        numbers = Numbers()
        streams = Live(numbers, every=30)
        many = [streams.stream("a", lambda: True) for _ in range(20)]
        told = await asyncio.gather(*(events(one, 1) for one in many))
        assert {event for (event,) in told} == {told[0][0]}
        assert numbers.asked == 1
        assert streams.listeners == 20
        for one in many:
            await one.aclose()
        assert streams.listeners == 0

    run(test)


def test_a_stream_ends_with_its_session():
    async def test():
        here = [True]
        stream = Live(Numbers(), every=0.001, heartbeat=0.001).stream("a", lambda: here[0])
        await events(stream, 1)
        here[0] = False
        assert await events(stream, 1) == [END]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(test)


def test_nothing_is_told_once_the_session_is_over():
    async def test():
        numbers = Numbers()
        stream = Live(numbers, every=0.001).stream("a", lambda: False)
        assert await events(stream, 2) == [END]

    run(test)


def test_streams_end_when_the_service_stops():
    async def test():
        streams = Live(Numbers(), every=0.001, heartbeat=1000)
        many = [asyncio.create_task(events(streams.stream(name, lambda: True), 2)) for name in "aab"]
        while streams.listeners < 3:
            await asyncio.sleep(0)
        streams.stop()
        await asyncio.gather(*many)
        assert streams.listeners == 0
        assert [event async for event in streams.stream("a", lambda: True)] == []

    run(test)


def test_listeners_are_bounded(monkeypatch):
    async def test():
        monkeypatch.setattr(live, "LISTENERS", 2)
        streams = Live(Numbers(), every=30)
        many = [streams.stream("a", lambda: True) for _ in range(2)]
        for one in many:
            await events(one, 1)
        assert streams.full
        assert [event async for event in streams.stream("a", lambda: True)] == []
        await many[0].aclose()
        assert not streams.full
        await many[1].aclose()

    run(test)


def test_a_database_that_is_busy_for_a_moment_is_asked_again():
    async def test():
        answers = [OperationalError("locked", None, Exception()), {"count": 1}]

        def ask(_):
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        stream = Live(ask, every=0.001).stream("a", lambda: True)
        (event,) = await events(stream, 1)
        assert data(event) == {"count": 1}
        await stream.aclose()

    run(test)
