"""What is released, what it costs, and the noise that a budget needs."""
