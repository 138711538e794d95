"""`./dev release`: builds what is published, tries it in clean environments, and says what it is made of."""
