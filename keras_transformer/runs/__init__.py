"""Training runs: their settings and folders."""
