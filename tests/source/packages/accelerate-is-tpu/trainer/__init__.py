"""A trainer that asks in many places which machine it has."""
