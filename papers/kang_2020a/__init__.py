"""Kang, Liu, Niu, Tong, Zhang & Wang 2020: input perturbation for any loss."""
