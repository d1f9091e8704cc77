"""The key with which tests call servers that they started."""

from __future__ import annotations

ADMIN_KEY = "the-admin-key-of-the-tests"
AUTHORIZED = {"Authorization": f"Bearer {ADMIN_KEY}"}
