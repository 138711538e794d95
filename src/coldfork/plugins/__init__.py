"""Entry points that other programs load by themselves: pytest, vLLM, IPython, and Python at its start."""
