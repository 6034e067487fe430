"""The scikit-learn face of linear models, and the files that they are kept in."""
