"""The least that Streamlit can do for a click: what the page's clicks are held against."""

import streamlit as st

st.session_state.setdefault("clicks", 0)
if st.button("Again", key="again"):
    st.session_state["clicks"] += 1
with st.container(key="answer"):
    st.text(f"{st.session_state['clicks']} clicks")
