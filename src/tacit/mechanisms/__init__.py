"""The methods: one file each, and the registry that knows them by name."""

from tacit.mechanisms.base import Chosen, Mechanism, Method
from tacit.mechanisms.gradient import GradientPerturbation
from tacit.mechanisms.individual import Individual
from tacit.mechanisms.input_penalty import Penalty
from tacit.mechanisms.input_plan import InputPerturbation
from tacit.mechanisms.local import DuchiSgd, LocalPerturbation
from tacit.mechanisms.objective import ObjectivePerturbation
from tacit.mechanisms.output import Output
from tacit.mechanisms.registry import METHODS, choose_method
from tacit.mechanisms.samplers import Disjoint, Everyone, Poisson, Subset
from tacit.mechanisms.sufficient import SufficientStatistics
from tacit.mechanisms.svrg import Svrg
from tacit.mechanisms.whitened import Whitened

__all__ = [
    "METHODS",
    "Chosen",
    "Disjoint",
    "DuchiSgd",
    "Everyone",
    "GradientPerturbation",
    "Individual",
    "InputPerturbation",
    "LocalPerturbation",
    "Mechanism",
    "Method",
    "ObjectivePerturbation",
    "Output",
    "Penalty",
    "Poisson",
    "Subset",
    "SufficientStatistics",
    "Svrg",
    "Whitened",
    "choose_method",
]
