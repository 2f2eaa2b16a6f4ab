"""Shared helpers: argument checks, safe file writing, special tokens."""
