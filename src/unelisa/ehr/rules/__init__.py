"""Definitions of a disease by rules on health records, and how good they are."""
