"""The site: its pages, answers and pictures."""
