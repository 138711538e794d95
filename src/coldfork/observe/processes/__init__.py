"""The identity, the start and the end of processes, as the kernel knows them."""
