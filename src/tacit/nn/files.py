"""Network files: one safetensors file whose metadata is JSON. No pickle; reading builds numbers and text only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sklearn.utils.validation import check_is_fitted

from tacit.checks import PrivacyError, check, refuse
from tacit.guarantee import Guarantee, checksum
from tacit.nn.classifiers import CNNClassifier, MLPClassifier

FORMAT = "tacit-network"
KINDS: dict[str, type[MLPClassifier] | type[CNNClassifier]] = {
    kind.__name__: kind for kind in (MLPClassifier, CNNClassifier)
}


def save(model: MLPClassifier | CNNClassifier, path: str | Path) -> None:
    """Write a fitted network, its settings, label set and guarantee to one file.

    Edges: ``random_state`` is not written (whoever knows it can remove the noise); a reader gets ``device='cpu'``.
    """
    name = type(model).__name__
    check(KINDS.get(name) is type(model), f"Expected one of {', '.join(KINDS)} to save.")
    check_is_fitted(model, "network_")
    skipped = ("random_state", "device", "classes")
    tensors = {key: value.detach().cpu().contiguous() for key, value in model.network_.state_dict().items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "kind": name,
        "parameters": {key: value for key, value in model.get_params(deep=False).items() if key not in skipped},
        "classes": model.classes_.tolist(),
        "bytes": model.bounds is None,
        "shape": list(model.shape_),
        "guarantee": model.guarantee_.to_dict(),
    }
    if content["parameters"]["bounds"] is not None:
        content["parameters"]["bounds"] = [float(value) for value in content["parameters"]["bounds"]]
    if content["parameters"]["epsilon"] == float("inf"):
        content["parameters"]["epsilon"] = None
    text = json.dumps({**content, "checksum": checksum(content)}, ensure_ascii=False)
    save_file(tensors, str(path), metadata={"tacit": text})


def load(path: str | Path) -> MLPClassifier | CNNClassifier:
    """Read what :func:`save` wrote; raises PrivacyError for a foreign, altered or cut file."""
    try:
        with safe_open(str(path), framework="pt", device="cpu") as file:
            text = (file.metadata() or {}).get("tacit")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        if text is None:
            refuse("This is not a Tacit network file.")
        content = json.loads(text)
        stated = content.pop("checksum", None)
        if content.get("format") != FORMAT or stated != checksum(content):
            refuse("This network file was changed after it was written: its checksum does not match.")
        return _build(content, tensors)
    except PrivacyError:
        raise
    except (SafetensorError, json.JSONDecodeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise PrivacyError("This network file is incomplete or malformed; it was not loaded.") from error


def _build(content: dict[str, Any], tensors: dict[str, torch.Tensor]) -> MLPClassifier | CNNClassifier:
    settings = dict(content["parameters"])
    if settings["epsilon"] is None:
        settings["epsilon"] = float("inf")
    if settings["bounds"] is None and not content["bytes"]:  # of an older Tacit, which took 0 to 1 for other numbers
        settings["bounds"] = (0.0, 1.0)
    elif settings["bounds"] is not None:
        settings["bounds"] = (float(settings["bounds"][0]), float(settings["bounds"][1]))
    model = KINDS[content["kind"]](**settings, classes=content["classes"])
    model.classes_ = np.asarray(content["classes"])
    model.shape_ = tuple(int(side) for side in content["shape"])
    model.n_features_in_ = int(np.prod(model.shape_))
    model.guarantee_ = Guarantee.from_dict(content["guarantee"])
    network = model._network(model.shape_, len(model.classes_))
    network.load_state_dict(tensors)
    model.network_ = network.eval()
    return model
