"""Scattering features of MNIST or CIFAR-10: seconds, peak memory, and the ratio to bare Fourier transforms.

    python benchmarks/scattering.py [--data mnist] [--rows 60000] [--threads 2]

The transforms are as many as the features need, on arrays of the same shapes, and take turns with them, so that both
meet the same machine. Peak memory is the whole process', images and features included.
"""

import argparse
import os
import resource
import time

import numpy as np
from scipy import fft

from tacit import datasets
from tacit.features import Scattering

ROUND = 512


def transforms(images, random):
    """A function that does all Fourier transforms of one image for J=2, L=8, and nothing else."""
    height, width, colours = images.shape[1:]
    fine = tuple(4 * (-(-side // 4) + 2) for side in (height, width))
    coarse = tuple(side // 2 for side in fine)
    plane, planes = random.random(fine), random.random((8, *fine))
    first, second, third = (random.random(shape) + 1j for shape in ((8, *fine), (8, *coarse), (8, 8, *coarse)))

    def run():
        for _ in range(colours):
            fft.fft2(plane), fft.ifft2(first), fft.ifft2(second), fft.fft2(planes), fft.ifft2(third)

    return run


def ratio(images):
    """Processor time of the features over that of their bare transforms, one thread."""
    model, bare = Scattering(threads=1).fit(images), transforms(images, np.random.default_rng(0))
    spent = {"features": 0.0, "transforms": 0.0}
    for start in range(0, min(len(images), 8 * ROUND), ROUND):
        began = time.process_time()
        model.transform(images[start : start + ROUND])
        spent["features"] += time.process_time() - began
        began = time.process_time()
        for _ in range(ROUND):
            bare()
        spent["transforms"] += time.process_time() - began
    return spent["features"] / spent["transforms"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("mnist", "cifar10"), default="mnist")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    images = datasets.images(options.data, "train")[0][: options.rows]
    images = images[..., None] if images.ndim == 3 else images.transpose(0, 2, 3, 1)
    share = ratio(images)
    began, worked = time.perf_counter(), time.process_time()
    rows = Scattering(threads=options.threads, verbose=True).fit_transform(images)
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.data}: {rows.shape[0]:,} x {rows.shape[1]:,} in {seconds:.0f} s ({cpu:.0f} s of processor time, "
        f"{options.threads} threads), peak {peak:,.0f} MiB, {share:.1f} times its bare Fourier transforms"
    )
