//! One file per command: arguments, and the few lines that join the rooms below.
