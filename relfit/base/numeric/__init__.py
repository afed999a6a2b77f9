"""Numerical functions below every statistical package: special functions, searches, sorting, groups in threads."""
