"""Names, attributes, classes and containers: how they are looked up and changed."""
