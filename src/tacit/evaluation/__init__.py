"""How good a model is, on records that are private too: every score is charged and has an interval."""
