"""Headscope's page: `streamlit run app.py`."""

from components import resources, shell, state
from components.messages import errors_as_sentences

shell.configure()
resources.start_imports()
state.begin()
view = shell.navigation()
with errors_as_sentences():
    view.render()
state.end()
