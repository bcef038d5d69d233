//! IAM and bucket policies: the documents and their evaluation. Knows nothing of the other rooms; no I/O.
