"""Shared helpers: argument checks, safe file access and special tokens."""
