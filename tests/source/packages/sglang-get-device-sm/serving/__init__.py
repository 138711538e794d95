"""Serves models."""
