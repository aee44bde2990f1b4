"""Where votes come from: files of votes and of labels, and fitted classifiers."""
