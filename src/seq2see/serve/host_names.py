"""The hosts of requests: Host and Origin headers are read strictly, so that no spelling passes for another host."""

import ipaddress
import re
from dataclasses import dataclass

HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Host:
    """The host of a request.

    Args:
        name: a name in lower case without a dot at its end, or an address, that of IPv6 without brackets.
        port: the port; None if it is left out.
    """

    name: str
    port: int | None

    @property
    def is_address(self) -> bool:
        """Tell whether the name is an IP address."""
        try:
            ipaddress.ip_address(self.name)
        except ValueError:
            return False
        return True


def parse_host(text: str) -> Host | None:
    """Return the host of a Host header; None if there is more or less in it, such as a user or a zone of IPv6.

    Args:
        text: the value of the header.
    """
    match = HOST.fullmatch(text)
    if match is None:
        return None
    port = None if match["port"] is None else int(match["port"])
    if port is not None and port > 65535:
        return None
    if match["name"].startswith("["):
        try:
            return Host(str(ipaddress.IPv6Address(match["name"][1:-1])), port)
        except ValueError:
            return None
    name = match["name"].lower().removesuffix(".")  # which ends a name at the root of DNS; it means the same host
    return Host(name, port) if all(name.split(".")) else None


def is_same_origin(origin: str, host: Host) -> bool:
    """Tell whether a page comes from the host that it asks.

    Args:
        origin: the value of the Origin header.
        host: the host of the request.
    """
    scheme, _, rest = origin.partition("://")
    parsed = parse_host(rest)
    if scheme.lower() not in DEFAULT_PORTS or parsed is None:
        return False
    default = DEFAULT_PORTS[scheme.lower()]
    return (parsed.name, parsed.port or default) == (host.name, host.port or default)
