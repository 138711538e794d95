"""The packages needed to import transformers and its like, for an integration and a benchmark."""

from __future__ import annotations

NAME = "preload"
REQUIREMENTS = ("torch==2.13.0", "transformers==5.23.0", "sentence-transformers", "scikit-learn", "pandas")
