"""Explains why an upstream could not be reached: names the host and the cause, never a path, a header or a key."""

from __future__ import annotations

import socket
import ssl

from brim.errors import MissingExtra
from brim.gateway.proxy.faults import UpstreamFault

try:
    import aiohttp
    from aiohttp.http import HttpProcessingError
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem


def fault_of(problem: Exception, host: str) -> UpstreamFault:
    """The fault to report to the client.

    Example: an unknown name -> 502 "the upstream cannot be reached: DNS lookup of api.x.ai failed (…)"
    """
    if isinstance(problem, aiohttp.SocketTimeoutError):
        text = f"the upstream did not answer in time: {host} was silent (gateway.read_timeout)"
        return UpstreamFault(504, text, "upstream_timeout")
    if isinstance(problem, TimeoutError):
        text = f"the upstream was not reached in time: no connection to {host} (gateway.connect_timeout)"
        return UpstreamFault(504, text, "upstream_timeout")
    if isinstance(problem, (aiohttp.InvalidURL, ValueError)) and not isinstance(problem, aiohttp.ClientSSLError):
        return UpstreamFault(502, f"the upstream cannot be sent this request ({host})", "upstream_unsendable")
    return UpstreamFault(502, f"the upstream cannot be reached: {_cause(problem, host)}", "upstream_unreachable")


def _cause(problem: Exception, host: str) -> str:
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        return f"the certificate of {host} is not trusted ({_reason(problem.certificate_error)})"
    if isinstance(problem, aiohttp.ClientConnectorError):
        system = problem.os_error
        if isinstance(problem, aiohttp.ClientConnectorDNSError) or isinstance(system, socket.gaierror):
            return f"DNS lookup of {host.rpartition(':')[0] or host} failed ({_reason(system)})"
        if isinstance(system, ssl.SSLError) or isinstance(problem, aiohttp.ClientSSLError):
            return f"TLS with {host} failed ({_reason(system)})"
        if isinstance(system, ConnectionRefusedError):
            return f"{host} refused the connection"
        return f"no connection to {host} ({_reason(system)})"
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return f"{host} closed the connection without an answer"
    if isinstance(problem, HttpProcessingError):
        return f"{host} does not answer in HTTP"
    return f"the connection to {host} broke ({_reason(problem)})"


def _reason(problem: BaseException) -> str:
    """The operating system's own words for it. Example: "Name or service not known", "certificate has expired" """
    if isinstance(problem, ssl.SSLCertVerificationError):
        return str(problem.verify_message)
    if isinstance(problem, ssl.SSLError):
        return str(getattr(problem, "reason", None) or "handshake").lower().replace("_", " ")
    return str(getattr(problem, "strerror", None) or type(problem).__name__)
