"""What imports leave behind, in a process and in what surrounds it."""
