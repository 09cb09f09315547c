"""Prompts assembled from sections with priorities: what doesn't fit leaves in the order you choose.

Example: prompt.render([Section("Be brief.", role="system"), Section(notes, priority=1), Section(ask)],
                       model="gpt-4o", budget=4_000).messages
"""

from brim.prompt.rendering import render
from brim.prompt.section import Budget, Section

__all__ = ["Budget", "Section", "render"]
