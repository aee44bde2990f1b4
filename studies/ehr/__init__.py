"""Table 5.4 on simulated and public health records, and docs/phenotyping_study.md."""
