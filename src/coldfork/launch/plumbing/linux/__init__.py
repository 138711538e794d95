"""What Python does not offer of Linux: calls of the C library and the kernel, made by hand."""
