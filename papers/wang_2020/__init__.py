"""Wang, Gu, Boedihardjo, Wang, Barekat & Osher 2020: DP-LSSGD, Laplacian smoothing of noisy gradients."""
