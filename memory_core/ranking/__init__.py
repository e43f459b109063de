"""Scores, calibration, snippets and passages: pure functions that every backend ranks and cuts with."""
