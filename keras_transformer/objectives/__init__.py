"""What training minimises and counts, and the optimizer and schedules that do it."""
