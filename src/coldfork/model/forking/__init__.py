"""The purposes of forks, and their effects on a child."""
