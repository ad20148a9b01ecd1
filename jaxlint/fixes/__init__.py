"""Fixes: from a finding and its page's remedy to edits of the source text, and from edits to the new text."""
