"""A collection with made-up people, to look at before a real one: a study, those who came before, and those who come.

Nobody's data: ages, hours and shifts are drawn evenly, and who sleeps well follows a rule that is written here. What is
real is everything else: their noise is the operating system's, and they come in over HTTP, one by one, as browsers do.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tacit.collector.collection import Collector
from tacit.privacy.noise import SystemSource, uniform
from tacit.protocol import Protocol, Submission
from tacit.schema import Category, Number, Schema, Target

EARLIER = 20_000
"""Submissions that the study has before anyone comes: fewer would teach nothing at this noise."""
AGAIN, RUBBISH = 10, 12
"""Every tenth submission is sent twice, and every twelfth is followed by something that is none."""
PURPOSE = "How do working hours and night shifts go with sleep?"
TEXTS = {
    "en": {
        "title": "Sleep and shift work",
        "purpose": PURPOSE,
        "about": "A demonstration with made-up people. Nothing that you enter here is used for anything else.",
        "who": "this demonstration, on your own machine",
        "questions": {
            "age": {"label": "Your age", "unit": "years"},
            "hours": {"label": "Working hours in an ordinary week", "unit": "hours"},
            "shift": {"label": "When do you work?", "values": {"day": "by day", "night": "also at night"}},
            "sleep": {"label": "How do you sleep?", "values": {"good": "well", "poor": "badly"}},
        },
    },
    "de": {
        "title": "Schlaf und Schichtarbeit",
        "purpose": "Wie hängen Arbeitszeit und Nachtschicht mit dem Schlaf zusammen?",
        "about": "Eine Vorführung mit erfundenen Personen. Ihre Angaben werden für nichts anderes verwendet.",
        "who": "diese Vorführung, auf Ihrem eigenen Rechner",
        "questions": {
            "age": {"label": "Ihr Alter", "unit": "Jahre"},
            "hours": {"label": "Arbeitsstunden in einer gewöhnlichen Woche", "unit": "Stunden"},
            "shift": {"label": "Wann arbeiten Sie?", "values": {"day": "tagsüber", "night": "auch nachts"}},
            "sleep": {"label": "Wie schlafen Sie?", "values": {"good": "gut", "poor": "schlecht"}},
        },
    },
}
Table = dict[str, NDArray[Any]]


def protocol(cohort: int = EARLIER) -> Protocol:
    """What the demonstration agrees on."""
    schema = Schema(
        (Number("age", 18, 70), Number("hours", 0, 60), Category("shift", ("day", "night"))),
        Target("sleep", classes=("good", "poor")),
    )
    return Protocol.create(
        epsilon=2.0, delta=1e-6, cohort=cohort, schema=schema, record_epsilon=8.0, withdrawal=True,
        purpose=PURPOSE,
    )  # fmt: skip


def people(number: int) -> tuple[Table, NDArray[Any]]:
    """Made-up people, and how they sleep: worse with age, hours and night shifts; one in four against the rule.

    So a model without noise is right for three in four, as the pages expect of people of whom they know nothing.
    """
    age, hours, night, luck = (uniform(SystemSource(), number) for _ in range(4))
    poor = (age + hours + 1.2 * (night < 0.5) > 1.6) != (luck < 0.25)
    table = {"age": 18 + 52 * age, "hours": 60 * hours, "shift": np.where(night < 0.5, "night", "day")}
    return table, np.where(poor, "poor", "good")


@dataclass(frozen=True)
class Rehearsal:
    """A study that takes submissions, codes for those who will come, and a few for whoever looks."""

    collector: Collector
    study: str
    codes: list[str]
    spare: list[str]

    @classmethod
    def begin(cls, collector: Collector, number: int, earlier: int = EARLIER) -> Rehearsal:
        """Make the study, open it, and put those who came before straight into its sums."""
        agreed = protocol(max(earlier, 1))
        study = collector.create(agreed, TEXTS, who="demonstration")
        codes = collector.invite(study, number + 5, who="demonstration")
        collector.open(study, who="demonstration")
        if earlier:
            collector.database(study, agreed).add(agreed.perturb_table(*people(earlier)))
        return cls(collector, study, codes[5:], codes[:5])

    def come(self, address: str, seconds: float, stopped: threading.Event) -> Counter[int]:
        """All who were invited send their submission over HTTP, evenly over so many seconds; returns statuses."""
        agreed = self.collector.study(self.study).protocol
        place = urlsplit(address)
        line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        answers, start = Counter[int](), time.monotonic()
        submissions = agreed.perturb_table(*people(len(self.codes))).each()
        for number, (submission, code) in enumerate(zip(submissions, self.codes, strict=True)):
            due = start + seconds * number / len(self.codes)
            if stopped.wait(max(0.0, due - time.monotonic())):
                break
            for body in _bodies(number, submission, code):
                line.request("POST", f"/api/studies/{self.study}/submissions", body)
                answer = line.getresponse()
                answer.read()
                answers[answer.status] += 1
        line.close()
        return answers

    def finish(self) -> float:
        """Close, train and publish; the part of 10,000 other made-up people for whom the model is right."""
        self.collector.shut(self.study, who="demonstration")
        model = self.collector.train(self.study, who="demonstration")
        self.collector.publish(self.study, who="demonstration")
        table, sleep = people(10_000)
        schema = self.collector.study(self.study).protocol.schema
        assert schema is not None  # for the type checker: a study has one
        return float(np.mean(model.predict(schema.encode(table)) == sleep))


def _bodies(number: int, submission: Submission, code: str) -> Iterator[bytes]:
    """What one of them sends: a submission, sometimes again, sometimes followed by something that is none."""
    sent = json.loads(submission.to_json())
    body = json.dumps({"invitation": code, "submission": sent}).encode()
    yield body
    if number % AGAIN == 0:
        yield body
    if number % RUBBISH == 0:
        damaged = {**sent, "q": sent["q"][1:]}
        yield (b"{", json.dumps({"invitation": code, "submission": damaged}).encode())[number // RUBBISH % 2]


def attend(
    rehearsal: Rehearsal, seconds: float, finish: bool, stopped: threading.Event, say: Callable[[str], None]
) -> Callable[[str], None]:
    """What happens beside the service, once its address is known."""

    def happen(address: str) -> None:
        try:
            answers = rehearsal.come(address, seconds, stopped)
            if stopped.is_set():
                return
            refused = sum(count for status, count in answers.items() if status >= 400)
            say(f"All have contributed: {answers[201]:,} counted, {answers[200]:,} sent twice, {refused:,} refused.")
            if finish:
                right = rehearsal.finish()
                say(f"Trained and published: {address}/m/{rehearsal.study} (right for {right:.0%} of others).")
                say("(The pages say what to expect of such a crowd. Results vary with the noise.)")
        except (OSError, http.client.HTTPException):
            if not stopped.is_set():
                say("The made-up contributors lost the connection and stopped.")
            return
        say("The service stays until you press Ctrl-C.")

    return happen
