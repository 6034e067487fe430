"""What commands take, one file per command. Nothing here loads what the commands run: help and usage errors are
quick."""
