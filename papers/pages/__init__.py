"""The pages "What we found": what they include is written from the rows that are kept with the documentation."""
