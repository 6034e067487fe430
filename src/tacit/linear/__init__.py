"""The mathematics of linear models: losses, sums over records, solvers."""
