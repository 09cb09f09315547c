"""`load` made of single look-ups, for stores where those are cheap: in memory or in a local file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brim.stores.protocol import LoadedSession, Store, Wanted


def gathered(store: Store, wanted: Wanted, shown: Callable[[str], Sequence[bytes]]) -> LoadedSession:
    """Load what is wanted, look-up by look-up; `shown` gives the digests of the blobs a session's state refers to."""
    found, length = store.get_session(wanted.session) if wanted.session else None, 0
    if found is None and wanted.prefixes:
        known = store.find_prefix(wanted.prefixes)
        if known is not None:
            found, length = store.get_session(known[0]), known[1]
    if found is None:
        return LoadedSession()
    if found.records == wanted.start and found.epoch == wanted.epoch:
        return LoadedSession(found, length)
    blobs = {digest: store.get_blob(digest, found.id) for digest in shown(found.id)}
    return LoadedSession(
        found,
        length,
        tuple(store.records(found.id, wanted.start)),
        store.get_state(found.id),
        {digest: data for digest, data in blobs.items() if data is not None},
    )
