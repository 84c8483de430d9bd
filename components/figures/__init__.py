"""Pure functions from a run to a Plotly figure: one kind of picture a file, no Streamlit."""
