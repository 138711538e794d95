"""The terms in which a check is asked for and answered; they need none of the objects that it may find."""
