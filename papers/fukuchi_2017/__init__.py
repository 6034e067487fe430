"""Fukuchi, Tran & Sakuma 2017: input perturbation with a database."""
