"""The service and files make the same model of the same submissions: sums to the byte, weights to the bit."""

import json

import pytest
from fastapi.testclient import TestClient

from tacit.collector.app import create_app
from tacit.privacy.noise import SeededSource
from tacit.protocol import Database


@pytest.mark.parametrize("count", [40, 400])  # below the cohort, where the database adds noise, and above it
def test_the_model_of_the_service_is_that_of_files(collector, protocol, make_people, tmp_path, count):
    slug = collector.create(protocol, {}, admission="open")
    collector.open(slug)
    people = make_people(count)
    people.save(tmp_path / "submissions.jsonl")
    with TestClient(create_app(collector, rate=0)) as web:
        for one in people.each():
            body = {"submission": json.loads(one.to_json())}
            assert web.post(f"/api/studies/{slug}/submissions", json=body).status_code == 201
    with Database(protocol, tmp_path / "files.sqlite") as files:
        files.add_file(tmp_path / "submissions.jsonl")
        ours = collector.database(slug)
        assert ours.sums.to_bytes() == files.sums.to_bytes()
        first = files.train(source=SeededSource(3))
    again = ours.train(source=SeededSource(3), accept_record_guarantee=True)  # one process, the same submissions twice
    assert again.coef_.tobytes() == first.coef_.tobytes()
    assert again.intercept_.tobytes() == first.intercept_.tobytes()
    other = protocol.numbers.train(ours.sums, SeededSource(4)).weights
    assert other.tobytes() != protocol.numbers.train(ours.sums, SeededSource(3)).weights.tobytes()
