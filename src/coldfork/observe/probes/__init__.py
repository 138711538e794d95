"""Probes, one module for each runtime, which find its state without initialising or importing anything."""
