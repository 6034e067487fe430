"""Laplacian smoothing as a hook before an optimiser's step: one line beside Opacus, the accountant untouched."""

from __future__ import annotations

import functools
import weakref
from typing import Any, TypeVar

import torch
from torch.optim import Optimizer

from tacit.arguments import checked
from tacit.checks import check
from tacit.linear.smoothing import check_smoothing, coefficients

KEY = "smoothing"
"""The name of sigma in an optimiser's parameter groups: it travels with ``state_dict``."""
AnyOptimizer = TypeVar("AnyOptimizer", bound=Optimizer)
_HOOKED: weakref.WeakSet[Optimizer] = weakref.WeakSet()


@functools.lru_cache(maxsize=256)
def _factors(size: int, sigma: float, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(coefficients(size, sigma).copy()).to(device=device, dtype=dtype)


@checked
def smooth_tensor(values: torch.Tensor, sigma: float) -> torch.Tensor:
    """``(I - sigma L)^-1`` applied to a tensor's numbers in row-major order (:func:`tacit.linear.smoothing.smooth`).

    Edges: sigma = 0 gives the tensor back; half precision is transformed in single precision and rounded once.
    """
    if check_smoothing(sigma, "sigma") == 0 or values.numel() <= 1:
        return values
    wide = torch.float64 if values.dtype == torch.float64 else torch.float32
    size = values.numel()
    spectrum = torch.fft.rfft(values.reshape(-1).to(wide)) * _factors(size, float(sigma), wide, values.device)
    smoothed: torch.Tensor = torch.fft.irfft(spectrum, n=size)
    return smoothed.to(values.dtype).reshape(values.shape)


@checked
def smooth(optimizer: AnyOptimizer, sigma: float = 1.0) -> AnyOptimizer:
    """Smooth every gradient right before each step of the optimiser; give the same optimiser back.

    ``optimizer`` is any PyTorch optimiser or Opacus' DPOptimizer, before or after ``make_private``. Opacus calls the
    inner optimiser only when it has clipped, added noise and divided: so smoothing comes after the noise and before
    the moments of momentum or Adam, once for each true step, whatever the number of virtual ones.

    Every parameter group gets the entry ``smoothing``, which may be set for each by itself (0 is off), and which
    ``state_dict`` carries. Calling again changes sigma and smooths once all the same.

    Guarantee: post-processing of the noisy gradient; the accountant and its epsilon are those of the plain optimiser.
    Edges: parameters without a gradient are passed over; sparse gradients, and a closure given to the step of a plain
    optimiser (its gradients would come too late), raise.
    Reference: Wang et al. 2020, Algorithm 1; in place of the noisy gradient in Adam: section 4.2.
    """
    check(
        isinstance(optimizer, Optimizer),
        "Expected optimizer to be a torch.optim.Optimizer, or Opacus' DPOptimizer around one.",
    )
    sigma = check_smoothing(sigma, "sigma")
    inner: Any = optimizer
    while hasattr(inner, "original_optimizer"):
        inner = inner.original_optimizer
    for group in inner.param_groups:
        group[KEY] = sigma
    if inner not in _HOOKED:
        inner.register_step_pre_hook(functools.partial(_before_step, sigma))
        _HOOKED.add(inner)
    return optimizer


def _before_step(sigma: float, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    """Groups added later, or loaded from a state without the entry, get the first sigma."""
    closures = [value for value in (*args[1:], *kwargs.values()) if value is not None]
    check(not closures, "Smoothing needs the gradients before the step: call backward() and step() without a closure.")
    with torch.no_grad():
        for group in optimizer.param_groups:
            strength = group.get(KEY, sigma)
            for parameter in group["params"]:
                if parameter.grad is not None and strength:
                    check(not parameter.grad.is_sparse, "Laplacian smoothing is for dense gradients; set sparse=False.")
                    parameter.grad.copy_(smooth_tensor(parameter.grad, strength))
