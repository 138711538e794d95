"""Figures of scripts and pools for those who watch a service: Prometheus' text, and OpenTelemetry."""
