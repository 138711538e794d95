"""What a report looks like: one module per format. Renderers print what rules judged and judge nothing."""
