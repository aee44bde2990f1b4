"""Writers of the docs pages whose numbers are measured by the programs in benchmarks/."""
