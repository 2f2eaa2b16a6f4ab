"""Loads published weights into layers by name."""
