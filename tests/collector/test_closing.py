"""What training and a lost file leave behind: no promise that a second training has broken, no empty receipt."""

import json

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from tacit.collector import Collector, collection
from tacit.collector.app import create_app
from tacit.mechanisms.input import InputNumbers


def test_a_training_that_was_overtaken_does_not_promise_to_be_the_only_one(collector, study, make_people, monkeypatch):
    """While the first training runs, another process accepts the record's guarantee and trains."""
    collector.database(study).add(make_people(20))
    collector.shut(study)
    train, others = InputNumbers.train, []

    def overtaken(self, sums, source):
        weights = train(self, sums, source)
        if not others:
            others.append(True)
            others.append(collector.database(study).train(accept_record_guarantee=True))
        return weights

    monkeypatch.setattr(InputNumbers, "train", overtaken)
    model = collector.train(study)
    stored = json.loads(collector.study(study).model)
    assert len(collector.database(study).trainings) == 2
    assert model.guarantee_ == model.record_guarantee_ == others[1].record_guarantee_
    assert stored["guarantee"]["epsilon"] == model.record_guarantee_.epsilon > 1.0


def test_a_training_between_the_weights_and_the_file_changes_the_file(collector, study, make_people, monkeypatch):
    collector.database(study).add(make_people(20))
    collector.shut(study)
    write, seen = collection.written, []

    def late(model, schema):
        if not seen:
            seen.append(True)
            collector.database(study).add(make_people(1, seed=5))  # as a restored copy might
            collector.database(study).train(accept_record_guarantee=True)
        return write(model, schema)

    monkeypatch.setattr(collection, "written", late)
    model = collector.train(study)
    assert model.guarantee_ == model.record_guarantee_
    assert json.loads(collector.study(study).model)["guarantee"]["epsilon"] == model.record_guarantee_.epsilon


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_gone_gives_no_receipts(tmp_path, protocol, make_people, how):
    path = tmp_path / "c.sqlite"
    collector = Collector(path)
    study = collector.create(protocol, {})
    collector.open(study)
    (code,) = collector.invite(study, 1)
    (one,) = make_people(1).each()
    body = {"invitation": code, "submission": json.loads(one.to_json())}
    with TestClient(create_app(collector, rate=0)) as web:
        assert web.get("/healthz").status_code == 200
        path.rename(tmp_path / "moved")
        if how == "replaced":
            path.write_bytes((tmp_path / "moved").read_bytes())
        assert web.post(f"/api/studies/{study}/submissions", json=body).status_code == 503
        assert web.get("/healthz").status_code == 503
        (tmp_path / "moved").rename(path)
        assert web.post(f"/api/studies/{study}/submissions", json=body).status_code == 201
    collector.close()


def test_the_log_of_acts_is_not_changed_by_any_of_this(collector, study):
    collector.shut(study)
    with collector.engine.connect() as base:
        assert base.execute(text("SELECT count(*) FROM acts")).scalar_one() == 3
