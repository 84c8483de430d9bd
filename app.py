"""Headscope's page: `streamlit run app.py`."""

from components import shell, state
from components.messages import errors_as_sentences

shell.configure()
state.begin()
view = shell.navigation()
with errors_as_sentences():
    view.render()
state.end()
