"""Sessions: their tokens, their ends, their cookies, and the forms that belong to them."""

import pytest
from starlette.requests import Request
from starlette.responses import Response

from tacit.collector import accounts, visits
from tacit.collector.forms import parsed, same_origin
from tacit.collector.layout import VISITS

KIND = "application/x-www-form-urlencoded"


@pytest.fixture
def base(collector):
    with collector.engine.begin() as made:
        accounts.add(made, "ada", "curator")
        yield made


def request(scheme="http", **headers):
    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "here", **headers}.items()]
    return Request({"type": "http", "method": "POST", "path": "/curator", "scheme": scheme, "query_string": b"",
                    "server": ("here", 80), "headers": told})  # fmt: skip


def test_the_table_has_a_hash_and_never_the_token(base):
    token = visits.begin(base, "ada")
    (row,) = base.execute(VISITS.select())
    assert row.token != token.encode()
    assert bytes.fromhex(token) not in (row.token, row.token * 2)
    visit, _ = visits.find(base, token)
    assert (visit.account, visit.role) == ("ada", "curator")
    assert visits.find(base, "0" * 64) is None
    assert visits.begin(base, "ada") != token


@pytest.mark.parametrize(
    ("uses", "then", "lasts"),
    [
        ([], 30 * 60, True),
        ([], 30 * 60 + 1, False),
        ([29 * 60], 58 * 60, True),
        (range(0, 8 * 3600, 1200), 8 * 3600, True),
        (range(0, 8 * 3600 + 1, 1200), 8 * 3600 + 1, False),
    ],
)
def test_a_session_ends_without_use_and_after_eight_hours(base, uses, then, lasts):
    start = 1_000_000
    token = visits.begin(base, "ada", start)
    for second in uses:
        _, stale = visits.find(base, token, start + second)
        assert stale == (second > 0)
        visits.note(base, token, start + second)
    assert (visits.find(base, token, start + then) is not None) == lasts


def test_sessions_that_are_over_are_forgotten(base):
    visits.begin(base, "ada", 1000)
    visits.begin(base, "ada", 1000 + 9 * 3600)
    assert len(base.execute(VISITS.select()).all()) == 1


def test_signing_out_ends_one_session(base):
    one, other = visits.begin(base, "ada"), visits.begin(base, "ada")
    visits.end(base, one)
    assert visits.find(base, one) is None
    assert visits.find(base, other)


def test_a_form_belongs_to_one_session(base):
    (one, _), (other, _) = (visits.find(base, visits.begin(base, "ada")) for _ in range(2))
    assert one.owns(one.form)
    assert not one.owns(other.form)
    assert not one.owns("")
    assert one.token not in one.form


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie(scheme):
    answer = Response()
    visits.hand(answer, request(scheme), "a" * 64)
    cookie = answer.headers["set-cookie"]
    name = "__Secure-tacit" if scheme == "https" else "tacit"
    assert cookie.startswith(f"{name}={'a' * 64};")
    assert {"HttpOnly", "Path=/curator", "SameSite=strict"} <= set(cookie.split("; "))
    assert ("Secure" in cookie.split("; ")) == (scheme == "https")
    assert "Domain" not in cookie
    assert visits.token_of(request(scheme, cookie=f"{name}={'a' * 64}")) == "a" * 64
    assert visits.token_of(request(scheme, cookie=f"{name}=../../etc")) is None
    assert visits.token_of(request("https", cookie=f"tacit={'a' * 64}")) is None


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, False),
        ({"origin": "http://here"}, True),
        ({"origin": "https://here"}, False),
        ({"origin": "http://here:81"}, False),
        ({"origin": "http://here.evil"}, False),
        ({"origin": "null"}, False),
        ({"origin": "null", "sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"sec_fetch_site": "same-origin", "origin": "http://evil"}, False),
        ({"sec_fetch_site": "cross-site", "origin": "http://here"}, False),
        ({"referer": "http://here/curator"}, True),
        ({"referer": "http://evil/?http://here/"}, False),
        ({"referer": "http://[", "host": "here"}, False),
    ],
)
def test_where_a_form_comes_from(headers, own):
    assert same_origin(request(**headers)) == own


def test_a_form_is_read_and_bounded():
    assert parsed(b"a=1&b=%C3%A4+b&c=", f"{KIND}; charset=utf-8") == {"a": "1", "b": "ä b", "c": ""}
    wrong = [
        (b"a=1", "multipart/form-data"), (b"a=1", ""), (b"a=1&a=2", KIND), (b"a=%FF", KIND), (b"\xff", KIND),
        (b"a=" + b"x" * 2**18, KIND), (b"&".join(b"a%d=1" % place for place in range(65)), KIND),
    ]  # fmt: skip
    for body, kind in wrong:
        with pytest.raises(ValueError, match="form"):
            parsed(body, kind)
