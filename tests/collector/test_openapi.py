"""The OpenAPI document against the real application: nothing that it does not describe, and no 500.

Schemathesis makes requests from the document, fitting and not fitting; a longer run is a matter of its number.
"""

import json
import os
from collections import Counter
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

schemathesis = pytest.importorskip("schemathesis", reason="the document is tried by schemathesis: pip install '.[dev]'")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from jsonschema_rs import Draft202012Validator  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402
from serving import served  # noqa: E402

from tacit._version import __version__  # noqa: E402
from tacit.collector import Collector, refusals  # noqa: E402
from tacit.collector.app import create_app  # noqa: E402

EXAMPLES = int(os.environ.get("TACIT_SCHEMATHESIS", "15"))
"""Requests of each operation and of each kind."""
ALL = list(HealthCheck)


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    made = Collector(tmp_path_factory.mktemp("openapi") / "collector.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="module")
def studies(collector, protocol, make_people):
    """One that is open to anyone, and one that has published its model."""
    found = {}
    for state in ("open", "published"):
        agreed = replace(protocol, purpose=f"openapi {state}")
        found[state] = slug = collector.create(agreed, {"en": {"title": "T"}}, admission="open")
        collector.open(slug)
    collector.database(slug).add(replace(make_people(40), protocol=agreed.fingerprint))
    collector.shut(slug)
    collector.train(slug)
    collector.publish(slug)
    return found


@pytest.fixture(scope="module")
def document(collector):
    with TestClient(create_app(collector)) as web:
        return web.get("/openapi.json").json()


@pytest.fixture(scope="module")
def site(collector):
    with served(create_app(collector, rate=0)) as (host, port):
        yield f"http://{host}:{port}"


def test_the_document_is_whole(document):
    """Every refusal that there is, is described, with its sentence; nothing of the framework's own is left."""
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", __version__)
    described = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            assert not {"422", "default"} & set(operation["responses"])
            assert "security" not in operation
            for status, answer in operation["responses"].items():
                content = answer["content"]["application/json"]
                for one in content.get("examples", {}).values():
                    Draft202012Validator(content["schema"]).validate(one["value"])
                    described[(int(status), one["value"]["reason"])] = one["value"]["detail"]
    known = {one for one in vars(refusals).values() if isinstance(one, refusals.Refusal)} - {refusals.NO_METHOD}
    known |= set(refusals.BY_SENTENCE.values())
    assert set(described) == {(one.status, one.reason) for one in known}
    assert {status for status, _ in described} == {400, 403, 404, 408, 409, 410, 413, 429, 503}
    schemas = document["components"]["schemas"]
    assert not {"HTTPValidationError", "ValidationError"} & set(schemas)
    numbers = schemas["Submission"]["properties"]["q"]
    assert (numbers["items"]["minimum"], numbers["items"]["maximum"]) == (1 - 2**53, 2**53 - 1)
    assert not {"securitySchemes"} & set(document["components"])


@pytest.mark.parametrize("state", ["open", "published"])
def test_real_answers_are_as_described(collector, document, studies, state):
    store = {"components": document["components"]}
    with TestClient(create_app(collector, rate=0)) as web:
        for path, methods in document["paths"].items():
            if "get" in methods:
                answer = web.get(path.format(study=studies[state]))
                described = methods["get"]["responses"][str(answer.status_code)]
                schema = described["content"]["application/json"]["schema"]
                Draft202012Validator({**schema, **store}).validate(answer.json())


def test_a_real_submission_is_as_described(collector, document, studies, make_people):
    store = {"components": document["components"]}
    submission = next(make_people(1).each())
    agreed = collector.study(studies["open"]).protocol
    data = json.loads(replace(submission, protocol=agreed.fingerprint).to_json())
    body = {"invitation": "7K3QZ-0M9XW-PA5RT-6B2HC", "submission": data}
    described = document["paths"]["/api/studies/{study}/submissions"]["post"]
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, **store}).validate(body)
    with TestClient(create_app(collector, rate=0)) as web:
        place = f"/api/studies/{studies['open']}"
        for status in (201, 200):
            answer = web.post(f"{place}/submissions", json=body)
            assert answer.status_code == status
            schema = described["responses"][str(status)]["content"]["application/json"]["schema"]
            Draft202012Validator({**schema, **store}).validate(answer.json())
        answer = web.post(f"{place}/withdrawals", json={"submission": data})
        schema = {"$ref": "#/components/schemas/Withdrawn"}
        Draft202012Validator({**schema, **store}).validate(answer.json())


FITTING, WRONG = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
KINDS = {
    "open": (FITTING, "open"), "published": (FITTING, "published"), "nowhere": (FITTING, None),
    "open, wrong": (WRONG, "open"), "published, wrong": (WRONG, "published"), "nowhere, wrong": (WRONG, None),
}  # fmt: skip


@pytest.mark.parametrize(("mode", "state"), KINDS.values(), ids=KINDS)
def test_strangers_find_no_500_and_nothing_undescribed(site, studies, mode, state):
    """Requests made from the document, to a study in this state, or (None) to one that is made up.

    All checks of schemathesis but one: a body that fits the document may be refused, as it is of another study.
    """
    schema = schemathesis.openapi.from_url(f"{site}/openapi.json")
    seen = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        fixed = {"study": studies[state]} if state and "{study}" in operation.path else None
        if mode is WRONG and operation.method == "get" and (fixed or "{" not in operation.path):
            continue  # nothing is left that could be wrong

        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=ALL)
        @given(case=operation.as_strategy(mode, path_parameters=fixed))
        def probe(case):
            answer = case.call()
            seen[answer.status_code] += 1
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])

        probe()
    assert sum(seen.values()) >= EXAMPLES
    assert set(seen) <= {200, 201, 400, 403, 404, 409, 410}


def test_bodies_that_nearly_fit(site, collector, studies):
    """Submissions of the right protocol and size with made-up numbers: they reach the sums, or are refused."""
    agreed = collector.study(studies["open"]).protocol
    schema = schemathesis.openapi.from_url(f"{site}/openapi.json")
    size, seen = agreed.numbers.features, Counter()
    for path in ("submissions", "withdrawals"):
        operation = schema[f"/api/studies/{{study}}/{path}"]["POST"]

        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=ALL)
        @given(case=operation.as_strategy(path_parameters={"study": studies["open"]}))
        def probe(case):
            sent = case.body["submission"]
            sent["protocol"] = agreed.fingerprint
            for part in "qp":
                sent[part] = (sent[part] * size)[:size]
            answer = case.call()
            seen[answer.status_code] += 1
            case.validate_response(answer, excluded_checks=[positive_data_acceptance])

        probe()
    assert sum(seen.values()) >= EXAMPLES
    assert set(seen) <= {200, 201, 400, 404, 409}
