"""What a person sees: Streamlit on top of `attention`, which knows nothing of it."""
