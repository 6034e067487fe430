"""Which pictures and tables of a paper its page shows, and how they are found among the parts of its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from papers.engine.figure import Panel, TextTable
from papers.pages.kept import Stand


@dataclass(frozen=True)
class Excerpt:
    """A picture or table of a figure: found by how its title begins and, of pictures, by what is up.

    With a ``file`` it is drawn, else it is written as a table, of means with so many ``digits``.
    """

    caption: str
    figure: str
    title: str
    y: str = ""
    file: str = ""
    x: Callable[[float], str] = "{:g}".format
    digits: int = 4

    def part(self, stands: Mapping[str, Stand]) -> Panel | TextTable | None:
        """What the rows have of it; nothing where they have not got there."""
        stand = stands.get(self.figure)
        for part in stand.parts if stand else ():
            fits = part.y.startswith(self.y) if isinstance(part, Panel) else not (self.y or self.file)
            if fits and part.title.startswith(self.title):
                return part
        return None


def _power(n: float) -> str:
    return f"2^{round(math.log2(n))}"


def _curves(paper: str, figure: str, data: str, words: str, gap: bool = False, name: str = "") -> tuple[Excerpt, ...]:
    """Accuracy of one set, and its gap, each as a picture and as a table; ``name`` is for the file of the picture."""
    kinds = [("accuracy", f"Accuracy over ε: {words}", "accuracy")]
    kinds += [("gap", f"Optimality gap over ε: {words}", "optimality gap")] if gap else []
    found = []
    for kind, caption, y in kinds:
        found.append(Excerpt(caption, figure, data, y, f"{paper}-{name or data.replace('_', '-')}-{kind}.svg"))
        found.append(Excerpt(caption, figure, data, y))
    return tuple(found)


def _perceptrons(paper: str, figure: str) -> tuple[Excerpt, ...]:
    """Accuracy of perceptrons on the set that the pages show."""
    return _curves(paper, figure, "adult", "Adult, perceptrons", name="perceptrons")


_ADULT = "Adult, logistic regression"
_QUIET = (
    Excerpt("Share of steps without noise over ε, logistic regression", "figures1-2-lr", "Steps without noise"),
    Excerpt("Share of steps without noise over ε, perceptrons", "figures1-2-mlp", "Steps without noise"),
)
_RMSE = ("RMSE of linear regression over n, ε = 0.1", "figure1", "epsilon = 0.1, delta = 0.01", "RMSE")
_CLASSES = ("Accuracy of classification over n, ε = 1", "figure2", "epsilon = 1.0, delta = 0.01", "accuracy")
EXCERPTS: Mapping[str, tuple[Excerpt, ...]] = {
    "kang_2020a": (
        *_curves("kang_2020a", "figures2-3-lr", "adult", _ADULT, gap=True),
        *_perceptrons("kang_2020a", "figures2-3-mlp"),
        *_curves("kang_2020a", "figure4", "breast_cancer", "Breast Cancer (small), logistic regression"),
    ),
    "fukuchi_2017": (
        Excerpt(*_RMSE, "fukuchi_2017-rmse.svg"),
        Excerpt(*_RMSE, x=_power),
        Excerpt(*_CLASSES, "fukuchi_2017-accuracy.svg"),
        Excerpt(*_CLASSES, x=_power),
        Excerpt("Accuracy at small n, Input minus Obj-Gauss in points, by the ball", "figure2-ball", "Input minus"),
        Excerpt("A record's ε over n, regression, at δ = 0.01", "table1", "A record's epsilon"),
        Excerpt("The trade-off of section 3.5: n = 2^17, ε = 1", "alpha", "The trade-off"),
    ),
    "kang_2023": (
        *_curves("kang_2023", "figures1-2-lr", "adult", _ADULT, gap=True),
        *_perceptrons("kang_2023", "figures1-2-mlp"), *_QUIET,
    ),
    "kang_2020b": (
        *_curves("kang_2020b", "figures1-2-lr", "adult", _ADULT, gap=True),
        *_perceptrons("kang_2020b", "figures1-2-mlp"), *_QUIET,
    ),
    "wang_2020": (
        Excerpt(
            "Logistic regression on MNIST, test accuracy in percent over ε, with the paper's own numbers (mean ± "
            "standard deviation of five runs, as in the paper)", "table2",
            "Test accuracy of multi-class logistic regression, percent",
        ),
        Excerpt("From printed to released, ε = 0.1 (means of three runs)", "released", "From printed to released"),
        Excerpt("As released: the best epoch, the noise, and what it promises", "table2", "As released"),
        Excerpt("Run well: what the validation images chose", "table2", "What was chosen"),
        Excerpt(
            "Logistic regression on MNIST, our fixed setting with steps 0.3a that fall linearly (the paper's are a/t), "
            "ε = 0.1", "figure4", "with our fixed setting, ε = 0.1", file="wang_2020-steps.svg",
        ),
        Excerpt(
            "The paper's network on MNIST after its last epoch (mean ± half of the 95% interval)", "figure5",
            "After the last epoch",
        ),
        Excerpt(
            "The paper's network on MNIST, runs aimed at one ε (mean ± half of the 95% interval)", "figure7",
            "Runs aimed at one ε",
        ),
        Excerpt("MNIST network, noise multiplier 10", "figure7", "smoothing", file="wang_2020-network.svg"),
        Excerpt(
            "Ours, not the paper's: the network with the library's rules (mean ± half of the 95% interval)", "defaults",
            "Test accuracy in percent",
        ),
        Excerpt("Ours, not the paper's: constants of our rule on validation images", "choice", "Validation accuracy"),
    ),
}  # fmt: skip
