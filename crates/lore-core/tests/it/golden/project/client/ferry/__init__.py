"""A client for the Ferry job queue."""

from ferry.client import FerryClient, FerryError, RateLimited

__all__ = ["FerryClient", "FerryError", "RateLimited"]
