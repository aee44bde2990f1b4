"""Databases of health records in the OMOP common data model, 5.3 or 5.4."""
