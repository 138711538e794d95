"""The reports: one module per format. Renderers print what the rules judged and judge nothing themselves."""
