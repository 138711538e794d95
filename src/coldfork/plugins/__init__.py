"""Entry points that other programs load by themselves: pytest, vLLM, and Python at its start."""
