"""What settings mean that many estimators and functions share: written once, and put into the docstring of each.

A docstring has the section *Parameters* that users of scikit-learn know. Its author writes what is the thing's own;
:func:`described` adds the rest, in the order of the signature and with the defaults that it has.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

Thing = TypeVar("Thing", bound=Callable[..., Any])

SHARED = """
epsilon : float or 'rest'
    The privacy budget: changing one record (with ``groups``, one person) changes the probability of any outcome by a
    factor of at most ``e**epsilon``, apart from ``delta``. Smaller is more private, and noisier. 'rest' spends what the
    ledger has left.
delta : float or None
    The small probability that ``epsilon`` does not cover. None: ``n**-1.5``, at most 0.01; with a ledger, the ledger's
    own.
adjacency : {'replace-one', 'add-remove'}
    Which tables count as neighbours: those where one record is replaced by another, or where one is added or removed.
method : str or Mechanism
    'auto', a name from ``tacit methods``, or a mechanism with settings of its own (:mod:`tacit.mechanisms`).
calibration : {'proven', 'paper'}
    'proven' uses the noise that a proof requires. 'paper' uses the noise as published, and the guarantee says where it
    falls short.
precondition : 'auto', bool or int
    Whether rows are whitened by a noisy second moment, which is charged to the budget. 'auto' decides from public
    facts. A number p of 2 or more is for images: columns come in runs of p, one run for each channel, and all places
    share one map between the channels.
clip : float
    The largest norm that a row may have, a public number: longer rows are shrunk to it.
fit_intercept : bool
    Whether the model has an intercept.
regularization : float or None
    The strength Lambda of the regularisation, in the mean objective. None: it is chosen together with the noise.
rows_per_person : int or None
    The largest number of rows that count for one person. Declare it when you give ``groups``.
weight_bound : float
    The largest sample weight, a public number: larger ones are cut to it.
random_state : None, int or generator
    None takes the noise from the operating system. A seed makes the noise predictable, so use one only for tests: the
    guarantee mentions it.
ledger : Ledger, str or None
    The :class:`~tacit.ledger.Ledger` that is charged, or its address. None: the one that is open in a ``with`` block or
    that the environment names, if there is one.
label : str
    What the ledger calls this release, in one line: it is shown by ``tacit ledger show`` and in statements.
classes : array-like or None
    All labels that are possible, a public fact. None: they are read from ``y``, and the guarantee lists that as an
    assumption.
class_weight : dict, 'balanced' or None
    A weight for each class. 'balanced' takes them from noisy counts of the classes, which are charged to the budget.
inference : bool
    True trains with a method whose noise is known, so that ``confidence_intervals`` and ``p_values`` can be computed.
multiclass : {'softmax', 'one-vs-rest'}
    How three or more classes are told apart: by one model, or by one for each class.
margin : float or None
    The margin of the loss log(1 + exp(margin - y z)). None: by a rule, from 2 where the noise dominates down to 0
    where the signal is clear; and 0 for the methods of other papers.
target_bound : float, pair of floats or None
    B for targets within [-B, B], or the pair (lower, upper). It is public: targets outside are clipped to it, and
    predictions stay inside. None: 1, with a warning.
schema : Schema, dict or path
    The bounds of numbers, the values of categories and, if it names a target, the target's classes or bounds.
kind : {'knots', 'bins'}
    Whether the curve of a number consists of straight pieces ('knots') or of steps ('bins').
slots : int or None
    The number of pieces of each curve. None: by a rule, from n, epsilon and the number of columns.
cuts : {'auto', 'even', 'log', 'round', 'private'}
    Where the pieces of a curve begin and end. 'even', 'log' and 'round' follow from the bounds alone; 'private' uses
    noisy counts, which cost a part of the budget; 'auto' is 'private' where the signal is clear, else 'log' where the
    range is wide, and 'even' elsewhere.
pairs : sequence of pairs of names, or int
    Pairs of columns whose products become terms as well, or the number of pairs to find with noisy counts.
groups : array-like or None
    The person whom each row is about. All rows of a person are then protected together; ``rows_per_person`` says how
    many count.
level : float
    The probability with which an interval covers the true value.
data : array-like, or a column of a :func:`tacit.scan`
    The private values, one for each row.
bounds : pair of floats, Bounds or Number
    The lower and upper bound of the values: public, or paid for with :func:`tacit.statistics.private_bounds`. Values
    outside are clipped to them.
by : array-like, name of a column or None
    The group that each row belongs to, for one answer per group.
categories : sequence or None
    The declared values of ``by``.
missing : sequence of str
    Texts that stand for a missing cell.
kinds : dict or None
    Columns declared to be 'number' or 'text'.
"""

_HEAD = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+) : (.+)\n((?:    .*\n|\n)+)", re.MULTILINE)


def entries(section: str) -> dict[str, tuple[str, str]]:
    """Type and meaning of each entry of a section, by name."""
    return {name: (kind.partition(", default=")[0], words.rstrip()) for name, kind, words in _ENTRY.findall(section)}


_SHARED = entries(SHARED)


def _sections(doc: str | None) -> tuple[str, dict[str, str]]:
    """What a docstring says first, and its sections."""
    lead, *rest = _HEAD.split(inspect.cleandoc(doc or ""))
    return lead.strip(), {head: f"{body.strip()}\n" for head, body in zip(rest[::2], rest[1::2], strict=True)}


def _entry(parameter: inspect.Parameter, kind: str, words: str) -> str:
    default = "" if parameter.default is parameter.empty else f", default={parameter.default!r}"
    return f"{parameter.name} : {kind}{default}\n{words}\n"


def described(thing: Thing) -> Thing:
    """Complete the section *Parameters* of a docstring: by what the classes above it say, and by what is shared.

    Edges: nothing happens without docstrings (``python -OO``); a parameter that is described nowhere is left out, which
    a test does not allow.
    """
    lead, own = _sections(thing.__doc__)
    if lead:
        known = dict(_SHARED)
        for one in reversed(inspect.getmro(thing) if isinstance(thing, type) else (thing,)):
            if "Parameters\n" in (one.__doc__ or ""):
                known |= entries(_sections(one.__doc__)[1].get("Parameters", ""))
        signature = inspect.signature(thing).parameters
        listed = "".join(_entry(signature[name], *known[name]) for name in signature if name in known)
        sections = {"Parameters": listed} | {head: body for head, body in own.items() if head != "Parameters"}
        parts = (f"{head}\n{'-' * len(head)}\n{body}" for head, body in sections.items())
        thing.__doc__ = "\n".join((f"{lead}\n", *parts))
    return thing
