"""Networks as one safetensors file whose metadata is JSON (:mod:`tacit.files.tensors`): the part that needs PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as tensor_bytes
from sklearn.utils.validation import check_is_fitted

from tacit.checks import PrivacyError, check
from tacit.files.tensors import FORMAT, LARGEST, VERSION, NetworkFile, digest, read
from tacit.nn.classifiers import CNNClassifier, MLPClassifier
from tacit.privacy.guarantee import checksum
from tacit.reading import floats, need, write_whole

KINDS: dict[str, type[MLPClassifier] | type[CNNClassifier]] = {
    kind.__name__: kind for kind in (MLPClassifier, CNNClassifier)
}
_SKIPPED = ("random_state", "device", "classes", "ledger")


def save(model: MLPClassifier | CNNClassifier, path: str | Path) -> None:
    """Write a fitted network, its settings, label set and guarantee; one checksum covers all, weights by their hash."""
    name = type(model).__name__
    check(KINDS.get(name) is type(model), f"Expected one of {', '.join(KINDS)} to save.")
    check_is_fitted(model, "network_")
    tensors = {key: value.detach().cpu().contiguous().numpy() for key, value in model.network_.state_dict().items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": name,
        "parameters": {key: value for key, value in model.get_params(deep=False).items() if key not in _SKIPPED},
        "classes": model.classes_.tolist(),
        "bytes": model.bounds is None,
        "shape": list(model.shape_),
        "guarantee": model.guarantee_.to_dict(),
        "tensors": digest(tensors),
    }
    if content["parameters"]["bounds"] is not None:
        content["parameters"]["bounds"] = [float(value) for value in content["parameters"]["bounds"]]
    if content["parameters"]["epsilon"] in (float("inf"), "rest"):
        content["parameters"]["epsilon"] = None
    text = json.dumps({**content, "checksum": checksum(content)}, ensure_ascii=False)
    whole = tensor_bytes(tensors, metadata={"tacit": text})
    check(len(whole) <= LARGEST, f"A network file has at most {LARGEST // 2**20} MiB, and this one would be larger.")
    write_whole(path, whole)


def load(path: str | Path, *, accept_uncovered: bool = False) -> MLPClassifier | CNNClassifier:
    """Read what :func:`save` wrote."""
    file = read(path, accept_uncovered=accept_uncovered)
    try:
        return _build(file)
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
    with torch.device("meta"):  # shapes only: nothing is allocated for a network that the file does not hold
        network = model._network(model.shape_, len(model.classes_))
    wanted = {name: (tuple(t.shape), str(t.dtype)) for name, t in network.state_dict().items()}
    tensors = {name: torch.from_numpy(array.copy()) for name, array in file.arrays.items()}
    found = {name: (tuple(t.shape), str(t.dtype)) for name, t in tensors.items()}
    need(found == wanted, "Its weights do not have the names, shapes and types of its network.")
    network.to_empty(device="cpu").load_state_dict(tensors)
    model.network_ = network.eval()
    return model
