"""Programs that capture a graph, each with one way to go: CPython and the analyser are asked about them."""
