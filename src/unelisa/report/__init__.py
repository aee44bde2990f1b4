"""Reports: what a fitted model found, as numbers, as a page and as files for spreadsheets."""
