"""Three parties: contributors perturb their own record, a database adds up, a model user gets the model."""

from tacit.protocol.agreement import Protocol
from tacit.protocol.database import Database, Receipt
from tacit.protocol.submission import Submission, Submissions

__all__ = ["Database", "Protocol", "Receipt", "Submission", "Submissions"]
