"""The pieces of a page, one a file: each draws itself and tells the state what was chosen."""
