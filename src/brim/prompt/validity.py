"""What a request of an API must be, whatever left it: said of sections, by their places."""

from __future__ import annotations

import re
from itertools import takewhile

from brim.apis.api import UNASKED
from brim.errors import BadBody, BadInput
from brim.prompt.assembly import Assembly, Laid
from brim.prompt.pruning import Removal
from brim.prompt.tree import Node, Tree

_NUMBER = re.compile(r"\w+\[(\d+)\]")


def check(tree: Tree, assembly: Assembly, laid: Laid) -> None:
    """Refuse what is no request of its API: BadInput or BadBody, at the section that it is about."""
    if not laid.messages:
        raise BadInput("sections", "make no message: give at least one with a text that is not an instruction")
    slot, first = laid.messages[0]
    if assembly.spec.user_first and first.role == "assistant":
        raise BadInput(
            _at(tree, slot),
            f"would be the first message, and {assembly.api} wants the user's first: put one before it that stays, or "
            "give this one a priority too",
        )
    _check_calls(tree, assembly, laid)


def _check_calls(tree: Tree, assembly: Assembly, laid: Laid) -> None:
    try:
        assembly.spec.check(assembly.of(laid))
    except BadBody as problem:
        found = _NUMBER.match(problem.at)
        raise BadBody(_at(tree, laid.messages[int(found[1])][0]) if found else problem.at, problem.problem) from None
    waiting: dict[str, int] = {}
    for slot, message in laid.messages:
        between = not message.answers and not (assembly.spec.user_first and message.role == "assistant")
        if waiting and between and assembly.spec.adjacent_results:
            break
        for call in message.answers:
            waiting.pop(call, None)
        asked = [part.call for part in message.parts if part.kind == "call" and part.call and not part.fixed]
        waiting |= {call: slot for call in asked if not call.startswith(UNASKED)}
    for call, slot in waiting.items():
        raise BadBody(_at(tree, slot), f"calls {call!r}, and no result answers it right after: give both or neither")


def _at(tree: Tree, slot: int) -> str:
    return next(leaf.path for leaf in tree.leaves if leaf.slot == slot)


class Lawful:
    """Whether a request is left when only some leaves are: one message, and where the API wants it the user's first."""

    def __init__(self, tree: Tree, assembly: Assembly, steps: list[Removal]) -> None:
        field = assembly.system_role and assembly.system_field
        self._spoken = [leaf for leaf in tree.leaves if tree.roles[leaf.slot] != "system" or not field]
        self._roles = tree.roles
        self._user_first = assembly.spec.user_first
        self._api = assembly.api
        self._may_go = {leaf.place for step in steps for leaf, pieces in step.cuts if pieces == 0}

    def __call__(self, left: set[int]) -> bool:
        shown = [leaf for leaf in self._spoken if leaf.place in left]
        return bool(shown) and not (self._user_first and any(map(self._stays, self._answers(shown))))

    def _answers(self, shown: list[Node]) -> list[Node]:
        """The answers that stand before all that the user says."""
        return list(takewhile(lambda leaf: self._roles[leaf.slot] == "assistant", shown))

    def _stays(self, leaf: Node) -> bool:
        return leaf.place not in self._may_go

    def part(self, tree: Tree) -> None:
        """Remove answers that may leave and have no user message before them any more."""
        if not self._user_first:
            return
        for leaf in self._answers([leaf for leaf in self._spoken if leaf.kept]):
            if not self._stays(leaf):
                leaf.leave(f"an answer cannot be the first message for {self._api}")
        tree.part()
