"""Shared helpers: argument checks, deprecations, safe file access and special tokens."""
