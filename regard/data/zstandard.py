"""Zstandard, which Python has from version 3.14 and a package brings to older ones."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError, compress, decompress
else:
    from backports.zstd import ZstdDecompressor, ZstdError, compress, decompress

__all__ = ["ZstdDecompressor", "ZstdError", "compress", "decompress"]
