"""Which records drive this model? Influence functions, for the curator. NOT PRIVATE: they disclose records.

Linear models: :class:`Influence`, exact Hessian. Networks: :mod:`tacit.influence.network`, with PyTorch installed.
"""

from tacit.influence.linear import Influence, Measured, error_bound, influence_of

__all__ = ["Influence", "Measured", "error_bound", "influence_of"]
