from .facts import *
