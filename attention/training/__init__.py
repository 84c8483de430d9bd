"""Training of the embedded model: texts, tokenizer, rows, loop, export."""
