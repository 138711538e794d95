"""Judgement: one rule, one module, one page. Rules say what is wrong, why, and what to do instead."""
