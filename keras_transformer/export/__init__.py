"""Exports of trained models to other formats."""
