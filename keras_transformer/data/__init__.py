"""Reading, cleaning, splitting, tokenizing and batching of data."""
