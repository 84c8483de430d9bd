"""Modern text for the embedded model, written by a larger language model."""
