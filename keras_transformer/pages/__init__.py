"""Web pages: interactive attention weights, and a translator that runs in the browser."""
