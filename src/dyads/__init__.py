"""Bayesian models of who goes with what."""
