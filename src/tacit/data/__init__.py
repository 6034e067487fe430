"""Where rows come from: cells, containers, tables, and rows of bounded norm."""
