"""Public facts about a table, and the bounded rows that they make of it."""
