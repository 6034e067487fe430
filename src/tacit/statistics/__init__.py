"""Looking at a table: counts, sums, means, histograms, quantiles and covariances, each charged and with an interval."""
