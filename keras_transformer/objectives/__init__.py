"""Losses, metrics, learning-rate schedules and the optimizer."""
