"""What several papers share: curves over epsilon, bounds as numbers, statements about both."""
