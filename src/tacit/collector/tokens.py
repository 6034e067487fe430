"""Codes and tokens that nobody can guess, and the hashes by which they are known."""

from __future__ import annotations

import hashlib
import hmac

from tacit.privacy.noise import SystemSource

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: no I, L, O or U, which are taken for other signs or make words."""
_ALIKE = str.maketrans("ILO", "110")
_SLUG = "abcdefghjkmnpqrstuvwxyz23456789"
LETTERS, GROUP = 20, 5


def fresh_bytes(size: int) -> bytes:
    """Bytes of the operating system's generator."""
    return SystemSource().words(-(-size // 8)).tobytes()[:size]


def fresh_code() -> str:
    """An invitation: 100 random bits, in four groups of five signs."""
    return spelled(fresh_bytes(LETTERS))


def spelled(octets: bytes) -> str:
    """Five bits of every byte as signs, in groups of five."""
    signs = "".join(ALPHABET[octet & 31] for octet in octets)
    return "-".join(signs[start : start + GROUP] for start in range(0, len(signs), GROUP))


def read_code(text: str, letters: int = LETTERS) -> str | None:
    """A code as someone typed it, in its one form: case, hyphens, spaces and signs that look alike do not matter."""
    signs = text.upper().translate(_ALIKE).replace("-", "").replace(" ", "").strip()
    if len(signs) != letters or not set(signs) <= set(ALPHABET):
        return None
    return "-".join(signs[start : start + GROUP] for start in range(0, letters, GROUP))


def fresh_slug() -> str:
    """The name of a study: ten signs that are easy to read aloud."""
    numbers = SystemSource().words(10)
    return "".join(_SLUG[int(number) % len(_SLUG)] for number in numbers)


def hashed(what: bytes, text: str) -> bytes:
    """What a code or token is known by; it has 100 random bits or more, so a plain hash cannot be turned round."""
    return hashlib.blake2b(text.encode(), digest_size=16, person=what).digest()


def signed(key: bytes, *parts: bytes) -> bytes:
    """A keyed hash of parts of fixed sizes."""
    return hashlib.blake2b(b"".join(parts), digest_size=20, key=key, person=b"tacit-receipt").digest()


def same(one: bytes, other: bytes) -> bool:
    """Whether two hashes agree, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)
