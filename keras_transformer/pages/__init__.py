"""Pages to look at in a browser: attention, and a form that translates."""
