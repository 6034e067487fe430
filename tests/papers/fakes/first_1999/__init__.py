"""A paper that goes well, and can be told to stop the run."""
