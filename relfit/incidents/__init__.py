"""Incidents: records that belong together in time and place, counted once."""

from relfit.incidents.joining import incidents
from relfit.incidents.results import Incidents
from relfit.incidents.window import WindowChoice, choose_window

__all__ = ["Incidents", "WindowChoice", "choose_window", "incidents"]
