"""Fetching: from a server on this machine only. Whole and as published, or not at all and with a sentence."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tacit import datasets
from tacit.datasets import cache as store
from tacit.datasets import recipes
from tacit.datasets.contents import File

pooch = pytest.importorskip("pooch", reason="fetching needs the extra 'datasets': pip install '.[datasets]'")

TEXT = b"1,5,1,1,1,2,?,3,1,1,2\n2,9,7,1,1,2,1,3,1,1,4\n"


class Handler(BaseHTTPRequestHandler):
    """Serves the pages of its server; '/short' promises more than it sends, '/unsized' promises nothing."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.pages.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unsized":
            self.send_header("Content-Length", str(len(content) + (1000 if self.path == "/short" else 0)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *rest) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.pages, found.asked = {}, []
        found.address = f"http://127.0.0.1:{found.server_address[1]}"
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty data folder, an empty cache, and leave to fetch."""
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TACIT_OFFLINE", raising=False)
    return tmp_path / "cache"


def serve(monkeypatch, *addresses: str, content: bytes = TEXT) -> File:
    """Let the breast cancer data come from these addresses."""
    recipe = recipes.RECIPES["breast_cancer"]
    file = replace(recipe.files["all"][0], sha256=hashlib.sha256(content).hexdigest(), addresses=addresses, archive="")
    monkeypatch.setitem(recipes.RECIPES, "breast_cancer", replace(recipe, files={"all": (file,)}))
    return file


def kept(cache: Path) -> list[str]:
    return [str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()]


PLACE = "breast_cancer_wisconsin_original/breast-cancer-wisconsin.data.gz"


@pytest.mark.parametrize("page", ["/whole", "/unsized"])
def test_a_file_is_fetched_once_and_then_read_from_the_cache(server, cache, monkeypatch, caplog, page):
    monkeypatch.setattr(pooch.get_logger(), "handlers", [caplog.handler])
    server.pages[page] = gzip.compress(TEXT)
    serve(monkeypatch, server.address + page)
    assert not datasets.stored("breast_cancer")
    assert datasets.load("breast_cancer").table["clump_thickness"].tolist() == [5, 9]
    assert kept(cache) == [PLACE]
    (said,) = caplog.messages
    assert all(word in said for word in (PLACE, server.address + page, str(cache)))
    assert datasets.stored("breast_cancer")
    monkeypatch.setenv("TACIT_OFFLINE", "1")
    assert len(datasets.load("breast_cancer")) == 2
    assert server.asked == [page]
    assert caplog.messages == [said]


def test_content_that_differs_is_refused_and_removed(server, cache, monkeypatch):
    server.pages["/other"] = gzip.compress(TEXT + b"\n")
    serve(monkeypatch, f"{server.address}/other")
    with pytest.raises(FileNotFoundError, match=r"Could not fetch .*/other \(what came is not the published file\)"):
        datasets.load("breast_cancer")
    with pytest.raises(FileNotFoundError):
        datasets.load("breast_cancer", verify=False)  # what comes over the network is compared all the same
    assert kept(cache) == []


def test_a_page_that_is_no_archive_is_refused(server, cache, monkeypatch):
    for content in (b"", b"<html>moved</html>", gzip.compress(TEXT)[:-9], b"PK\x03\x04 and nothing"):
        server.pages["/page"] = content
        serve(monkeypatch, f"{server.address}/page")
        with pytest.raises(FileNotFoundError, match="is not the published file"):
            datasets.load("breast_cancer")
    assert kept(cache) == []


def test_a_connection_that_closes_early_leaves_nothing(server, cache, monkeypatch):
    server.pages["/short"] = gzip.compress(TEXT)  # all of it, so that only the promised size can tell
    serve(monkeypatch, f"{server.address}/short")
    with pytest.raises(FileNotFoundError, match="1000 more expected"):
        datasets.load("breast_cancer")
    assert kept(cache) == []


def test_an_absent_page_and_a_server_that_is_gone(server, cache, monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as gone:
        nobody = f"http://127.0.0.1:{gone.server_address[1]}/file"
    serve(monkeypatch, f"{server.address}/absent", nobody)
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("breast_cancer")
    sentence = str(caught.value)
    assert "404 Client Error: Not Found for url" in sentence  # which file, from where, and where to put it
    assert nobody in sentence
    assert f"Put the file {cache.parent / 'data' / PLACE.removesuffix('.gz')}" in sentence
    assert kept(cache) == []


def test_the_next_address_is_tried(server, cache, monkeypatch):
    server.pages["/good"] = gzip.compress(TEXT)
    serve(monkeypatch, f"{server.address}/absent", f"{server.address}/good")
    assert len(datasets.load("breast_cancer")) == 2
    assert server.asked == ["/absent", "/good"]


@pytest.mark.parametrize(("value", "allowed"), [("1", False), ("yes", False), ("0", True), ("", True)])
def test_the_offline_variable(server, cache, monkeypatch, value, allowed):
    server.pages["/file"] = gzip.compress(TEXT)
    serve(monkeypatch, f"{server.address}/file")
    monkeypatch.setenv("TACIT_OFFLINE", value)
    if allowed:
        assert len(datasets.load("breast_cancer")) == 2
    else:
        with pytest.raises(FileNotFoundError, match="TACIT_OFFLINE forbids to fetch it from http"):
            datasets.load("breast_cancer")
        assert server.asked == []
        assert not cache.exists()


def test_a_damaged_cached_copy_is_not_used(server, cache, monkeypatch):
    server.pages["/file"] = gzip.compress(TEXT)
    serve(monkeypatch, f"{server.address}/file")
    datasets.load("breast_cancer")
    (cache / PLACE).write_bytes(gzip.compress(TEXT.replace(b"5", b"6")))
    with pytest.raises(ValueError, match="differs from the published one; replace or delete the file"):
        datasets.load("breast_cancer")
    (cache / PLACE).unlink()
    assert len(datasets.load("breast_cancer")) == 2


def test_a_data_folder_goes_before_the_cache(server, cache, monkeypatch):
    server.pages["/file"] = gzip.compress(TEXT)
    file = serve(monkeypatch, f"{server.address}/file")
    datasets.load("breast_cancer")
    own = cache.parent / "data" / file.place
    own.parent.mkdir(parents=True)
    own.write_bytes(TEXT[:22])
    assert len(datasets.load("breast_cancer", verify=False)) == 1


def test_one_archive_serves_several_files_with_one_request(server, cache, monkeypatch):
    import zipfile

    parts = {"train": b"25" + b", 1" * 13 + b", >50K\n", "test": b"|1x3\n26" + b", 1" * 13 + b", >50K.\n"}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("adult.data", parts["train"])
        archive.writestr("adult.test", parts["test"])
    server.pages["/adult.zip"] = stream.getvalue()
    recipe = recipes.RECIPES["adult"]
    files = {
        part: (
            replace(
                recipe.files[part][0],
                sha256=hashlib.sha256(text).hexdigest(),
                addresses=(f"{server.address}/adult.zip",),
            ),
        )
        for part, text in parts.items()
    }
    monkeypatch.setitem(recipes.RECIPES, "adult", replace(recipe, files=files))
    assert datasets.load("adult").table["age"].tolist() == [25, 26]
    assert server.asked == ["/adult.zip"]
    assert kept(cache) == ["adult/adult.zip"]


def test_a_plain_file_is_kept_under_the_name_that_it_has_here(server, cache, monkeypatch):
    recipe = recipes.RECIPES["credit_card_fraud"]
    content = b"Time,V1,Class\n1.0,2.5,1\n"
    page = f"{server.address}/balanced_creditcard.csv"
    file = replace(recipe.files["all"][0], sha256=hashlib.sha256(content).hexdigest(), addresses=(page,))
    monkeypatch.setitem(recipes.RECIPES, "credit_card_fraud", replace(recipe, files={"all": (file,)}))
    server.pages["/balanced_creditcard.csv"] = content
    (place,) = datasets.fetch("credit_card_fraud")
    assert kept(cache) == [file.place]
    assert place.read_bytes() == content
    assert datasets.load("credit_card_fraud").table["V1"].tolist() == [2.5]


def test_a_source_without_a_checksum_is_fetched_if_it_looks_right(server, cache):
    server.pages["/source"] = b"words"
    with pytest.raises(FileNotFoundError, match="what came is not the published file"):
        store.fetch_source("set/source", f"{server.address}/source", lambda path: False)
    place = store.fetch_source("set/source", f"{server.address}/source", lambda path: path.read_bytes() == b"words")
    assert (place, kept(cache)) == (cache / "set" / "source", ["set/source"])
    assert store.fetch_source("set/source", f"{server.address}/source", lambda path: False) == place  # it is here


def test_a_cache_that_cannot_be_written_is_told(server, cache, monkeypatch):
    cache.write_text("a file where the folder should be")
    server.pages["/file"] = gzip.compress(TEXT)
    serve(monkeypatch, f"{server.address}/file")
    with pytest.raises(FileNotFoundError, match="Could not fetch"):
        datasets.load("breast_cancer")


def test_only_the_web_is_fetched_from(tmp_path, cache, monkeypatch):
    (tmp_path / "file").write_bytes(gzip.compress(TEXT))
    for address in (f"file://{tmp_path}/file", "nonsense"):
        serve(monkeypatch, address)
        with pytest.raises(FileNotFoundError, match="Could not fetch"):
            datasets.load("breast_cancer")
    assert kept(cache) == []


def test_without_pooch_files_at_hand_are_read_and_others_get_a_sentence(server, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("TACIT_CACHE")
    file = serve(monkeypatch, f"{server.address}/file")
    with pytest.raises(FileNotFoundError, match=r"needs pooch. In Tacit's source: pip install '\.\[datasets\]'"):
        datasets.load("breast_cancer")
    own = cache.parent / "data" / file.place
    own.parent.mkdir(parents=True)
    own.write_bytes(TEXT)
    assert len(datasets.load("breast_cancer")) == 2
    monkeypatch.delenv("TACIT_DATA")
    assert not datasets.stored("breast_cancer")
    with pytest.raises(FileNotFoundError, match=r"needs pooch.*To use a copy, set TACIT_DATA to the folder"):
        datasets.load("breast_cancer")
    with pytest.raises(ValueError, match="needs pooch"):
        datasets.cache_folder()
    assert server.asked == []


def test_the_parent_folder_is_not_looked_into(tmp_path, monkeypatch):
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    assert store.data_folders() == [tmp_path / "cache"]
    monkeypatch.setenv("TACIT_DATA", "mine")
    assert store.data_folders() == [Path("mine"), tmp_path / "cache"]


def test_where_the_cache_is(monkeypatch):
    monkeypatch.delenv("TACIT_CACHE", raising=False)
    assert datasets.cache_folder() == Path(pooch.os_cache("tacit"))
    monkeypatch.setenv("TACIT_CACHE", "/mine")
    assert datasets.cache_folder() == Path("/mine")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_drawn_on_a_terminal_only(server, cache, monkeypatch):
    server.pages["/file"] = gzip.compress(TEXT)
    serve(monkeypatch, f"{server.address}/file")
    monkeypatch.setattr(pooch.get_logger(), "handlers", [])
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            datasets.load("breast_cancer")
        (cache / PLACE).unlink()
        assert ("breast-cancer-wisconsin.data" in stream.getvalue()) == drawn
        assert bool(stream.getvalue()) == drawn
