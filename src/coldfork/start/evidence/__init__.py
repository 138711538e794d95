"""What speaks for and against each start method, one module for each kind of evidence."""
