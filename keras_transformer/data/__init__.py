"""Reading, cleaning, splitting and batching of sentence pairs."""
