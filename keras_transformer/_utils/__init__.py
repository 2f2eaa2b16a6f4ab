"""What the rest of the package shares: checks of arguments, safe files, special tokens."""
