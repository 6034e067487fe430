"""Networks as one safetensors file whose metadata is JSON (:mod:`tacit.files.tensors`): the part that needs PyTorch."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as tensor_bytes
from sklearn.utils.validation import check_is_fitted

from tacit.checks import PrivacyError, check
from tacit.estimators.earlier import earlier_of, remember
from tacit.files.found import earlier_entries
from tacit.files.pipelines import joined, wrapped
from tacit.files.sealing import plain_value, sealed
from tacit.files.tensors import FORMAT, LARGEST, VERSION, NetworkFile, digest
from tacit.nn.classifiers import CNNClassifier, MLPClassifier
from tacit.reading import floats, need

KINDS: dict[str, type[MLPClassifier] | type[CNNClassifier]] = {
    kind.__name__: kind for kind in (MLPClassifier, CNNClassifier)
}
_SKIPPED = ("random_state", "device", "classes", "ledger")


def written(model: MLPClassifier | CNNClassifier, steps: list[tuple[str, Any]] | None = None, last: str = "") -> bytes:
    """The file of a fitted network: settings, label set and guarantee; one checksum covers all, weights by their hash.

    ``steps``: those of a pipeline before the network, whose own step is called ``last``.
    """
    name = type(model).__name__
    check(KINDS.get(name) is type(model), f"Expected one of {', '.join(KINDS)} to save.")
    check_is_fitted(model, "network_")
    tensors = {key: value.detach().cpu().contiguous().numpy() for key, value in model.network_.state_dict().items()}
    names, epsilon = vars(model).get("feature_names_in_"), model.guarantee_.epsilon
    parameters = {key: plain_value(v) for key, v in model.get_params(deep=False).items() if key not in _SKIPPED}
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": name,
        "parameters": {**parameters, "epsilon": None if math.isinf(epsilon) else epsilon},
        "classes": model.classes_.tolist(),
        "bytes": model.bounds is None,
        "shape": list(model.shape_),
        "names": None if names is None else [str(column) for column in names],
        "guarantee": model.guarantee_.to_dict(),
        "earlier": earlier_entries(earlier_of(model, steps or ())),
        "tensors": digest(tensors),
    }
    data = sealed(content)
    text = json.dumps(data if steps is None else wrapped(steps, last, data), ensure_ascii=False)
    whole = tensor_bytes(tensors, metadata={"tacit": text})
    check(len(whole) <= LARGEST, f"A network file has at most {LARGEST // 2**20} MiB, and this one would be larger.")
    return bytes(whole)


def built(file: NetworkFile) -> Any:
    """What :func:`written` described: a network, or the pipeline that ends in it."""
    try:
        model = _build(file)
        return model if file.before is None else joined(file.before, model)
    except PrivacyError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        raise PrivacyError("This network file is incomplete or malformed; it was not loaded.") from error


def _build(file: NetworkFile) -> MLPClassifier | CNNClassifier:
    content, settings = file.content, dict(file.content["parameters"])
    kind = KINDS.get(str(content["kind"]))
    need(kind is not None, f"Its kind is not one of {', '.join(KINDS)}.")
    assert kind is not None  # for the type checker: need() raised above
    need(set(settings) == set(kind().get_params(deep=False)) - {*_SKIPPED}, "Its parameters are not those of its kind.")
    settings["epsilon"] = file.guarantee.epsilon
    if settings["bounds"] is None and not content["bytes"]:  # of an older Tacit, which took 0 to 1 for other numbers
        settings["bounds"] = (0.0, 1.0)
    elif settings["bounds"] is not None:
        low, high = floats(settings["bounds"]).tolist()
        settings["bounds"] = (low, high)
    model = kind(**settings, classes=content["classes"])
    model.classes_ = np.asarray(content["classes"])
    need(np.array_equal(model.classes_, np.unique(model.classes_)), "Its classes are not sorted and distinct.")
    model.shape_ = tuple(content["shape"])
    model.n_features_in_ = int(np.prod(model.shape_))
    model.guarantee_ = file.guarantee
    remember(model, file.paid)
    if content["names"] is not None:
        model.feature_names_in_ = np.asarray(content["names"], dtype=object)
    with torch.device("meta"):  # shapes only: nothing is allocated for a network that the file does not hold
        network = model._network(model.shape_, len(model.classes_))
    wanted = {name: (tuple(t.shape), str(t.dtype)) for name, t in network.state_dict().items()}
    tensors = {name: torch.from_numpy(array.copy()) for name, array in file.arrays.items()}
    found = {name: (tuple(t.shape), str(t.dtype)) for name, t in tensors.items()}
    need(found == wanted, "Its weights do not have the names, shapes and types of its network.")
    network.to_empty(device="cpu").load_state_dict(tensors)
    model.network_ = network.eval()
    return model
