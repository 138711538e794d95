"""What all rules share in making a finding of an effect: words, fingerprints, suppression."""
