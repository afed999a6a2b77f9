"""Eras: change points in the failure rate, and the period that a fit should use."""

from relfit.eras.finding import eras, stable_era
from relfit.eras.results import Era, Eras
from relfit.eras.segmentation import segments

__all__ = ["Era", "Eras", "eras", "segments", "stable_era"]
