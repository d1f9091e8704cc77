"""The certificate authorities that targets are checked by, unless a job says otherwise."""

import ssl
from pathlib import Path

_CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def system_ca_file() -> str | None:
    """Where this system keeps the certificate authorities that it trusts; the libcurl in pycurl's wheel knows one."""
    candidates = (ssl.get_default_verify_paths().cafile, *_CA_FILES)
    return next((path for path in candidates if path and Path(path).is_file()), None)
