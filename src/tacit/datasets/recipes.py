"""The data sets: files with checksums and public addresses, readers, schemas, sources and licences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.datasets import cache, census, fraud, readers
from tacit.datasets.contents import File
from tacit.schema import Schema

SCHEMAS = Path(__file__).parent / "schemas"


@dataclass(frozen=True)
class Recipe:
    """How one data set is found, read and bounded; ``files`` by part, 'all' where there is no official split.

    ``shipped`` gives the content of a set that needs no file. ``paper`` are the options of ``load`` that give the
    records which the papers count; None: no paper uses it.
    """

    files: Mapping[str, tuple[File, ...]]
    read: readers.Reader
    schema: Callable[[], Schema]
    source: str
    licence: str
    citation: str
    paper: Mapping[str, Any] | None = field(default_factory=dict)
    images: Callable[[Sequence[bytes]], readers.Images] | None = None
    shipped: Callable[[], bytes] | None = None

    @property
    def splits(self) -> list[str | None]:
        """What ``split`` may be."""
        return [None, *(part for part in self.files if part != "all")]

    @property
    def stored(self) -> bool:
        """Whether all of it is here."""
        return self.shipped is not None or all(cache.find(file) for part in self.files.values() for file in part)

    def contents(self, files: Sequence[File], verify: bool = True) -> list[bytes]:
        """The contents of a part's files; those that are not here are fetched."""
        if self.shipped is None:
            return cache.read(files, verify)
        return [file.checked(self.shipped(), "scikit-learn", verify) for file in files]


def _packaged(name: str) -> Callable[[], Schema]:
    return lambda: Schema.load(SCHEMAS / f"{name}.toml")


def _text(
    name: str, before: tuple[str, ...] = (), after: tuple[str, ...] = (), header: bool = False, delimiter: str = ","
) -> readers.Reader:
    """A reader of delimited text whose columns are those of the packaged schema, between others."""

    def read(contents: Sequence[bytes]) -> readers.Table:
        schema = _packaged(name)()
        numbers = {column.name for column in schema.columns if column.numeric}
        columns = None if header else (*before, *(column.name for column in schema.columns), *after)
        return readers.delimited(columns, numbers, delimiter=delimiter)(contents)

    return read


def _pixels(count: int) -> Callable[[], Schema]:
    def schema() -> Schema:
        columns = {pixel: {"lower": 0, "upper": 255} for pixel in readers.pixels(count)}
        return Schema.from_dict({"columns": columns, "target": {"name": "label", "classes": list(range(10))}})

    return schema


def _iris() -> bytes:
    """The table that scikit-learn ships, as text: sizes in centimetres with one decimal, then the species."""
    from sklearn.datasets import load_iris

    flowers = load_iris()
    species = flowers.target_names[flowers.target]
    lines = [
        ",".join([*(f"{size:.1f}" for size in sizes), str(name)])
        for sizes, name in zip(flowers.data, species, strict=True)
    ]
    return "".join(f"{line}\n" for line in lines).encode()


_UCI = "UCI Machine Learning Repository, doi "
_ARCHIVE = "https://archive.ics.uci.edu/static/public/"
_OLD_ARCHIVE = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
_BALANCED = (
    "https://raw.githubusercontent.com/Thanush-41/Optimized-Credit-Card-Fraud-Detection-Using-Stacking-and-Grid-Search/"
    "68ca514d56dc907edabc91781801c533e2bcfa5c/"
)
_CENSUS = ["AGEP", "SEX", "MAR", "SCHL", "DIS", "NATIVITY", "WKHP", "MV", "TEN", "NP", "PINCP"]


def _adult_file(part: str, sha256: str) -> File:
    return File(f"adult/adult.{part}", sha256, (f"{_ARCHIVE}2/adult.zip",), "adult.zip")


def _mnist_file(name: str, sha256: str) -> File:
    return File(f"mnist/{name}", sha256, tuple(f"{mirror}{name}.gz" for mirror in _MIRRORS))


def _cifar_file(name: str, sha256: str) -> File:
    address = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    return File(f"cifar10/{name}.bin", sha256, (address,), "cifar-10-binary.tar.gz")


RECIPES = {
    "adult": Recipe(
        files={
            "train": (_adult_file("data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),),
            "test": (_adult_file("test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),),
        },
        read=readers.adult(_text("adult", after=("income",))),
        schema=_packaged("adult"),
        source=_UCI + "10.24432/C5XW20",
        licence="CC BY 4.0",
        citation="B. Becker and R. Kohavi. Adult. UCI Machine Learning Repository, 1996.",
        paper={"complete": True},
    ),
    "bank_marketing": Recipe(
        files={
            "all": (
                File(
                    "bank_marketing/bank-additional-full.csv",
                    "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
                    (f"{_ARCHIVE}222/bank+marketing.zip", f"{_OLD_ARCHIVE}00222/bank-additional.zip"),
                    "bank-additional.zip",
                ),
            )
        },
        read=_text("bank_marketing", header=True, delimiter=";"),
        schema=_packaged("bank_marketing"),
        source=_UCI + "10.24432/C5K306",
        licence="CC BY 4.0",
        citation="S. Moro, P. Cortez and P. Rita. A data-driven approach to predict the success of bank telemarketing. "
        "Decision Support Systems 62, 2014.",
    ),
    "kddcup99": Recipe(
        files={
            "all": (
                File(
                    "kddcup99/kddcup.data_10_percent",
                    "f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
                    (
                        f"{_OLD_ARCHIVE}kddcup99-mld/kddcup.data_10_percent.gz",
                        "https://ndownloader.figshare.com/files/5976042",  # the copy that scikit-learn fetches
                    ),
                ),
            )
        },
        read=readers.one_against_rest(_text("kddcup99", after=("label",)), "label", "normal.", ("normal", "attack")),
        schema=_packaged("kddcup99"),
        source=_UCI + "10.24432/C51C7N",
        licence="CC BY 4.0",
        citation="S. Stolfo, W. Fan, W. Lee, A. Prodromidis and P. Chan. KDD Cup 1999 Data. UCI KDD Archive, 1999.",
        paper={"rows": 70_000},
    ),
    "breast_cancer": Recipe(
        files={
            "all": (
                File(
                    "breast_cancer_wisconsin_original/breast-cancer-wisconsin.data",
                    "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
                    (f"{_ARCHIVE}15/breast+cancer+wisconsin+original.zip",),
                    "breast+cancer+wisconsin+original.zip",
                ),
            )
        },
        read=_text("breast_cancer", before=("id",), after=("class",)),
        schema=_packaged("breast_cancer"),
        source=_UCI + "10.24432/C5HP4Z",
        licence="CC BY 4.0",
        citation="W. Wolberg. Breast Cancer Wisconsin (Original). UCI Machine Learning Repository, 1990.",
    ),
    "credit_card_fraud": Recipe(
        files={
            "all": (
                File(
                    "credit_card_fraud/creditcard_balanced_984.csv",
                    "53c70fe413b0f518f541eb3c8f8c1fc6f01141d661c47a55d76f04afb7d2522f",
                    (f"{_BALANCED}balanced_creditcard.csv",),
                    "creditcard_balanced_984.csv",
                    made=fraud.table,
                ),
            )
        },
        read=_text("credit_card_fraud", header=True),
        schema=_packaged("credit_card_fraud"),
        source="Machine Learning Group, Universite Libre de Bruxelles, and Worldline; balanced subset of 984 records",
        licence="Database Contents License 1.0",
        citation="A. Dal Pozzolo, O. Caelen, R. Johnson and G. Bontempi. Calibrating probability with undersampling "
        "for unbalanced classification. IEEE Symposium on Computational Intelligence and Data Mining, 2015.",
    ),
    "iris": Recipe(
        files={"all": (File("iris/iris.csv", "c963159b401f3a844673a6dec6dac21a3c6448f92773975b36b572d1f9a5965d"),)},
        read=readers.one_against_rest(
            _text("iris", after=("species",)), "species", "virginica", ("virginica", "other")
        ),
        schema=_packaged("iris"),
        source=_UCI + "10.24432/C56C76; the copy that scikit-learn ships, two of whose records follow Fisher's paper",
        licence="CC BY 4.0",
        citation="R. A. Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics 7, 1936.",
        shipped=_iris,
    ),
    "acs_pums_2024": Recipe(
        files={
            "all": (
                File(
                    "acs_pums_2024/acs_pums_2024_person.csv",
                    "a693d9274ca4cb7b69e2c97a181f344e7c88a63d88810a097c5c2a0d0c3de1cf",
                    remark="it is made from the Census Bureau's public files of 48 states and the District of "
                    "Columbia, by `python -m tacit.datasets acs_pums_2024`.",
                    made=census.table,
                ),
            )
        },
        read=readers.complete(readers.delimited(None, _CENSUS, _CENSUS)),
        schema=_packaged("acs_pums_2024"),
        source="US Census Bureau, ACS 2024 1-year PUMS, persons of 48 states and the District of Columbia",
        licence="Public domain (work of the US government)",
        citation="US Census Bureau. American Community Survey 2024 1-year Public Use Microdata Sample.",
        paper=None,
    ),
    "mnist": Recipe(
        files={
            "train": (
                _mnist_file(
                    "train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
                ),
                _mnist_file(
                    "train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
                ),
            ),
            "test": (
                _mnist_file(
                    "t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
                ),
                _mnist_file(
                    "t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
                ),
            ),
        },
        read=readers.flat(readers.idx_pair),
        images=readers.idx_pair,
        schema=_pixels(784),
        source="The MNIST database of handwritten digits",
        licence="CC BY-SA 3.0 (as usually given)",
        citation="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied to document "
        "recognition. Proceedings of the IEEE 86, 1998.",
    ),
    "cifar10": Recipe(
        files={
            "train": (
                _cifar_file("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
                _cifar_file("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
                _cifar_file("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
                _cifar_file("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
                _cifar_file("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
            ),
            "test": (_cifar_file("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),),
        },
        read=readers.flat(readers.cifar_batches),
        images=readers.cifar_batches,
        schema=_pixels(3072),
        source="CIFAR-10, a labelled subset of 80 Million Tiny Images; University of Toronto",
        licence="No formal licence; the authors ask to be cited",
        citation="A. Krizhevsky. Learning Multiple Layers of Features from Tiny Images. Technical report, 2009.",
    ),
}
