"""Published weights, read into layers by name."""
