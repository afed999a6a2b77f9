"""sparing."""
