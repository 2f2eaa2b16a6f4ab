"""Web pages: interactive attention weights and a translation demo."""
