"""Kang, Liu, Ding, Liu, Tong & Wang 2020: differentially private ERM based on data perturbation."""
