"""Networks (extra ``torch``): Laplacian smoothing for any PyTorch or Opacus optimiser, and private classifiers."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("tacit.nn needs PyTorch. In Tacit's source: pip install '.[torch]'.") from error

from tacit.nn.architectures import cifar_network, mlp_network, mnist_network
from tacit.nn.classifiers import CNNClassifier, MLPClassifier
from tacit.nn.hook import smooth, smooth_tensor

__all__ = [
    "CNNClassifier",
    "MLPClassifier",
    "cifar_network",
    "mlp_network",
    "mnist_network",
    "smooth",
    "smooth_tensor",
]
