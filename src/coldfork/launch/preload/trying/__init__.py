"""The code of processes that try imports; it uses only the standard library and the modules being tried."""
