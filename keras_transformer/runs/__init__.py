"""What a run is: its settings, and its folder."""
