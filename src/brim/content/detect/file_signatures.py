"""Recognizes bytes by their first few.

Example: describe(b"\\x89PNG\\r\\n\\x1a\\n…") -> "PNG image 640×480"
"""

from __future__ import annotations

import struct

_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (0, b"BM", "BMP image"),
    (0, b"II*\x00", "TIFF image"),
    (0, b"MM\x00*", "TIFF image"),
    (0, b"\x00\x00\x01\x00", "icon"),
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftypheic", "HEIC image"),
    (4, b"ftyp", "MP4 video"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"ID3", "MP3 audio"),
    (0, b"\xff\xfb", "MP3 audio"),
    (0, b"OggS", "Ogg audio"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"%PDF-", "PDF document"),
    (0, b"%!PS", "PostScript"),
    (0, b"{\\rtf", "RTF document"),
    (0, b"PK\x03\x04", "ZIP archive"),
    (0, b"PK\x05\x06", "empty ZIP archive"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ\x00", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (0, b"Rar!", "RAR archive"),
    (257, b"ustar", "tar archive"),
    (0, b"\x7fELF", "ELF program"),
    (0, b"MZ", "Windows program"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (0, b"\xca\xfe\xba\xbe", "Java class"),
    (0, b"\x00asm", "WebAssembly module"),
    (0, b"SQLite format 3\x00", "SQLite database"),
    (0, b"PAR1", "Parquet file"),
    (0, b"Obj\x01", "Avro file"),
    (0, b"\x89HDF", "HDF5 file"),
    (0, b"ARROW1", "Arrow file"),
    (0, b"wOF2", "WOFF2 font"),
    (0, b"wOFF", "WOFF font"),
    (0, b"OTTO", "OpenType font"),
    (0, b"\x00\x01\x00\x00", "TrueType font"),
    (0, b"\xd0\xcf\x11\xe0", "old Office document"),
    (0, b"\x30\x82", "DER certificate or key"),
    (0, b"\x80\x04\x95", "Python pickle"),
)
# The names of a container's first entries say more about its type.
_INSIDE_ZIP = (
    (b"word/", "Word document"),
    (b"xl/", "Excel workbook"),
    (b"ppt/", "PowerPoint deck"),
    (b"META-INF/", "JAR"),
)


def describe(data: bytes) -> str:
    """The type of some bytes, with the dimensions of an image if they are at its start; "text" or "data" otherwise."""
    for offset, signature, name in _SIGNATURES:
        if data.startswith(signature, offset):
            return name + _more(name, data)
    return "text" if as_text(data) is not None else "data"


def as_text(data: bytes) -> str | None:
    """The bytes as readable UTF-8, or None. The last character may be cut."""
    for end in range(len(data), max(0, len(data) - 4), -1):
        try:
            text = data[:end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        odd = sum(not char.isprintable() and char not in "\n\r\t" for char in text[:4_000])
        return text if odd * 50 <= min(len(text), 4_000) and text else None
    return None


def _more(name: str, data: bytes) -> str:
    if name == "PNG image" and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return f" {width}×{height}"
    if name == "GIF image" and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return f" {width}×{height}"
    if name == "ZIP archive":
        return next((f" ({what})" for sign, what in _INSIDE_ZIP if sign in data[:2_000]), "")
    return ""
