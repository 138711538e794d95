"""The reports, with one module per format. They only print results, and never judge any themselves."""
