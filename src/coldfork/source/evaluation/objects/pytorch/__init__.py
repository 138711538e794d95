"""Tensors of torch and the devices they lie on, as far as the names of calls tell."""
